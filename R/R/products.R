# Products of two matrices, and of a matrix with itself.

dm_multiply <- function(x, y, output = NULL, ...) {
  if (is_plain(x) && is_plain(y) && ncol(x) == nrow(y) && is.null(output) && ...length() == 0) return(plain_product(x, y))
  shapes <- promoted(x, y)
  product_of(operand_of(shapes[[1]], "x"), operand_of(shapes[[2]], "y"), output, list(...))
}

`%dm%` <- function(x, y) dm_multiply(x, y)

dm_crossprod <- function(x, y = NULL, output = NULL, ...) {
  x <- operand_of(column(x), "x")
  if (is.null(y)) return(with_itself(x, FALSE, output, list(...)))
  product_of(transposed(x), operand_of(column(y), "y"), output, list(...))
}

dm_tcrossprod <- function(x, y = NULL, output = NULL, ...) {
  x <- operand_of(column(x), "x")
  if (is.null(y)) return(with_itself(x, TRUE, output, list(...)))
  product_of(x, transposed(operand_of(column(y), "y")), output, list(...))
}

# What needs no operand: of small matrices the calls of R would take as long as the product.
is_plain <- function(x) is.double(x) && is.matrix(x) && !is.object(x) && length(x) > 0

plain_product <- function(x, y) {
  value <- call_library("multiply", list(list(y, TRUE)), list(list(x, TRUE)), FALSE, c(nrow(x), ncol(y)), FALSE, NULL, list())
  if (!anyNA(value) && is.null(dimnames(x)) && is.null(dimnames(y))) return(value)
  x <- operand_of(x, "x")
  y <- operand_of(y, "y")
  named(with_na(value, x, y), x, y)
}

is_vector <- function(x) is.null(dim(x)) && is.atomic(x) && !is.character(x)

column <- function(x) if (is_vector(x)) matrix(x) else x

# Vectors as %*% takes them: a row or a column, whichever fits.
promoted <- function(x, y) {
  if (is_vector(x) && is_vector(y)) return(list(matrix(x, 1), if (length(x) == 1) matrix(y, 1) else matrix(y)))
  if (is_vector(x)) {
    rows <- if (is.character(y)) dim(dm_file(y))[[1]] else dim(y)[[1]]
    x <- if (length(x) == rows) matrix(x, 1) else matrix(x)
  } else if (is_vector(y)) {
    columns <- if (is.character(x)) dim(dm_file(x))[[2]] else dim(x)[[2]]
    y <- if (length(y) == columns) matrix(y) else matrix(y, 1)
  }
  list(x, y)
}

# X Y, as the library's Y' X' = (X Y)': R's matrices by columns are the library's by rows.
product_of <- function(x, y, output, options) {
  if (x$dim[[2]] != y$dim[[1]]) {
    refuse(paste0("non-conformable: the first matrix is ", paste(x$dim, collapse = " x "), ", the second ", paste(y$dim, collapse = " x ")))
  }
  both <- alike(list(x, y))
  dim <- c(x$dim[[1]], y$dim[[2]])
  output <- check_output(output)
  if (is.null(output) && (any(dim == 0) || x$dim[[2]] == 0)) {
    return(named(matrix(if (both[[1]]$is_complex) 0i else 0, dim[[1]], dim[[2]]), x, y))
  }
  options <- of_files(both, texts(options))
  a <- stated(both[[2]], TRUE)
  b <- stated(both[[1]], TRUE)
  swapped <- is_npy(output)
  if (swapped) {
    a <- stated(both[[1]], FALSE)
    b <- stated(both[[2]], FALSE)
  }
  if (a[[2]] == "t") options[["op-a"]] <- "t"
  if (b[[2]] == "t") options[["op-b"]] <- "t"
  value <- call_library("multiply", a, b, FALSE, dim, both[[1]]$is_complex, output, options,
                        names = if (swapped) c("x", "y") else c("y", "x"))
  if (!is.null(output)) return(written(output, dim, both[[1]]$is_complex))
  named(with_na(value, x, y), x, y)
}

# X' X, or X X' if OF_ROWS.
with_itself <- function(x, of_rows, output, options) {
  rows <- if (of_rows) x else transposed(x)
  if (x$is_complex || any(x$dim == 0)) return(product_of(rows, transposed(rows), output, options))  # no conjugates in R
  output <- check_output(output)
  options <- of_files(list(x), texts(options))
  n <- rows$dim[[1]]
  value <- call_library("gram", lines_of(x), NULL, rows_in_library(x, of_rows), c(n, n), FALSE, output,
                        for_output(options, output))
  if (!is.null(output)) return(written(output, c(n, n), FALSE))
  named(with_na(value, rows, transposed(rows)), rows, transposed(rows))
}

# How functions of one matrix see X: files as they are, matrices in memory as R has them.
lines_of <- function(x) {
  if (!is.null(x$location)) return(list(x$location, "n"))
  list(list(x$data, isTRUE(x$flipped)), "n")
}

# Whether they are to take rows for OF_ROWS of X.
rows_in_library <- function(x, of_rows) if (is.null(x$location)) of_rows else of_rows != x$reversed

# The triangle of a symmetric C is the other one in a file of HDF5.
for_output <- function(options, output) {
  if (!is.null(output) && !is_npy(output) && !is.null(options[["triangle"]])) {
    options[["triangle"]] <- switch(options[["triangle"]], lower = "upper", upper = "lower", options[["triangle"]])
  }
  options
}
