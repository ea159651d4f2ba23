"""Centers arrays of this process, as the library does with datasets in files."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import check_meaning
from ._errors import UsageError


def centered(x: Any, axis: int, scale: bool, name: str) -> tuple[Any, Any]:
    """X less its means along AXIS and, with SCALE, divided by its standard deviations; integers become float64.

    Also returns where these are 0, so that nothing was divided.
    """
    if not isinstance(x, (np.ndarray, list, tuple)):
        raise UsageError(f"{name} takes arrays of NumPy and files, not {type(x).__name__}",
                         hint="subtract the means, and call damier.gram with alpha=1/(n - 1)")
    check_meaning(x, "x")
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[axis] < 2:
        raise UsageError(f"{name} needs a matrix with two {('rows', 'columns')[axis]} at least, not shape {x.shape}")
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    first = x.take([0], axis)  # so that equal elements have exactly their mean
    y = (x - first).astype(np.result_type(x.dtype, np.float64))
    y -= y.mean(axis, keepdims=True)
    deviation = np.sqrt((np.abs(y) ** 2).sum(axis, keepdims=True) / (x.shape[axis] - 1))
    constant = deviation == 0
    if scale:
        y /= np.where(constant, 1, deviation)
    return y.astype(x.dtype, copy=False), constant.ravel()
