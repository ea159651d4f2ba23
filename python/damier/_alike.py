"""Products of the same kind of arrays as an earlier call: what that call found out about them serves again."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _library as lib
from ._device import current_stream


def _kind(array: Any) -> tuple[Any, ...] | None:
    """Equal for arrays that the library takes alike, wherever their elements are; None: not known to be."""
    if array is None:
        return ()
    if type(array) is np.ndarray:
        return array.dtype, array.shape, array.strides, array.flags.writeable, array.flags.aligned
    torch = sys.modules.get("torch")
    if torch is None or type(array) is not torch.Tensor or not array.is_cuda or array.requires_grad:
        return None
    return array.dtype, array.shape, array.stride(), array.device, array.layout, array.is_conj(), array.is_neg()


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0] if type(array) is np.ndarray else array.data_ptr())


def kinds(*arrays: Any) -> tuple[Any, ...] | None:
    found = tuple([_kind(array) for array in arrays])
    return None if None in found else found


class Alike:
    """A call whose arrays were used in place: A, B and C as stated to the library.

    GIVEN are the caller's; the last is None if C was made for the result.  KINDS None: no call is like it.  BATCH: the
    number of matrices that are one below the other."""

    def __init__(self, given: list[Any], result: Any, stated: list[lib.CMatrix], batch: int = 1) -> None:
        self.batch = batch
        self.kinds = kinds(*given, result) and kinds(*given)
        self.stated = stated
        if self.kinds is None:
            return
        self.shape, self.dtype = result.shape, result.dtype
        self.bytes = [_bytes(array, c) for array, c in zip([*given[:2], result], stated)]

    def result(self, a: Any) -> Any:
        return np.empty(self.shape, self.dtype) if type(a) is np.ndarray else a.new_empty(self.shape, dtype=self.dtype)

    def put(self, *arrays: Any) -> bool:
        """States these arrays, of the same kinds; False: C may share memory with A or B."""
        a, b, c = map(_address, arrays)
        of_a, of_b, of_c = self.bytes
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
