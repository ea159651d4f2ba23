"""Compares two matrices by the program, in files or in memory."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import UsageError
from ._program import record_of
from ._record import Record
from ._stored import location_of


def _named(given: Any, folder: str, name: str) -> str:
    """The location of GIVEN, or of its copy in FOLDER."""
    location = location_of(given)
    if location is not None:
        return location
    path = os.path.join(folder, name)
    array = np.asarray(given)
    if array.dtype.hasobject:
        raise UsageError(f"{name} has elements of type {array.dtype}, which are no numbers")
    np.save(path, array, allow_pickle=False)
    return path


def compare_files(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Record:
    """What :func:`damier.compare` does."""
    options = {"rtol": float(rtol), "atol": float(atol), "equal_nan": bool(equal_nan)}
    with tempfile.TemporaryDirectory(prefix="damier-") as folder:
        return record_of("compare", [_named(a, folder, "a.npy"), _named(b, folder, "b.npy")], options)


@contextmanager
def in_files(given: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The locations of matrices by their names; None stays."""
    with tempfile.TemporaryDirectory(prefix="damier-") as folder:
        yield [None if one is None else _named(one, folder, f"{name}.npy") for name, one in given.items()]
