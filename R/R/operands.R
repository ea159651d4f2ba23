# Operands: what a user gives for a matrix, as the library can be told of it.
#
# An operand is a list: `data`, a double or complex matrix, or NULL; `location`, of a file; `dim` and `dimnames` of the matrix of R;
# `reversed`: the library sees the transpose of it in the file (always told apart, never copied); `is_complex`; `has_na`: the file
# names missing values, so that NaN of a result is NA; `options`, of dm_file.

operand_of <- function(x, name) {
  if (isS4(x)) return(operand_of_object(x, name))
  if (is.character(x) && length(x) == 1 && is.null(dim(x))) return(dm_file(x)@operand)
  if (is.data.frame(x)) x <- as.matrix(x)
  if (inherits(x, "integer64")) refuse(paste0(name, " has integers of 64 bits"), "as.double() rounds those beyond 2^53")
  if (!is.matrix(x) || !(is.numeric(x) || is.complex(x) || is.logical(x))) {
    refuse(paste0(name, " is no numeric, logical or complex matrix, and no file: ", class(x)[[1]]),
           "a file is named by one text, \"X.h5:/x\"; as.matrix(x) makes a column of a vector")
  }
  is_complex <- is.complex(x)
  list(data = if (is.double(x) || is_complex) x else double_of(x), location = NULL, dim = as.double(dim(x)), dimnames = dimnames(x),
       reversed = FALSE, is_complex = is_complex, has_na = FALSE)
}

operand_of_object <- function(x, name) {
  if (is(x, "DamierMatrix")) return(x@operand)
  if (is(x, "DelayedMatrix")) return(operand_of_delayed(x, name))
  refuse(paste0(name, " is of class ", class(x)[[1]]), "as.matrix(x) makes an ordinary matrix of it; package Matrix multiplies sparse ones")
}

# NA of integers and logicals becomes NA_real_.
double_of <- function(x) {
  storage.mode(x) <- "double"
  x
}

transposed <- function(operand) {
  operand$dim <- rev(operand$dim)
  if (!is.null(operand$dimnames)) operand$dimnames <- rev(operand$dimnames)
  if (is.null(operand$location)) operand$flipped <- !isTRUE(operand$flipped) else operand$reversed <- !operand$reversed
  operand
}

# What C takes, and the option that makes op(...) of it the transpose of OPERAND, if AS_TRANSPOSE, or OPERAND.
stated <- function(operand, as_transpose) {
  if (!is.null(operand$location)) return(list(operand$location, if (operand$reversed == as_transpose) "n" else "t"))
  list(list(operand$data, isTRUE(operand$flipped) != as_transpose), "n")
}

# Both become complex if one is.
alike <- function(operands) {
  is_complex <- any(vapply(operands, function(o) o$is_complex, NA))
  lapply(operands, function(o) {
    if (is_complex && !is.null(o$data) && !is.complex(o$data)) storage.mode(o$data) <- "complex"
    o$is_complex <- is_complex
    o
  })
}

# Options for operands in files: the types that R has, and NA.
of_files <- function(operands, options) {
  in_files <- Filter(function(o) !is.null(o$location), operands)
  if (length(in_files) == 0) return(options)
  options <- with_own(in_files, options)
  if (is.null(options[["type"]])) options[["type"]] <- if (operands[[1]]$is_complex) "c128" else "f64"
  if (is.null(options[["missing"]]) && any(vapply(in_files, function(o) o$has_na, NA))) options[["missing"]] <- "nan"
  options
}

# OPTIONS and those of dm_file, which all files must share, as they apply to all.
with_own <- function(in_files, options) {
  own <- lapply(in_files, function(o) if (length(o$options) == 0) list() else o$options[order(names(o$options))])
  if (!all(vapply(own, identical, NA, own[[1]]))) refuse("the options of dm_file differ", "state the same for both files")
  c(options, own[[1]][setdiff(names(own[[1]]), names(options))])
}

# Rows of OPERAND that have an NA that is not NaN; of operands in files they are not known.
rows_with_na <- function(operand) {
  if (is.null(operand$data)) return(integer())
  is_na <- is.na(operand$data) & !is.nan(operand$data)
  which((if (isTRUE(operand$flipped)) colSums(is_na) else rowSums(is_na)) > 0)
}

# NaN of VALUE becomes NA where X, of its rows, or Y, of its columns, have one.
with_na <- function(value, x, y) {
  if (!anyNA(value)) return(value)
  na <- if (is.complex(value)) NA_complex_ else NA_real_
  if (x$has_na || y$has_na) {
    value[is.na(value)] <- na
    return(value)
  }
  value[rows_with_na(x), ] <- na
  value[, rows_with_na(transposed(y))] <- na
  value
}

named <- function(value, rows, columns) {
  if (is.null(rows$dimnames) && is.null(columns$dimnames)) return(value)
  of <- function(operand, side) if (is.null(operand$dimnames)) list(NULL) else operand$dimnames[side]
  names <- c(of(rows, 1), of(columns, 2))
  if (!is.null(names[[1]]) || !is.null(names[[2]])) dimnames(value) <- names
  value
}
