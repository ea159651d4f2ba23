"""Arrays of other libraries by DLPack: where the elements are and how they lie there."""
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
    try:
        return array.__dlpack__(max_version=(1, 0), **words)
    except TypeError:
        return array.__dlpack__(**words)


def _tensor_of(capsule: Any) -> tuple[_DLTensor, bool]:
    """And whether it may only be read, which older capsules do not tell."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    known = ctypes.pythonapi.PyCapsule_IsValid
    known.argtypes = get.argtypes
    if not known(capsule, b"dltensor_versioned"):
        return _DLTensor.from_address(get(capsule, b"dltensor")), False
    whole = _Versioned.from_address(get(capsule, b"dltensor_versioned"))
    if whole.major != 1:
        raise BufferError(f"version {whole.major} of DLPack is not known")
    return whole.tensor, bool(whole.flags & _READ_ONLY)


def interface_of(array: Any, name: str, **words: Any) -> tuple[dict[str, Any], Any, str | None]:
    """As ``__array_interface__`` has it; who keeps the memory; and "bf16" where NumPy's type does not tell.

    WORDS are for ``__dlpack__``.  The capsule stays ours: with it goes what its producer keeps."""
    try:
        capsule = _asked(array, words)
        t, read_only = _tensor_of(capsule)
    except Exception as error:  # each library has exceptions of its own, such as for tensors with gradients
        raise UsageError(f"{name} cannot be exported by DLPack: {error}") from error
    if t.code not in _KINDS or t.lanes != 1 or t.bits % 8 != 0:
        raise UsageError(f"{name} has elements of DLPack's type {t.code} of {t.bits} bits")
    size = t.bits // 8
    interface: dict[str, Any] = {"version": 3, "shape": tuple(t.shape[i] for i in range(t.ndim)),
                                 "typestr": f"={_KINDS[t.code]}{size}",
                                 "data": ((t.data or 0) + t.byte_offset, read_only)}
    if t.strides:
        interface["strides"] = tuple(t.strides[i] * size for i in range(t.ndim))
    return interface, capsule, "bf16" if t.code == _BFLOAT else None
