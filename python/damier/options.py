"""Options of the functions as typed keywords: ``**options: Unpack[damier.options.MultiplyOptions]``.

Made by tests/documents/python_keywords.c from the table of the program; do not edit."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypedDict, Union

import numpy as np

# A name of damier or NumPy, or what NumPy takes as a dtype.
TypeName = Union[Literal["f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i32", "i64", "float64", "float32", "float16", "bfloat16",
                         "complex64", "complex128", "int8", "int32", "int64", "double", "single", "half", "f8", "f4", "f2", "c16", "c8"],
                 "np.dtype[Any]", "type[np.generic]", "type[float]", "type[complex]"]


class ProductOptions(TypedDict, total=False):
    """Of matmul, multiply, gram, cov and cor."""

    gpus: int | None
    """GPUs of this process, for arrays in host memory and files."""
    if_needed: bool | None
    """do nothing if the output is the complete result of the same inputs, options and version; else replace it as force does."""
    force: bool | None
    """replace an existing output if it holds only that dataset."""
    append: bool | None
    """add C to an existing file as a new dataset, or with force in place of one; the file may hold A and B, and is copied."""
    chunk: str | Sequence[int] | None
    """store the output in chunks of R rows and C columns."""
    deflate: SupportsIndex | None
    """compression level; without chunk, chunks of about 1 MiB are used."""
    zstd: SupportsIndex | None
    """the same with zstd, which readers need as a plug-in."""
    shuffle: bool | None
    """apply HDF5's shuffle filter before compression."""
    weights: Any | None
    """weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too."""
    weights_are: Literal["reliability", "frequency"] | None
    """how divide counts weighted terms: as numpy.cov with aweights, or with fweights."""
    top: SupportsIndex | None
    """store only the K largest elements of each row, and where they are."""
    above: SupportsFloat | None
    """store only the elements above T, as a sparse matrix (CSR, as scipy and anndata read it)."""
    below: SupportsFloat | None
    """store only the elements below T."""
    reduce: str | None
    """store only a number for each row of C; several are separated by commas."""
    each: Literal["row", "column"] | None
    """reduce each row of C, or each column."""
    by: Literal["value", "abs", "smallest"] | None
    """compare elements, their magnitudes, or take the smallest first, as for distances without it."""
    max_elements: SupportsIndex | None
    """end with an error if more than N elements are beyond the threshold."""
    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    complex_axis_a: Literal["auto", "last", "first", "none"] | None
    """the same for A, or X, alone."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    alpha: complex | SupportsFloat | None
    """factor of the product."""
    type: TypeName | None
    """element type; inputs of another type are converted first."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    allow_rounding: bool | None
    """allow type to round integers that it cannot hold exactly."""
    strict_types: bool | None
    """refuse A and B of different types, and integers other than i8, instead of converting them to the narrowest type that holds both."""
    type_c: TypeName | None
    """element type of the result."""
    compute: str | None
    """precision of the products; auto never goes below that of the inputs; f64:int8 and f32:int8 compute products of f64 or f32 from int8 products, with the same bits of C on any number of ranks and any grid; a suffix, as in f64:int8:14, sets their number, by default chosen from the data; f32:f16 computes products of f32 from three f16 products; fastest selects one of these on GPUs where it is faster and not less accurate."""
    accumulate: Literal["auto", "f32", "fast"] | None
    """how GPUs sum products of f16 and bf16, which their units cut off toward zero; f32: in short pieces of k, whose sums are added in f32, with a mean error of at most 1e-5 for numbers of one sign at any k; fast: as the units do, about 6e-9 k too small; auto: f32 for gram, cov and cor, else fast."""
    machine: str | None
    """rates for the planner, as for plan, or @FILE from 'damier bench rates'; words that are not rates have no effect."""
    grid: str | Sequence[int] | None
    """process grid; surplus ranks stay idle."""
    panel: str | int | Sequence[int] | None
    """width of the panels of k, a multiple of 64, after up to two narrower ramp-up panels."""
    backend: Literal["auto", "cpu", "cuda"] | None
    """where products are computed; auto: on GPUs if every rank sees one, except for small products that the CPU finishes before a GPU has started."""
    kernel: str | None
    """kernel of the backend; 'damier info' lists them."""
    transport: Literal["auto", "self", "host", "shared", "ipc", "nccl", "ipc+nccl"] | None
    """how panels travel between ranks; each is tested before it is used."""
    threads: SupportsIndex | None
    """threads per rank for the CPU product."""
    io_threads: SupportsIndex | None
    """threads per rank that read, unpack and pack files; 0: no such threads."""
    write_by: Literal["pwrite", "mapped", "auto"] | None
    """how C is written; mapped: by mmap; auto: mapped on a tmpfs with 4 or more writing threads, else pwrite."""
    memory: str | int | Mapping[str, str | int] | None
    """memory that one rank may use; SIZE alone is the host's."""
    reproducible: bool | None
    """compute the same bits of C on any number of ranks and any grid."""
    verify: bool | None
    """check C with a random vector."""
    verify_seed: SupportsIndex | None
    """seed of the check's random vector, to repeat a check: the report states it."""
    verify_files: bool | None
    """read A, B and C again to check C, so that errors of reading are found, too."""
    verify_written: Literal["auto", "always", "never"] | None
    """read C again before it gets its name and compare the checksums of its tiles; auto: if that takes at most 1 % of the run's time."""
    protect: bool | None
    """take checksums of A and B in memory, and of the tiles of C; no_protect also turns checkpoints off, but not verify."""
    on_corruption: Literal["repair", "stop", "warn"] | None
    """what to do if C fails its check: compute the wrong tiles again, and exit with 7 if they are wrong again; stop with 1; or warn, publish C and exit with 10."""
    allow_unchecked: bool | None
    """exit with 0 instead of 10 when only part of C can be verified, or components did not converge."""
    overlap: bool | None
    """move the next panels while the current one is multiplied."""
    require_gpu_per_rank: bool | None
    """refuse to let ranks share a GPU."""
    checkpoint: bool | None
    """record finished tiles of C, or how far the search for components is, so that an interrupted run can resume."""
    checkpoint_interval: str | float | None
    """how often finished tiles, or searches, are synced and recorded; 0: each one when it is written."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""


class MultiplyOptions(ProductOptions, total=False):
    """Of matmul and multiply."""

    op_a: Literal["n", "t", "c"] | None
    """use A as it is, transposed, or conjugate transposed."""
    op_b: Literal["n", "t", "c"] | None
    """the same for B."""
    center_a: Any | None
    """subtract from the columns, or rows, of A in its file their mean; or the numbers in a file: [rows:]V.h5[:/ds]."""
    center_b: Any | None
    """the same for B."""
    scale_a: Any | None
    """divide the columns, or rows, of A in its file by their standard deviation; or by the numbers in a file."""
    scale_b: Any | None
    """the same for B."""
    metric: str | None
    """C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless type_c says otherwise."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""
    row_axes_b: SupportsIndex | None
    """the same for B."""
    shape_b: str | Sequence[int] | None
    """the same for B."""
    packed_b: Literal["lower", "upper"] | None
    """the same for B."""
    complex_axis_b: Literal["auto", "last", "first", "none"] | None
    """the same for B alone."""
    beta: complex | SupportsFloat | None
    """factor of the old C (see c); 0 does not read it."""


class GramOptions(ProductOptions, total=False):
    """Of gram."""

    center: bool | None
    """subtract from these columns, or rows, their mean."""
    scale: bool | None
    """divide these columns, or rows, by their standard deviation."""
    metric: str | None
    """C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless type_c says otherwise."""
    grm: bool | None
    """of genotypes (G.bed): the genomic relationship of samples, standardised by allele frequency; each pair is divided by the variants known in both, or with missing mean by all; C_counts.h5 has these counts."""
    nonfounders: bool | None
    """grm: allele frequencies of all samples, not only of those without parents in G.fam."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""
    triangle: Literal["both", "lower", "upper"] | None
    """elements of C that are stored, besides the diagonal; the others are 0."""
    no_self: bool | None
    """leave out the diagonal of C, what a line has in common with itself."""
    beta: complex | SupportsFloat | None
    """factor of the old C (see c); 0 does not read it."""


class CorOptions(ProductOptions, total=False):
    """Of cor."""

    triangle: Literal["both", "lower", "upper"] | None
    """elements of C that are stored, besides the diagonal; the others are 0."""
    no_self: bool | None
    """leave out the diagonal of C, what a line has in common with itself."""
    row_axes_b: SupportsIndex | None
    """the same for B."""
    shape_b: str | Sequence[int] | None
    """the same for B."""
    packed_b: Literal["lower", "upper"] | None
    """the same for B."""


class CovOptions(CorOptions, total=False):
    """Of cov."""



class SvdOptions(TypedDict, total=False):
    """Of svd."""

    gpus: int | None
    """GPUs of this process, for arrays in host memory and files."""
    if_needed: bool | None
    """do nothing if the output is the complete result of the same inputs, options and version; else replace it as force does."""
    force: bool | None
    """replace an existing output if it holds only that dataset."""
    method: Literal["auto", "gram", "passes"] | None
    """gram: eigenvectors of X^H X or X X^H, confirmed by a pass over X, passes: random vectors that passes over X improve; auto: what is predicted to be faster."""
    tolerance: SupportsFloat | None
    """largest residual of a component, as a part of the largest singular value."""
    passes: SupportsIndex | None
    """passes over X that improve the components, at most."""
    oversampling: SupportsIndex | None
    """vectors of a pass beyond K, with method passes."""
    seed: SupportsIndex | None
    """seed of the random vectors."""
    weights: Any | None
    """weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too."""
    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    type: TypeName | None
    """element type; inputs of another type are converted first."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    machine: str | None
    """rates for the planner, as for plan, or @FILE from 'damier bench rates'; words that are not rates have no effect."""
    panel: str | int | Sequence[int] | None
    """width of the panels of k, a multiple of 64, after up to two narrower ramp-up panels."""
    backend: Literal["auto", "cpu", "cuda"] | None
    """where products are computed; auto: on GPUs if every rank sees one, except for small products that the CPU finishes before a GPU has started."""
    kernel: str | None
    """kernel of the backend; 'damier info' lists them."""
    transport: Literal["auto", "self", "host", "shared", "ipc", "nccl", "ipc+nccl"] | None
    """how panels travel between ranks; each is tested before it is used."""
    threads: SupportsIndex | None
    """threads per rank for the CPU product."""
    io_threads: SupportsIndex | None
    """threads per rank that read, unpack and pack files; 0: no such threads."""
    memory: str | int | Mapping[str, str | int] | None
    """memory that one rank may use; SIZE alone is the host's."""
    reproducible: bool | None
    """compute the same bits of C on any number of ranks and any grid."""
    verify: bool | None
    """check C with a random vector."""
    verify_seed: SupportsIndex | None
    """seed of the check's random vector, to repeat a check: the report states it."""
    allow_unchecked: bool | None
    """exit with 0 instead of 10 when only part of C can be verified, or components did not converge."""
    overlap: bool | None
    """move the next panels while the current one is multiplied."""
    require_gpu_per_rank: bool | None
    """refuse to let ranks share a GPU."""
    checkpoint: bool | None
    """record finished tiles of C, or how far the search for components is, so that an interrupted run can resume."""
    checkpoint_interval: str | float | None
    """how often finished tiles, or searches, are synced and recorded; 0: each one when it is written."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""


class PcaOptions(SvdOptions, total=False):
    """Of pca."""

    scale: bool | None
    """divide these columns, or rows, by their standard deviation."""
    weights_are: Literal["reliability", "frequency"] | None
    """how divide counts weighted terms: as numpy.cov with aweights, or with fweights."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""


class VerifyOptions(TypedDict, total=False):
    """Of verify."""

    tolerance: SupportsFloat | None
    """largest residual of a component, as a part of the largest singular value."""
    op_a: Literal["n", "t", "c"] | None
    """use A as it is, transposed, or conjugate transposed."""
    op_b: Literal["n", "t", "c"] | None
    """the same for B."""
    center_a: Any | None
    """subtract from the columns, or rows, of A in its file their mean; or the numbers in a file: [rows:]V.h5[:/ds]."""
    center_b: Any | None
    """the same for B."""
    scale_a: Any | None
    """divide the columns, or rows, of A in its file by their standard deviation; or by the numbers in a file."""
    scale_b: Any | None
    """the same for B."""
    metric: str | None
    """C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless type_c says otherwise."""
    grm: bool | None
    """of genotypes (G.bed): the genomic relationship of samples, standardised by allele frequency; each pair is divided by the variants known in both, or with missing mean by all; C_counts.h5 has these counts."""
    nonfounders: bool | None
    """grm: allele frequencies of all samples, not only of those without parents in G.fam."""
    weights: Any | None
    """weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too."""
    weights_are: Literal["reliability", "frequency"] | None
    """how divide counts weighted terms: as numpy.cov with aweights, or with fweights."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""
    triangle: Literal["both", "lower", "upper"] | None
    """elements of C that are stored, besides the diagonal; the others are 0."""
    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    row_axes_b: SupportsIndex | None
    """the same for B."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    shape_b: str | Sequence[int] | None
    """the same for B."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    packed_b: Literal["lower", "upper"] | None
    """the same for B."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    complex_axis_a: Literal["auto", "last", "first", "none"] | None
    """the same for A, or X, alone."""
    complex_axis_b: Literal["auto", "last", "first", "none"] | None
    """the same for B alone."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    alpha: complex | SupportsFloat | None
    """factor of the product."""
    beta: complex | SupportsFloat | None
    """factor of the old C (see c); 0 does not read it."""
    type: TypeName | None
    """element type; inputs of another type are converted first."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    strict_types: bool | None
    """refuse A and B of different types, and integers other than i8, instead of converting them to the narrowest type that holds both."""
    compute: str | None
    """precision of the products; auto never goes below that of the inputs; f64:int8 and f32:int8 compute products of f64 or f32 from int8 products, with the same bits of C on any number of ranks and any grid; a suffix, as in f64:int8:14, sets their number, by default chosen from the data; f32:f16 computes products of f32 from three f16 products; fastest selects one of these on GPUs where it is faster and not less accurate."""
    full: bool | None
    """recompute in higher precision and compare every element."""
    io_threads: SupportsIndex | None
    """threads per rank that read, unpack and pack files; 0: no such threads."""
    verify_seed: SupportsIndex | None
    """seed of the check's random vector, to repeat a check: the report states it."""
    allow_unchecked: bool | None
    """exit with 0 instead of 10 when only part of C can be verified, or components did not converge."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""


class InfoOptions(TypedDict, total=False):
    """Of info."""

    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""


class PlanOptions(TypedDict, total=False):
    """Of plan."""

    gpus: str | int | None
    """GPUs of a computer to plan for; a number, a list of indices, or none."""
    if_needed: bool | None
    """do nothing if the output is the complete result of the same inputs, options and version; else replace it as force does."""
    force: bool | None
    """replace an existing output if it holds only that dataset."""
    append: bool | None
    """add C to an existing file as a new dataset, or with force in place of one; the file may hold A and B, and is copied."""
    chunk: str | Sequence[int] | None
    """store the output in chunks of R rows and C columns."""
    deflate: SupportsIndex | None
    """compression level; without chunk, chunks of about 1 MiB are used."""
    zstd: SupportsIndex | None
    """the same with zstd, which readers need as a plug-in."""
    shuffle: bool | None
    """apply HDF5's shuffle filter before compression."""
    m: SupportsIndex | None
    """rows of op(A) and C."""
    n: SupportsIndex | None
    """columns of op(B) and C."""
    k: SupportsIndex | None
    """columns of op(A), rows of op(B)."""
    size: SupportsIndex | None
    """all dimensions that are not given."""
    method: Literal["auto", "gram", "passes"] | None
    """gram: eigenvectors of X^H X or X X^H, confirmed by a pass over X, passes: random vectors that passes over X improve; auto: what is predicted to be faster."""
    tolerance: SupportsFloat | None
    """largest residual of a component, as a part of the largest singular value."""
    passes: SupportsIndex | None
    """passes over X that improve the components, at most."""
    oversampling: SupportsIndex | None
    """vectors of a pass beyond K, with method passes."""
    op_a: Literal["n", "t", "c"] | None
    """use A as it is, transposed, or conjugate transposed."""
    op_b: Literal["n", "t", "c"] | None
    """the same for B."""
    center_a: Any | None
    """subtract from the columns, or rows, of A in its file their mean; or the numbers in a file: [rows:]V.h5[:/ds]."""
    center_b: Any | None
    """the same for B."""
    scale_a: Any | None
    """divide the columns, or rows, of A in its file by their standard deviation; or by the numbers in a file."""
    scale_b: Any | None
    """the same for B."""
    metric: str | None
    """C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless type_c says otherwise."""
    weights: Any | None
    """weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too."""
    weights_are: Literal["reliability", "frequency"] | None
    """how divide counts weighted terms: as numpy.cov with aweights, or with fweights."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""
    top: SupportsIndex | None
    """store only the K largest elements of each row, and where they are."""
    above: SupportsFloat | None
    """store only the elements above T, as a sparse matrix (CSR, as scipy and anndata read it)."""
    below: SupportsFloat | None
    """store only the elements below T."""
    reduce: str | None
    """store only a number for each row of C; several are separated by commas."""
    each: Literal["row", "column"] | None
    """reduce each row of C, or each column."""
    by: Literal["value", "abs", "smallest"] | None
    """compare elements, their magnitudes, or take the smallest first, as for distances without it."""
    no_self: bool | None
    """leave out the diagonal of C, what a line has in common with itself."""
    max_elements: SupportsIndex | None
    """end with an error if more than N elements are beyond the threshold."""
    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    row_axes_b: SupportsIndex | None
    """the same for B."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    shape_b: str | Sequence[int] | None
    """the same for B."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    packed_b: Literal["lower", "upper"] | None
    """the same for B."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    complex_axis_a: Literal["auto", "last", "first", "none"] | None
    """the same for A, or X, alone."""
    complex_axis_b: Literal["auto", "last", "first", "none"] | None
    """the same for B alone."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    alpha: complex | SupportsFloat | None
    """factor of the product."""
    beta: complex | SupportsFloat | None
    """factor of the old C (see c); 0 does not read it."""
    type: TypeName | None
    """element type; inputs of another type are converted first."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    allow_rounding: bool | None
    """allow type to round integers that it cannot hold exactly."""
    strict_types: bool | None
    """refuse A and B of different types, and integers other than i8, instead of converting them to the narrowest type that holds both."""
    type_c: TypeName | None
    """element type of the result."""
    compute: str | None
    """precision of the products; auto never goes below that of the inputs; f64:int8 and f32:int8 compute products of f64 or f32 from int8 products, with the same bits of C on any number of ranks and any grid; a suffix, as in f64:int8:14, sets their number, by default chosen from the data; f32:f16 computes products of f32 from three f16 products; fastest selects one of these on GPUs where it is faster and not less accurate."""
    accumulate: Literal["auto", "f32", "fast"] | None
    """how GPUs sum products of f16 and bf16, which their units cut off toward zero; f32: in short pieces of k, whose sums are added in f32, with a mean error of at most 1e-5 for numbers of one sign at any k; fast: as the units do, about 6e-9 k too small; auto: f32 for gram, cov and cor, else fast."""
    ranks: SupportsIndex | None
    """plan for N MPI ranks."""
    machine: str | None
    """machine to plan for, such as "nodes=16 gpus=8 gpu=h200" (links= and other keys: help_all); @FILE reads the words from a file."""
    partition: str | None
    """partition for slurm; sinfo describes its nodes unless machine does."""
    within: str | float | None
    """longest time that slurm may request."""
    grid: str | Sequence[int] | None
    """process grid; surplus ranks stay idle."""
    panel: str | int | Sequence[int] | None
    """width of the panels of k, a multiple of 64, after up to two narrower ramp-up panels."""
    backend: Literal["auto", "cpu", "cuda"] | None
    """where products are computed; auto: on GPUs if every rank sees one, except for small products that the CPU finishes before a GPU has started."""
    kernel: str | None
    """kernel of the backend; 'damier info' lists them."""
    transport: Literal["auto", "self", "host", "shared", "ipc", "nccl", "ipc+nccl"] | None
    """how panels travel between ranks; each is tested before it is used."""
    threads: SupportsIndex | None
    """threads per rank for the CPU product."""
    io_threads: SupportsIndex | None
    """threads per rank that read, unpack and pack files; 0: no such threads."""
    write_by: Literal["pwrite", "mapped", "auto"] | None
    """how C is written; mapped: by mmap; auto: mapped on a tmpfs with 4 or more writing threads, else pwrite."""
    memory: str | int | Mapping[str, str | int] | None
    """memory that one rank may use; SIZE alone is the host's."""
    reproducible: bool | None
    """compute the same bits of C on any number of ranks and any grid."""
    verify: bool | None
    """check C with a random vector."""
    verify_seed: SupportsIndex | None
    """seed of the check's random vector, to repeat a check: the report states it."""
    verify_files: bool | None
    """read A, B and C again to check C, so that errors of reading are found, too."""
    verify_written: Literal["auto", "always", "never"] | None
    """read C again before it gets its name and compare the checksums of its tiles; auto: if that takes at most 1 % of the run's time."""
    protect: bool | None
    """take checksums of A and B in memory, and of the tiles of C; no_protect also turns checkpoints off, but not verify."""
    on_corruption: Literal["repair", "stop", "warn"] | None
    """what to do if C fails its check: compute the wrong tiles again, and exit with 7 if they are wrong again; stop with 1; or warn, publish C and exit with 10."""
    allow_unchecked: bool | None
    """exit with 0 instead of 10 when only part of C can be verified, or components did not converge."""
    overlap: bool | None
    """move the next panels while the current one is multiplied."""
    require_gpu_per_rank: bool | None
    """refuse to let ranks share a GPU."""
    checkpoint: bool | None
    """record finished tiles of C, or how far the search for components is, so that an interrupted run can resume."""
    checkpoint_interval: str | float | None
    """how often finished tiles, or searches, are synced and recorded; 0: each one when it is written."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""


class ContextOptions(TypedDict, total=False):
    """Of Context: those of all its methods."""

    gpus: int | None
    """GPUs of this process, for arrays in host memory and files."""
    if_needed: bool | None
    """do nothing if the output is the complete result of the same inputs, options and version; else replace it as force does."""
    force: bool | None
    """replace an existing output if it holds only that dataset."""
    append: bool | None
    """add C to an existing file as a new dataset, or with force in place of one; the file may hold A and B, and is copied."""
    chunk: str | Sequence[int] | None
    """store the output in chunks of R rows and C columns."""
    deflate: SupportsIndex | None
    """compression level; without chunk, chunks of about 1 MiB are used."""
    zstd: SupportsIndex | None
    """the same with zstd, which readers need as a plug-in."""
    shuffle: bool | None
    """apply HDF5's shuffle filter before compression."""
    method: Literal["auto", "gram", "passes"] | None
    """gram: eigenvectors of X^H X or X X^H, confirmed by a pass over X, passes: random vectors that passes over X improve; auto: what is predicted to be faster."""
    tolerance: SupportsFloat | None
    """largest residual of a component, as a part of the largest singular value."""
    passes: SupportsIndex | None
    """passes over X that improve the components, at most."""
    oversampling: SupportsIndex | None
    """vectors of a pass beyond K, with method passes."""
    seed: SupportsIndex | None
    """seed of the random vectors."""
    op_a: Literal["n", "t", "c"] | None
    """use A as it is, transposed, or conjugate transposed."""
    op_b: Literal["n", "t", "c"] | None
    """the same for B."""
    center: bool | None
    """subtract from these columns, or rows, their mean."""
    scale: bool | None
    """divide these columns, or rows, by their standard deviation."""
    center_a: Any | None
    """subtract from the columns, or rows, of A in its file their mean; or the numbers in a file: [rows:]V.h5[:/ds]."""
    center_b: Any | None
    """the same for B."""
    scale_a: Any | None
    """divide the columns, or rows, of A in its file by their standard deviation; or by the numbers in a file."""
    scale_b: Any | None
    """the same for B."""
    metric: str | None
    """C has the cosine of each pair of lines, their product divided by their lengths; or the euclidean distance, its square (sqeuclidean), or exp(-GAMMA d^2) (rbf:GAMMA), in f64 unless type_c says otherwise."""
    grm: bool | None
    """of genotypes (G.bed): the genomic relationship of samples, standardised by allele frequency; each pair is divided by the variants known in both, or with missing mean by all; C_counts.h5 has these counts."""
    nonfounders: bool | None
    """grm: allele frequencies of all samples, not only of those without parents in G.fam."""
    weights: Any | None
    """weights of the terms of every sum, one for each: C = alpha op(A) diag(w) op(B); means and deviations are weighted, too."""
    weights_are: Literal["reliability", "frequency"] | None
    """how divide counts weighted terms: as numpy.cov with aweights, or with fweights."""
    divide: Literal["1", "n", "n-1"] | None
    """divide the product by its number of terms, or by one less."""
    triangle: Literal["both", "lower", "upper"] | None
    """elements of C that are stored, besides the diagonal; the others are 0."""
    top: SupportsIndex | None
    """store only the K largest elements of each row, and where they are."""
    above: SupportsFloat | None
    """store only the elements above T, as a sparse matrix (CSR, as scipy and anndata read it)."""
    below: SupportsFloat | None
    """store only the elements below T."""
    reduce: str | None
    """store only a number for each row of C; several are separated by commas."""
    each: Literal["row", "column"] | None
    """reduce each row of C, or each column."""
    by: Literal["value", "abs", "smallest"] | None
    """compare elements, their magnitudes, or take the smallest first, as for distances without it."""
    no_self: bool | None
    """leave out the diagonal of C, what a line has in common with itself."""
    max_elements: SupportsIndex | None
    """end with an error if more than N elements are beyond the threshold."""
    as_column: bool | None
    """read a 1-D dataset as a matrix with one column."""
    as_row: bool | None
    """read a 1-D dataset as a matrix with one row."""
    row_axes_a: SupportsIndex | None
    """flatten A, or X: its first N dimensions are the rows, the others the columns; all of them: one column."""
    row_axes_b: SupportsIndex | None
    """the same for B."""
    shape_a: str | Sequence[int] | None
    """A, or X, is a 1-D dataset of M x N numbers, row after row; MxN,columns: column after column."""
    shape_b: str | Sequence[int] | None
    """the same for B."""
    packed_a: Literal["lower", "upper"] | None
    """A, or X, is a 1-D dataset of the lower or upper triangle of a symmetric matrix, row after row, with its diagonal."""
    packed_b: Literal["lower", "upper"] | None
    """the same for B."""
    complex_axis: Literal["auto", "last", "first", "none"] | None
    """the axis of 2 with the real and imaginary parts of complex numbers; auto: the last one, if the file says so (attribute __complex__, PETSc's complex, a dimension scale named complex or ri)."""
    complex_axis_a: Literal["auto", "last", "first", "none"] | None
    """the same for A, or X, alone."""
    complex_axis_b: Literal["auto", "last", "first", "none"] | None
    """the same for B alone."""
    stack: Literal["rows", "columns"] | None
    """how many files become one matrix ('runs/*.h5:/x', or @list.txt with a location in each line): one above another, or side by side."""
    alpha: complex | SupportsFloat | None
    """factor of the product."""
    beta: complex | SupportsFloat | None
    """factor of the old C (see c); 0 does not read it."""
    type: TypeName | None
    """element type; inputs of another type are converted first."""
    missing: Literal["refuse", "nan", "zero", "mean", "pairwise", "complete"] | None
    """what becomes of missing values; they are what the file names (_FillValue, NA of R...), and NaN in cov and cor, or if this is given; complete leaves out whole observations; pairwise: cov and cor only."""
    missing_value: SupportsFloat | Literal["nan"] | None
    """the number, or nan, that is a missing value in files that do not name one."""
    raw: bool | None
    """take the stored numbers, whatever attributes say about them (scale_factor, _FillValue, _Unsigned, ...)."""
    allow_rounding: bool | None
    """allow type to round integers that it cannot hold exactly."""
    strict_types: bool | None
    """refuse A and B of different types, and integers other than i8, instead of converting them to the narrowest type that holds both."""
    type_c: TypeName | None
    """element type of the result."""
    compute: str | None
    """precision of the products; auto never goes below that of the inputs; f64:int8 and f32:int8 compute products of f64 or f32 from int8 products, with the same bits of C on any number of ranks and any grid; a suffix, as in f64:int8:14, sets their number, by default chosen from the data; f32:f16 computes products of f32 from three f16 products; fastest selects one of these on GPUs where it is faster and not less accurate."""
    accumulate: Literal["auto", "f32", "fast"] | None
    """how GPUs sum products of f16 and bf16, which their units cut off toward zero; f32: in short pieces of k, whose sums are added in f32, with a mean error of at most 1e-5 for numbers of one sign at any k; fast: as the units do, about 6e-9 k too small; auto: f32 for gram, cov and cor, else fast."""
    full: bool | None
    """recompute in higher precision and compare every element."""
    machine: str | None
    """rates for the planner, as for plan, or @FILE from 'damier bench rates'; words that are not rates have no effect."""
    grid: str | Sequence[int] | None
    """process grid; surplus ranks stay idle."""
    panel: str | int | Sequence[int] | None
    """width of the panels of k, a multiple of 64, after up to two narrower ramp-up panels."""
    backend: Literal["auto", "cpu", "cuda"] | None
    """where products are computed; auto: on GPUs if every rank sees one, except for small products that the CPU finishes before a GPU has started."""
    kernel: str | None
    """kernel of the backend; 'damier info' lists them."""
    transport: Literal["auto", "self", "host", "shared", "ipc", "nccl", "ipc+nccl"] | None
    """how panels travel between ranks; each is tested before it is used."""
    threads: SupportsIndex | None
    """threads per rank for the CPU product."""
    io_threads: SupportsIndex | None
    """threads per rank that read, unpack and pack files; 0: no such threads."""
    write_by: Literal["pwrite", "mapped", "auto"] | None
    """how C is written; mapped: by mmap; auto: mapped on a tmpfs with 4 or more writing threads, else pwrite."""
    memory: str | int | Mapping[str, str | int] | None
    """memory that one rank may use; SIZE alone is the host's."""
    reproducible: bool | None
    """compute the same bits of C on any number of ranks and any grid."""
    verify: bool | None
    """check C with a random vector."""
    verify_seed: SupportsIndex | None
    """seed of the check's random vector, to repeat a check: the report states it."""
    verify_files: bool | None
    """read A, B and C again to check C, so that errors of reading are found, too."""
    verify_written: Literal["auto", "always", "never"] | None
    """read C again before it gets its name and compare the checksums of its tiles; auto: if that takes at most 1 % of the run's time."""
    protect: bool | None
    """take checksums of A and B in memory, and of the tiles of C; no_protect also turns checkpoints off, but not verify."""
    on_corruption: Literal["repair", "stop", "warn"] | None
    """what to do if C fails its check: compute the wrong tiles again, and exit with 7 if they are wrong again; stop with 1; or warn, publish C and exit with 10."""
    allow_unchecked: bool | None
    """exit with 0 instead of 10 when only part of C can be verified, or components did not converge."""
    overlap: bool | None
    """move the next panels while the current one is multiplied."""
    require_gpu_per_rank: bool | None
    """refuse to let ranks share a GPU."""
    checkpoint: bool | None
    """record finished tiles of C, or how far the search for components is, so that an interrupted run can resume."""
    checkpoint_interval: str | float | None
    """how often finished tiles, or searches, are synced and recorded; 0: each one when it is written."""
    allow_external: bool | None
    """accept external storage and links into other files."""
    allow_virtual: bool | None
    """accept sources of virtual datasets outside of their folder."""
    allow_filters: bool | None
    """accept filters that are not built in, by HDF5; may load plug-ins."""
    allow_no_data: bool | None
    """accept a dataset that was never written; it reads as its fill value."""
    swmr: bool | None
    """read what has been flushed of a file that another program is writing in SWMR mode."""
