# Matrices in files, as rhdf5 and HDF5Array write and show them.
library(damier)
dm_choose_kernels()  # an OpenBLAS that does not know the processor would be warned of
if (!requireNamespace("HDF5Array", quietly = TRUE)) {
  cat("HDF5Array is not installed\n")
  quit()
}
suppressPackageStartupMessages(library(HDF5Array))
same <- function(found, wanted) stopifnot(isTRUE(all.equal(found, wanted)), identical(is.nan(found), is.nan(wanted)))
refused <- function(call, words) {
  found <- tryCatch(call, error = identity)
  stopifnot(inherits(found, "damier_error"), grepl(words, conditionMessage(found)))
}
options(warn = 2)
folder <- tempfile()
dir.create(folder)
at <- function(name) file.path(folder, name)

set.seed(3)
x <- matrix(rnorm(700), 70, 10, dimnames = list(NULL, letters[1:10]))
y <- matrix(rnorm(40), 10, 4)
plain <- unname(x)
hx <- writeHDF5Array(x, at("x.h5"), "x", chunkdim = c(20, 5), with.dimnames = TRUE)
hy <- writeHDF5Array(y, at("y.h5"), "y", level = 0)
fx <- dm_file(paste0(at("x.h5"), ":/x"))
fy <- dm_file(at("y.h5"))
stopifnot(identical(dim(fx), dim(x)), identical(dim(t(fx)), rev(dim(x))), nrow(fy) == 10)

# locations, files, HDF5Matrix and matrices in memory, in any mixture
named <- x %*% y
for (a in list(hx, x)) for (b in list(fy, hy, y, paste0(at("y.h5"), ":/y"))) same(dm_multiply(a, b), named)
same(fx %*% fy, plain %*% y)
same(fx %*% y, plain %*% y)
same(plain %*% fy, plain %*% y)
same(t(fy) %*% t(fx), t(plain %*% y))
same(crossprod(fx), crossprod(plain))
same(crossprod(fx, plain), crossprod(plain))
same(crossprod(fx, fx), crossprod(plain))
same(tcrossprod(fx, fx), tcrossprod(plain))
same(crossprod(plain[, 1:3], fx), crossprod(plain[, 1:3], plain))
same(tcrossprod(fx), tcrossprod(plain))
same(tcrossprod(fx, t(fy)), plain %*% y)
same(dm_crossprod(hx), crossprod(x))
same(dm_tcrossprod(t(hx)), crossprod(x))
same(1:70 %dm% hx, 1:70 %*% x)

# parts
same(crossprod(fx[5:30, ]), crossprod(plain[5:30, ]))
same(crossprod(fx[, c(7, 2, 3, 9)]), crossprod(plain[, c(7, 2, 3, 9)]))
same(fx[seq(1, 70, 3), -1] %*% y[-1, ], plain[seq(1, 70, 3), -1] %*% y[-1, ])
same(t(fx)[2:3, ] %*% plain, t(plain)[2:3, ] %*% plain)
same(dm_crossprod(hx[11:40, c(1, 4, 2)]), crossprod(x[11:40, c(1, 4, 2)]))
same(dm_crossprod(t(hx[11:40, ])), crossprod(t(x[11:40, ])))

# what the file alone does not say is refused
refused(dm_crossprod(hx * 2), "delayed operations.*writeHDF5Array")
refused(dm_crossprod(cbind(hx, hx)), "delayed operations")
same(dm_crossprod(DelayedArray(x)), crossprod(x))
same(dm_crossprod(t(DelayedArray(t(x)))), crossprod(x))

rhdf5::h5write(array(rnorm(24), 2:4), at("three.h5"), "x")
refused(dm_file(at("three.h5")), "2 x 3 x 4|4 x 3 x 2")
stopifnot(identical(dim(dm_file(paste0(at("three.h5"), ":/x[0]"))), 2:3))
coded <- dm_file(paste0(at("x.h5"), ":/x"), missing_value = -99)
same(suppressWarnings(crossprod(coded)), crossprod(plain))
refused(coded %*% fy, "options of dm_file differ")
same(suppressWarnings(coded %*% y), plain %*% y)

# NA of integers, logicals and doubles
integers <- matrix(c(1:5, NA, 7:12), 4)
hi <- writeHDF5Array(integers, at("i.h5"), "x")
same(dm_crossprod(hi), crossprod(integers))
same(hi %dm% t(hi), integers %*% t(integers))
same(dm_cov(hi, use = "complete"), cov(integers, use = "complete"))
logicals <- matrix(c(TRUE, NA, FALSE, TRUE), 2)
same(dm_crossprod(writeHDF5Array(logicals, at("l.h5"), "x")), crossprod(logicals))
numbers <- plain
numbers[3, 4] <- NA
hn <- writeHDF5Array(numbers, at("n.h5"), "x")
found <- dm_crossprod(hn)
stopifnot(identical(is.na(found), is.na(crossprod(numbers))), !any(is.nan(found)))
same(dm_cov(hn), cov(numbers))
same(dm_cor(hn, use = "pairwise"), cor(numbers, use = "pairwise"))

# statistics
same(dm_cov(hx), cov(x))
same(dm_cor(fx), cor(plain))
same(dm_cov(fx, plain[, 1:2]), cov(plain, plain[, 1:2]))
same(dm_cov(plain[, 1:2], fx), cov(plain[, 1:2], plain))
same(dm_cor(fx, hx[, 2:5]), cor(plain, x[, 2:5]))
wanted <- prcomp(x, rank. = 3, scale. = TRUE)
for (found in list(dm_prcomp(hx, rank. = 3, scale. = TRUE), dm_prcomp(x, rank. = 3, scale. = TRUE))) {
  same(found$sdev, wanted$sdev[1:3])
  same(abs(found$rotation), abs(wanted$rotation))
  same(abs(found$x), abs(wanted$x))
}
same(prcomp(fx, rank. = 2)$sdev, prcomp(plain)$sdev[1:2])

# results in files, as rhdf5 reads them
out <- dm_multiply(hx, hy, output = paste0(at("c.h5"), ":/c"))
same(rhdf5::h5read(at("c.h5"), "c"), plain %*% y)
same(out %*% t(y), plain %*% y %*% t(y))
dm_cov(fx, plain[, 1:2], output = paste0(at("v.h5"), ":/v"))
same(rhdf5::h5read(at("v.h5"), "v"), cov(plain, plain[, 1:2]))
dm_crossprod(fx, output = paste0(at("g.h5"), ":/g"), triangle = "lower")
lower <- crossprod(plain)
lower[upper.tri(lower)] <- 0
same(rhdf5::h5read(at("g.h5"), "g"), lower)
refused(dm_multiply(hx, hy, output = paste0(at("c.h5"), ":/c")), "force = TRUE")
dm_multiply(hx, hy, output = paste0(at("c.h5"), ":/c"), force = TRUE)

# a file that is not reversed: NumPy's, and one that is said not to be
npy <- dm_multiply(x, y, output = at("c.npy"))
same(npy %*% diag(4), plain %*% y)
stopifnot(identical(dim(dm_file(at("c.npy"))), c(70L, 4L)))
same(crossprod(dm_file(at("c.npy"))), crossprod(plain %*% y))
native <- dm_file(paste0(at("x.h5"), ":/x"), native = TRUE)
stopifnot(identical(dim(native), c(10L, 70L)))
same(native %*% fx, crossprod(plain))
same(native %*% plain, crossprod(plain))
same(tcrossprod(native), crossprod(plain))
same(dm_cov(native), cov(t(plain)))
same(abs(dm_prcomp(dm_file(at("c.npy")), rank. = 2)$x), abs(prcomp(plain %*% y, rank. = 2)$x))
print(native)

# read into memory: whole, parts, transposed, by rows, complex, and with NA
same(as.matrix(fx), plain)
same(as.matrix(t(fx)), t(plain))
same(as.matrix(fx[2:3, c(1, 4)]), plain[2:3, c(1, 4)])
same(as.matrix(fx[plain[, 1] > 0, ]), plain[plain[, 1] > 0, ])
same(as.matrix(fx[3, 2]), plain[3, 2, drop = FALSE])
same(as.matrix(native), t(plain))
same(as.matrix(dm_file(at("c.npy"))), plain %*% y)
dm_multiply(plain + 1i, diag(10) + 0i, output = paste0(at("z.h5"), ":/z"))
same(as.matrix(dm_file(at("z.h5"))), plain + 1i)
counts <- matrix(c(1L, NA, 3L, 4L, 5L, 6L), 2)
invisible(HDF5Array::writeHDF5Array(counts, at("i.h5"), "i"))
stopifnot(identical(as.matrix(dm_file(paste0(at("i.h5"), ":/i"))), counts + 0))
unlink(folder, recursive = TRUE)
