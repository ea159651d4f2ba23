#!/usr/bin/env python3
"""XᵀX: damier gram compared with the general product, and with what BLAS, NumPy and torch offer, alternating, with random data.

gram.py [--output FILE.jsonl] [--pairs N] [--only KIND] [--size N] [--types f64,f32,bf16] [--damier PROGRAM]:
a record for each kind, type, size and way, damier's always verified; also seconds of processors, which other programs disturb less.

files: from a file to a file, `damier gram` and `damier multiply` of X and a copy of X on --ranks ranks, whose phases are recorded;
in --directory. tall: whole commands from a file of 300 SIZE rows, damier gram and h5py with NumPy of --python. memory: NumPy arrays; damier.gram, damier.matmul, numpy.matmul (which calls dsyrk for x.T @ x) and cblas_dsyrk of
the BLAS library that --blas names. cov: the covariances of SIZE columns of ten times as many rows, by damier.cov and numpy.cov. gpu:
torch arrays in GPU memory; damier.gram, damier.matmul, torch.matmul and, for f64 and f32, cublasDsyrk of --cublas. gpu_cov: there the
covariances of SIZE columns of a thousand times as many rows, by damier.cov and torch.cov. All but files and tall need the damier package.

    mpirun -n 2 gram.py --only gpus

the same by damier for X and C of which each rank has rows in the memory of its GPU; needs mpi4py. Times are the slowest rank's.

    OPENBLAS_NUM_THREADS=1 mpirun -n 2 gram.py --only ranks --types f64 --size 4096

the same in host memory, and the fastest pdsyrk of ScaLAPACK (rivals.py), whose file --library names if the loader does not find it.
"""
# pylint: disable=import-outside-toplevel
import contextlib
import ctypes
import itertools
import pathlib
import sys
import tempfile

from job_programs import h5py_program
from measure import NUMPY_TYPES, code_of, compare, made_by, mpirun, multiply, options_of, run, start, timed

ROW_MAJOR, LOWER, TRANSPOSED = 101, 122, 112  # of CBLAS
REAL = {"f64": ctypes.c_double, "f32": ctypes.c_float}


# Each kind returns the calls that alternate, {way: function}.

def in_memory(options, _, dtype, size):
    """damier, NumPy and BLAS on arrays of the host."""
    import damier
    import numpy as np
    x = np.random.default_rng(1).normal(size=(size, size)).astype(NUMPY_TYPES[dtype])
    y, out = x.copy(), np.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out), "matmul": lambda: damier.matmul(x.T, y, out), "numpy": lambda: x.T @ x,
             "numpy_general": lambda: x.T @ y}
    if options.blas:
        syrk, real = getattr(ctypes.CDLL(options.blas), {"f64": "cblas_dsyrk", "f32": "cblas_ssyrk"}[dtype]), REAL[dtype]
        calls["syrk"] = lambda: syrk(ROW_MAJOR, LOWER, TRANSPOSED, size, size, real(1), ctypes.c_void_p(x.ctypes.data), size, real(0),
                                     ctypes.c_void_p(out.ctypes.data), size)
    return calls


def covariances(_, __, dtype, size):
    """damier.cov and numpy.cov of SIZE columns."""
    import damier
    import numpy as np
    x = np.random.default_rng(1).normal(size=(10 * size, size)).astype(NUMPY_TYPES[dtype])
    return {"cov": lambda: damier.cov(x), "gram": lambda: damier.gram(x), "numpy_cov": lambda: np.cov(x, rowvar=False, dtype=x.dtype)}


def covariances_on_gpu(_, job, dtype, size):
    """damier.cov and torch.cov of SIZE columns in GPU memory."""
    import damier
    import torch
    x, out = job.random(dtype, 1000 * size, size), job.random(dtype, size, size)
    return {"cov": lambda: damier.cov(x, out=out), "gram": lambda: damier.gram(x, out), "torch_cov": lambda: torch.cov(x.T)}


def on_gpu(options, job, dtype, size):
    """damier, torch and cuBLAS in GPU memory."""
    import damier
    import torch
    x, out = (job.random(dtype, size, size) for _ in range(2))
    y = x.clone()
    calls = {"gram": lambda: damier.gram(x, out, type_c=dtype), "matmul": lambda: damier.matmul(x.T, y, out, type_c=dtype),
             "gram_unverified": lambda: damier.gram(x, out, type_c=dtype, verify=False), "torch": lambda: torch.matmul(x.T, y)}
    if options.cublas and dtype != "bf16":
        library, handle = ctypes.CDLL(options.cublas), ctypes.c_void_p()
        library.cublasCreate_v2(ctypes.byref(handle))
        syrk = library.cublasDsyrk_v2 if dtype == "f64" else library.cublasSsyrk_v2
        one, zero = REAL[dtype](1), REAL[dtype](0)
        calls["syrk"] = lambda: syrk(handle, 0, 0, size, size, ctypes.byref(one), ctypes.c_void_p(x.data_ptr()), size,
                                     ctypes.byref(zero), ctypes.c_void_p(out.data_ptr()), size)
    return calls


def on_gpus(options, job, dtype, size):
    """damier on rows of each rank."""
    import damier
    x, y, out = (job.random(dtype, size // job.ranks, size) for _ in range(3))
    half, full, of_rows, full_of_rows = (options.stack.enter_context(damier.Context(job.world, type_c=dtype, **op))
                                         for op in ({}, {"op_a": "t"}, {}, {"op_b": "t"}))
    return {"gram": lambda: half.gram(x, out), "matmul": lambda: full.matmul(x, y, out),
            "gram_of_rows": lambda: of_rows.gram(x, out, of="rows"), "matmul_of_rows": lambda: full_of_rows.matmul(x, y, out)}


def on_ranks(options, job, dtype, size):
    """The same in host memory, and ScaLAPACK."""
    from rivals import Pdgemm
    rival = Pdgemm(dtype, size, options)

    def seconds(setting):
        rival.open(setting)
        rival.syrk()  # warms up
        return rival.syrk()

    rival.open(min(rival.settings(), key=seconds))
    return {**on_gpus(options, job, dtype, size), "syrk": rival.syrk}


KINDS = {"ranks": on_ranks, "memory": in_memory, "cov": covariances, "gpu": on_gpu, "gpus": on_gpus,
         "gpu_cov": covariances_on_gpu}


def of_arrays(options, kind, dtype, size):
    from job_ranks import Job
    job = Job(gpus=kind.startswith("gpu"))
    with contextlib.ExitStack() as options.stack:
        job.compare(options, "gram bench", {"of": kind, "type": dtype, "size": size}, KINDS[kind](options, job, dtype, size))


def files(options, dtype, size):
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        x, y, c, record = (pathlib.Path(place) / name for name in ("x.h5", "y.h5", "c.h5", "record.jsonl"))
        launcher = mpirun(options.ranks) if options.ranks > 1 else []
        run([options.damier, "generate", x, "--size", size, "--type", dtype, "--kind", "normal", "-q"])
        y.write_bytes(x.read_bytes())  # another dataset: multiply must not recognise the product
        ways = {"gram": ("gram", x), "multiply": ("multiply", x, y, "--op-a", "t")}
        about = {"verb": "gram bench", **made_by(code_of(options.damier), ranks=options.ranks), "backend": options.backend}
        compare(options.output, about, {"of": "files", "type": dtype, "size": size}, ways, lambda name: multiply(
            [*launcher, options.damier, *ways[name], "-q", "--backend", options.backend], c, record)[0], options.pairs)


def tall(options, dtype, size):
    """Whole commands, from a file with many rows: h5py with NumPy, which calls syrk, and `damier gram`."""
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        x, c, record = (pathlib.Path(place) / name for name in ("A.h5", "C.h5", "record.jsonl"))
        run([options.damier, "generate", f"{x}:/a", "--rows", 300 * size, "--cols", size, "--type", dtype, "--kind", "normal", "-q"])
        program = h5py_program('(lambda x: x.T @ x)(fa["a"][:])', b=False)
        about = {"verb": "gram bench", **made_by(code_of(options.damier)), "backend": "cpu"}
        calls = {"h5py": lambda: timed(lambda: run([options.python, "-c", program], cwd=place))[0],
                 "gram": lambda: multiply([options.damier, "gram", f"{x}:/a", "-q", "--backend", "cpu"], c, record)[0]}
        compare(options.output, about, {"of": "tall", "type": dtype, "size": size}, calls, lambda name: calls[name](), options.pairs)


def main():
    options = options_of(__doc__, "gram.jsonl", pairs=5, only={"choices": ("files", "tall", *KINDS), "action": "append"},
                         size={"type": int, "action": "append"}, types="f64,f32", damier="damier", backend="auto",
                         directory="/dev/shm", ranks={"type": int, "default": 1, "help": "of files"}, blas="", cublas="", library="",
                         python={"default": sys.executable, "help": "of tall, with h5py"})
    for kind, dtype, size in itertools.product(options.only or ("files", "memory"), options.types.split(","), options.size or (8192,)):
        if kind in ("files", "tall"):
            (files if kind == "files" else tall)(options, dtype, size)
        else:
            of_arrays(options, kind, dtype, size)


if __name__ == "__main__":
    start(main)
