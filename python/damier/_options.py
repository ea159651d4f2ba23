"""Converts options by their long names to the texts that the library and the program parse."""
from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._errors import UsageError
from ._spelling import is_option, unknown_option

# Keys: NumPy's dtype.str without the byte order; ml_dtypes' bfloat16 is recognised by name.
TYPE_OF_DTYPE = {"f8": "f64", "f4": "f32", "f2": "f16", "c8": "c64", "c16": "c128", "i1": "i8", "i4": "i32"}
DTYPE_OF_TYPE = {"f64": "f8", "f32": "f4", "f16": "f2", "bf16": "u2", "c64": "c8", "c128": "c16", "i8": "i1",
                 "i32": "i4"}


def type_of(dtype: np.dtype[Any]) -> str | None:
    if dtype.name == "bfloat16":
        return "bf16"
    return TYPE_OF_DTYPE.get(dtype.str[1:])


def type_name(value: Any) -> str:
    """The value of an option that states a type: a name of damier's, or anything that NumPy accepts as a dtype.

    >>> type_name("i8"), type_name(np.int8), type_name("float32"), type_name("bfloat16")
    ('i8', 'i8', 'f32', 'bf16')
    """
    if isinstance(value, str) and value == "bfloat16":  # unknown to NumPy alone
        return "bf16"
    if isinstance(value, str) and value in DTYPE_OF_TYPE:
        return value
    try:
        found = np.dtype(value)
        name = "i64" if found == np.int64 else type_of(found)
    except TypeError:
        name = None
    return name or str(value)  # the library knows synonyms and rejects the rest


def _number(value: Any) -> str:
    """The same for equal numbers, whatever their types."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        real = float(value)
        return str(int(real)) if real.is_integer() and abs(real) < 2**53 and str(real) != "-0.0" else repr(real)
    if isinstance(value, numbers.Complex):
        z = complex(value)
        return f"{_number(z.real)},{_number(z.imag)}" if z.imag else _number(z.real)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return _number(value.item())
    return str(os.fspath(value) if isinstance(value, os.PathLike) else value)


def text_of(name: str, value: Any) -> str:
    """
    >>> text_of("grid", (2, 1, 1)), text_of("alpha", 2 - 1j), text_of("memory", {"host": "4GiB"})
    ('2x1x1', '2,-1', 'host=4GiB')
    >>> text_of("alpha", 2), text_of("alpha", np.float64(2)), text_of("alpha", 2 + 0j), text_of("verify", np.bool_(False))
    ('2', '2', '2', 'no')
    """
    if isinstance(value, np.ndarray) and value.ndim > 0:
        if not is_option(name.replace("-", "_")):
            raise unknown_option(name)
        raise UsageError(f"{name} is an array", hint="weights, center_a, center_b, scale_a and scale_b may be")
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if name in ("type", "type-c"):
        return type_name(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_number(part)}" for key, part in value.items())
    if isinstance(value, (tuple, list)):
        return ("x" if name in ("grid", "chunk", "shape-a", "shape-b") else ",").join(_number(part) for part in value)
    return _number(value)


def texts(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Long names and values, without those that are None."""
    for key, value in options.items():
        if value is None:
            continue
        name = key.replace("_", "-")
        text = text_of(name, value)
        if "\0" in text:
            raise UsageError(f"the value of {key} contains a zero byte")
        yield name, text


def is_zero(value: Any) -> bool:
    """Whether a factor, given as a number or text, is 0."""
    if value is None:
        return True
    parts = text_of("beta", value).split(",")
    try:
        return all(float(part) == 0.0 for part in parts)
    except ValueError:
        return False  # the library rejects it
