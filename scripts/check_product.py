#!/usr/bin/env python3
"""Compares C with A times B as NumPy computes it: check_product.py A.h5:/a B.h5:/b C.h5:/c"""
import sys

import h5py
import numpy


def matrix(location):
    name, _, path = location.partition(":")
    with h5py.File(name, "r") as file:
        return file[path][...]


def main():
    a, b, c = (matrix(location) for location in sys.argv[1:4])
    error = numpy.abs(a @ b - c).max() / numpy.abs(c).max()
    limit = a.shape[1] * numpy.finfo(c.dtype).eps
    good = error <= limit
    print(f"largest difference / largest element: {error:.2e}", "(PASS)" if good else "(FAIL)")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
