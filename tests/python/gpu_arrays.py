"""Arrays in GPU memory as other libraries show them, without these libraries: by either protocol."""
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


class Described:
    """DTYPE elements at POINTER, as SHAPE and STRIDES, of elements, have them."""

    def __init__(self, pointer, shape, dtype, strides=None, **words):
        self.pointer, self.shape, self.dtype = pointer, tuple(shape), np.dtype(dtype)
        self.strides, self.words = strides, words


class ByInterface(Described):
    """As of CuPy and Numba."""

    @property
    def __cuda_array_interface__(self):
        strides = None if self.strides is None else tuple(s * self.dtype.itemsize for s in self.strides)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.pointer, False), "strides": strides,
                "version": 3} | self.words


class ByDlpack(Described):
    """As of torch; words: device, code."""

    asked = None

    def __dlpack_device__(self):
        return self.words.get("device", (2, 0))

    def __dlpack__(self, *, stream=None):
        self.asked = stream
        pair = ctypes.c_int64 * 2
        kind, index = self.__dlpack_device__()
        code = self.words.get("code", KINDS[self.dtype.kind])
        strides = None if self.strides is None else pair(*self.strides)
        self.kept = Managed(Tensor(self.pointer, kind, index, 2, code, 8 * self.dtype.itemsize, 1,
                                   pair(*self.shape), strides, 0))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.kept), b"dltensor", None)


BOTH = (ByInterface, ByDlpack)
