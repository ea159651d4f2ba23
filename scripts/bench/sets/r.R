# Answers each line "JOB WAY" by the seconds of that job; elements of files are normal numbers, stored as HDF5Array does by default.
suppressPackageStartupMessages({library(damier); library(HDF5Array)})
folder <- commandArgs(TRUE)[[1]]; rows <- as.integer(commandArgs(TRUE)[[2]]); columns <- as.integer(commandArgs(TRUE)[[3]])
set.seed(1)
on_disk <- function(m, n) writeHDF5Array(matrix(rnorm(m * n), m), tempfile("x", folder, ".h5"), "x")
x <- matrix(rnorm(256^2), 256); y <- matrix(rnorm(256^2), 256)
square <- matrix(rnorm(3000^2), 3000)
wide <- on_disk(rows, columns); narrow <- on_disk(rows, columns / 5)
thin <- matrix(rnorm(columns * 64), columns)
fifty <- function(call) for (i in 1:50) call()
jobs <- list(
  small = list(R = function() fifty(function() x %*% y), damier = function() fifty(function() x %dm% y)),
  memory = list(R = function() crossprod(square), damier = function() dm_crossprod(square)),
  thin = list(DelayedArray = function() wide %*% thin, damier = function() dm_multiply(wide, thin)),
  cor = list(DelayedArray = function() cor(as.matrix(narrow)), damier = function() dm_cor(narrow)),
  pca = list(DelayedArray = function() prcomp(as.matrix(narrow), rank. = 10), damier = function() dm_prcomp(narrow, rank. = 10)),
  crossprod = list(DelayedArray = function() crossprod(wide), damier = function() dm_crossprod(wide)))
said <- function(...) cat(jsonlite::toJSON(list(...), auto_unbox = TRUE, digits = 9), "\n", sep = "")
said(r = as.character(getRversion()), DelayedArray = as.character(packageVersion("DelayedArray")),
     HDF5Array = as.character(packageVersion("HDF5Array")), blas = basename(extSoftVersion()[["BLAS"]]))
input <- file("stdin", "r")
while (length(line <- readLines(input, 1)) == 1) {
  words <- strsplit(line, " ")[[1]]
  invisible(gc())
  took <- system.time(jobs[[words[[1]]]][[words[[2]]]](), gcFirst = FALSE)
  said(seconds = took[["elapsed"]], processor_s = took[["user.self"]] + took[["sys.self"]])
}
