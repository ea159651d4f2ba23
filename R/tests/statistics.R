# Covariances, correlations and principal components, as R computes them.
library(damier)
dm_choose_kernels()  # an OpenBLAS that does not know the processor would be warned of
same <- function(found, wanted) stopifnot(isTRUE(all.equal(found, wanted)))
warned <- function(call) {
  words <- NULL
  value <- withCallingHandlers(call, warning = function(w) { words <<- c(words, conditionMessage(w)); invokeRestart("muffleWarning") })
  list(value, words)
}

set.seed(2)
x <- matrix(rnorm(60), 10, 6, dimnames = list(NULL, letters[1:6]))
y <- matrix(rnorm(30), 10, 3, dimnames = list(NULL, LETTERS[1:3]))
same(dm_cov(y), cov(y))
same(dm_cor(y), cor(y))
same(dm_cov(x, y), cov(x, y))
same(dm_cor(x, y), cor(x, y))
same(dm_cov(y, divide = "n"), cov(y) * 0.9)
same(dm_cov(y, weights = 1:10 / 55), cov.wt(y, 1:10 / 55)$cov)
same(dm_cov(matrix(1:20, 10)), cov(matrix(1:20, 10)))
holes <- y
holes[2, 2] <- NA
for (use in c("everything", "complete.obs", "pairwise.complete.obs", "na.or.complete")) {
  same(dm_cov(holes, use = use), cov(holes, use = use))
  same(dm_cor(holes, use = use), cor(holes, use = use))
  same(dm_cor(holes, x, use = use), cor(holes, x, use = use))
}
stopifnot(inherits(tryCatch(dm_cov(holes, use = "all.obs"), error = identity), "damier_input"))
same(dm_cov(holes * NA, use = "na.or.complete"), cov(holes * NA, use = "na.or.complete"))
same(dm_cov(y[1, , drop = FALSE]), cov(y[1, , drop = FALSE]))

# a constant column: NA, a warning, and 1 on the diagonal but with pairwise
constant <- cbind(y, D = 3)
for (use in c("everything", "complete.obs", "pairwise.complete.obs")) {
  wanted <- warned(cor(constant, use = use))
  stopifnot(identical(warned(dm_cor(constant, use = use))[[2]], wanted[[2]]))
  same(warned(dm_cor(constant, use = use))[[1]], wanted[[1]])
}
both <- cbind(holes, D = 3)
same(warned(dm_cor(both))[[1]], warned(cor(both))[[1]])
stopifnot(is.null(warned(dm_cor(holes))[[2]]))

# components; their signs are those of the largest entry
for (scaled in c(FALSE, TRUE)) {
  found <- dm_prcomp(y, scale. = scaled)
  wanted <- prcomp(y, scale. = scaled)
  same(found$sdev, wanted$sdev)
  same(abs(found$rotation), abs(wanted$rotation))
  same(abs(found$x), abs(wanted$x))
  same(found[c("center", "scale")], wanted[c("center", "scale")])
  same(predict(found, y), found$x)
}
found <- dm_prcomp(y, center = FALSE, rank. = 2)
wanted <- prcomp(y, center = FALSE, rank. = 2)
same(found$sdev, wanted$sdev[1:2])
same(abs(found$x), abs(wanted$x))
stopifnot(is.null(dm_prcomp(y, retx = FALSE)$x), inherits(found, "prcomp"))
stopifnot(inherits(tryCatch(dm_prcomp(holes), error = identity), "damier_input"))
found <- dm_prcomp(holes, missing = "complete")
wanted <- prcomp(holes[-2, ])
same(found$sdev, wanted$sdev)
same(abs(found$x[-2, ]), abs(wanted$x))
stopifnot(all(is.na(found$x[2, ])), !any(is.nan(found$x)))
filled <- holes
filled[2, 2] <- mean(holes[, 2], na.rm = TRUE)
same(abs(dm_prcomp(holes, missing = "mean", scale. = TRUE)$x), abs(prcomp(filled, scale. = TRUE)$x))
