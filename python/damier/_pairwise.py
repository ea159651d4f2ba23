"""Covariances of arrays: what the library leaves to NumPy."""
from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator

import numpy as np

from ._arrays import check_meaning
from ._context import Context
from ._errors import UsageError


def floats(x: Any) -> Any:
    """X; integers of NumPy, and lists, as float64."""
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype.kind in "iub"):
        check_meaning(x, "x")
        return np.asarray(x, np.float64)
    return x


@contextlib.contextmanager
def weights_in_file(weights: Any) -> Iterator[str | None]:
    """A location of WEIGHTS: an array is written to a file for the call."""
    if weights is None or isinstance(weights, (str, os.PathLike)):
        yield None if weights is None else os.fspath(weights)
        return
    with tempfile.TemporaryDirectory(prefix="damier-") as folder:
        name = os.path.join(folder, "weights.npy")
        np.save(name, np.ascontiguousarray(weights))
        yield name


def pairwise(name: str, x: Any, out: Any, comm: Any, of: str, options: Any) -> Any:
    """Covariances or correlations of the observations that both lines of each pair have, as pandas' (see the C library's
    pairwise.h for the products)."""
    if comm is not None or not isinstance(x, (np.ndarray, list, tuple)):
        raise UsageError("missing='pairwise' takes arrays of NumPy in one process, or a file")
    if "weights" in options:
        raise UsageError("missing='pairwise' takes no weights")
    x = floats(x)
    if x.ndim != 2 or x.dtype.kind != "f":
        raise UsageError(f"missing='pairwise' takes a real matrix, not {x.dtype} of shape {x.shape}")
    axis = {"columns": 0, "rows": 1}.get(of)
    if axis is None:
        raise UsageError(f"of is 'columns' or 'rows', not {of!r}")
    less = 0 if name == "cov" and options.get("divide") == "n" else 1
    options = {key: value for key, value in options.items() if key not in ("missing", "divide")}
    here = ~np.isnan(x)
    with np.errstate(all="ignore"):
        z = np.where(here, x - np.nansum(x, axis, keepdims=True, dtype=np.float64) / here.sum(axis, keepdims=True), 0.0)
    m = here.astype(np.float64)
    ops = {"op_a": "t"} if of == "columns" else {"op_b": "t"}
    with Context(None, **options) as context, Context(None, **(options | ops)) as across:
        count, product, total = context.gram(m, of=of), context.gram(z, of=of), across.matmul(z, m)
        squares = across.matmul(z * z, m) if name == "cor" else None
    with np.errstate(all="ignore"):
        result = product - total * total.T / count
        if squares is None:
            result = np.where(count > less, result / (count - less), np.nan)
        else:
            variance = squares - total**2 / count
            variance[~(variance > 2.0**-44 * squares)] = np.nan
            result = np.clip(result / np.sqrt(variance * variance.T), -1, 1)
            np.fill_diagonal(result, np.where(np.isnan(np.diag(result)), np.nan, 1.0))
    result = result.astype(x.dtype, copy=False)
    if out is None:
        return result
    out[...] = result
    return out
