#!/usr/bin/env python3
"""Writes the small HDF5 files of this folder with h5py: matrices as other programs store them.

    python3 inputs/make_inputs.py [FOLDER]

All hold whole numbers, so that every product of them is exact in every floating type.
"""
import pathlib
import sys

import h5py
import numpy as np

ROWS, COLS = 24, 16


def whole_numbers(seed, rows=ROWS, cols=COLS):
    return np.random.default_rng(seed).integers(-8, 9, (rows, cols)).astype(np.float64)


def create(folder, name, **options):
    return h5py.File(folder / name, "w", libver=("earliest", "v110"), **options)


def chunked(folder):
    """As NumPy users compress: chunks that do not divide the matrix, every filter that is read."""
    with create(folder, "h5py_chunked.h5") as file:
        file.create_dataset("a", data=whole_numbers(1), chunks=(10, 7), shuffle=True,
                            compression="gzip", fletcher32=True)


def big_endian(folder):
    """From a big-endian machine."""
    with create(folder, "h5py_big_endian.h5") as file:
        file.create_dataset("a", data=whole_numbers(2).astype(">f4"))


def complex_numbers(folder):
    """h5py's compound of r and i, in a group."""
    with create(folder, "h5py_complex.h5") as file:
        file.create_dataset("group/a", data=whole_numbers(3) + 1j * whole_numbers(4))


def bfloat16(folder):
    """16-bit words, called bfloat16 by an attribute."""
    with create(folder, "h5py_bfloat16.h5") as file:
        words = (whole_numbers(5).astype("<f4").view("<u4") >> 16).astype("<u2")
        file.create_dataset("a", data=words).attrs["dtype"] = "bfloat16"


def matlab(folder):
    """As MATLAB's -v7.3: a user block of 512 bytes, and X of 16 x 24 stored as 24 x 16, because MATLAB
    counts along columns first."""
    name = "matlab_v73.h5"
    with create(folder, name, userblock_size=512) as file:
        x = file.create_dataset("X", data=whole_numbers(6, COLS, ROWS).T)
        x.attrs["MATLAB_class"] = np.bytes_("double")
    text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, written by h5py in the same form"
    header = text.ljust(116) + bytes(8) + b"\x00\x02IM"
    with open(folder / name, "r+b") as file:
        file.write(header)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    for make in (chunked, big_endian, complex_numbers, bfloat16, matlab):
        make(folder)


if __name__ == "__main__":
    main()
