"""Multiplies matrices in HDF5 files or in memory, on one computer or over the ranks of an MPI job.

>>> a, b = np.ones((2, 3)), np.full((3, 4), 2.0)
>>> damier.matmul(a, b)
array([[6., 6., 6., 6.],
       [6., 6., 6., 6.]])

Matrices in files may be larger than memory; :func:`multiply` reads, verifies and writes them like ``damier multiply``.
Errors are subclasses of :class:`Error` with ``code`` and ``hint``; what a call applied to the numbers of files, ignored
or warns of is a :class:`DamierWarning` of Python's ``warnings``; records are dictionaries with the schema
``damier/1`` of ``docs/records.md``.
"""
from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ._limits import few_blas_threads as _few_blas_threads
from ._lines import of_lines as _of_lines

with _few_blas_threads():
    from ._context import Context
    from ._agreement import agree as _agree, check_comm as _check_comm
    from ._compiler import uncompiled as _uncompiled
    from ._components import PCA, Components, scores_of as _scores_of
    from ._errors import (CorruptError, DamierWarning, DeviceError, Error, FileError, FitError, HangError, InputError, InternalError,
                          MPIError, StoppedError, UncheckedError, UncheckedWarning, UsageError, VerifyError)
    from ._gradients import check_product as _check_product, is_recorded as _is_recorded, product as _with_gradient
    from ._kept import KeptContext as _KeptContext, like_last as _like_last
    from ._lazy import Product, product_of as _product_of, save
    from ._library import library as _loaded, version_text as _version_text
    from ._matrices import BlockCyclic, Matrix, OnOne, Replicated, Rows
    from ._operands import Path
    from ._progress import Progress
    from ._record import Record
    from ._reduced import Sparse, Top, reduces as _reduces
    from ._spelling import foreign_option as _foreign_option, unknown_name as _unknown_name
    from ._stored import Stored, location_of as _location_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from . import options as options  # pylint: disable=useless-import-alias

    from .options import (CorOptions, CovOptions, GramOptions, InfoOptions, MultiplyOptions, PcaOptions, PlanOptions, SvdOptions,
                            VerifyOptions)

__version__ = "0.3.0"

__all__ = ["BlockCyclic", "Components", "Context", "CorruptError", "DamierWarning", "DeviceError", "Error", "FileError", "FitError", "HangError",
           "InputError", "InternalError", "MPIError", "Matrix", "OnOne", "PCA", "Product", "Record",
           "Replicated", "Rows", "Sparse", "StoppedError", "Stored", "Top", "UncheckedError", "UncheckedWarning", "UsageError", "VerifyError",
           "choose_kernels", "compare", "cor", "cov", "gram", "info", "matmul", "multiply", "pca", "plan", "save", "svd", "verify", "version"]


def __getattr__(name: str) -> Any:
    if name == "options":  # which few programs look at
        return importlib.import_module("damier.options")
    raise _unknown_name(__name__, name)


def version() -> str:
    """The version of the library.

    >>> damier.version().split(".")[:2] == damier.__version__.split(".")[:2]
    True
    """
    return _version_text


def choose_kernels() -> None:
    """Newer kernels of an OpenBLAS that is older than the processor, and takes its slowest; for all that multiplies by it in this process.

    Call it first, before any thread multiplies.  It does nothing where ``OPENBLAS_CORETYPE`` is set, where the kernels are new enough, with
    another BLAS library, and in a wheel, which does so by itself.

    >>> damier.choose_kernels()
    """
    _loaded.damier_choose_kernels()


def _all_named(*given: Any) -> bool:
    """Whether all of GIVEN, but for None, are locations."""
    return all(isinstance(x, (str, os.PathLike)) for x in given if x is not None)


def _location_or_self(given: Any) -> Any:
    """The location of a matrix in a file; anything else as it is."""
    return given if given is None else _location_of(given) or given


def _opened(comm: Any, options: Mapping[str, Any], progress: Progress | bool | None = None) -> Context:
    return Context(comm, progress=progress, **cast(Any, options))


@_uncompiled
def matmul(a: Any, b: Any, out: Any = None, comm: Any = None, *, c: Any = None, progress: Progress | bool | None = None,
           **options: Unpack[MultiplyOptions]) -> Any:
    """alpha op(a) op(b) + beta c, as a new array, in the array ``out``, or in the file that ``out`` names.

    ``a`` and ``b`` may be stored in files: a location, ``"FILE.h5:/x[0:100]"``, a :class:`Stored`, or a dataset of h5py
    whose file is open for reading; the library reads them, in parallel and as much as memory holds.  Arrays and datasets
    with more dimensions are multiplied matrix by matrix, by the rules of :func:`numpy.matmul`; in a call without ``comm`` a vector
    ``a`` is a row, a vector ``b`` a column, and the result has a dimension less.

    Otherwise ``a``, ``b``, ``c`` and ``out`` are arrays of NumPy, or with ``__dlpack__`` or
    ``__array_interface__``, as torch has them; or, in GPU memory, with ``__dlpack__`` or
    ``__cuda_array_interface__``.  They are used in place, in host memory with any positive strides; others are
    copied first, in GPU memory by torch or CuPy.  Types are float64, float32, float16, bfloat16, complex64, complex128 and
    int8.  Other whole numbers and booleans, also in frames and tables of pandas, polars and Arrow, are multiplied as float64, or
    beside another type as NumPy does, if that holds them exactly; what is missing in tables needs ``missing``.  In host memory and
    files ``a`` and ``b`` may have different types, as NumPy's may; ``strict_types=True`` refuses that.

    Without ``out`` the result has the type of ``a`` (or ``type``), except float32 for 16-bit types and int32 for int8; ``type_c`` selects another type.
    ``type="i64"`` and ``"i32"`` multiply whole numbers exactly, and refuse those whose sums might not fit.

    With ``comm``, a communicator of mpi4py, each rank passes its own consecutive rows, and gets those of the result
    that belong to its rows of ``a`` (with ``op_a`` an even share); :class:`OnOne`, :class:`Replicated` and
    :class:`BlockCyclic` around an array state another distribution.  The call is collective, with the same options on all ranks.

    If ``a`` and ``b`` are in GPU memory, as torch and CuPy have them, the result is, too, and an array of the same
    package; of tensors of torch in host memory it is a tensor, otherwise an array of NumPy.  Tensors that require gradients get them.

    If ``out`` is a location, the record is returned.  ``progress`` is a function of the work that is done and of all, or True: a
    bar.  Without it the package keeps what a call has opened for the next one
    of the communicator, until that is freed or the program ends.

    ``beta`` applies to the contents of ``out``, or to ``c`` if given; with ``c`` it is 1 by default.  Other
    ``options`` are those of ``damier multiply``: ``alpha``, ``op_a``, ``op_b``, ``grid``, ``verify``,
    ``reproducible``, ``threads``, ``memory``...

    With ``top=K``, ``above=T``, ``below=T`` or ``reduce="max"``, ... the product is never stored, only verified tile by tile,
    and what is kept of it is returned (on rank 0): :class:`Top`, :class:`Sparse` or an array of one number for each row; ``each``,
    ``by``, ``no_self`` and ``max_elements`` say how.  ``out`` may name a file for it.  Several of them, also ``reduce="max,argmax"``, return
    a dictionary.

    >>> a = np.arange(6.0).reshape(2, 3)
    >>> damier.matmul(a, a, op_b="t", top=1)
    Top(values=array([[14.],
           [50.]]), indices=array([[1],
           [1]]))
    >>> damier.matmul(a, a, op_b="t", alpha=2)
    array([[ 10.,  28.],
           [ 28., 100.]])
    >>> damier.matmul(a, a.T, c=np.eye(2)) - a @ a.T
    array([[1., 0.],
           [0., 1.]])
    """
    if comm is None and c is None and progress is None:
        result = _like_last(("matmul",), a, b, out, options)
        if result is not None:
            return result
    _check_own("matmul", comm, options)
    expression = _product_of(a, b, c, options)
    if expression is not None:
        words = {key: value for key, value in options.items() if key != "beta" or c is None}
        return expression._done(out, {**words, "comm": comm, "progress": progress})
    if comm is None and _is_recorded(a, b):
        lines = _of_lines(a, b, out, c, {x: str(cast(Any, options).get(f"op_{x}") or "n").lower() for x in "ab"})
        if lines is not None:  # torch records these views, too
            return lines.of_result(matmul(lines.a, lines.b, lines.out, c=lines.c, progress=progress, **options), out)
        _check_product(out, c, cast(Any, options))
        return _with_gradient(matmul, a, b, cast(Any, options))
    with _context_for(comm, options, progress) as context:
        return context.matmul(a, b, out, c=c)


def _check_own(function: str, comm: Any, options: Any) -> None:
    """Whether OPTIONS are those of FUNCTION: what it would ignore is refused, by all ranks."""
    problem = _foreign_option(function, options)
    if problem is not None:
        _check_comm(comm)
        _agree(comm, problem, (function,))


def _context_for(comm: Any, options: Mapping[str, Any], progress: Progress | bool | None = None) -> Any:
    """A context for one call with arrays; what a reduction has made is freed with it."""
    return _opened(comm, options, progress) if _reduces(options) else _KeptContext(comm, cast(Any, options), progress)


@_uncompiled
def gram(x: Any, out: Any = None, comm: Any = None, *, of: str = "columns", progress: Progress | bool | None = None,
         **options: Unpack[GramOptions]) -> Any:
    """alpha x^H x, or with ``of="rows"`` alpha x x^H, with half of the work of :func:`matmul`.

    The result is exactly symmetric, or Hermitian.  Arrays, ``comm`` and ``options`` are as for :func:`matmul`, without
    ``op_a`` and ``op_b``.  With ``beta``, the contents of ``out`` must be symmetric; several ranks add none.

    ``x`` may be a location of a dataset, larger than memory.  If ``out`` is a location, that file gets the result, and the record is
    returned.

    >>> damier.gram(np.arange(6.0).reshape(2, 3))
    array([[ 9., 12., 15.],
           [12., 17., 22.],
           [15., 22., 29.]])
    """
    return _of_itself("gram", x, None, out, comm, of, progress, options)


@_uncompiled
def cov(x: Any, y: Any = None, out: Any = None, comm: Any = None, *, of: str = "columns", divide: str = "n-1",
        progress: Progress | bool | None = None, **options: Unpack[CovOptions]) -> Any:
    """The covariances of the columns of ``x``, or of its rows; with ``y`` those of the columns of ``x`` with the columns of ``y``.

    ``x`` is an array, as for :func:`gram`, or a location of a dataset, which may be larger than memory.  If ``out`` is a location, that
    file gets the result, and the record is returned.  ``divide="n"`` divides by the number of observations.
    Integers become float64.  Of frames of pandas and arrays of xarray the result has the labels.  Complex covariances of columns are
    x^H x: the conjugates of those of :func:`numpy.cov`; those of rows are alike.

    NaN is a missing value, and refused unless ``missing`` is "zero", "mean", "complete" (leaves out whole observations),
    "pairwise" (as pandas) or "nan" (as NumPy).
    ``weights``, an array or a location, weights the observations, as ``aweights`` of :func:`numpy.cov`, or with
    ``weights_are="frequency"`` as ``fweights``.

    >>> damier.cov(np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _of_itself("cov", x, y, out, comm, of, progress, {**options, "divide": divide})


@_uncompiled
def cor(x: Any, y: Any = None, out: Any = None, comm: Any = None, *, of: str = "columns", progress: Progress | bool | None = None,
        **options: Unpack[CorOptions]) -> Any:
    """The correlations of the columns of ``x``, or of its rows, as :func:`cov`; those of constant ones are NaN.

    With ``y``, the correlations of the columns of ``x`` with the columns of ``y``.

    >>> damier.cor(np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _of_itself("cor", x, y, out, comm, of, progress, options)


def _of_itself(name: str, x: Any, y: Any, out: Any, comm: Any, of: str, progress: Progress | bool | None, options: Mapping[str, Any]) -> Any:
    """The product NAME, "gram", "cov" or "cor", of the lines of X with each other, or with those of Y."""
    if comm is None and y is None and progress is None and isinstance(of, str):
        result = _like_last((name, of), x, x, out, options)
        if result is not None:
            return result
    y = None if y is x else y
    in_files = out is not None and _all_named(x, y, out)
    _check_comm(comm)
    _agree(comm, _foreign_option(name, options), (name, in_files), explain=lambda _: UsageError(f"{name} of a file on some ranks, of arrays on others"))
    with _opened(comm, options, progress) if in_files else _context_for(comm, options, progress) as context:
        try:
            return context.of_lines(name, x, y, out, of)
        except FileError as error:
            if out is None and isinstance(y, (str, os.PathLike)) and error.message.startswith(f"{os.fspath(y)}: cannot be opened"):
                error.hint = f"the second argument is y, a second matrix; out={os.fspath(y)!r} names a file for the result"
            raise


@_uncompiled
def pca(x: Any, k: int, out: Any = None, comm: Any = None, *, of: str = "columns", scores: Any = False,
        progress: Progress | bool | None = None, **options: Unpack[PcaOptions]) -> Any:
    """The ``k`` first principal components of ``x``, whose columns are variables, or its rows: :class:`Components`.

    ``x`` is an array, as for :func:`cov`, or a location of a dataset, which may be larger than memory.  If ``out`` names a file, that
    gets the arrays, as of ``damier pca``, and the record is returned.  With ``scores=True`` the result has the scores of the
    observations; with ``out`` they are the name of a file for them.  With ``comm`` rank 0 gets the result, other ranks None.

    Options are those of ``damier pca``: ``scale``, ``weights``, ``missing``, ``divide``, ``tolerance``, ``method``, ``passes``,
    ``oversampling``, ``seed``, ``type``, ``memory``...  Where residuals exceed ``tolerance``, an :class:`UncheckedWarning` says so.

    >>> found = damier.pca(np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 7.0], [8.0, 8.0]]), 1)
    >>> found.components.round(3), found.explained_variance.round(3), found.converged
    (array([[0.712, 0.702]]), array([17.126]), True)
    """
    return _components("pca", x, k, out, comm, of, scores, progress, options)


@_uncompiled
def svd(x: Any, k: int, out: Any = None, comm: Any = None, *, of: str = "columns", scores: Any = False,
        progress: Progress | bool | None = None, **options: Unpack[SvdOptions]) -> Any:
    """The ``k`` largest singular values of ``x`` and its right singular vectors, as :func:`pca`; nothing is subtracted.

    >>> damier.svd(np.diag([1.0, 3.0, 2.0]), 2).singular_values
    array([3., 2.])
    """
    return _components("svd", x, k, out, comm, of, scores, progress, options)


def _components(name: str, x: Any, k: int, out: Any, comm: Any, of: str, scores: Any, progress: Any, options: Mapping[str, Any]) -> Any:
    problem = UsageError("scores are the name of a file for them, beside out", hint="scores='FILE.h5'") if out is not None and scores is True else None
    if out is None and scores and (comm is not None or of == "rows"):
        problem = UsageError("scores are of the rows of x, and of one process", hint="with out, scores may name a file")
    _check_comm(comm)
    _agree(comm, problem or _foreign_option(name, options), (name, out is None), explain=lambda _: UsageError(f"{name} to a file on some ranks, to arrays on others"))
    more = {"scores": scores} if out is not None and scores else {}
    with _opened(comm, {**options, **more}, progress) as context:
        found = context.components(name, x, k, out, of)
    if out is None and scores:
        kept = {key: options[key] for key in ("missing", "memory", "threads", "backend", "type", "missing_value") if key in options}
        found.scores = _scores_of(x, found.components, found.mean, found.scale, kept)
    return found


@_uncompiled
def multiply(a: Any, b: Any, output: Path | None = None, comm: Any = None, *, c: Any = None,
             progress: Progress | bool | None = None, **options: Unpack[MultiplyOptions]) -> Any:
    """Multiplies two matrices, writes the product to ``output``, and returns the record.

    ``a``, ``b`` and the old C ``c``, to which ``beta`` applies, are locations, ``"FILE.h5"``, ``"FILE.h5:/dataset"`` or ``"FILE.npy"``, or
    arrays as of :func:`matmul`.  ``options`` are those of ``damier multiply`` by their long names.

    >>> np.save("A.npy", np.eye(3)); np.save("B.npy", np.ones((3, 2)))
    >>> record = damier.multiply("A.npy", "B.npy", "C.npy", alpha=2.0)
    >>> record["verification"]["verdict"], float(np.load("C.npy")[0, 0])
    ('PASS', 2.0)

    With ``top``, ``above``, ``below`` or ``reduce``, the product is not stored; without ``output`` what is kept of it is returned
    (see :func:`matmul`).
    """
    if output is not None and _product_of(a, b, c, options) is not None:
        _check_own("multiply", comm, options)
        return matmul(a, b, output, comm, c=c, progress=progress, **options)
    problem = _foreign_option("multiply", options)
    if output is None and not _reduces(options):
        problem = UsageError("multiply needs output, the file of the result", hint="damier.matmul returns the product as an array")
    if not _all_named(output):
        problem = UsageError(f"a location in a file is needed for output, not {type(output).__name__}", hint="damier.matmul writes to arrays")
    _check_comm(comm)
    _agree(comm, problem, ("multiply", _all_named(a, b, output, c)),
           explain=lambda _: UsageError("the ranks do not make the same call: operands in files on some, in memory on others"))
    with _opened(comm, options, progress) as context:
        if output is not None and _all_named(a, b, c):
            return context.multiply(a, b, output, c=c)
        return context.matmul(a, b, output, c=c)


def open(location: Any) -> Stored:  # pylint: disable=redefined-builtin
    """A matrix in a file, of which slices and products are stated with ``[...]``, ``.T`` and ``@``, and computed by ``compute()`` or :func:`save`.

    ``location`` is ``"FILE.h5:/dataset"``, or anything else that :class:`Stored` takes; it is looked at, and not read.

    >>> np.save("A.npy", np.arange(6.0).reshape(2, 3))
    >>> a = damier.open("A.npy")
    >>> a.shape, (a @ a.T[:, :1]).shape
    ((2, 3), (2, 1))
    >>> (a @ a.T).compute()
    array([[ 5., 14.],
           [14., 50.]])
    """
    found = location if isinstance(location, Stored) else Stored(location)
    found.described()
    return found


def verify(a: Any, b: Any, output: Any, comm: Any = None, *, c: Any = None,
           progress: Progress | bool | None = None, **options: Unpack[VerifyOptions]) -> Record:
    """Checks that ``output`` is the product of ``a`` and ``b``, and returns the record.

    Each is a location, or, without ``comm``, an array, which is copied to a temporary file.  Raises :class:`VerifyError` if it is not; ``full=True`` compares every element with a product in higher precision.
    ``weights`` that were an array for :func:`cov` or :func:`cor` are needed here, too: ``output`` does not hold them.

    >>> a, b = np.eye(3), np.arange(6.0).reshape(3, 2)
    >>> np.save("A.npy", a); np.save("B.npy", b); np.save("wrong.npy", b + 1)
    >>> damier.verify("A.npy", "B.npy", "wrong.npy")
    Traceback (most recent call last):
     ...
    damier._errors.VerifyError: ...
    """
    _check_own("verify", comm, options)
    if comm is None and not _all_named(*map(_location_or_self, (a, b, output, c))):
        from ._compare import in_files  # which few programs need

        with in_files({"a": a, "b": b, "output": output, "c": c}) as named, _opened(None, options, progress) as context:
            return context.verify(*named[:3], c=named[3])
    with _opened(comm, options, progress) as context:
        return context.verify(*map(_location_or_self, (a, b, output)), c=_location_or_self(c))


def compare(a: Any, b: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Record:
    """Compares two matrices element by element, as :func:`numpy.isclose` does, and returns the record if all elements are close.

    Each is a location, or an array, which is copied to a temporary file: the program ``damier compare`` reads both in pieces, and must
    be installed. ``record["compare"]`` has the counts and the worst place.  Raises :class:`VerifyError`, whose ``record`` is the same, if
    an element is not close to the other, or the shapes differ.

    >>> np.save("A.npy", np.arange(6.0).reshape(2, 3))
    >>> damier.compare("A.npy", np.arange(6.0).reshape(2, 3), rtol=0, atol=0)["compare"]["elements"]
    6
    >>> damier.compare("A.npy", np.ones((2, 3)))
    Traceback (most recent call last):
     ...
    damier._errors.VerifyError: ...
    """
    from ._compare import compare_files  # which few programs need

    return compare_files(a, b, rtol, atol, equal_nan)


def info(location: Path | None = None, **options: Unpack[InfoOptions]) -> Record:
    """Describes a file or dataset; without ``location`` versions, backends, GPUs and cores of the library.

    >>> np.save("A.npy", np.eye(3))
    >>> damier.info("A.npy")["dataset"]["shape"]
    '3 x 3'
    """
    _check_own("info", None, options)
    if location is not None and _location_of(location) is None:
        raise UsageError(f"info describes files, and was given {type(location).__name__}",
                         hint="an array has shape and dtype; damier.plan(a, b) forecasts time and memory of a product of arrays")
    with _opened(None, options) as context:
        return context.info(cast(Any, _location_or_self(location)))


def plan(a: Any = None, b: Any = None, out: Any = None, comm: Any = None, **options: Unpack[PlanOptions]) -> Record:
    """Plans a product without multiplying, and returns a record with the plan and its needs of memory and time.

    For arrays, the library plans :func:`matmul`.  For two files, or without operands for sizes ``m``, ``n`` and ``k``
    or ``size``, the program ``damier plan`` does, and must be installed; ``machine`` describes another computer.
    ``damier.plan("gram", "X.h5")`` plans a product of the columns of a file with each other, ``"cov"``, ``"cor"``, ``"pca"`` and ``"svd"`` alike.

    >>> record = damier.plan(size=20000, machine="nodes=4 cores=64", ranks=8)
    >>> record["problem"]["m"], record["machine"]["nodes"], record["forecast"]["total_s"] > 0
    (20000, 4, True)
    """
    expression = a if b is None and isinstance(a, Product) else _product_of(a, b, None, options)
    if expression is not None:
        a, b, ops = expression.operands()
        options = cast(Any, {**cast(Any, options), **ops})
    in_files = a is None or (b is not None and _all_named(a, b))
    problem = None
    if (a is None) != (b is None):
        problem = UsageError("a plan needs two operands or none",
                             hint="damier.plan('gram', 'X.h5') is that of one file; 'cov', 'cor', 'pca' and 'svd' alike")
    if problem is None and in_files and (out is not None or comm is not None):
        problem = UsageError("out and comm apply only to plans for arrays", hint="ranks=N plans for N ranks")
    _check_comm(comm)
    _agree(comm, problem or (None if in_files else _foreign_option("plan", options)), ("plan",))
    if in_files:
        from ._program import record_of  # which few programs need

        return record_of("plan", [] if a is None else [os.fspath(a), os.fspath(b)], options)
    with _opened(comm, options) as context:
        return context.plan(a, b, out)
