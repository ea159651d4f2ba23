"""Arrays of other libraries through DLPack: address and layout of their elements."""
from __future__ import annotations

import ctypes
from typing import Any

from ._errors import UsageError

_KINDS = {0: "i", 1: "u", 2: "f", 4: "u", 5: "c"}  # of DLPack's types
_BFLOAT = 4


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, of DLPack 1.0 and later."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_READ_ONLY = 1  # of the flags


def _asked(array: Any, words: dict[str, Any]) -> Any:
    """Producers from before DLPack 1.0 do not know max_version."""
    is_neg = getattr(array, "is_neg", None)
    if callable(is_neg) and is_neg():  # torch exports it as if it did not negate its elements
        raise BufferError("it is a view that negates its elements: resolve_neg() makes a copy")
    try:
        return array.__dlpack__(max_version=(1, 0), **words)
    except TypeError:
        return array.__dlpack__(**words)


def _tensor_of(capsule: Any) -> tuple[_DLTensor, bool]:
    """The tensor, and whether it is read-only, which older capsules do not state."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    known = ctypes.pythonapi.PyCapsule_IsValid
    known.argtypes = get.argtypes
    if not known(capsule, b"dltensor_versioned"):
        return _DLTensor.from_address(get(capsule, b"dltensor")), False
    whole = _Versioned.from_address(get(capsule, b"dltensor_versioned"))
    if whole.major != 1:
        raise BufferError(f"version {whole.major} of DLPack is not supported")
    return whole.tensor, bool(whole.flags & _READ_ONLY)


def _signed(stride: int) -> int:
    """CuPy 14 divides a negative stride as an unsigned number by the size; times the size, its low 64 bits are right."""
    return (stride + 2**63) % 2**64 - 2**63


def interface_of(array: Any, name: str, **words: Any) -> tuple[dict[str, Any], Any, str | None]:
    """The ``__array_interface__``, the owner of the memory, and "bf16" if NumPy's type cannot express the elements'.

    WORDS are for ``__dlpack__``.  The capsule must be kept: it keeps the producer's memory alive."""
    try:
        capsule = _asked(array, words)
        t, read_only = _tensor_of(capsule)
    except Exception as error:  # libraries raise their own exceptions, for instance for tensors with gradients
        raise UsageError(f"{name} cannot be exported by DLPack: {error}") from error
    if t.code not in _KINDS or t.lanes != 1 or t.bits % 8 != 0:
        raise UsageError(f"{name} has elements of DLPack's type {t.code} of {t.bits} bits")
    size = t.bits // 8
    interface: dict[str, Any] = {"version": 3, "shape": tuple(t.shape[i] for i in range(t.ndim)),
                                 "typestr": f"={_KINDS[t.code]}{size}",
                                 "data": ((t.data or 0) + t.byte_offset, read_only)}
    if t.strides:
        interface["strides"] = tuple(_signed(t.strides[i] * size) for i in range(t.ndim))
    return interface, capsule, "bf16" if t.code == _BFLOAT else None
