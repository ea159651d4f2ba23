"""The result of a context's product: where C is, of what type, beside an old C, and the call that fills it."""
from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _library as lib
from ._agreement import agree, attempt, told
from ._arrays import Reading, as_matrix, overlap, same_places
from ._device import DeviceArray, empty_beside
from ._errors import Error, FitError, UncheckedError, UsageError
from ._matrices import Entries, Matrix, OnOne, Operand, PartedOperand, Rows, empty, shown
from ._operands import Operands
from ._options import DTYPE_OF_TYPE, is_zero, texts, type_name


class Results(Operands):
    """Base class of :class:`damier.Context`."""

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
