# Calls of the library.

# VERB of X and perhaps Y as the library sees them, a list of stated(); the result is of DIM and R's orientation, in memory, or in the
# file OUT, or, if DIM is NULL, the arrays that were kept.
# QUIET: what the message says of a C whose verification left out what needs none. NAMES: what the library's A and B are here.
call_library <- function(verb, x, y, of_rows, dim, is_complex, out, options, quiet = "as expected", names = c("y", "x")) {
  gpus <- gpus_of(options[["gpus"]])
  if (gpus == 0) options[["backend"]] <- "cpu"
  options[["gpus"]] <- NULL
  if (is.null(out) && !is.null(dim)) out <- new_matrix(dim, is_complex)
  answer <- .Call(C_product, verb, x[[1]], if (!is.null(y)) y[[1]], of_rows, out, options, gpus)
  if (answer$code == 0L && !nzchar(answer$warnings)) return(answer$value)
  if (is.null(y)) names <- c("x", "x")
  for (part in c("message", "hint", "warnings")) answer[[part]] <- in_terms_of(names, answer[[part]])
  if (!answer$code %in% c(0L, 10L)) fail(answer)
  if (answer$code == 10L && !grepl(quiet, answer$message, fixed = TRUE)) warn(answer$message)
  tell(answer$warnings)
  answer$value
}

# How many GPUs a context is opened with; 0: none.
gpus_of <- function(text) {
  if (is.null(text)) return(1L)
  if (text %in% c("none", "0", "no")) return(0L)
  if (!grepl("^[1-9][0-9]*$", text)) refuse(paste0("gpus is a number or \"none\", and not ", text), "CUDA_VISIBLE_DEVICES selects GPUs")
  as.integer(text)
}

# What C makes a matrix of DIM by, whose transpose the library sees.
new_matrix <- function(dim, is_complex) {
  if (any(dim > .Machine$integer.max)) {
    refuse(paste0("the result is ", paste(dim, collapse = " x "), ", and matrices of R have at most 2^31 - 1 rows and columns"),
           "output = \"C.h5\" writes it to a file")
  }
  list(as.integer(dim[[1]]), as.integer(dim[[2]]), is_complex, TRUE)
}

in_terms_of <- function(names, text) gsub("memory:B", names[[2]], gsub("memory:A", names[[1]], text, fixed = TRUE), fixed = TRUE)

# What the library says of files, but for what R's users expect: its orientation and NA.
tell <- function(text) {
  lines <- strsplit(text, "\n", fixed = TRUE)[[1]]
  for (line in lines[!grepl("in R they are|NA of R|as expected|are constant", lines)]) warn(in_r(line))
}

# The record of a file.
described <- function(location, options = list()) {
  answer <- .Call(C_info, enc2utf8(location), options)
  if (answer$code != 0) fail(answer)
  fromJSON(answer$value, simplifyVector = TRUE, simplifyDataFrame = FALSE)
}

check_output <- function(output) {
  if (!is.null(output) && !(is.character(output) && length(output) == 1 && !is.na(output))) refuse("output is no name of a file")
  if (is.null(output)) NULL else enc2utf8(path.expand(output))
}

# The file OUTPUT as a matrix of R, which has the dimensions and names of the result.
written <- function(output, dim, is_complex) {
  invisible(new("DamierMatrix", operand = list(data = NULL, location = output, dim = as.double(dim), dimnames = NULL,
                                               reversed = !is_npy(output), is_complex = is_complex, has_na = FALSE, options = list())))
}

# Files of NumPy are not reversed.
is_npy <- function(output) !is.null(output) && grepl("\\.npy$", output)
