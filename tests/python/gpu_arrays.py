"""Arrays in GPU memory that imitate other libraries, without these libraries, by either protocol."""
import ctypes

import numpy as np

KINDS = {"i": 0, "u": 1, "f": 2, "c": 5}


class Tensor(ctypes.Structure):
    """DLTensor"""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    """DLManagedTensor"""

    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned"""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


class Described:
    """DTYPE elements at POINTER with SHAPE and STRIDES, counted in elements."""

    def __init__(self, pointer, shape, dtype, strides=None, **words):
        self.pointer, self.shape, self.dtype = pointer, tuple(shape), np.dtype(dtype)
        self.strides, self.words = strides, words


class ByInterface(Described):
    """Like CuPy and Numba."""

    @property
    def __cuda_array_interface__(self):
        strides = None if self.strides is None else tuple(s * self.dtype.itemsize for s in self.strides)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False), "strides": strides,
                "version": 3} | self.words


class ByDlpack(Described):
    """Like torch; words: device, code, flags (implies DLPack 1.0)."""

    asked = None

    def __dlpack_device__(self):
        return self.words.get("device", (2, 0))

    def __dlpack__(self, *, stream=None, **more):
        if more and "flags" not in self.words:
            raise TypeError(f"unknown: {more}")
        self.asked = stream
        extents = ctypes.c_int64 * len(self.shape)
        kind, index = self.__dlpack_device__()
        code = self.words.get("code", KINDS[self.dtype.kind])
        strides = None if self.strides is None else extents(*self.strides)
        tensor = Tensor(self.pointer, kind, index, len(self.shape), code, 8 * self.dtype.itemsize, 1, extents(*self.shape), strides, 0)
        flags = self.words.get("flags")
        self.kept = Managed(tensor) if flags is None else Versioned(1, 1, None, None, flags, tensor)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.kept), b"dltensor" if flags is None else b"dltensor_versioned", None)


BOTH = (ByInterface, ByDlpack)
