# Covariances, correlations and principal components; columns are variables.

dm_cov <- function(x, y = NULL, use = "everything", output = NULL, ...) statistics("cov", x, y, use, output, list(...))

dm_cor <- function(x, y = NULL, use = "everything", output = NULL, ...) statistics("cor", x, y, use, output, list(...))

# The library's word for each.
missing_of <- c(all.obs = "refuse", complete.obs = "complete", pairwise.complete.obs = "pairwise", everything = "nan",
                na.or.complete = "complete")

statistics <- function(verb, x, y, use, output, options) {
  use <- names(missing_of)[pmatch(use, names(missing_of))]
  if (is.na(use)) refuse("invalid 'use' argument", paste0("one of ", paste0("\"", names(missing_of), "\"", collapse = ", ")))
  operands <- c(list(operand_of(column(x), "x")), if (!is.null(y)) list(operand_of(column(y), "y")))
  if (any(vapply(operands, function(o) o$is_complex, NA))) refuse(paste0(verb, " takes no complex matrices in R"))
  x <- operands[[1]]
  y <- if (is.null(y)) x else operands[[2]]
  if (x$dim[[1]] != y$dim[[1]]) refuse(paste0("incompatible dimensions: x has ", x$dim[[1]], " observations, y ", y$dim[[1]]))
  if (any(c(x$dim, y$dim) == 0)) refuse("x is empty")
  output <- check_output(output)
  options <- of_files(operands, texts(options))
  if (is.null(options[["missing"]]) || identical(options[["missing"]], "nan")) options[["missing"]] <- missing_of[[use]]
  dim <- c(x$dim[[2]], y$dim[[2]])
  found <- tryCatch(covariances(verb, operands, dim, output, for_output(options, output)), damier_input = identity)
  if (is(found, "condition")) found <- without_observations(found, use, dim)
  if (!is.null(output)) return(written(output, dim, FALSE))
  named(as_in_r(found, verb, x, y, length(operands) == 1, use), transposed(x), y)
}

# NA, if the library refused a matrix whose covariances are NA in R; else its error again.
without_observations <- function(refusal, use, dim) {
  message <- sub("\n  hint: .*", "", conditionMessage(refusal))
  none <- use == "na.or.complete" && grepl("complete", message, fixed = TRUE)
  if (none || grepl("1 term cannot be divided by n-1", message, fixed = TRUE)) return(matrix(NA_real_, dim[[1]], dim[[2]]))
  refuse(message, if (use == "all.obs") "use = \"complete.obs\" leaves out rows with missing values" else refusal$hint, "input", 3L)
}

# C = cov(X, Y) is stored by columns: the library's cov(Y, X) by rows.
covariances <- function(verb, operands, dim, output, options) {
  x <- operands[[1]]
  if (length(operands) == 1) {
    return(call_library(verb, lines_of(x), NULL, rows_in_library(x, FALSE), dim, FALSE, output, options))
  }
  y <- operands[[2]]
  by_rows <- rows_in_library(x, FALSE)
  if (by_rows != rows_in_library(y, FALSE)) {  # a file and a matrix in memory, which can be seen either way
    if (is.null(x$location)) x$flipped <- !isTRUE(x$flipped)
    else if (is.null(y$location)) y$flipped <- !isTRUE(y$flipped)
    else refuse("one file has its observations in rows, the other in columns", "dm_file(location, native = ) and t() state the orientation")
    by_rows <- if (is.null(x$location)) rows_in_library(y, FALSE) else rows_in_library(x, FALSE)
  }
  names <- if (is_npy(output)) c("x", "y") else c("y", "x")
  both <- list(x = x, y = y)[names]
  call_library(verb, lines_of(both[[1]]), lines_of(both[[2]]), by_rows, dim, FALSE, output, options, names = names)
}

# NaN is NA, a column correlates with itself by 1, and a constant one is warned of, as in R.
as_in_r <- function(value, verb, x, y, is_one, use) {
  if (!anyNA(value)) return(value)
  value[is.na(value)] <- NA_real_
  if (verb == "cov") return(value)
  if (is.null(x$data) || is.null(y$data)) {
    warn("columns that are constant, or have missing values, correlate by NA")
  } else if (any(is.na(value) & have_values(data_of(x), data_of(y), use))) {
    warn("the standard deviation is zero")
  }
  if (is_one && use != "pairwise.complete.obs") diag(value) <- 1
  value
}

# Whether missing values are no reason for a pair of columns to be NA.
have_values <- function(x, y, use) {
  if (use == "everything") return(outer(colSums(is.na(x)) == 0, colSums(is.na(y)) == 0))
  use != "pairwise.complete.obs" | crossprod(!is.na(x), !is.na(y)) >= 2
}

data_of <- function(operand) if (isTRUE(operand$flipped)) t(operand$data) else operand$data
