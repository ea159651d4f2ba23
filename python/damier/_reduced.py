"""What is kept of a product that is not stored, as arrays."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _library as lib
from ._components import Components
from ._device import moved_beside
from ._options import DTYPE_OF_TYPE

OPTIONS = ("top", "above", "below", "reduce")


class Top(NamedTuple):
    """The best elements of each row, or column, of a product, best first: ``lines x K`` arrays.

    A line with fewer than K numbers ends with NaN (0 in whole numbers) and the index -1."""

    values: Any
    indices: Any


class _Three(NamedTuple):
    data: Any
    indices: Any
    indptr: Any


class Sparse(_Three):
    """The elements of a product beyond a threshold: ``scipy.sparse.csr_array(c, shape=c.shape)`` makes an array of three arrays ``c``, or
    with ``each="column"`` ``csc_array``.

    >>> c = damier.matmul(np.eye(3), np.arange(9.0).reshape(3, 3), above=5)
    >>> c.data.tolist(), c.indices.tolist(), c.indptr.tolist(), c.shape
    ([6.0, 7.0, 8.0], [0, 1, 2], [0, 0, 0, 3], (3, 3))
    """

    shape: tuple[int, int]  # of the product

    def __getattr__(self, name: str) -> Any:
        hint = ": scipy.sparse.csr_array(c, shape=c.shape), or csc_array, makes a sparse array of it" if name.startswith("to") else ""
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")


def reduces(options: Mapping[str, Any]) -> bool:
    """Whether OPTIONS keep something of a product in place of the product."""
    return any(options.get(key) not in (None, "none") for key in OPTIONS)


def arrays_of(context: ctypes.c_void_p, beside: Any = None) -> Any:
    """What the last call of the library's CONTEXT kept, copied; of several options a dictionary; None: another rank has it.
    Arrays are like BESIDE, an array in GPU memory of torch or CuPy, and on its GPU; else of NumPy."""
    found: dict[str, dict[str, Any]] = {}
    one, index = lib.CArray(), 0
    while lib.library.damier_kept_array(context, index, ctypes.byref(one)):
        found.setdefault(one.of.decode(), {})[one.name.decode()] = moved_beside(beside, _array_of(one))
        index += 1
    results = {of: _result_of(arrays) for of, arrays in found.items()}
    if len(results) > 1:
        return results
    return next(iter(results.values())) if results else None


def with_shapes(found: Any, problem: Callable[[], Any]) -> Any:
    """What :func:`arrays_of` FOUND, with the shape of the product, which PROBLEM returns."""
    for one in found.values() if isinstance(found, dict) else (found,):
        if isinstance(one, Sparse):
            one.shape = (problem()["m"], problem()["n"])
    return found


def _result_of(found: dict[str, Any]) -> Any:
    if "values" in found:
        return Top(**found)
    if "components" in found:
        return Components(**found)
    return Sparse(**found) if "indptr" in found else next(iter(found.values()))


def _array_of(one: lib.CArray) -> Any:
    dtype = np.dtype("i8" if one.whole else DTYPE_OF_TYPE[lib.TYPES[one.type]])
    shape = (one.rows, one.cols) if one.cols else (one.rows,)
    made = np.empty(shape, dtype)
    if made.size:
        ctypes.memmove(made.ctypes.data, one.data, made.nbytes)
    if not one.whole and lib.TYPES[one.type] == "bf16":
        import ml_dtypes

        return made.view(ml_dtypes.bfloat16)
    return made
