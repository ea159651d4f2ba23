"""Loads OpenBLAS safely under limits on address space and data (ulimit -v, -d)."""
from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "OPENBLAS_NUM_THREADS"


def _is_limited() -> bool:
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


@contextmanager
def few_blas_threads() -> Iterator[None]:
    """While this is open OpenBLAS is loaded with one thread, if there is a limit: its threads reserve 128 MiB each when it
    is loaded, retry for ever if they cannot, and then neither ``fork`` nor ``exit`` returns. The library starts its
    threads later, when there is room for them."""
    if not _is_limited():
        yield
        return
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
