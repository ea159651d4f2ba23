"""A context of the library, and products with it."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _library as lib
from ._agreement import agree, attempt
from ._alike import Alike
from ._arrays import Reading, as_matrix
from ._device import DeviceArray, as_given, repeated, transposed
from ._errors import UsageError
from ._gradients import detached, needs, refuse
from ._labels import is_labelled, labelled
from ._lines import of_lines
from ._matrices import Entries, Matrix, Operand, Rows, shown
from ._meaning import check_meaning
from ._numbers import common_type, is_whole_type
from ._operands import Path, alone, name_of
from ._options import DTYPE_OF_TYPE
from ._progress import Progress
from ._record import Record
from ._reduced import arrays_of, reduces, with_shapes
from ._results import Results
from ._stored import StoredOperand, location_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ContextOptions


class Context(Results):
    """A communicator and options, for several products.

    The functions of the package open one for each call, which takes less than a millisecond.  ``comm`` is a
    communicator of mpi4py, or None: only this process, without MPI.  ``options`` are those of ``damier multiply``
    by their long names.  ``gpus=2`` uses two GPUs of this process, for arrays in host memory, files, and ``Rows([a0, a1])``,
    whose parts lie on the GPUs; the context keeps them, as starting one takes time.  ``progress(done, total)`` is called repeatedly
    while panels are multiplied; if it returns a true value, the product stops with :class:`StoppedError`; True shows a bar.  ``record`` is that of the
    last call.

    >>> with damier.Context(op_b="t") as context:
    ...     c = context.matmul(np.ones((2, 3)), np.ones((4, 3)))
    >>> c.shape, context.record["plan"]["grid"]
    ((2, 4), '1x1x1')
    """

    def __init__(self, comm: Any = None, *, progress: Progress | bool | None = None, **options: Unpack[ContextOptions]) -> None:
        self._beta = options.get("beta")
        self._reduces = reduces(options)
        self._alike: dict[tuple[str, ...], Alike] = {}  # the last call of each product
        super().__init__(comm, progress, options)

    # ---- files ----

    @alone
    def multiply(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.multiply`; collective."""
        with self._with(beta=self._beta_of(c)):
            return self._in_files(lib.library.damier_multiply, a, b, output, c)

    @alone
    def with_itself(self, product: str, x: Path, output: Path, of: str) -> Record:
        """The PRODUCT "gram", "cov" or "cor" of a dataset, written to ``output``; collective."""
        function = getattr(lib.library, f"damier_{product}")

        def call(context: Any, x: Any, c: Any, error: Any) -> Any:
            return function(context, x, _of_rows(of), c, error)

        _, problem = attempt(_of_rows, of)
        matrices = self._named((product, of), [x, output], problem)
        with self._with(type_c=self._type_c):
            self._call(call, *map(ctypes.byref, matrices))
        return self.record

    @alone
    def between_files(self, product: str, x: Path, y: Path, output: Path, of: str) -> Record:
        """The PRODUCT "cov" or "cor" of the columns of two datasets, written to ``output``; collective."""
        function = getattr(lib.library, f"damier_{product}_two")

        def call(context: Any, x: Any, y: Any, c: Any, error: Any) -> Any:
            return function(context, x, y, _of_rows(of), c, error)

        return self._in_files(call, x, y, output, None)

    @alone
    def verify(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.verify`; collective."""
        return self._in_files(lib.library.damier_verify, a, b, output, c)

    def _named(self, call: tuple[Any, ...], locations: list[Path], problem: Exception | None = None) -> list[lib.CMatrix]:
        """The matrices of LOCATIONS; collective: all ranks make the same CALL."""
        names = None
        if problem is None:
            names, problem = attempt(list, map(name_of, locations))
        agree(self.comm, problem, call)
        return [lib.CMatrix(division=lib.IN_FILE, file=name) for name in names or ()]

    def _beta_of(self, c: Any) -> int | None:
        """What beta is for the calls with an old C that do not state it; None: as stated."""
        return 1 if c is not None and self._beta is None else None

    def _in_files(self, function: Any, a: Path, b: Path, output: Path, c: Path | None) -> Record:
        matrices = self._named((function.__name__, c is None), [a, b, output])
        with self._with(c=c, type_c=self._type_c):
            self._call(function, *map(ctypes.byref, matrices))
        return self.record

    # ---- arrays ----

    def _take_alike(self, product: tuple[str, ...], a: Any, b: Any, out: Any) -> tuple[Any, Alike] | None:
        """The result and the earlier call of PRODUCT that this one is like."""
        alike = self._alike.get(product)
        result = None if alike is None else alike.take(a, b, out)
        return None if alike is None or result is None else (result, alike)

    def like_before(self, product: tuple[str, ...], a: Any, b: Any, out: Any) -> Any:
        """The result of a PRODUCT of arrays like the last one; None: it must be made in full.  Only without a communicator."""
        found = self._take_alike(product, a, b, out)
        return None if found is None else self._again(*found)

    def _again(self, result: Any, alike: Alike) -> Any:
        """RESULT of the call that ALIKE was, with other arrays."""
        self.shown = alike.shown
        self._entries, self._is_brief = alike.batch, alike.is_brief
        try:
            self._call_on_arrays(alike.function, *alike.stated)
        finally:
            self._entries, self._is_brief = 1, False
        return result

    def _begin(self, product: tuple[Any, ...], given: list[Any], alike: Any = None, problem: Exception | None = None) -> bool:
        """Before anything else of a call with arrays; collective: whether all ranks have ALIKE.  All ranks must call for the same
        PRODUCT, and have the same of GIVEN in files."""
        if self.comm is None:
            if problem is not None:
                raise problem
            return alike is not None
        places: Any = (False,) * len(given)
        if alike is None and problem is None:
            places, problem = attempt(self._places, given)
        return agree(self.comm, problem, (*product, places), (alike is not None,), _other_places)[0]

    def _places(self, given: list[Any]) -> tuple[bool, ...]:
        """Which of GIVEN are in files; for several ranks."""
        places = tuple(location_of(x) is not None for x in given)
        if not all(places) and any(len(_shape_of(x)) > 2 for x, in_file in zip(given, places) if not in_file):
            raise UsageError("a batch is not divided over the ranks of a comm",
                             hint="leave out comm: each rank then multiplies the matrices that it passes")
        return places

    @alone
    def matmul(self, a: Any, b: Any, out: Any = None, *, c: Any = None) -> Any:
        """As :func:`damier.matmul`, without gradients; collective."""
        result = self.like_before(("matmul",), a, b, out) if c is None and self.comm is None else None
        if result is not None:  # before anything else, which takes longer than a small product
            return result
        self.shown = ("a", "b")
        if self.comm is None:
            a, b = (self._found(x, name, True) if location_of(x) is not None else x for x, name in ((a, "a"), (b, "b")))
        lines = of_lines(a, b, out, c, self._ops) if self.comm is None and not self._reduces else None
        if lines is not None:
            return lines.of_result(self.matmul(lines.a, lines.b, lines.out, c=lines.c), out)
        (a, b, out, c), refused = _without_gradients(a, b, out, c)
        alike = None if c is not None or refused else self._take_alike(("matmul",), a, b, out)
        if self._begin(("matmul", c is None), [a, b], alike, refused) and alike is not None:
            return self._again(*alike)
        a, b = self._found(a, "a"), self._found(b, "b")
        if any(len(_shape_of(x)) > 2 for x in (a, b)):
            return self._as_given(self._batch(a, b, out, c), out, a, b)
        result, stated = self._product(a, b, out, c)
        if stated is not None and c is None and (out is not None or self.comm is None):
            self._alike["matmul",] = Alike(lib.library.damier_multiply, self.shown, [a, b, out], result, stated)
        return self._as_given(result, out, a, b)

    def _as_given(self, result: Any, out: Any, *given: Any) -> Any:
        """A new RESULT in the package of GIVEN."""
        return result if out is not None or self.comm is not None else as_given(result, *given)

    def _to_file(self, function: Any, operands: list[Operand], out: Any, c: Any = None) -> Record:
        """Writes the product of OPERANDS, of which some are in memory, to OUT; C: the old one, in a file or in memory."""
        old = None if c is None or location_of(c) is not None else self._operand(c, "c")
        if old is not None:
            self._agree([old])
        named = None if c is None or old is not None else location_of(c)
        with self._with(c=named, beta=self._beta_of(c)), self._with_old(old):
            record: Record = self._keep(function, operands, out)
        return record

    def _keep(self, function: Any, operands: list[Operand], out: Any, c: Any = None) -> Any:
        """What the options keep of the product of OPERANDS: arrays; or the record, if OUT names the file of the result."""
        if c is not None:
            raise UsageError("a product is reduced without an old C", hint="leave out c")
        kept = lib.CMatrix(division=lib.KEPT)
        if out is not None:
            kept = lib.CMatrix(division=lib.IN_FILE, file=name_of(out))
        prepared, problem = attempt(list, (operand.to_c() for operand in operands))
        agree(self.comm, problem)
        with self._with(type_c=self._type_c):
            try:
                self._call_on_arrays(function, *(ctypes.byref(one) for one, _ in prepared), ctypes.byref(kept))
            finally:
                for operand in operands:
                    operand.finish(False)
            there = operands[0].matrix.array if all(isinstance(getattr(o, "view", None), DeviceArray) for o in operands) else None
            if out is not None:
                return self.record
            return with_shapes(arrays_of(self._handle, there), lambda: self.record["problem"])

    def _batch(self, a: Any, b: Any, out: Any, c: Any) -> Any:
        """By the rules of NumPy's matmul: the matrices of an operand are one below the other for the library."""
        if self._reduces:
            raise UsageError("a batch of products is not reduced", hint="pass the matrices one by one")
        if _is_named(out):
            raise UsageError("a batch of which arrays are a part is not written to a file", hint="numpy.save or h5py writes the array")
        stored = [isinstance(x, StoredOperand) for x in (a, b)]
        if self.comm is not None:  # of datasets: the same on all ranks
            raise UsageError("a batch is not divided over the ranks of a comm",
                             hint="leave out comm: each rank then multiplies the matrices that it passes")
        if any(op != "n" and not of_file for op, of_file in zip(self._ops.values(), stored)):
            return self._batch_of_transposed(a, b, out, c)
        shapes = [_shape_of(x) for x in (a, b)]
        if any(isinstance(x, Matrix) for x in (a, b)):
            raise UsageError("a batch takes arrays and datasets, not those of a distribution")
        if any(len(shape) < 2 for shape in shapes):
            raise UsageError("a batch needs arrays with at least two dimensions")
        if self._changes and len(shapes[0]) > 2:
            raise UsageError("the matrices of a batch are not centered, scaled, weighted or filled")
        for x, name, of_file in zip((a, b), "ab", stored):
            if not of_file:
                check_meaning(x, name)
        leads, (m, k, n) = self._leads(shapes)
        count = int(np.prod(leads))
        shape = (*leads, m, n)
        one_b = int(np.prod(shapes[1][:-2])) == 1
        if stored[0] != stored[1] and shapes[0 if stored[0] else 1][:-2] != leads and not one_b:
            raise UsageError(f"a is {shown(shapes[0])} and b {shown(shapes[1])}: what is in a file is not repeated for a batch of arrays",
                             hint="multiply the matrices of the array one by one")
        if count == 0 or k == 0:
            a, b = _nothing(a, (count * m, k), "a"), _nothing(b, (0, n), "b")
        else:
            a = a if stored[0] else Entries(_with_leads(a, shapes[0], leads, "a"))
            b = b if stored[1] else Entries(b if one_b else _with_leads(b, shapes[1], leads, "b"))
        of_out = None if out is None else _entries_of(out, shape, "out")
        of_old = None if c is None else _entries_of(c, shape, "c")
        batch = 1 if count == 0 or k == 0 or one_b or all(stored) else count
        with self._of_batch(batch):
            made, stated = self._product(a, b, of_out, of_old, (count * m, n))
        result = made.reshape(shape) if out is None else out
        if batch > 1 and not any(stored) and stated is not None and c is None and all(s[:-2] == leads for s in shapes):
            self._alike["matmul",] = Alike(lib.library.damier_multiply, self.shown, [a.array, b.array, out], result, stated, batch)
        return result

    def _batch_of_transposed(self, a: Any, b: Any, out: Any, c: Any) -> Any:
        """A batch whose matrices are transposed by views, as the library takes those of a batch in memory as they are."""
        ops = self._ops
        kept = {name: op if isinstance(x, StoredOperand) else "n" for (name, op), x in zip(ops.items(), (a, b))}
        a, b = (x if ops[name] == kept[name] else transposed(x, name, ops[name] == "c") for x, name in ((a, "a"), (b, "b")))
        try:
            self._ops = kept
            for name, op in kept.items():
                self._set(f"op-{name}", op)
            return self._batch(a, b, out, c)
        finally:
            self._ops = ops
            self._alike.pop(("matmul",), None)
            for name, op in ops.items():
                self._set(f"op-{name}", op)

    def _leads(self, shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        """The leading dimensions of the product, and m, k and n."""
        (m, k), (k_of_b, n) = (s[-2:] if self._ops[x] == "n" else s[:-3:-1] for x, s in zip("ab", shapes))
        texts_ = f"a is {shown(shapes[0])} and b {shown(shapes[1])}"
        try:
            leads = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
        except ValueError:
            raise UsageError(f"{texts_}: the leading dimensions differ") from None
        if k != k_of_b:
            field = len(shapes[1]) > 1 and shapes[0][-len(shapes[1]):] == shapes[1]
            raise UsageError(f"{texts_}: the inner dimensions differ",
                             hint="a.reshape(-1, b.size) @ b.ravel() sums over all dimensions of b" if field else "")
        return leads, (m, k, n)

    def _product(self, a: Any, b: Any, out: Any, c: Any,
                 shape: tuple[int, int] | None = None) -> tuple[Any, list[lib.CMatrix] | None]:
        """The product of A and B, and the operands as stated to the library, if it used the caller's arrays alone; SHAPE:
        that of all products of a batch."""
        beta = self._beta if self._beta_of(c) is None else 1
        ab = [self._operand(a, "a"), self._operand(b, "b")]
        m, n = self._pose(ab)[:2] if shape is None else self._pose_batch(ab, shape)
        if self._reduces:
            return self._keep(lib.library.damier_multiply, ab, out, c), None
        if _is_named(out):
            return self._to_file(lib.library.damier_multiply, ab, out, c), None
        if c is not None and location_of(c) is not None:
            raise UsageError("c is in a file, and the product is an array", hint="damier.multiply(a, b, output, c=c) writes it to a file")
        result, old = self._result(ab, out, c, beta, (m, n), whole=not self._changes)
        if m == 0 or n == 0:
            return result.matrix.array, None
        with self._with(beta=self._beta_of(c)), self._with_old(old):
            stated = self._multiply(lib.library.damier_multiply, [*ab, result])
        return result.matrix.array, stated

    def gram(self, x: Any, out: Any = None, *, of: str = "columns") -> Any:
        """As :func:`damier.gram`; collective."""
        return self.of_itself("gram", x, out, of)

    def cov(self, x: Any, y: Any = None, out: Any = None, *, of: str = "columns") -> Any:
        """As :func:`damier.cov`, with ``divide`` as an option of the context; collective."""
        return self.of_lines("cov", x, y, out, of)

    def cor(self, x: Any, y: Any = None, out: Any = None, *, of: str = "columns") -> Any:
        """As :func:`damier.cor`; collective."""
        return self.of_lines("cor", x, y, out, of)

    def pca(self, x: Any, k: int, out: Any = None, *, of: str = "columns") -> Any:
        """As :func:`damier.pca`, without scores, which :func:`damier.matmul` or :class:`damier.PCA` computes; collective."""
        return self.components("pca", x, k, out, of)

    def svd(self, x: Any, k: int, out: Any = None, *, of: str = "columns") -> Any:
        """As :func:`damier.svd`, without scores; collective."""
        return self.components("svd", x, k, out, of)

    def of_lines(self, product: str, x: Any, y: Any, out: Any, of: str) -> Any:
        """The PRODUCT "gram", "cov" or "cor" of the lines of X with each other, or with those of Y, with labels."""
        y = None if y is x else y
        if out is not None and all(_is_named(one) for one in (x, y, out) if one is not None):
            return self.with_itself(product, x, out, of) if y is None else self.between_files(product, x, y, out, of)
        found = self.of_itself(product, x, out, of) if y is None else self.between(product, x, y, out, of)
        if product != "gram" and out is None and self.comm is None and not self._reduces and is_labelled(x):
            return labelled(found, x, y, of == "rows")
        return found

    @alone
    def of_itself(self, product: str, x: Any, out: Any, of: str) -> Any:
        """The PRODUCT "gram", "cov" or "cor" of an array; collective."""
        self.shown = ("x", "x")
        function = getattr(lib.library, f"damier_{product}")
        of_rows, problem = attempt(_of_rows, of)
        (x, out), refused = _without_gradients(x, out)
        problem = problem or refused
        alike = None if problem else self._take_alike((product, of), x, x, out)

        def call(context: Any, x: Any, _: Any, c: Any, error: Any) -> Any:
            return function(context, x, of_rows, c, error)

        if self._begin((product, of_rows), [x], alike, problem) and alike is not None:
            return self._again(*alike)
        operand = self._operand(x, "x", floats=product != "gram")
        self._agree([operand])
        if operand.whole and self._same_types and self._type is None and product == "gram":
            raise UsageError(f"x is {operand.whole}", hint="convert it with astype(), or state the type, type=")
        if product == "gram" and not self._changes:
            self._state_whole([operand])
        of_file = isinstance(operand, StoredOperand) and product == "gram" and self._type is None
        self._common = common_type([str(operand.type)]) if of_file and is_whole_type(str(operand.type), True) else None
        if self._reduces or _is_named(out):
            return self._keep(lambda context, x, c, error: function(context, x, of_rows, c, error), [operand], out)
        n = operand.rows if of_rows else operand.cols
        whole = product == "gram" and not self._changes
        result, _ = self._result([operand, operand], out, None, self._beta, (n, n), whole)
        stated = self._multiply(call, [operand, operand, result]) if n > 0 else None
        if stated is not None and (out is not None or self.comm is None):
            self._alike[product, of] = Alike(call, self.shown, [x, x, out], result.matrix.array, stated)
        return self._as_given(result.matrix.array, out, x)

    @alone
    def components(self, product: str, x: Any, count: int, out: Any, of: str) -> Any:
        """The results of :func:`damier.pca` or :func:`damier.svd`, or their record if OUT names a file; collective."""
        self.shown = ("x", "x")
        function = getattr(lib.library, f"damier_{product}")
        of_rows, problem = attempt(_of_rows, of)
        (x,), refused = _without_gradients(x)
        self._begin((product, of_rows), [x], None, problem or refused)
        operand = self._operand(x, "x", floats=True)
        self._agree([operand])
        self._common = None
        with self._with(rank=count):
            found = self._keep(lambda context, x, c, error: function(context, x, of_rows, c, error), [operand], out)
        if out is None and found is not None:
            found.converged = self.record["components"]["converged"]
        return found

    @alone
    def between(self, product: str, x: Any, y: Any, out: Any, of: str) -> Any:
        """The PRODUCT "cov" or "cor" of the columns of X with those of Y; collective."""
        self.shown = ("x", "y")
        function = getattr(lib.library, f"damier_{product}_two")
        of_rows, problem = attempt(_of_rows, of)

        def call(context: Any, x: Any, y: Any, c: Any, error: Any) -> Any:
            return function(context, x, y, of_rows, c, error)

        (x, y, out), refused = _without_gradients(x, y, out)
        self._begin((product, of_rows, "two"), [x, y], None, problem or refused)
        operands = [self._operand(x, "x", floats=True), self._operand(y, "y", floats=True)]
        self._agree(operands)
        self._check_types(operands)
        (k, m), (k_of_y, n) = ((o.cols, o.rows) if of_rows else (o.rows, o.cols) for o in operands)
        if k != k_of_y:
            raise UsageError(f"x has {k} observations and y {k_of_y}")
        if self._reduces or _is_named(out):
            return self._keep(call, operands, out)
        result, _ = self._result(operands, out, None, self._beta, (m, n), False)
        if m > 0 and n > 0:
            self._multiply(call, [*operands, result])
        return self._as_given(result.matrix.array, out, x, y)

    @alone
    def plan(self, a: Any, b: Any, out: Any = None) -> Record:
        """What :meth:`matmul` of these arrays would do, need and take; collective."""
        self.shown = ("a", "b")
        self._begin(("plan",), [a, b])
        ab = [self._operand(a, "a"), self._operand(b, "b")]
        m, n, k = self._pose(ab)
        if m == 0 or n == 0:
            raise UsageError(f"there is nothing to plan of a product of {m} x {k} and {k} x {n}")
        if self._reduces:
            self._keep(lib.library.damier_plan, ab, out)
            return self.record
        result, _ = self._result(ab, out, None, None, (m, n))
        self._multiply(lib.library.damier_plan, [*ab, result])
        return self.record


def _other_places(_: Any) -> UsageError:
    return UsageError("the ranks do not make the same call: of, whether there is c, and which operands are in files must be the same on all",
                      hint="all ranks make the same calls, with the same options and files")


def _of_rows(of: str) -> int:
    if of not in ("columns", "rows"):
        raise UsageError(f"of is 'columns' or 'rows', not {of!r}")
    return int(of == "rows")


def _without_gradients(*arrays: Any) -> tuple[Sequence[Any], Exception | None]:
    """ARRAYS, and the error if torch records what is computed of them."""
    if not needs(*arrays):
        return arrays, None
    _, problem = attempt(refuse, "this call", *arrays)
    return [detached(array) for array in arrays], problem


def _is_named(out: Any) -> bool:
    """Whether OUT is the location of the result, not an array."""
    return isinstance(out, (str, os.PathLike))


def _shape_of(x: Any) -> tuple[int, ...]:
    """Of an array or dataset; (): it is a matrix of another kind."""
    return () if isinstance(x, Matrix) else tuple(getattr(x, "shape", ()))


def _with_leads(x: Any, shape: tuple[int, ...], leads: tuple[int, ...], name: str) -> Any:
    return x if shape[:-2] == leads else repeated(x, (*leads, *shape[-2:]), name)


def _nothing(x: Any, shape: tuple[int, int], name: str) -> Any:
    """An operand of SHAPE without elements, of the type of X."""
    if isinstance(x, StoredOperand):
        return np.empty(shape, DTYPE_OF_TYPE[str(x.type)])
    if hasattr(x, "reshape"):
        return x.reshape(-1)[:0].reshape(shape)
    view, type_, _, whole = as_matrix(x, name, entries=True, reading=Reading())
    return Rows(np.empty(shape, DTYPE_OF_TYPE[type_] if whole else view.dtype), type=type_)


def _entries_of(array: Any, shape: tuple[int, ...], name: str) -> Matrix:
    if _shape_of(array) != shape:
        raise UsageError(f"{name} must be an array of {shown(shape)} elements")
    return Entries(array)
