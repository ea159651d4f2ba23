"""A context of the library, and products with it."""
from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Union

import numpy as np

from . import _library as lib
from ._arrays import Array
from ._errors import Error, FitError, MPIError, StoppedError, UsageError, of_code
from ._matrices import Matrix, OnOne, Operand, Rows, Stated, empty, shown
from ._options import is_zero, texts, type_name

Progress = Callable[[int, int], Any]
Path = Union[str, "os.PathLike[str]"]
Record = dict[str, Any]

# The library wants to be called by one thread at a time.
_one_at_a_time = threading.RLock()


class Context:
    """A communicator and options, for several products.

    The functions of the package open one for each call, which takes less than a millisecond.  ``comm`` is a
    communicator of mpi4py, or None: this process alone, without MPI.  ``options`` are those of ``damier multiply``
    by their long names.  ``progress(done, total)`` is called now and then while panels are multiplied; where it
    returns something true the product ends with :class:`StoppedError`.  ``record`` is that of the last call.

    >>> with damier.Context(op_b="t") as context:
    ...     c = context.matmul(np.ones((2, 3)), np.ones((4, 3)))
    >>> c.shape, context.record["plan"]["grid"]
    ((2, 4), '1x1x1')
    """

    def __init__(self, comm: Any = None, *, progress: Progress | None = None, **options: Any) -> None:
        _check_comm(comm)
        self.comm = comm
        self.progress = progress
        self.record: Record = {}
        self.rank: int = 0 if comm is None else comm.Get_rank()
        self.ranks: int = 1 if comm is None else comm.Get_size()
        self._type_c = options.pop("type_c", None)
        self._type = options.get("type")
        self._beta = options.get("beta")
        self._ops = {x: str(options.get(f"op_{x}") or "n").lower() for x in "ab"}
        self._handle = ctypes.c_void_p()
        self._interrupted = False
        self._raised: BaseException | None = None
        self._callback = lib.CProgress(self._on_progress)
        with _one_at_a_time:
            self._open(options)

    def _open(self, options: Mapping[str, Any]) -> None:
        stated = list(texts(options))
        error = lib.CError()
        handle = lib.ALONE if self.comm is None else _fortran_handle(self.comm)
        if lib.library.damier_open_f(handle, ctypes.byref(self._handle), ctypes.byref(error)) != 0:
            raise _error_of(error)
        lib.library.damier_on_progress(self._handle, self._callback, None)
        try:
            for name, text in stated:
                self._set(name, text)
        except Error:
            self.close()
            raise

    def _set(self, name: str, text: str | None) -> None:
        """None: the default.  All ranks set the same, so that all have the same error."""
        error = lib.CError()
        words = (os.fsencode(name), None if text is None else os.fsencode(text))
        if lib.library.damier_set(self._handle, *words, ctypes.byref(error)) != 0:
            error.agreed = 1
            raise _error_of(error)

    @contextmanager
    def _with(self, **options: Any) -> Iterator[None]:
        """OPTIONS for one call."""
        stated = list(texts(options))
        for name, text in stated:
            self._set(name, text)
        try:
            yield
        finally:
            for name, _ in stated:
                if self._handle:
                    self._set(name, None)

    def close(self) -> None:
        """Collective."""
        with _one_at_a_time:
            handle, self._handle = self._handle, ctypes.c_void_p()
            lib.library.damier_close(handle)

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        # Where the others still wait closing would wait for them, too.
        if not isinstance(error, Error) or error.agreed:
            self.close()

    # ---- files ----

    def multiply(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.multiply`; collective."""
        return self._in_files(lib.library.damier_multiply, a, b, output, c)

    def verify(self, a: Path, b: Path, output: Path, *, c: Path | None = None) -> Record:
        """As :func:`damier.verify`; collective."""
        return self._in_files(lib.library.damier_verify, a, b, output, c)

    def info(self, location: Path | None = None) -> Record:
        """As :func:`damier.info`; collective."""
        where = None if location is None else os.fsencode(location)
        return self._call(lib.library.damier_info, where)

    def _in_files(self, function: Any, a: Path, b: Path, output: Path, c: Path | None) -> Record:
        matrices = [lib.CMatrix(division=lib.IN_FILE, file=os.fsencode(location)) for location in (a, b, output)]
        with self._with(c=c, type_c=self._type_c):
            return self._call(function, *map(ctypes.byref, matrices))

    # ---- arrays ----

    def matmul(self, a: Any, b: Any, out: Any = None, *, c: Any = None) -> Any:
        """As :func:`damier.matmul`; collective."""
        beta = 1 if c is not None and self._beta is None else self._beta
        ab = [Operand(a, "a", self.rank, self.ranks), Operand(b, "b", self.rank, self.ranks)]
        m, n, k = self._pose(ab)
        result = self._result(ab, out, c, beta, (m, n))
        if m == 0 or n == 0 or k == 0:
            _scale(result, beta)
            return result.matrix.array
        with self._with(beta=1 if c is not None and self._beta is None else None):
            self._multiply(lib.library.damier_multiply, [*ab, result])
        return result.matrix.array

    def plan(self, a: Any, b: Any, out: Any = None) -> Record:
        """What :meth:`matmul` of these arrays would do, need and take; collective."""
        ab = [Operand(a, "a", self.rank, self.ranks), Operand(b, "b", self.rank, self.ranks)]
        m, n, k = self._pose(ab)
        if m == 0 or n == 0 or k == 0:
            raise UsageError(f"there is nothing to plan of a product of {m} x {k} and {k} x {n}")
        result = self._result(ab, out, None, None, (m, n))
        return self._multiply(lib.library.damier_plan, [*ab, result])

    def _agree(self, operands: list[Operand]) -> None:
        mine = [operand.stated for operand in operands]
        everyone: list[list[Stated]] = [mine] if self.comm is None else self.comm.allgather(mine)
        for index, operand in enumerate(operands):
            operand.agree([stated[index] for stated in everyone])

    def _pose(self, ab: list[Operand]) -> tuple[int, int, int]:
        self._agree(ab)
        (m, k), (k_of_b, n) = (self._op_shape(o) for o in ab)
        if k != k_of_b:
            raise UsageError(f"op(a) is {shown((m, k))} and op(b) {shown((k_of_b, n))}: they do not fit together")
        if ab[0].type != ab[1].type:
            raise UsageError(f"a is {ab[0].type} and b is {ab[1].type}", hint="astype() of one of them")
        return m, n, k

    def _op_shape(self, operand: Operand) -> tuple[int, int]:
        shape = operand.rows, operand.cols
        return shape if self._ops[operand.name] == "n" else shape[::-1]

    def _result(self, ab: list[Operand], out: Any, c: Any, beta: Any, shape: tuple[int, int]) -> Operand:
        if out is None and c is None and not is_zero(beta):
            raise UsageError("beta is not 0, but there is neither out nor c")
        problem = None
        if out is None:
            try:
                out = self._new_result(ab, shape) if c is None else _copy_of(c)
            except Error as error:  # perhaps of this rank alone
                out, problem = OnOne(None), error
        result = Operand(out, "out", self.rank, self.ranks, writable=True)
        result.stated.problem = problem or result.stated.problem
        operands = [result]
        if c is not None:
            operands.append(Operand(c, "c", self.rank, self.ranks))
        self._agree(operands)
        for operand in reversed(operands):  # an out that was made of c has c's mistakes
            if (operand.rows, operand.cols) != shape:
                raise UsageError(f"{operand.name} is {shown((operand.rows, operand.cols))}, the product "
                                 f"{shown(shape)}")
        if c is not None:
            self._start_with(operands[1], result)
        return result

    def _start_with(self, c: Operand, result: Operand) -> None:
        """OUT has the old C where the library reads it."""
        alike = c.type == result.type and c.stated.division == result.stated.division
        alike &= c.stated.numbers == result.stated.numbers
        alike &= c.view is None or (result.view is not None and c.view.shape == result.view.shape)
        if not (alike if self.comm is None else all(self.comm.allgather(alike))):
            raise UsageError("c and out differ in type or in how they are divided")
        if c.view is not None and result.view is not None and c.view is not result.view:
            result.view[...] = c.view

    def _new_result(self, ab: list[Operand], shape: tuple[int, int]) -> Matrix:
        a = ab[0].matrix
        type_ = self._type_of_result(str(ab[0].type) if self._type is None else type_name(self._type))
        if isinstance(a, OnOne):
            return OnOne(empty(shape, type_) if a.rank == self.rank else None, a.rank)
        if isinstance(a, Rows) and self._ops["a"] == "n":
            own = ab[0].stated.rows
        else:
            own = shape[0] * (self.rank + 1) // self.ranks - shape[0] * self.rank // self.ranks
        return Rows(empty((own, shape[1]), type_))

    def _type_of_result(self, type_: str) -> str:
        for _, text in texts({"type_c": self._type_c}):
            if text not in lib.TYPES:
                raise UsageError(f"type_c: '{text}' is none of {', '.join(lib.TYPES)}")
            return text
        return {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(type_, type_)

    def _multiply(self, function: Any, operands: list[Operand]) -> Record:
        stated = [operand.to_c() for operand in operands]
        record = self._call(function, *(ctypes.byref(c) for c, _ in stated))
        out, memory = operands[2].view, stated[2][1]
        if out is not None and memory is not None and memory is not out:
            out[...] = memory  # its strides were none for the library
        return record

    # ---- calls ----

    def _on_progress(self, _: Any, done: int, total: int) -> int:
        """On the thread that called; while it runs Python looks for signals."""
        try:
            if self.progress is not None and self.progress(done, total):
                return 1
        except BaseException as error:  # ctypes would drop it
            self._raised = error
            return 1
        return int(self._interrupted)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C becomes a note that the progress function finds: the library's calls end in order."""
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def note(*_: Any) -> None:
            self._interrupted = True

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _call(self, function: Any, *arguments: Any) -> Record:
        if not self._handle:
            raise UsageError("the context is closed")
        error = lib.CError()
        with _one_at_a_time:
            self._interrupted, self._raised = False, None
            with self._interruptible():
                code = function(self._handle, *arguments, ctypes.byref(error))
            text = lib.library.damier_record(self._handle)
        self.record = json.loads(text) if text else {}
        if code == 0 and self.comm is not None:  # before what only this rank may raise
            self.record = self.comm.bcast(self.record, root=0)
        self._raise(code, error)
        return self.record

    def _raise(self, code: int, error: lib.CError) -> None:
        failed = _error_of(error, self.record) if code != 0 else None
        if self._raised is not None:
            raise self._raised from (None if isinstance(failed, StoppedError) else failed)
        if self._interrupted and (failed is None or isinstance(failed, StoppedError)):
            raise KeyboardInterrupt from None
        if failed is not None:
            raise failed


def _error_of(error: lib.CError, record: Record | None = None) -> Error:
    return of_code(error.code)(error.message.decode(errors="replace"), hint=error.hint.decode(errors="replace"),
                               code=error.code, rank=error.rank, agreed=bool(error.agreed), record=record)


def _check_comm(comm: Any) -> None:
    module = sys.modules.get("mpi4py.MPI")  # who has a communicator has loaded it
    if comm is not None and (module is None or not isinstance(comm, module.Comm)):
        raise UsageError(f"comm is {type(comm).__name__}, not a communicator of mpi4py")


def _fortran_handle(comm: Any) -> int:
    """Of mpi4py; it must be linked with the MPI that the library is linked with."""
    from mpi4py import MPI

    mine, theirs = lib.mpi_version(), MPI.Get_library_version().rstrip("\0")
    if mine and mine.strip() != theirs.strip():
        raise MPIError(f"mpi4py has {theirs.splitlines()[0]}, libdamier {mine.splitlines()[0]}",
                       hint="pip install --no-binary mpi4py mpi4py builds it with the MPI whose mpicc is in PATH")
    return int(comm.py2f())


def _copy_of(c: Any) -> Any:
    """Of an old C, for its result: C stays as it was."""
    import copy

    from ._arrays import as_matrix

    matrix = copy.copy(c) if isinstance(c, Matrix) else Rows(c)
    if matrix.array is not None:
        view, matrix.type = as_matrix(matrix.array, "c", matrix.type)
        try:
            matrix.array = np.array(view, order="K", copy=True)
        except MemoryError:
            raise FitError(f"no memory for a copy of c, {shown(view.shape)}") from None
    return matrix


def _scale(result: Operand, beta: Any) -> None:
    """C <- beta C, where op(A) op(B) has no terms."""
    view: Array | None = result.view
    if view is None or view.size == 0:
        return
    if result.type == "bf16" and not is_zero(beta):
        raise UsageError("C += A B without terms is not offered for bfloat16")
    factor = 0 if is_zero(beta) else beta
    if isinstance(factor, str):
        factor = complex(*map(float, factor.split(",")))
        factor = factor if factor.imag else factor.real
    view[...] = view.dtype.type(0) if factor == 0 else (view * factor).astype(view.dtype)
