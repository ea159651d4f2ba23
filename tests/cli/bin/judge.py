"""judge A B C: prints "right" if NumPy confirms C = alpha op(A) op(B) + beta C0, else the error."""
import argparse
import sys

import h5py
import numpy


def read(name):
    """The dataset FILE:/NAME, or the only one in FILE."""
    file, _, dataset = name.partition(":")
    with h5py.File(file, "r") as handle:
        if not dataset:
            dataset = next(n for n in handle if isinstance(handle[n], h5py.Dataset))
        return handle[dataset][...]


def op(matrix, how):
    return {"n": matrix, "t": matrix.T, "c": matrix.conj().T}[how]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs=3)
    parser.add_argument("--op-a", default="n")
    parser.add_argument("--op-b", default="n")
    parser.add_argument("--alpha", type=complex, default=1)
    parser.add_argument("--beta", type=complex, default=0)
    parser.add_argument("--c")
    options = parser.parse_args()
    try:
        a, b, c = (read(name) for name in options.names)
    except FileNotFoundError as missing:
        sys.exit(f"no file: {missing}")
    wide = numpy.complex128 if numpy.iscomplexobj(a) else numpy.float64
    a, b = op(a, options.op_a).astype(wide), op(b, options.op_b).astype(wide)
    scalar = (lambda z: z) if wide is numpy.complex128 else (lambda z: z.real)
    wanted = scalar(options.alpha) * (a @ b)
    size = abs(options.alpha) * (abs(a) @ abs(b))
    if options.beta:
        old = read(options.c).astype(wide)
        wanted, size = wanted + scalar(options.beta) * old, size + abs(options.beta) * abs(old)
    if c.shape != wanted.shape:
        sys.exit(f"C is {c.shape}, wanted {wanted.shape}")
    unit = numpy.finfo(c.dtype).eps if c.dtype.kind in "fc" else 0
    error = abs(c.astype(wide) - wanted)
    if not (error <= (a.shape[1] + 8) * unit * size).all():
        sys.exit(f"C is off by up to {error.max()}")
    print("right")


main()
