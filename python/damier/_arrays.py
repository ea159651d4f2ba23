"""Arrays of the caller as two-dimensional NumPy arrays of their own memory, where that can be had."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import UsageError
from ._options import DTYPE_OF_TYPE, TYPE_OF_DTYPE, type_of

Array = NDArray[Any]

_ON_THE_HOST = (1, 3, 11)  # kDLCPU, kDLCUDAHost, kDLROCMHost
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
_BFLOAT = 4


def _refuse_gpu(name: str) -> UsageError:
    return UsageError(f"{name} is in the memory of a GPU; this version multiplies arrays in host memory only",
                      hint="copy it to the host first: .cpu() of torch, .get() of CuPy")


# ---- DLPack ----


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Memory:
    """Memory of somebody else for NumPy, which keeps OWNER for as long as it has views of it."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def _capsule_pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, b"dltensor"))


def _of_dlpack(array: Any, name: str) -> tuple[Array, str | None]:
    """NumPy's own from_dlpack gives views that cannot be written, and knows no bfloat16."""
    if array.__dlpack_device__()[0] not in _ON_THE_HOST:
        raise _refuse_gpu(name)
    try:
        capsule = array.__dlpack__()
    except Exception as error:  # each library has exceptions of its own, such as for tensors with gradients
        raise UsageError(f"{name} cannot be exported by DLPack: {error}") from error
    t = _DLTensor.from_address(_capsule_pointer(capsule))
    bytes_ = t.bits // 8
    kind = "u" if t.code == _BFLOAT else _DLPACK_KINDS.get(t.code)
    if kind is None or t.lanes != 1 or t.bits % 8 != 0:
        raise UsageError(f"{name} has elements of DLPack's type {t.code} of {t.bits} bits")
    interface: dict[str, Any] = {"version": 3, "shape": tuple(t.shape[i] for i in range(t.ndim)),
                                 "typestr": np.dtype(f"{kind}{bytes_}").str,
                                 "data": ((t.data or 0) + t.byte_offset, False)}
    if t.strides:
        interface["strides"] = tuple(t.strides[i] * bytes_ for i in range(t.ndim))
    return np.asarray(_Memory(capsule, interface)), "bf16" if t.code == _BFLOAT else None


# ---- any array ----


def _has_memory(array: Any) -> bool:
    names = ("__cuda_array_interface__", "__dlpack_device__", "__array_interface__")
    return isinstance(array, np.ndarray) or any(hasattr(array, name) for name in names)


def _view(array: Any, name: str) -> tuple[Array, str | None]:
    if isinstance(array, np.ndarray):
        return array, None
    if hasattr(array, "__cuda_array_interface__"):
        raise _refuse_gpu(name)
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return _of_dlpack(array, name)
    try:
        return np.asarray(array), None
    except Exception as error:  # whatever its __array__ raises
        raise UsageError(f"{name} is no array: {error}") from error


def _check_type(dtype: np.dtype[Any], stated: str | None, name: str) -> str:
    found = type_of(dtype)
    if stated is None:
        if found:
            return found
        known = ", ".join(str(np.dtype(kind)) for kind in TYPE_OF_DTYPE)
        raise UsageError(f"{name} has elements of {dtype}; there are {known} and bfloat16",
                         hint="astype() of the array makes a copy of another type")
    if stated not in DTYPE_OF_TYPE or np.dtype(DTYPE_OF_TYPE[stated]).itemsize != dtype.itemsize:
        raise UsageError(f"elements of {dtype} cannot be taken for type {stated}")
    return stated


def as_matrix(array: Any, name: str, type_: str | None = None, writable: bool = False) -> tuple[Array, str]:
    """ARRAY's memory as a two-dimensional array, and its type; TYPE_ names one that NumPy has not."""
    if writable and not _has_memory(array):
        raise UsageError(f"{name} is {type(array).__name__}, which has no memory to be written")
    view, of_dlpack = _view(array, name)
    if view.ndim != 2:
        raise UsageError(f"{name} has {view.ndim} dimensions; matrices have 2",
                         hint="x[:, None] and x[None, :] make a matrix of a vector")
    if writable and not view.flags.writeable:
        raise UsageError(f"{name} is read-only")
    return view, _check_type(view.dtype, type_ or of_dlpack, name)


def _strides(view: Array) -> list[int] | None:
    """In elements; None where the library does not take this memory as it is."""
    size = view.itemsize
    if not view.flags.aligned or not view.dtype.isnative:
        return None
    strides = [1, 1]
    for axis in range(2):
        if view.shape[axis] < 2:
            continue
        if view.strides[axis] < size or view.strides[axis] % size:
            return None
        strides[axis] = view.strides[axis] // size
    return strides


def _overlaps_itself(view: Array, strides: list[int]) -> bool:
    (rows, cols), (down, right) = view.shape, strides
    return bool(rows > 1 and cols > 1 and down <= (cols - 1) * right and right <= (rows - 1) * down)


def plain(view: Array, writable: bool = False) -> tuple[Array, list[int]]:
    """VIEW itself or, where its strides cannot be handed on (negative, 0, not whole elements), a copy."""
    strides = _strides(view)
    if strides is None or (writable and _overlaps_itself(view, strides)):
        view = np.array(view, dtype=view.dtype.newbyteorder("="), order="C", copy=True)
        strides = _strides(view)
        assert strides is not None
    return view, strides
