"""Numbers that the library has no type for: whole numbers and booleans become floating-point numbers where that is exact, and
tables of columns become arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._options import DTYPE_OF_TYPE, type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The largest whole number up to which a type holds all.
EXACT = {"f64": 53, "f32": 24, "f16": 11, "c128": 53, "c64": 24, "i8": 7, "i32": 31}
_HINT = "table.select_dtypes('number') of pandas has the columns of numbers"


def converted(array: NDArray[Any], type_: str, name: str, rounds: bool) -> NDArray[Any]:
    """ARRAY, of whole numbers, as TYPE_, which need not hold them exactly if it ROUNDS."""
    if not rounds:
        check_exact(array, type_, name)
    return array.astype(DTYPE_OF_TYPE[type_])


def is_whole(dtype: np.dtype[Any], kept: tuple[str, ...]) -> bool:
    """Whether elements of DTYPE are converted: whole numbers and booleans, but for the types that are KEPT."""
    return dtype.kind in "biu" and dtype.name not in kept


# What the library names so in files, besides the types that it multiplies.
OF_FILES = {"i16": "i2", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8", "bool": "?"}


def name_of_whole(kind: str) -> str:
    """What the library calls whole numbers of KIND, NumPy's name.

    >>> name_of_whole("uint16"), name_of_whole("int8"), name_of_whole("bool")
    ('u16', 'i8', 'bool')
    """
    found = np.dtype(kind)
    return next((name for name, one in OF_FILES.items() if np.dtype(one) == found), "") or str(type_of(found))


def is_whole_type(type_: str, alike: bool) -> bool:
    """Whether TYPE_, of damier, is of whole numbers that become others; ALIKE: the other operand has the same type."""
    return type_ in OF_FILES or type_ == "i32" or (type_ == "i8" and not alike)


def check_exact(array: NDArray[Any], type_: str, name: str) -> None:
    """Whether TYPE_ holds all whole numbers of ARRAY."""
    if array.size == 0 or array.dtype == bool:
        return
    least, most, bits = int(array.min()), int(array.max()), EXACT[type_]
    low, high = (-(2**bits), 2**bits - 1) if type_[0] == "i" else (-(2**bits), 2**bits)
    if low <= least and most <= high:
        return
    raise UsageError(f"{name} holds {most if most > high else least}, which {type_} cannot hold exactly",
                     hint=f"{name}.astype('f8') rounds such numbers" if type_ == "f64" else "type='f64' holds whole numbers up to 2**53")


def common_type(types: list[str]) -> str:
    """The type in which NumPy multiplies elements of TYPES, its names or those of damier; of whole numbers f64."""
    if "bf16" in types:  # which NumPy lacks, and f32 holds
        types = ["f32" if one == "bf16" else one for one in types]
    found = np.result_type(*[np.dtype(DTYPE_OF_TYPE.get(one, OF_FILES.get(one, one))) for one in types])
    return "f64" if found.kind in "biu" else type_of(found) or str(found)


def unmasked(array: Any, name: str) -> Any:
    """ARRAY, or, if elements of it are masked, a copy in which these are NaN."""
    if type(array).__module__.partition(".")[0] == "netCDF4":
        array = array[...]
    mask = getattr(array, "mask", None) if isinstance(array, np.ndarray) else None
    if mask is None or not np.any(mask) or array.dtype.kind not in "biufc":
        return array
    masked: Any = array
    if masked.dtype.kind in "biu":
        check_exact(masked.compressed(), "f64", name)
        masked = masked.astype("f8")
    return masked.filled(np.nan)


# ---- tables ----


def _columns(table: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a data frame or table of pandas, polars or Arrow; None: it is none."""
    package = type(table).__module__.partition(".")[0]
    if len(getattr(table, "shape", ())) != 2:
        return None
    if package == "pandas" and hasattr(table, "iloc"):
        return [(str(label), table.iloc[:, i]) for i, label in enumerate(table.columns)]
    if package == "polars" and hasattr(table, "get_columns"):
        return [(column.name, column) for column in table.get_columns()]
    if package == "pyarrow" and hasattr(table, "column_names"):
        return list(zip(table.column_names, table.columns))
    return None


def _values(column: Any, name: str, label: str, fills: bool) -> NDArray[Any]:
    """The numbers of COLUMN, NaN for those that are missing if FILLS."""
    null_count = getattr(column, "null_count", None)  # polars, Arrow
    missing = int((null_count() if callable(null_count) else null_count) or 0) if null_count is not None else 0
    array = getattr(column, "array", None)  # pandas: its nullable types have masks
    if null_count is None and array is not None and not isinstance(getattr(column, "dtype", None), np.dtype):
        missing = int(column.isna().sum())
    if missing and not fills:
        raise UsageError(f"{missing} values of column {label!r} of {name} are missing", hint="missing= says what becomes of them: 'nan', "
                         "'zero', 'mean'; for covariances also 'pairwise'")
    if null_count is not None:
        valid = column.drop_nulls() if hasattr(column, "drop_nulls") else column.drop_null()
        found = np.asarray(valid.to_numpy())
        present = ~np.asarray(column.is_null().to_numpy() if hasattr(column.is_null(), "to_numpy") else column.is_null())
    else:
        present = ~np.asarray(column.isna()) if missing else np.ones(len(column), bool)
        kept = column[present] if missing else column
        dtype = getattr(column.dtype, "numpy_dtype", None)
        found = kept.to_numpy(dtype=dtype) if dtype is not None and dtype.kind in "biufc" else np.asarray(kept)
    if found.dtype.kind not in "biufc":
        raise UsageError(f"column {label!r} of {name} has elements of {column.dtype if hasattr(column, 'dtype') else column.type}", hint=_HINT)
    if not missing:
        return found
    if found.dtype.kind in "biu":
        check_exact(found, "f64", f"column {label!r} of {name}")
        found = found.astype("f8")
    filled = np.full(len(column), np.nan, found.dtype)
    filled[present.astype(bool)] = found
    return filled


def of_table(table: Any, name: str, fills: bool) -> Any:
    """The numbers of a table whose columns are no single array of NumPy; anything else as it is.  FILLS: missing ones are NaN."""
    columns = _columns(table)
    if columns is None or (columns and _is_plain(table)):
        return table
    values = [_values(column, name, label, fills) for label, column in columns]
    dtype = np.result_type(*[one.dtype for one in values]) if values else np.dtype("f8")
    made = np.empty(table.shape, dtype, order="F")
    for i, ((label, _), one) in enumerate(zip(columns, values)):
        if one.dtype.kind in "iu" and dtype.kind in "fc":
            check_exact(one, str(type_of(dtype) or "f64"), f"column {label!r} of {name}")
        made[:, i] = one
    return made


def _is_plain(table: Any) -> bool:
    """A frame of pandas of one type of NumPy, which may be a view."""
    types = getattr(table, "dtypes", None)
    found = set(types) if types is not None else set()
    one = next(iter(found)) if len(found) == 1 else None
    return isinstance(one, np.dtype) and one.kind in "biufc"
