"""Loads libdamier with ctypes and declares the functions of include/damier.h."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

SONAME = "libdamier.so.0"
VERSION = (0, 3)  # interface 0 may change with the minor version

TYPES = ("f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i32")  # in the order of damier_type
WHOLE_TYPES = ("i16", "i64", "u8", "u16", "u32", "u64", "bool")  # the same, from 16 on: those of exact products of integers
IN_FILE, BY_ROWS, ON_ONE, BLOCK_CYCLIC, REPLICATED, KEPT = range(6)  # damier_division
HOST_MEMORY, GPU_MEMORY = range(2)  # damier_memory
ALONE = -1  # for damier_open_f
LEGACY = 1  # CUDA's default stream, which DLPack and the CUDA array interface number alike


def code_of(type_: str) -> int:
    """The number of TYPE_ in damier_type."""
    return TYPES.index(type_) if type_ in TYPES else 16 + WHOLE_TYPES.index(type_)


class CError(ctypes.Structure):
    """damier_error"""

    _fields_ = [("code", ctypes.c_int), ("agreed", ctypes.c_int), ("rank", ctypes.c_int),
                ("message", ctypes.c_char * 600), ("hint", ctypes.c_char * 600)]


class CMatrix(ctypes.Structure):
    """damier_matrix"""

    _fields_ = [
        ("division", ctypes.c_int),
        ("file", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("rows", ctypes.c_int64),
        ("cols", ctypes.c_int64),
        ("data", ctypes.c_void_p),
        ("row_stride", ctypes.c_int64),
        ("col_stride", ctypes.c_int64),
        ("own_rows", ctypes.c_int64),
        ("rank", ctypes.c_int),
        ("grid_rows", ctypes.c_int),
        ("grid_cols", ctypes.c_int),
        ("column_major", ctypes.c_int),
        ("row_block", ctypes.c_int64),
        ("col_block", ctypes.c_int64),
        ("first_row", ctypes.c_int),
        ("first_col", ctypes.c_int),
        ("memory", ctypes.c_int),
        ("stream", ctypes.c_void_p),
        ("parts", ctypes.c_void_p),
        ("part_count", ctypes.c_int),
    ]


class CArray(ctypes.Structure):
    """damier_array"""

    _fields_ = [
        ("of", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("whole", ctypes.c_int),
        ("type", ctypes.c_int),
        ("rows", ctypes.c_int64),
        ("cols", ctypes.c_int64),
        ("data", ctypes.c_void_p),
    ]


CProgress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def _candidates() -> Iterator[str]:
    """Paths, followed by the name for the system's loader."""
    package = os.path.dirname(os.path.realpath(__file__))
    above = os.path.dirname(package)
    # .../lib/python3.11/site-packages/damier: beside the package, and in lib
    folders = [package, *([os.path.dirname(os.path.dirname(above))] if above.endswith("-packages") else [])]
    yield from (os.path.join(folder, SONAME) for folder in folders if os.path.isfile(os.path.join(folder, SONAME)))
    yield from _beside_program()
    yield SONAME


def _beside_program() -> Iterator[str]:
    import glob
    import shutil  # takes as long to load as all of this package

    program = shutil.which("damier")
    if program:  # PREFIX/bin/damier
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))
        yield from sorted(filter(os.path.isfile, glob.glob(os.path.join(glob.escape(prefix), "lib*", SONAME))))


def _stated() -> list[str]:
    path = os.environ.get("DAMIER_LIBRARY", "")
    if not path:
        return []
    return [os.path.join(path, SONAME) if os.path.isdir(path) else path]


def _open() -> ctypes.CDLL:
    tried = []
    for path in _stated() or _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(f"damier: {SONAME} was not loaded: {'; '.join(tried)}.  Install it with 'cmake "
                      "--install' or the package libdamier0, or set DAMIER_LIBRARY to the library or its folder")


def _declare(library: ctypes.CDLL) -> None:
    context, error, text = ctypes.c_void_p, ctypes.POINTER(CError), ctypes.c_char_p
    matrix = ctypes.POINTER(CMatrix)
    calls = {
        "damier_open_f": (ctypes.c_int, [ctypes.c_int, ctypes.POINTER(context), error]),
        "damier_open_gpus": (ctypes.c_int, [ctypes.c_int, ctypes.POINTER(context), error]),
        "damier_close": (None, [context]),
        "damier_set": (ctypes.c_int, [context, text, text, error]),
        "damier_set_vector": (ctypes.c_int, [context, text, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, error]),
        "damier_old_c": (ctypes.c_int, [context, matrix, error]),
        "damier_on_progress": (None, [context, CProgress, ctypes.c_void_p]),
        "damier_multiply": (ctypes.c_int, [context, matrix, matrix, matrix, error]),
        "damier_gram": (ctypes.c_int, [context, matrix, ctypes.c_int, matrix, error]),
        "damier_cov": (ctypes.c_int, [context, matrix, ctypes.c_int, matrix, error]),
        "damier_cor": (ctypes.c_int, [context, matrix, ctypes.c_int, matrix, error]),
        "damier_pca": (ctypes.c_int, [context, matrix, ctypes.c_int, matrix, error]),
        "damier_svd": (ctypes.c_int, [context, matrix, ctypes.c_int, matrix, error]),
        "damier_cov_two": (ctypes.c_int, [context, matrix, matrix, ctypes.c_int, matrix, error]),
        "damier_cor_two": (ctypes.c_int, [context, matrix, matrix, ctypes.c_int, matrix, error]),
        "damier_plan": (ctypes.c_int, [context, matrix, matrix, matrix, error]),
        "damier_verify": (ctypes.c_int, [context, matrix, matrix, matrix, error]),
        "damier_info": (ctypes.c_int, [context, text, error]),
        "damier_kept_array": (ctypes.c_int, [context, ctypes.c_int, ctypes.POINTER(CArray)]),
        "damier_record": (text, [context]),
        "damier_warnings": (text, [context]),
        "damier_version": (text, []),
        "damier_choose_kernels": (None, []),
    }
    try:
        for name, (result, arguments) in calls.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as missing:
        raise ImportError(f"damier: {library._name} is not libdamier of version "
                          f"{VERSION[0]}.{VERSION[1]}: {missing}") from missing


def _check_version(library: ctypes.CDLL) -> str:
    text = bytes(library.damier_version()).decode()
    if tuple(text.split(".")[:2]) != tuple(map(str, VERSION)):
        raise ImportError(f"damier: {library._name} is libdamier {text}; this package needs "
                          f"{VERSION[0]}.{VERSION[1]}")
    return text


def folder() -> str:
    """The folder of the library, or "" if the system's loader found it."""
    return os.path.dirname(library._name)


def mpi_version() -> str:
    """The version of the MPI that the library is linked with; MPI need not be started."""
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    try:
        asked = library.MPI_Get_library_version(text, ctypes.byref(length))
    except AttributeError:  # the MPI library is not visible through this handle
        return ""
    return text.value.decode(errors="replace") if asked == 0 else ""


def _has_own_blas() -> bool:
    """Whether the package came in a wheel, with a BLAS library that nothing else in this process uses."""
    package = os.path.dirname(os.path.realpath(__file__))
    return os.path.dirname(library._name) == package and os.path.isdir(os.path.join(os.path.dirname(package), "damier.libs"))


library = _open()
_declare(library)
version_text = _check_version(library)
if _has_own_blas():
    library.damier_choose_kernels()
