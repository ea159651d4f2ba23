"""Calls like an earlier one of the same context: what that call found out about the caller's arrays serves again.

This is the only place of the package that decides so, from the arrays as the caller passes them: their addresses, shapes,
strides, types, devices, and whether they may be written.  A copy that was made for the library says nothing about them."""
from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from . import _library as lib
from ._device import current_stream


class _ArrayInterface(ctypes.Structure):
    """What ``__array_struct__`` points to, by NumPy's array interface protocol; ``__array_interface__`` takes ten times as long to make."""

    _fields_ = [("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int), ("flags", ctypes.c_int),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("data", ctypes.c_void_p)]


_DATA: int = _ArrayInterface.data.offset
_word_at = ctypes.c_void_p.from_address
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_STATE = 0x500  # of flags.num: whether an array is aligned, and may be written
_BRIEF = 2.0**28  # operations, with more than k of each element: a millisecond of a CPU


def _kind(array: Any) -> tuple[Any, ...] | None:
    """Equal for arrays that the library takes alike, wherever their elements are; None: not known to be."""
    if type(array) is np.ndarray:
        return array.dtype, array.shape, array.strides, array.flags.num & _STATE
    if array is None:
        return ()
    torch = sys.modules.get("torch")
    if torch is None or type(array) is not torch.Tensor or not array.is_cuda or array.requires_grad or array.layout is not torch.strided:
        return None
    return array.dtype, array.shape, array.stride(), array.device, array.is_conj(), array.is_neg()


def _address(array: Any) -> int:
    if type(array) is not np.ndarray:
        return int(array.data_ptr())
    interface = _pointer_of(array.__array_struct__, None)
    return _word_at(interface + _DATA).value or 0


class Alike:
    """A call of FUNCTION that used the caller's A, B and C in place, as it stated them to the library.

    SHOWN: what A and B are called.  GIVEN are the caller's; the last is None if C was made for RESULT.  BATCH: the number of matrices
    that are one below the other."""

    def __init__(self, function: Any, shown: tuple[str, str], given: list[Any], result: Any, stated: list[lib.CMatrix], batch: int = 1) -> None:
        self.function, self.shown, self.batch = function, shown, batch
        a, _, c = stated
        self.is_brief = 2.0 * c.rows * c.cols * max(a.rows, a.cols) < _BRIEF
        self._kinds = tuple(map(_kind, given))
        self._is_known = None not in self._kinds and _kind(result) is not None
        self.stated = stated
        self._on_gpu = [one.memory == lib.GPU_MEMORY for one in stated]
        if self._is_known:
            self._shape, self._dtype = result.shape, result.dtype
            self._bytes = [_bytes(array, c) for array, c in zip([*given[:2], result], stated)]

    def take(self, a: Any, b: Any, out: Any) -> Any:
        """The result of a call with these arrays, for which the matrices to state are in ``stated``; None: it is not like the
        earlier one, or C may share memory with A or B."""
        if not self._is_known or self._kinds != (_kind(a), _kind(b), _kind(out)):
            return None
        result = self._new_result(a) if out is None else out
        return result if self._put(a, b, result) else None

    def _new_result(self, a: Any) -> Any:
        if type(a) is np.ndarray:
            return np.empty(self._shape, self._dtype)
        return a.new_empty(self._shape, dtype=self._dtype)

    def _put(self, *arrays: Any) -> bool:
        a, b, c = addresses = [_address(array) for array in arrays]
        of_a, of_b, of_c = self._bytes
        if (c < a + of_a and a < c + of_c) or (c < b + of_b and b < c + of_c):
            return False
        stream = None  # of all on one GPU
        for stated, on_gpu, address, array in zip(self.stated, self._on_gpu, addresses, arrays):
            stated.data = address
            if on_gpu:
                stream = stream or current_stream(array)
                stated.stream = stream
        return True


def _bytes(array: Any, c: lib.CMatrix) -> int:
    """From the first to the last element."""
    down, right = ((n - 1) * s if n > 1 else 0 for n, s in ((c.own_rows, c.row_stride), (c.cols, c.col_stride)))
    return int((down + right + 1) * array.dtype.itemsize)
