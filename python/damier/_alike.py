"""Calls like an earlier one of the same context: what that call found out about the caller's arrays serves again.

This is the only place of the package that decides so, from the arrays as the caller passes them: their addresses, shapes,
strides, types, devices, and whether they may be written.  A copy that was made for the library says nothing about them."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _library as lib
from ._device import current_stream


_BRIEF = 2.0**28  # operations, with more than k of each element: a millisecond of a CPU


def _kind(array: Any) -> tuple[Any, ...] | None:
    """Equal for arrays that the library takes alike, wherever their elements are; None: not known to be."""
    if array is None:
        return ()
    if type(array) is np.ndarray:
        return array.dtype, array.shape, array.strides, array.flags.writeable, array.flags.aligned
    torch = sys.modules.get("torch")
    if torch is None or type(array) is not torch.Tensor or not array.is_cuda or array.requires_grad or array.layout is not torch.strided:
        return None
    return array.dtype, array.shape, array.stride(), array.device, array.is_conj(), array.is_neg()


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0] if type(array) is np.ndarray else array.data_ptr())


def _kinds(*arrays: Any) -> tuple[Any, ...] | None:
    found = tuple([_kind(array) for array in arrays])
    return None if None in found else found


class Alike:
    """A call that used the caller's A, B and C in place, as it stated them to the library.

    GIVEN are the caller's; the last is None if C was made for RESULT.  BATCH: the number of matrices that are one below the
    other."""

    def __init__(self, given: list[Any], result: Any, stated: list[lib.CMatrix], batch: int = 1) -> None:
        self.batch = batch
        a, _, c = stated
        self.is_brief = 2.0 * c.rows * c.cols * max(a.rows, a.cols) < _BRIEF
        self._kinds = _kinds(*given, result) and _kinds(*given)
        self.stated = stated
        if self._kinds is not None:
            self._shape, self._dtype = result.shape, result.dtype
            self._bytes = [_bytes(array, c) for array, c in zip([*given[:2], result], stated)]

    def take(self, a: Any, b: Any, out: Any) -> Any:
        """The result of a call with these arrays, for which the matrices to state are in ``stated``; None: it is not like the
        earlier one, or C may share memory with A or B."""
        if self._kinds is None or self._kinds != _kinds(a, b, out):
            return None
        result = self._new_result(a) if out is None else out
        return result if self._put(a, b, result) else None

    def _new_result(self, a: Any) -> Any:
        if type(a) is np.ndarray:
            return np.empty(self._shape, self._dtype)
        return a.new_empty(self._shape, dtype=self._dtype)

    def _put(self, *arrays: Any) -> bool:
        a, b, c = map(_address, arrays)
        of_a, of_b, of_c = self._bytes
        if (c < a + of_a and a < c + of_c) or (c < b + of_b and b < c + of_c):
            return False
        stream = None  # of all on one GPU
        for stated, address, array in zip(self.stated, (a, b, c), arrays):
            stated.data = address
            if stated.memory == lib.GPU_MEMORY:
                stream = stream or current_stream(array)
                stated.stream = stream
        return True


def _bytes(array: Any, c: lib.CMatrix) -> int:
    """From the first to the last element."""
    down, right = ((n - 1) * s if n > 1 else 0 for n, s in ((c.own_rows, c.row_stride), (c.cols, c.col_stride)))
    return int((down + right + 1) * array.dtype.itemsize)
