#!/usr/bin/env bash
# CuPy exports an array with a negative stride through DLPack with a huge positive one: it divides the stride in bytes by the size of an
# element as an unsigned number, so that -24 bytes of elements of 8 bytes become 2^61 - 3 elements. Needs an NVIDIA GPU.
# Seen with CuPy 14.2.0: strides -24 and 8 bytes of float64 are exported as 2305843009213693949 and 1 elements; those of int8 are right.
# Why it matters here: x[::-1] of CuPy is multiplied where it is, by what DLPack says of it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages cupy-cuda13x==14.2.0 numpy==2.4.6
check <<'PYTHON'
import ctypes

import cupy

get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def strides(array):
    """Of DLTensor: data, device, dimensions and type take 24 bytes; then shape and strides are pointers to 64-bit integers."""
    capsule = array.__dlpack__()
    at = ctypes.c_void_p.from_address(get(capsule, b"dltensor") + 32).value
    return list((ctypes.c_int64 * array.ndim).from_address(at))


found = {kind: strides(cupy.zeros((4, 3), kind)[::-1]) for kind in ("i1", "f8")}
print(f"CuPy {cupy.__version__}: strides of zeros((4, 3))[::-1] in elements: {found}")
assert found == {"i1": [-3, 1], "f8": [2**61 - 3, 1]}, found
PYTHON
