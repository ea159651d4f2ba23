# Matrices of DelayedArray and HDF5Array: the file is read, not the object. What the file alone does not say is refused.

operand_of_delayed <- function(x, name) {
  if (!requireNamespace("DelayedArray", quietly = TRUE)) refuse(paste0(name, " needs the package DelayedArray"))
  operand <- of_seed(slot(x, "seed"), name)
  if (!identical(as.double(dim(x)), operand$dim)) {
    refuse(paste0(name, " is ", paste(dim(x), collapse = " x "), ", and its file ", paste(operand$dim, collapse = " x ")))
  }
  operand$dimnames <- dimnames(x)
  operand
}

of_seed <- function(seed, name) {
  if (is(seed, "DelayedSetDimnames")) return(of_seed(slot(seed, "seed"), name))
  if (is(seed, "DelayedAperm") && length(dim(seed)) == 2 && length(dim(slot(seed, "seed"))) == 2) {
    operand <- of_seed(slot(seed, "seed"), name)
    return(if (identical(as.integer(slot(seed, "perm")), 2:1)) transposed(operand) else operand)
  }
  if (is(seed, "DelayedSubset") && length(dim(seed)) == 2) {
    operand <- of_seed(slot(seed, "seed"), name)
    index <- slot(seed, "index")
    if (!is.null(operand$location)) return(part_of(operand, index[[1]], index[[2]]))
  }
  if (is(seed, "HDF5ArraySeed") && length(dim(seed)) == 2 && is.character(slot(seed, "filepath"))) {
    operand <- dm_file(paste0(slot(seed, "filepath"), ":", rooted(slot(seed, "name"))))@operand
    if (!identical(as.double(dim(seed)), operand$dim)) refuse(paste0(name, ": the file has changed, or is seen in another shape"))
    return(operand)
  }
  if (is.matrix(seed)) return(operand_of(seed, name))
  refuse(paste0(name, " has delayed operations, or a seed of class ", class(seed)[[1]], ", so that the file alone is not the matrix"),
         "HDF5Array::writeHDF5Array(x) writes it to a file, as.matrix(x) reads it into memory")
}

rooted <- function(name) if (startsWith(name, "/")) name else paste0("/", name)
