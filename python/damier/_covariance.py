"""Covariances of arrays: what the library leaves to NumPy."""
from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator

import numpy as np

from ._arrays import check_meaning
from ._errors import Error, UsageError
from ._stored import Stored


def floats(x: Any) -> Any:
    """X, of integers as float64."""
    if not isinstance(x, (list, tuple, np.ndarray)):
        return x
    check_meaning(x, "x")
    array = np.asarray(x)
    return array.astype(np.float64) if array.dtype.kind in "iub" else array


def _on_host(weights: Any) -> Any:
    """A copy of what torch or CuPy has in GPU memory."""
    if not hasattr(weights, "__cuda_array_interface__"):
        return weights
    return weights.cpu() if hasattr(weights, "cpu") else weights.get()


@contextlib.contextmanager
def weights_in_file(weights: Any, comm: Any) -> Iterator[str | None]:
    """A location of WEIGHTS: an array is written to a file for the call, by rank 0, which reads it, too."""
    weights = weights.location if isinstance(weights, Stored) else weights
    located = weights is None or isinstance(weights, (str, os.PathLike))
    if comm is not None and len(set(comm.allgather(located))) > 1:
        raise UsageError("weights are an array on some ranks only")
    if located:
        yield None if weights is None else os.fspath(weights)
        return
    place: contextlib.AbstractContextManager[str] = contextlib.nullcontext("")
    if comm is None or comm.Get_rank() == 0:
        place = tempfile.TemporaryDirectory(prefix="damier-")
    with place as folder:
        name = os.path.join(folder, "weights.npy")
        problem = _save(name, weights) if folder else None
        name, problem = (name, problem) if comm is None else comm.bcast((name, problem))
        if problem is not None:
            raise UsageError(f"weights: {problem}")
        try:
            yield name
        except Error as error:
            error.message = error.message.replace(name, "weights")
            raise


def _save(name: str, weights: Any) -> str | None:
    """Why it cannot be saved."""
    try:
        check_meaning(weights, "the array")
        np.save(name, np.ascontiguousarray(_on_host(weights)), allow_pickle=False)
    except UsageError as error:
        return f"{error.message}; {error.hint}"
    except (OSError, TypeError, ValueError) as error:
        return str(error)
    return None
