"""What objects say about their elements beside them: attributes of datasets, masks, units.  A view of the memory would drop it."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._errors import UsageError

# Attributes by which stored numbers are not the values (CF and netCDF).
_OF_VALUES = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
# The same where the package's own [...] returns stored numbers.
_OF_STORED = (*_OF_VALUES, "valid_range", "valid_min", "valid_max", "MissingValue", "CodeMissingValue", "ScaleFactor", "Offset",
              "scale", "offset", "__complex__")
_RAW_PACKAGES = ("h5netcdf", "zarr")
# Names of what gives a dataset of HDF5 a meaning from beside it, or from a group around it (src/inspect/conventions.c).
_BESIDE = ("mask", "_mask", "null_bitmap", "image-max", "image-min", "channel_conversion", "polynom_coefficients", "InfoChannel", "type")
_BESIDE_ENDINGS = ("Factors", "_scaling_factor", "_offset", "_mask", "_masked")  # after its own name
_GROUPS_BESIDE = ("what", "calibration", "application_data")
_GROUPS_AROUND = ("All_Data", "3BData", "vars")


def _package_of(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


def _check_attributes(array: Any, name: str) -> None:
    """NumPy takes the stored numbers of a dataset, whatever stands beside them."""
    attributes = getattr(array, "attrs", None)
    if attributes is None:
        return
    of_h5py = _package_of(array) == "h5py"
    if of_h5py and getattr(array, "is_virtual", False):
        raise UsageError(f"{name} is a virtual dataset that only h5py can read, with fill values in place of absent sources",
                         hint="open its file for reading, under its present name: then the library reads it")
    beside = _of_file(array) if of_h5py and hasattr(array, "parent") else None
    if beside:
        raise UsageError(f"{name} is a dataset that {beside}, which may say what its numbers mean",
                         hint="open its file for reading, under its present name: then the library applies what it knows"
                         "; dataset[...] takes the stored numbers")
    names = attributes if of_h5py else _OF_STORED if _package_of(array) in _RAW_PACKAGES else _OF_VALUES
    found = [key for key in names if key in attributes]
    if found:
        raise UsageError(f"{name} is a dataset with the attribute {found[0]!r}, which may say what its numbers mean",
                         hint=("open its file for reading, under its present name: then the library applies known attributes"
                               if of_h5py else "xarray or netCDF4 reads it with known attributes applied")
                         + "; dataset[...] takes the stored numbers")


def _of_file(dataset: Any) -> str | None:
    """What may give a dataset of h5py, which h5py itself must read, a meaning from outside of it."""
    folders = [part for part in (dataset.name or "").split("/") if part]
    if len(folders) > 1 and (under := set(folders[:-1]).intersection(_GROUPS_AROUND)):
        return f"is in a group {under.pop()!r}"
    group, own = dataset.parent, folders[-1] if folders else ""
    for beside in (*_BESIDE, *(own + ending for ending in _BESIDE_ENDINGS)):
        if beside != own and beside in group:
            return f"has {beside!r} beside it"
    while group.name != "/":
        if len(group.attrs):
            return f"is in a group with the attribute {next(iter(group.attrs))!r}"
        if beside := next((name for name in _GROUPS_BESIDE if name in group.parent), None):
            return f"has {beside!r} around it"
        group = group.parent
    return "is in a file of netCDF" if "_NCProperties" in group.attrs else None


def _held(node: Any) -> Iterator[Any]:
    """What a node of dask's graph holds itself, in any of its forms."""
    yield node
    if hasattr(node, "value"):
        yield node.value
    arguments = node if isinstance(node, (tuple, list)) else getattr(node, "args", ())
    for one in arguments if isinstance(arguments, (tuple, list)) else ():
        yield getattr(one, "value", one)


def _check_graph(array: Any, name: str) -> None:
    """Arrays of dask read datasets without their attributes."""
    for node in dict(array.__dask_graph__()).values():
        for one in _held(node):
            if hasattr(one, "attrs") and hasattr(one, "shape"):
                _check_attributes(one, f"{name}, read by dask,")


def _behind(array: Any) -> Any:
    """The dataset behind a view by astype() or fields() of h5py; or what an array of xarray wraps."""
    if _package_of(array) == "h5py":
        return getattr(array, "_dset", None)
    return getattr(array, "data", None) if _package_of(array) == "xarray" else None


def check_meaning(array: Any, name: str) -> None:
    """Whether the elements are all that ARRAY is: a view of its memory would drop masks, units and attributes."""
    for one in array if isinstance(array, (list, tuple)) else ():
        if hasattr(one, "__array__"):
            check_meaning(one, name)
    _check_attributes(array, name)
    behind = _behind(array)
    for one in (array, behind):
        if hasattr(one, "__dask_graph__") and one.__dask_graph__() is not None:
            _check_graph(one, name)
    if behind is not None and _package_of(behind) == "h5py":
        _check_attributes(behind, f"behind the view, {name}")
    mask: Any = getattr(array, "mask", None)
    if np.ndim(mask) > 0 and np.any(mask):
        raise UsageError(f"{name} has {int(np.count_nonzero(mask))} masked elements",
                         hint="missing= says what becomes of them: 'nan', 'zero', 'mean' or 'complete'; for covariances also 'pairwise'; or a.filled(0)")
    carries = isinstance(array, np.ndarray) or hasattr(array, "magnitude")  # astropy and unyt, pint
    unit = next((str(getattr(array, key)) for key in ("unit", "units") if carries and hasattr(array, key)), "")
    if unit not in ("", "dimensionless"):
        raise UsageError(f"{name} is in {unit}, which a result would not carry",
                         hint="pass its numbers: a.value (astropy, unyt) or a.magnitude (pint)")


def elements_of(array: Any) -> Any:
    """An array of NumPy with the elements of ARRAY, which has no memory that can be seen, and perhaps a mask."""
    # dask's __array__ drops masks
    return np.asanyarray(array.compute() if hasattr(array, "__dask_graph__") and hasattr(array, "compute") else array)
