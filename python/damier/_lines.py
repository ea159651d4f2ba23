"""Vectors as NumPy's matmul takes them: A as a row, B as a column, and a result without that dimension."""
from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import UsageError
from ._meaning import check_meaning, elements_of
from ._stored import StoredOperand, location_of


def _vector(x: Any, name: str) -> Any:
    """X if it is one in a file, or can be indexed as arrays are; None: it is none."""
    if isinstance(x, StoredOperand):
        return x if x.is_vector else None
    if isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], (numbers.Number, np.generic)):
        return np.asarray(x)
    if getattr(x, "ndim", None) != 1 or not hasattr(x, "__getitem__") or location_of(x) is not None:
        return None
    if isinstance(x, np.ndarray) or hasattr(x, "__cuda_array_interface__") or type(x).__module__.partition(".")[0] == "torch":
        return x
    check_meaning(x, name)
    made = elements_of(x)  # of pandas, polars, xarray
    return made if made.ndim == 1 else None


def _may_be_vector(x: Any) -> bool:
    """Whether X may be one."""
    if isinstance(x, StoredOperand):
        return x.is_vector
    return getattr(x, "ndim", None) == 1 or (isinstance(x, (list, tuple)) and len(x) > 0 and not hasattr(x[0], "__len__"))


@dataclass
class Lines:
    """The operands of a product of which one or two are vectors, as matrices in the same memory."""

    a: Any
    b: Any
    out: Any
    c: Any
    row: bool  # A is a vector
    column: bool  # B is

    def of_result(self, result: Any, out: Any) -> Any:
        """OUT, or RESULT without the dimensions that were added."""
        if out is not None:
            return out
        return result[0, 0] if self.row and self.column else result[..., 0, :] if self.row else result[..., 0]


def of_lines(a: Any, b: Any, out: Any, c: Any, ops: Mapping[str, str]) -> Lines | None:
    """The operands as matrices; None: neither A nor B is a vector."""
    if not (_may_be_vector(a) or _may_be_vector(b)):
        return None
    vectors = [_vector(x, name) for x, name in ((a, "a"), (b, "b"))]
    row, column = (x is not None for x in vectors)
    if not (row or column):
        return None
    if isinstance(out, (str, os.PathLike)) and all(x is None or isinstance(x, StoredOperand) for x in vectors):
        return None  # the library gives the result in a file a dimension less
    for name, x in zip("ab", vectors):
        if x is not None and ops[name] != "n" and not isinstance(x, StoredOperand):
            raise UsageError(f"{name} is a vector, which is not transposed", hint=f"leave out op_{name}; x[:, None] and x[None, :] are matrices")
    dims = 0 if row and column else _dimensions(b if row else a) - 1
    index = (..., None, None) if row and column else (..., None, slice(None)) if row else (..., None)
    return Lines(_as_line(vectors[0], (None, slice(None))) if row else a, _as_line(vectors[1], (slice(None), None)) if column else b,
                 _with_line(out, "out", dims, index), _with_line(c, "c", dims, index), row, column)


def _dimensions(x: Any) -> int:
    return len(x.shape) if isinstance(x, StoredOperand) else getattr(x, "ndim", 2)


def _as_line(x: Any, index: Any) -> Any:
    return x.as_line() if isinstance(x, StoredOperand) else x[index]


def _with_line(x: Any, name: str, dims: int, index: Any) -> Any:
    """X, an array like the result, with the dimensions of matrices."""
    if x is None:
        return None
    if getattr(x, "ndim", None) != dims or not hasattr(x, "__getitem__"):
        raise UsageError(f"{name} is {'an array' if hasattr(x, 'ndim') else type(x).__name__} of other dimensions than the product of a "
                         f"vector, which is an array of {dims}", hint="x[:, None] is a matrix, whose product may be one in a file")
    return x[index]
