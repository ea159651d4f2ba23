# Products of matrices in memory, as R computes them.
library(damier)
same <- function(found, wanted) stopifnot(isTRUE(all.equal(found, wanted)), identical(dimnames(found), dimnames(wanted)),
                                          identical(is.nan(found), is.nan(wanted)))
refused <- function(call, kind, words) {
  found <- tryCatch(call, error = identity)
  stopifnot(inherits(found, "damier_error"), inherits(found, kind), grepl(words, conditionMessage(found)))
}

set.seed(1)
x <- matrix(rnorm(60), 6, 10, dimnames = list(letters[1:6], NULL))
y <- matrix(rnorm(30), 10, 3, dimnames = list(NULL, columns = LETTERS[1:3]))
same(x %dm% y, x %*% y)
same(dm_multiply(x, y, alpha = 2, threads = 1), 2 * x %*% y)
stopifnot(dm_record()$verb == "multiply", dm_record()$verification$verdict == "PASS")
same(dm_crossprod(x), crossprod(x))
same(dm_tcrossprod(x), tcrossprod(x))
same(dm_crossprod(t(x), y), crossprod(t(x), y))
same(dm_tcrossprod(x, t(y)), tcrossprod(x, t(y)))
stopifnot(isSymmetric(dm_crossprod(x), tol = 0))
for (shape in list(c(1, 1, 1), c(1, 7, 1), c(7, 1, 7), c(1, 1, 9), c(5, 0, 4), c(0, 3, 2), c(300, 257, 3))) {
  a <- matrix(rnorm(shape[1] * shape[2]), shape[1])
  dim(a) <- shape[1:2]
  b <- matrix(rnorm(shape[2] * shape[3]), shape[2], shape[3])
  same(a %dm% b, a %*% b)
  same(dm_crossprod(a), crossprod(a))
  same(dm_tcrossprod(a), tcrossprod(a))
}

# vectors, integers, logicals, complex numbers, data frames
same(1:10 %dm% y, 1:10 %*% y)
same(x %dm% 1:10, x %*% 1:10)
same(1:3 %dm% 1:3, 1:3 %*% 1:3)
same(2 %dm% 1:3, 2 %*% 1:3)
same(dm_crossprod(1:3), crossprod(1:3))
z <- matrix(complex(real = rnorm(6), imaginary = rnorm(6)), 2)
same(dm_crossprod(z), crossprod(z))
same(dm_tcrossprod(z), tcrossprod(z))
same(z %dm% matrix(1:6, 3), z %*% matrix(1:6, 3))
same(dm_multiply(z, t(z), alpha = 2 - 1i), (2 - 1i) * z %*% t(z))
same(as.data.frame(y)[1:3, ] %dm% y[1:3, ], as.matrix(as.data.frame(y)[1:3, ]) %*% y[1:3, ])

# NA is kept and is not NaN
integers <- matrix(c(1:5, NA), 2)
logicals <- matrix(c(TRUE, NA, FALSE, TRUE), 2)
same(dm_crossprod(integers), crossprod(integers))
same(logicals %dm% logicals, logicals %*% logicals)
numbers <- matrix(rnorm(300 * 40), 300)
numbers[5, 7] <- NA
numbers[9, 9] <- NaN
found <- numbers %dm% t(numbers)
stopifnot(all(is.na(found[5, ])), !any(is.nan(found[5, ])), is.nan(found[9, 1]), !anyNA(found[-c(5, 9), -c(5, 9)]))
stopifnot(identical(is.na(dm_crossprod(numbers)), is.na(crossprod(numbers))))

# an OpenBLAS that does not know the processor has newer kernels when the user says so
Sys.unsetenv("OPENBLAS_CORETYPE")
files <- paste0(tempfile(), c(".npy", "2.npy"))
stopifnot(is.null(dm_choose_kernels()), identical(Sys.getenv("OPENBLAS_CORETYPE"), ""))
dm_multiply(diag(600), diag(600), output = files[[1]])
kernels <- NULL
withCallingHandlers(dm_multiply(files[[1]], files[[1]], output = files[[2]]),
                    damier_warning = function(w) kernels <<- conditionMessage(w))
stopifnot(is.null(kernels))
same(dm_multiply(files[[2]], diag(600)), diag(600))

# errors are conditions
refused(x %dm% x, "damier_usage", "non-conformable")
refused(dm_multiply(x, y, threads = "many"), "damier_usage", "threads.*hint")
refused(dm_multiply(x, y, op_a = "t"), "damier_usage", "op_a is not taken")
refused(dm_multiply(x, y, gpus = 99), "damier_error", "GPU")
refused(dm_multiply(x, y, gpus = "all"), "damier_usage", "number")
same(dm_multiply(x, y, gpus = "none"), x %*% y)
refused("none.h5" %dm% y, "damier_io", "none.h5")
refused(matrix("a") %dm% y, "damier_usage", "numeric")
refused(list(1) %dm% y, "damier_usage", "numeric")
refused(dm_multiply(x, y, memory = "1KiB"), "damier_fit", "hint")
stopifnot(inherits(tryCatch(dm_multiply(x, y, memory = "1KiB"), damier_fit = identity), "damier_fit"))

# a forked process opens a context of its own
if (.Platform$OS.type == "unix") same(parallel::mclapply(1:2, function(i) x %dm% y, mc.cores = 2)[[2]], x %*% y)

# an interrupt is R's own, and the next call works
if (.Platform$OS.type == "unix") {
  found <- tryCatch({
    tools::pskill(Sys.getpid(), tools::SIGINT)
    for (i in 1:10000) x %dm% y
  }, interrupt = function(condition) "interrupted")
  stopifnot(identical(found, "interrupted"))
  same(x %dm% y, x %*% y)
}
