"""Labels of pandas and xarray: covariances of labelled columns have these labels."""
from __future__ import annotations

import sys
from typing import Any


def _is(array: Any, package: str, kind: str) -> bool:
    return type(array).__module__.partition(".")[0] == package and type(array).__name__ == kind


def is_labelled(array: Any) -> bool:
    """Whether ARRAY is a DataFrame of pandas or a DataArray of xarray."""
    return _is(array, "pandas", "DataFrame") or _is(array, "xarray", "DataArray")


def labelled(found: Any, x: Any, y: Any, of_rows: bool) -> Any:
    """FOUND, the covariances of the columns of X, or of its rows, with those of Y (None: X), like X with the labels of both."""
    other = x if y is None else y
    if _is(x, "pandas", "DataFrame"):
        return sys.modules["pandas"].DataFrame(found, index=_of_frame(x, of_rows), columns=_of_frame(other, of_rows))
    dims, coords = [], {}
    for array, rename in ((x, False), (other, True)):
        dim, values = _of_array(array, of_rows)
        dim = f"{dim}_2" if rename and dim in dims else dim
        dims.append(dim)
        if values is not None:
            coords[dim] = values
    return sys.modules["xarray"].DataArray(found, dims=dims, coords=coords)


def _of_frame(table: Any, of_rows: bool) -> Any:
    if not _is(table, "pandas", "DataFrame"):
        return None
    return table.index if of_rows else table.columns


def _of_array(array: Any, of_rows: bool) -> tuple[str, Any]:
    """The dimension, and its labels."""
    if not _is(array, "xarray", "DataArray"):
        return "y", None
    dim = str(array.dims[0 if of_rows else 1])
    return dim, array.coords[dim].values if dim in array.indexes else None
