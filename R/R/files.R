# Matrices in files.

setClass("DamierMatrix", slots = c(operand = "list"))

dm_file <- function(location, native = NULL, ...) {
  if (!is.character(location) || length(location) != 1 || is.na(location)) refuse("a location is one text, \"X.h5:/x\"")
  location <- path.expand(location)
  options <- texts(list(...))
  dataset <- described(location, options)$dataset
  if (is.null(dataset$rows)) refuse(paste0(location, " holds several datasets, or none that is a matrix"), "\"X.h5:/x\" names one")
  if (length(strsplit(dataset$shape, " x ")[[1]]) != 2) {
    refuse(paste0(location, " is ", dataset$shape, ", no matrix of two dimensions"),
           "a part drops dimensions: \"X.h5:/x[0]\" (counted from 0, in the file's order)")
  }
  is_reversed <- if (is.null(native)) !grepl("of NumPy|of Zarr|of PLINK", dataset$layout) else !native
  dim <- as.double(c(dataset$rows, dataset$cols))
  new("DamierMatrix",
      operand = list(data = NULL, location = location, dim = if (is_reversed) rev(dim) else dim, dimnames = NULL, reversed = is_reversed,
                     is_complex = startsWith(dataset$value_type, "c"), has_na = any(grepl("missing", dataset$meaning)), options = options))
}

setMethod("dim", "DamierMatrix", function(x) {
  dim <- x@operand$dim
  if (all(dim <= .Machine$integer.max)) as.integer(dim) else dim
})

setMethod("t", "DamierMatrix", function(x) new("DamierMatrix", operand = transposed(x@operand)))

setMethod("show", "DamierMatrix", function(object) {
  operand <- object@operand
  by_rows <- if (!operand$reversed) ", as stored by rows"
  cat("<", paste(operand$dim, collapse = " x "), " matrix in ", operand$location, by_rows, ">\n", sep = "")
})

setMethod("[", "DamierMatrix", function(x, i, j, ..., drop = TRUE) {
  if (nargs() - (!missing(drop)) != 3) refuse("a part is x[i, j]")
  new("DamierMatrix", operand = part_of(x@operand, if (missing(i)) NULL else i, if (missing(j)) NULL else j))
})

# Rows I and columns J of a matrix in a file, which is named as a part of the dataset.
part_of <- function(operand, i, j) {
  if (is.null(i) && is.null(j)) return(operand)
  if (!grepl(":/", operand$location, fixed = TRUE)) {
    name <- described(operand$location)$dataset$name
    if (grepl(":/", name, fixed = TRUE)) operand$location <- name
  }
  if (grepl("]$", operand$location)) refuse("a part of a part is not named", "x[i, j] at once")
  lists <- Map(indices, list(i, j), operand$dim)
  texts <- vapply(lists, in_brackets, "")
  operand$location <- paste0(operand$location, "[", paste(if (operand$reversed) rev(texts) else texts, collapse = ", "), "]")
  operand$dim <- as.double(mapply(function(list, n) if (is.null(list)) n else length(list), lists, operand$dim))
  if (!is.null(operand$dimnames)) operand$dimnames <- Map(function(n, list) if (is.null(list)) n else n[list], operand$dimnames, lists)
  operand
}

indices <- function(index, n) {
  if (is.null(index)) return(NULL)
  if (is.character(index)) refuse("a part is stated by numbers")
  if (is.logical(index)) index <- which(rep_len(index, n))
  index <- as.double(index)
  if (length(index) > 0 && all(index < 0)) index <- setdiff(seq_len(n), -index)
  if (length(index) == 0 || anyNA(index) || any(index < 1 | index > n)) refuse("subscript out of bounds")
  index
}

# 1-based INDEX as a 0-based slice or list.
in_brackets <- function(index) {
  if (is.null(index)) return(":")
  steps <- diff(index)
  if (length(index) == 1 || (steps[[1]] > 0 && all(steps == steps[[1]]))) {
    step <- if (length(index) == 1) 1 else steps[[1]]
    return(paste0(whole(index[[1]] - 1), ":", whole(index[[length(index)]]), if (step != 1) paste0(":", whole(step))))
  }
  runs <- split(index, cumsum(c(TRUE, steps != 1)))
  if (length(runs) > 1000) {
    refuse("the part has more than 1000 pieces", "as.matrix() of it, or HDF5Array::writeHDF5Array() of it, makes a matrix")
  }
  text <- function(run) paste0(whole(run[[1]] - 1), if (length(run) > 1) paste0(":", whole(run[[length(run)]])))
  paste0("[", paste(vapply(runs, text, ""), collapse = ", "), "]")
}

whole <- function(number) format(number, scientific = FALSE, trim = TRUE)

setMethod("%*%", signature("DamierMatrix", "ANY"), function(x, y) dm_multiply(x, y))
setMethod("%*%", signature("ANY", "DamierMatrix"), function(x, y) dm_multiply(x, y))
setMethod("%*%", signature("DamierMatrix", "DamierMatrix"), function(x, y) dm_multiply(x, y))
setMethod("crossprod", signature("DamierMatrix", "missing"), function(x, y = NULL, ...) dm_crossprod(x, ...))
setMethod("crossprod", signature("DamierMatrix", "ANY"), function(x, y = NULL, ...) dm_crossprod(x, y, ...))
setMethod("crossprod", signature("DamierMatrix", "DamierMatrix"), function(x, y = NULL, ...) dm_crossprod(x, y, ...))
setMethod("crossprod", signature("ANY", "DamierMatrix"), function(x, y = NULL, ...) dm_crossprod(x, y, ...))
setMethod("tcrossprod", signature("DamierMatrix", "missing"), function(x, y = NULL, ...) dm_tcrossprod(x, ...))
setMethod("tcrossprod", signature("DamierMatrix", "ANY"), function(x, y = NULL, ...) dm_tcrossprod(x, y, ...))
setMethod("tcrossprod", signature("DamierMatrix", "DamierMatrix"), function(x, y = NULL, ...) dm_tcrossprod(x, y, ...))
setMethod("tcrossprod", signature("ANY", "DamierMatrix"), function(x, y = NULL, ...) dm_tcrossprod(x, y, ...))

# The library reads the matrix as the old C of a product without terms, so that all that it knows of files applies, and writes it, as
# the file has it, to a file of NumPy, whose numbers follow each other.
as.matrix.DamierMatrix <- function(x, ...) {
  operand <- x@operand
  dim <- if (operand$reversed) rev(operand$dim) else operand$dim
  if (any(operand$dim > .Machine$integer.max)) refuse("matrices of R have at most 2^31 - 1 rows and columns", "x[i, j] is a part")
  file <- tempfile(fileext = ".npy")
  on.exit(unlink(file))
  zero <- if (operand$is_complex) 0i else 0
  options <- c(of_files(list(operand), list()), list(c = operand$location, beta = "1", verify = "no"))
  call_library("multiply", list(list(matrix(zero, dim[[1]], 0), FALSE)), list(list(matrix(zero, 0, dim[[2]]), FALSE)), FALSE, dim,
               operand$is_complex, file, options)
  values <- numbers_of_npy(file, if (operand$is_complex) "complex" else "double", prod(dim))
  if (operand$has_na) values[is.na(values)] <- NA
  matrix(values, operand$dim[[1]], operand$dim[[2]], byrow = !operand$reversed, dimnames = operand$dimnames)
}

# COUNT numbers after the header, whose length its bytes 8 and 9 state.
numbers_of_npy <- function(file, what, count) {
  opened <- file(file, "rb")
  on.exit(close(opened))
  readBin(opened, "raw", 8)
  readBin(opened, "raw", readBin(opened, "integer", 1, size = 2, signed = FALSE, endian = "little"))
  readBin(opened, what, count)
}
