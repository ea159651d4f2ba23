"""A context of the library, and products with it."""
from __future__ import annotations

import copy
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, Union

import numpy as np

from . import _library as lib
from ._agreement import agree, attempt, told
from ._alike import Alike
from ._compiler import uncompiled
from ._arrays import Reading, as_matrix, overlap, same_places
from ._device import DeviceArray, as_given, empty_beside, repeated, transposed
from ._errors import Error, FitError, UncheckedError, UsageError
from ._gradients import detached, needs, refuse
from ._handle import Handle
from ._labels import is_labelled, labelled
from ._lines import of_lines
from ._matrices import Entries, Matrix, OnOne, Operand, PartedOperand, Rows, Stated, empty, shown
from ._meaning import check_meaning
from ._numbers import EXACT, common_type, is_whole_type, name_of_whole
from ._options import DTYPE_OF_TYPE, is_zero, text_of, texts, type_name
from ._progress import Progress
from ._record import Record
from ._reduced import arrays_of, reduces, with_shapes
from ._stored import Stored, StoredOperand, location_of, several

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import ContextOptions

Path = Union[str, "os.PathLike[str]"]
Method = TypeVar("Method", bound=Callable[..., Any])


def _alone(method: Method) -> Method:
    """Other threads wait meanwhile: what a context keeps for like calls is that of one."""
    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **words: Any) -> Any:
        if self.process != os.getpid():
            self.renew()
        with self.in_use:
            return method(self, *arguments, **words)

    return uncompiled(call)  # type: ignore[return-value]


class Context(Handle):
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
        self._type_c = options.get("type_c")  # of arrays; Handle leaves it to the calls with files
        self._type = options.get("type")
        self._beta = options.get("beta")
        self._common: str | None = None  # the type that both operands of the present call are promoted to
        self._rounds, self._same_types = (str(options.get(key)).lower() in ("true", "yes", "1", "on")
                                      for key in ("allow_rounding", "strict_types"))
        self._fills = options.get("missing") not in (None, "refuse")
        self._reduces = reduces(options)
        self._states_lines = any(str(options.get(key)) not in ("None", "False", "no") for key in ("as_column", "as_row"))
        self._alike: dict[tuple[str, ...], Alike] = {}  # the last call of each product
        self._ops = {x: str(options.get(f"op_{x}") or "n").lower() for x in "ab"}
        self._changes = any(str(options.get(key)) not in ("None", "none", "False", "no")
                            for key in ("center_a", "scale_a", "weights", "center", "scale", "grm", "metric"))
        self._changes |= options.get("missing") == "mean"
        by_name: Any = options
        self._complex_axes = {x: by_name.get(f"complex_axis_{'b' if x in 'by' else 'a'}") for x in "abxy"}
        self._complex_axes["all"] = options.get("complex_axis")
        self._folds = {x: {key: by_name.get(f"{key}_{x}") for key in ("shape", "packed", "row_axes")} for x in "ab"}
        self.in_use = threading.RLock()
        super().__init__(comm, progress, options)

    def renew(self) -> None:
        """In a forked process, which has no other threads: a call of one may have been interrupted in its middle."""
        if not self.in_use.acquire(blocking=False):
            raise UsageError("the process was forked while another thread used this context", hint="open a context in the new process")
        self.in_use.release()
        self.process = os.getpid()

    @property
    def _changes_a(self) -> bool:
        """Whether A is centered, scaled, weighted or filled."""
        return self._changes or not self._vectors.isdisjoint(("center_a", "scale_a", "weights"))

    # ---- files ----

    @_alone
    def multiply(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.multiply`; collective."""
        with self._with(beta=self._beta_of(c)):
            return self._in_files(lib.library.damier_multiply, a, b, output, c)

    @_alone
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

    @_alone
    def between_files(self, product: str, x: Path, y: Path, output: Path, of: str) -> Record:
        """The PRODUCT "cov" or "cor" of the columns of two datasets, written to ``output``; collective."""
        function = getattr(lib.library, f"damier_{product}_two")

        def call(context: Any, x: Any, y: Any, c: Any, error: Any) -> Any:
            return function(context, x, y, _of_rows(of), c, error)

        return self._in_files(call, x, y, output, None)

    @_alone
    def verify(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.verify`; collective."""
        return self._in_files(lib.library.damier_verify, a, b, output, c)

    @_alone
    def info(self, location: Path | None = None) -> Record:
        """As :func:`damier.info`; collective."""
        name, problem = attempt(_name_of, "" if location is None else location)
        agree(self.comm, problem, ("info", location is None))
        self._call(lib.library.damier_info, None if location is None else name)
        return self.record

    def _named(self, call: tuple[Any, ...], locations: list[Path], problem: Exception | None = None) -> list[lib.CMatrix]:
        """The matrices of LOCATIONS; collective: all ranks make the same CALL."""
        names = None
        if problem is None:
            names, problem = attempt(list, map(_name_of, locations))
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

    @_alone
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
            kept = lib.CMatrix(division=lib.IN_FILE, file=_name_of(out))
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

    @_alone
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

    @_alone
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

    @_alone
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

    @_alone
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

    def _found(self, given: Any, name: str, by_rule: bool = False) -> Any:
        """The dataset that GIVEN is or names, if the library can read it; else GIVEN.  BY_RULE: a vector is A's row or B's column."""
        location = location_of(given)
        if location is not None:
            with self._with(None, **(self._rule(name) if by_rule else {})):
                record = self._described(location, name)
            if "dataset" not in record:
                raise several(location, record)
            found = StoredOperand(location, name, record)
            return found if by_rule and not self._states_lines else found.as_line()
        if not isinstance(given, (list, tuple)):
            return given
        check_meaning(given, name)
        try:
            return np.asarray(given)
        except ValueError:  # rows of different lengths, which are refused later
            return given

    @contextmanager
    def _folded(self, name: str) -> Iterator[None]:
        """What is stated of the shape of A is stated of that of B, instead."""
        mine, others = ({f"{key.replace('_', '-')}-a": value for key, value in self._folds[x].items() if value is not None} for x in "ba")
        if name not in "by" or not (mine or others):
            yield
            return
        try:
            for key in others:
                self._set(key, None)
            for key, value in mine.items():
                self._set(key, text_of(key, value))
            yield
        finally:
            for key in mine:
                self._set(key, None)
            for key, value in others.items():
                self._set(key, text_of(key, value))

    def _rule(self, name: str) -> dict[str, bool]:
        """The option by which the library takes a vector in a file as operand NAME of a product; none if the options state it."""
        return {} if self._states_lines else {"as_row" if (name == "a") == (self._ops[name] == "n") else "as_column": True}

    def _described(self, location: str, name: str) -> Record:
        with self._folded(name):
            return self._described_alike(location, name)

    def _described_alike(self, location: str, name: str) -> Record:
        own, of_all = self._complex_axes[name], self._complex_axes["all"]
        if own is None:
            return self.info(location)
        with self._with(complex_axis=own):
            record = self.info(location)
        if of_all is not None:
            self._set("complex-axis", str(of_all))
        return record

    def _operand(self, given: Any, name: str, floats: bool = False) -> Operand:
        if isinstance(given, StoredOperand):
            return given
        found = self._found(given, name)
        return found.one() if isinstance(found, StoredOperand) else self._in_memory(found, name, reading=self._reading(floats))

    def _in_memory(self, given: Any, name: str, writable: bool = False, reading: Reading | None = None) -> Operand:
        if self.gpus > 1 and isinstance(given, Rows) and isinstance(given.array, (list, tuple)):
            return PartedOperand(given, name, self.gpus, writable, reading)
        return Operand(given, name, self.rank, self.ranks, writable, reading)

    def _reading(self, floats: bool = False) -> Reading:
        """FLOATS: no whole numbers are multiplied as such."""
        kept = () if floats else ("int8",) if self._type is None else ("int8", "int32")
        return Reading(kept, self._fills)

    def _agree(self, operands: list[Operand]) -> None:
        mine = [operand.stated for operand in operands]
        everyone: list[list[Stated]] = [mine] if self.comm is None else self.comm.allgather(mine)
        for index, operand in enumerate(operands):
            operand.agree([stated[index] for stated in everyone])

    def _pose(self, ab: list[Operand]) -> tuple[int, int, int]:
        self._agree(ab)
        (m, k), (k_of_b, n) = (self._op_shape(o) for o in ab)
        if k != k_of_b:
            raise UsageError(f"op(a) is {shown((m, k))} and op(b) {shown((k_of_b, n))}: the inner dimensions differ",
                             hint="b.reshape(-1, 1), or of a file row_axes_b=2, is one column" if k == k_of_b * n and min(k_of_b, n) > 1 else "")
        self._check_types(ab)
        return m, n, k

    def _pose_batch(self, ab: list[Operand], shape: tuple[int, int]) -> tuple[int, int]:
        self._agree(ab)
        self._check_types(ab)
        return shape

    def _state_whole(self, ab: list[Operand]) -> None:
        """The type that the options state, of whole numbers: those of exact products stay what they are."""
        stated = None if self._type is None else type_name(self._type)
        for o in ab:
            if o.whole and stated in ("i32", "i64"):
                o.type, o.exact = name_of_whole(o.whole), True
            elif o.whole and stated in EXACT:
                o.type, o.rounds = stated, self._rounds

    def _check_types(self, ab: list[Operand]) -> None:
        """Numbers of two types, and whole numbers, become what NumPy multiplies them as: the latter here, others in the library."""
        self._common = None
        self._state_whole(ab)
        alike = ab[0].type == ab[1].type and not (ab[0].whole or ab[1].whole)
        whole = [o for o in ab if o.whole or is_whole_type(str(o.type), alike)]
        differ = ab[0].type != ab[1].type
        if self._type is not None or not (whole or differ):
            return
        if self._same_types or (differ and any(o.on_gpus for o in ab)):
            first, second = (o.whole or o.type for o in ab)
            raise UsageError(f"{ab[0].name} is {first} and {ab[1].name} is {second}",
                             hint="convert one of them with astype(), or state the type of both, type=")
        if any(o.on_gpus for o in ab):
            return
        common = common_type([o.whole or str(o.type) for o in ab])
        for o in whole:
            if not isinstance(o, StoredOperand):
                o.whole, o.type = o.whole or "int8", common
        if {o.type for o in ab} != {common}:
            self._common = common

    def _op_shape(self, operand: Operand) -> tuple[int, int]:
        shape = operand.rows, operand.cols
        return shape if self._ops[operand.name] == "n" else shape[::-1]

    def _result(self, ab: list[Operand], out: Any, c: Any, beta: Any, shape: tuple[int, int],
                whole: bool = True) -> tuple[Operand, Operand | None]:
        """The destination of C, and the old C if the library must read it as a separate matrix.  WHOLE: C of integers has
        integers."""
        problem = None
        made = out is None
        if made:
            out, failed = attempt(self._make_result, ab, c, beta, shape, whole)
            if failed is not None and self.comm is None:
                raise failed
            if failed is not None:  # perhaps only on this rank
                out, problem = OnOne(None), told(failed, self.rank)
        result = self._in_memory(out, "out", writable=True)
        if result.type == "i64" and (self._type is None or type_name(self._type) != "i64"):
            result.stated.problem = UsageError("out has elements of int64", hint='type="i64" multiplies whole numbers exactly; others take float64')
        operands = [result]
        if c is not None:
            operands.append(self._in_memory(c, "c", reading=self._old_reading(ab)))
        if c is not None and any(isinstance(o, PartedOperand) for o in operands):
            raise UsageError("c is not taken in parts", hint="copy it to out, and set beta")
        result.stated.problem = problem or result.stated.problem or _shared(result, [*ab, *operands[1:]])
        self._agree(operands)
        for operand in reversed(operands):  # an out created from c has c's errors
            if (operand.rows, operand.cols) != shape:
                raise UsageError(f"{operand.name} is {shown((operand.rows, operand.cols))}, the product "
                                 f"{shown(shape)}")
        old = operands[1] if c is not None else None
        return result, old if old and not self._start_with(old, result, made) else None

    def _old_reading(self, ab: list[Operand]) -> Reading:
        """How the old C is read: beside a product of whole numbers it has some, too."""
        return Reading(("int8", "int32") if ab[0].type == "i8" else (), self._fills)

    def _make_result(self, ab: list[Operand], c: Any, beta: Any, shape: tuple[int, int], whole: bool) -> Any:
        if c is None and not is_zero(beta):
            raise UsageError("beta is not 0, but neither out nor c is given")
        type_ = self._type_of_result(self._common or str(ab[0].type) if self._type is None else type_name(self._type), whole)
        return self._new_result(ab, shape, type_) if c is None or _are_on_gpu(ab, c) else _copy_of(c, type_, self._old_reading(ab))

    def _start_with(self, c: Operand, result: Operand, made: bool) -> bool:
        """Copies the old C to OUT; False: the library must read C itself, in GPU memory, or of another type than an OUT
        that was MADE."""
        alike = (made or c.type == result.type) and c.stated.division == result.stated.division
        alike &= c.stated.numbers == result.stated.numbers
        alike &= c.view is None or (result.view is not None and c.view.shape == result.view.shape)
        if not (alike if self.comm is None else all(self.comm.allgather(alike))):
            raise UsageError("c and out differ in type or distribution")
        if c.on_gpus or result.on_gpus:
            same = c.view is None or (result.view is not None and same_places(c.view, result.view))
            return same if self.comm is None else all(self.comm.allgather(same))
        assert not isinstance(c.view, DeviceArray) and not isinstance(result.view, DeviceArray)
        if c.type != result.type:
            return False
        if c.view is not None and result.view is not None and not same_places(c.view, result.view):
            # OUT may share memory with A or B, which are still to be read
            result.start = c.view
        return True

    @contextmanager
    def _with_old(self, old: Operand | None) -> Iterator[None]:
        """Lets the library read OLD in place."""
        if old is None:
            yield
            return
        stated, memory = old.to_c()
        self._state_old(ctypes.byref(stated))
        try:
            yield
        finally:
            del memory
            if self._handle:
                self._state_old(None)

    def _new_result(self, ab: list[Operand], shape: tuple[int, int], type_: str) -> Matrix:
        a = ab[0].matrix
        if isinstance(ab[0], PartedOperand):
            return Rows(self._new_parts(ab[0].parts, shape, type_))
        if self.comm is None and all(isinstance(o.view, DeviceArray) for o in ab):
            array = empty_beside(ab[0].matrix.array, shape, type_)
            if array is not None:
                return Rows(array)
        if isinstance(a, OnOne):
            return OnOne(empty(shape, type_) if a.rank == self.rank else None, a.rank)
        if isinstance(a, Rows) and self._ops["a"] == "n" and ab[0].rows == shape[0]:
            own = ab[0].stated.rows
        else:
            own = shape[0] * (self.rank + 1) // self.ranks - shape[0] * self.rank // self.ranks
        return Rows(empty((own, shape[1]), type_))

    def _new_parts(self, parts: list[Operand], shape: tuple[int, int], type_: str) -> list[Any]:
        """Of a result: beside those of A."""
        made = []
        for i, part in enumerate(parts):
            own = shape[0] * (i + 1) // len(parts) - shape[0] * i // len(parts)
            if self._ops["a"] == "n":
                own = part.stated.rows
            on_gpu = isinstance(part.view, DeviceArray)
            made.append(empty_beside(part.matrix.array, (own, shape[1]), type_) if on_gpu
                        else empty((own, shape[1]), type_))
            if made[-1] is None:
                raise UsageError(f"the package of {part.name} makes no arrays here", hint="pass the parts of out")
        return made

    def _type_of_result(self, type_: str, whole: bool = True) -> str:
        for _, text in texts({"type_c": self._type_c}):
            if text not in lib.TYPES:
                raise UsageError(f"type_c: '{text}' is none of {', '.join(lib.TYPES)}", hint="type='i64' multiplies whole numbers exactly" if text == "i64" else "")
            return text
        if not whole and type_ not in ("f16", "bf16") and type_[0] not in "fc":
            if self._type is not None:
                raise UsageError(f"covariances and correlations are no whole numbers in {type_}", hint='type="f64" computes them in f64')
            return "f64"
        if type_ not in (*lib.TYPES, "i64"):
            raise UsageError(f"{type_} matrices need type= to be multiplied", hint='type="f64" converts them')
        return {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(type_, type_)

    def _multiply(self, function: Any, operands: list[Operand]) -> list[lib.CMatrix] | None:
        """C is computed beside OUT if OUT shares memory with A or B.  The operands as stated to the library, if it
        used the caller's arrays alone."""
        result = operands[2]
        out, start = result.view, result.start
        prepared, problem = attempt(_prepare, operands)
        agree(self.comm, problem)
        stated = [c for c, _ in prepared]
        memory = prepared[2][1]

        def finish(written: bool) -> None:
            if written and isinstance(out, np.ndarray) and isinstance(memory, np.ndarray) and memory is not out:
                out[...] = memory
            for operand in operands:
                operand.finish(written and operand is result)

        written = False
        try:
            self._call_on_arrays(function, *map(ctypes.byref, stated))
            written = True
        except UncheckedError:
            written = True
            raise
        finally:
            finish(written)
        alone = start is None and all(used is o.view and o.copy is None for o, (_, used) in zip(operands, prepared))
        return stated if alone else None


def _prepare(operands: list[Operand]) -> list[tuple[lib.CMatrix, Any]]:
    """A, B and C for the library, and the memory that it uses; C has the elements that it starts with."""
    result = operands[2]
    out, start = result.view, result.start
    aside = out is not None and any(o.view is not None and overlap(o.view, out) for o in operands[:2])
    if isinstance(out, np.ndarray) and start is not None and not aside:
        out[...] = start  # NumPy copies it first if it overlaps OUT
        start = None
    prepared = [operand.to_c(copy=operand is result and aside) for operand in operands]
    memory = prepared[2][1]
    if isinstance(memory, np.ndarray) and start is not None:
        memory[...] = start
    return prepared


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


def _name_of(location: Any) -> bytes:
    if isinstance(location, Stored):
        location = location.location
    if not isinstance(location, (str, bytes, os.PathLike)):
        raise UsageError(f"a location in a file is needed, not {type(location).__name__}",
                         hint="numpy.save('NAME.npy', array) makes a file of an array; matmul, gram, cov and cor take arrays")
    name = os.fsencode(location)
    if b"\0" in name:
        raise UsageError(f"the file name {name!r} contains a zero byte")
    return name


def _are_on_gpu(ab: list[Operand], c: Any) -> bool:
    """Whether A, B and an old C of a package whose arrays can be made are: then the result is, too."""
    on_gpu = all(isinstance(o.view, DeviceArray) for o in ab) and not isinstance(c, Matrix)
    return on_gpu and not isinstance(c, np.ndarray) and empty_beside(c, (0, 0), "f32") is not None


def _shared(result: Operand, others: list[Operand]) -> Error | None:
    """In GPU memory there are no protective copies, so OUT must not overlap others; the old C may be OUT itself."""
    if not isinstance(result.view, DeviceArray):
        return None
    for o in others:
        whole = o.name == "c" and o.view is not None and same_places(o.view, result.view)
        if o.view is not None and not whole and overlap(o.view, result.view):
            return UsageError(f"out shares GPU memory with {o.name}", hint=f"pass a copy of {o.name}")
    return None


def _copy_of(c: Any, type_: str, reading: Reading) -> Any:
    """The result of TYPE_ in place of an old C, which stays unchanged: a copy of it, if the library need not read it."""
    matrix = copy.copy(c) if isinstance(c, Matrix) else Rows(c)
    if matrix.array is not None:
        view, matrix.type, _, whole = as_matrix(matrix.array, "c", matrix.type, entries=isinstance(matrix, Entries), reading=reading)
        if matrix.type != type_ or isinstance(view, DeviceArray):
            rows, cols = view.shape
            matrix.array, matrix.type = empty((rows, cols), type_), type_
            return matrix
        try:
            dtype = np.dtype(DTYPE_OF_TYPE[type_]) if whole else view.dtype.newbyteorder("=")
            matrix.array = np.array(view, dtype, order="K", copy=True)
        except MemoryError:
            raise FitError(f"no memory for a copy of c, {shown(view.shape)}") from None
    return matrix
