"""Matrices in files as arrays: the library reads them as the old C of a product without terms, so that all that it knows of files applies."""
from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from ._errors import UsageError
from ._lazy import Product
from ._options import DTYPE_OF_TYPE

_FLOATS = ("f64", "f32", "c64", "c128")  # other numbers become float64, those of 16 bits float32


def _product_of(matrix: Any, options: dict[str, Any]) -> tuple[Product, dict[str, Any]]:
    """A product that is MATRIX, and its options: nothing and MATRIX, or a vector times 1."""
    type_, extents = matrix.dtype, matrix.shape
    dtype = DTYPE_OF_TYPE[type_] if type_ in _FLOATS else "f4" if type_ in ("f16", "bf16") else "f8"
    if len(extents) == 1:
        return Product(matrix, np.ones((1, 1), dtype)), {"as_column": True, **options}
    return Product(np.zeros((extents[0], 0), dtype), np.zeros((0, extents[1]), dtype), 1, matrix), options


def written(matrix: Any, output: Any, options: dict[str, Any]) -> Any:
    """Writes MATRIX, a matrix in a file, to OUTPUT, and returns the record."""
    if matrix.ndim > 2:
        raise UsageError(f"{matrix!r} has {matrix.ndim} dimensions; a matrix has 2", hint="[3] takes one of its matrices")
    if options.get("if_needed"):
        raise UsageError("if_needed applies to products, not to a matrix that is copied", hint="force=True replaces the copy")
    product, words = _product_of(matrix, options)
    return product._done(output, words)


def read(matrix: Any, options: dict[str, Any]) -> Any:
    """MATRIX as an array."""
    if matrix.ndim > 2:  # one after the other
        return np.array([read(one, options) for one in matrix])
    with tempfile.TemporaryDirectory(prefix="damier-") as folder:
        path = os.path.join(folder, "matrix.npy")
        written(matrix, path, {"verify": False, **options})
        return np.load(path).reshape(matrix.shape)
