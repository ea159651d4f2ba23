"""Functions of other libraries, called by ctypes."""
import ctypes

import numpy as np

SIZES = {"f64": (ctypes.c_double, 2.0**-53), "f32": (ctypes.c_float, 2.0**-24), "bf16": (ctypes.c_float, 2.0**-24)}  # of C


def declare(library, **functions):
    """Arguments of each function: p a pointer or handle, l 64 bits, i int."""
    kinds = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int}
    for name, words in functions.items():
        getattr(library, name).argtypes = [kinds[word] for word in words]


def ok(code):
    if code:
        raise RuntimeError(f"the library returned {code}")


def handle_of(create, *arguments):
    handle = ctypes.c_void_p()
    ok(create(*arguments, ctypes.byref(handle)))
    return handle


def version_of(library, get):
    parts = [ctypes.c_int() for _ in range(3)]
    for which, part in enumerate(parts):
        getattr(library, get)(which, ctypes.byref(part))
    return ".".join(str(part.value) for part in parts)


def cublas():
    """The one that torch has loaded."""
    import torch
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")  # pylint: disable=expression-not-assigned
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcublas.so" in line))


def deal(n, block, place, count):
    """The indices of n that block-cyclic distribution gives to PLACE of COUNT."""
    return np.arange(n)[np.arange(n) // block % count == place]
