# Principal components.

dm_prcomp <- function(x, rank. = NULL, retx = TRUE, center = TRUE, scale. = FALSE, tol = NULL, ...) {
  x <- operand_of(x, "x")
  if (x$is_complex) refuse("complex matrices have no components here")
  if (!is.null(tol)) refuse("tol is not taken", "rank. says how many components are computed")
  is_switch <- function(value) is.logical(value) && length(value) == 1 && !is.na(value)
  if (!is_switch(center) || !is_switch(scale.)) refuse("center and scale. are TRUE or FALSE")
  if (scale. && !center) refuse("scale. = TRUE needs center = TRUE")
  at_most <- max(1, if (center) min(x$dim[[1]] - 1, x$dim[[2]]) else min(x$dim))
  rank <- if (is.null(rank.)) at_most else min(rank., at_most)
  options <- of_files(list(x), texts(list(...)))
  if (!is.null(x$location) && is.null(list(...)$missing)) options[["missing"]] <- NULL  # components refuse what is missing
  options[["rank"]] <- number_of(rank)
  if (scale.) options[["scale"]] <- "yes"
  # As exact as prcomp where that is quick: passes may end before close components are told apart.
  if (is.null(options[["method"]]) && is.null(options[["memory"]]) && min(x$dim) <= 3000) options[["method"]] <- "gram"
  found <- call_library(if (center) "pca" else "svd", lines_of(x), NULL, rows_in_library(x, FALSE), NULL, FALSE, NULL, options,
                        quiet = "\n")
  rotation <- named(found$components, transposed(x), list(dimnames = list(NULL, paste0("PC", seq_len(rank)))))
  per_variable <- function(values) if (is.null(x$dimnames[[2]])) values else stats::setNames(values, x$dimnames[[2]])
  result <- list(sdev = if (center) sqrt(found$explained_variance) else found$singular_values / sqrt(max(1, x$dim[[1]] - 1)),
                 rotation = rotation, center = if (center) per_variable(found$mean) else FALSE,
                 scale = if (scale.) per_variable(found$scale) else FALSE)
  if (retx) result$x <- scores(x, result, options[setdiff(names(options), of_components)])
  structure(result, class = "prcomp")
}

# Options that products do not take.
of_components <- c("rank", "tolerance", "method", "passes", "oversampling", "seed", "scale", "weights", "weights-are", "divide")

# (X - center) / scale times the rotation: centered before it is multiplied.
scores <- function(x, found, options) {
  if (identical(options[["missing"]], "complete")) options[["missing"]] <- "nan"  # observations that were left out have no scores
  number <- function(values) structure(as.double(values), of_rows = x$reversed || is.null(x$location))
  if (is.numeric(found$center)) options[["center-b"]] <- number(found$center)
  if (is.numeric(found$scale)) options[["scale-b"]] <- number(found$scale)
  rotation <- operand_of(found$rotation, "rotation")
  a <- stated(rotation, TRUE)
  b <- stated(x, TRUE)
  if (b[[2]] == "t") options[["op-b"]] <- "t"
  value <- call_library("multiply", a, b, FALSE, c(x$dim[[1]], rotation$dim[[2]]), FALSE, NULL, options)
  if (anyNA(value)) value[is.na(value)] <- NA_real_
  named(value, x, rotation)
}

prcomp.DamierMatrix <- function(x, ...) dm_prcomp(x, ...)
