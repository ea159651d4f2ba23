#!/usr/bin/env python3
"""XᵀX: damier gram compared with the general product, and with what BLAS, NumPy and torch offer, alternating, with random data.

gram.py [--output FILE.jsonl] [--pairs N] [--only files|memory|cov|gpu|gpus] [--size N] [--types f64,f32,bf16] [--damier PROGRAM]: one line
of JSON for each kind, type and size: medians of alternating calls in seconds, damier's always verified; and seconds of processors,
which other programs disturb less.

files: from a file to a file, `damier gram` and `damier multiply` of X and a copy of X on --ranks ranks, whose total and multiplying
times are recorded; in DIRECTORY (--directory; default /dev/shm). memory: NumPy arrays; damier.gram, damier.matmul, numpy.matmul
(which calls dsyrk for x.T @ x) and cblas_dsyrk of the BLAS library that --blas names. cov: the covariances of SIZE columns of ten
times as many rows, by damier.cov and numpy.cov. gpu: torch arrays in GPU memory; damier.gram, damier.matmul, torch.matmul and, for
f64 and f32, cublasDsyrk of --cublas. memory, cov and gpu need the damier package.

    mpirun -n 2 gram.py --only gpus

the same by damier for X and C of which each rank has rows in the memory of its GPU; needs mpi4py. Times are the slowest rank's.
"""
import ctypes
import json
import pathlib
import re
import subprocess
import tempfile

from measure import NUMPY_TYPES, Job, alternate, append, median, now, options_of, processor, timed, turns, version_of

ROW_MAJOR, LOWER, TRANSPOSED = 101, 122, 112  # of CBLAS
REAL = {"f64": ctypes.c_double, "f32": ctypes.c_float}


# Each kind returns the calls that alternate, and what ends the work of a call.

def in_memory(options, dtype, size):
    """damier, NumPy and BLAS on arrays of the host."""
    import damier  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    x = np.random.default_rng(1).normal(size=(size, size)).astype(NUMPY_TYPES[dtype])
    y, out = x.copy(), np.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out), "matmul": lambda: damier.matmul(x.T, y, out), "numpy": lambda: x.T @ x,
             "numpy_general": lambda: x.T @ y}
    if options.blas:
        syrk, real = getattr(ctypes.CDLL(options.blas), {"f64": "cblas_dsyrk", "f32": "cblas_ssyrk"}[dtype]), REAL[dtype]
        calls["syrk"] = lambda: syrk(ROW_MAJOR, LOWER, TRANSPOSED, size, size, real(1), ctypes.c_void_p(x.ctypes.data), size, real(0),
                                     ctypes.c_void_p(out.ctypes.data), size)
    return calls, lambda: None


def covariances(_, dtype, size):
    """damier.cov and numpy.cov of SIZE columns."""
    import damier  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    x = np.random.default_rng(1).normal(size=(10 * size, size)).astype(NUMPY_TYPES[dtype])
    return {"cov": lambda: damier.cov(x), "gram": lambda: damier.gram(x),
            "numpy_cov": lambda: np.cov(x, rowvar=False, dtype=x.dtype)}, lambda: None


def on_gpu(options, dtype, size):
    """damier, torch and cuBLAS in GPU memory."""
    import damier  # pylint: disable=import-outside-toplevel
    job = Job()
    x = job.random(dtype, size, size)
    y, out = x.clone(), job.torch.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out, type_c=dtype), "matmul": lambda: damier.matmul(x.T, y, out, type_c=dtype),
             "gram_unverified": lambda: damier.gram(x, out, type_c=dtype, verify=False), "torch": lambda: job.torch.matmul(x.T, y)}
    if options.cublas and dtype != "bf16":
        library, handle = ctypes.CDLL(options.cublas), ctypes.c_void_p()
        library.cublasCreate_v2(ctypes.byref(handle))
        syrk = library.cublasDsyrk_v2 if dtype == "f64" else library.cublasSsyrk_v2
        one, zero = REAL[dtype](1), REAL[dtype](0)
        calls["syrk"] = lambda: syrk(handle, 0, 0, size, size, ctypes.byref(one), ctypes.c_void_p(x.data_ptr()), size,
                                     ctypes.byref(zero), ctypes.c_void_p(out.data_ptr()), size)
    return calls, job.meet


def on_gpus(job, dtype, size):
    """damier on rows of each rank."""
    import damier  # pylint: disable=import-outside-toplevel
    x, y, out = (job.random(dtype, size // job.ranks, size) for _ in range(3))
    half, full, of_rows, full_of_rows = (damier.Context(job.world, type_c=dtype, **op) for op in ({}, {"op_a": "t"}, {}, {"op_b": "t"}))
    return {"gram": lambda: half.gram(x, out), "matmul": lambda: full.matmul(x, y, out),
            "gram_of_rows": lambda: of_rows.gram(x, out, of="rows"), "matmul_of_rows": lambda: full_of_rows.matmul(x, y, out)}, job.meet


def files(options, dtype, size):
    """Medians of the phases of two commands, and of their processors."""
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        x, y, c, record = (pathlib.Path(place) / name for name in ("x.h5", "y.h5", "c.h5", "record.jsonl"))
        launcher = ["mpirun", "--oversubscribe", "-n", str(options.ranks)] if options.ranks > 1 else []

        def command(*words):
            subprocess.run([*launcher, options.damier, *map(str, words), "-q"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

        def run(*words):
            for old in (c, record):
                old.unlink(missing_ok=True)
            _, busy, _ = timed(lambda: command(*words, "-o", c, "--backend", options.backend, "--json", record))
            found = json.loads(record.read_text().splitlines()[-1])
            if found["verification"]["verdict"] != "PASS":
                raise RuntimeError("not verified")
            return {**found["times"], "processors_s": busy}

        ranks, launcher = launcher, []
        command("generate", x, "--size", size, "--type", dtype, "--kind", "normal")
        launcher = ranks
        y.write_bytes(x.read_bytes())  # another dataset: multiply must not recognise the product
        ways = {"gram": ("gram", x), "multiply": ("multiply", x, y, "--op-a", "t")}
        times = {name: [] for name in ways}
        for number, name in turns(options.pairs, ways):
            phases = run(*ways[name])
            if number >= 0:
                times[name].append(phases)
    seconds = {f"{name}_{phase}": median([t[f"{phase}_s"] for t in taken]) for phase in ("total", "read", "multiply", "write")
               for name, taken in times.items()}
    return seconds, {name: median([t["processors_s"] for t in taken]) for name, taken in times.items()}


def made_by(options, kind):
    """Machine, version and commit of a record."""
    device = processor()
    if kind in ("gpu", "gpus"):
        import torch  # pylint: disable=import-outside-toplevel
        device = torch.cuda.get_device_name()
    made = re.fullmatch(r"damier (\S+)(?: \(git (\w+).*\))?", version_of(options.damier))
    return {"machine": {"device": device}, "version": made[1], "git": made[2]} if made else {"machine": {"device": device}}


def main():
    options = options_of(__doc__, None, ("--pairs", {"type": int, "default": 5}),
                         ("--only", {"choices": ("files", "memory", "cov", "gpu", "gpus"), "action": "append"}),
                         ("--size", {"type": int, "action": "append"}), ("--types", {"default": "f64,f32"}),
                         ("--damier", {"default": "damier"}), ("--backend", {"default": "auto"}), ("--directory", {"default": "/dev/shm"}),
                         ("--ranks", {"type": int, "default": 1, "help": "of files"}), ("--blas", {}), ("--cublas", {}))
    job = Job() if options.only == ["gpus"] else None
    options.ranks = job.ranks if job else options.ranks
    for kind in options.only or ("files", "memory"):
        for dtype in options.types.split(","):
            for size in options.size or (8192,):
                if kind == "files":
                    found = files(options, dtype, size)
                else:
                    calls, settle = on_gpus(job, dtype, size) if job else \
                        {"memory": in_memory, "cov": covariances, "gpu": on_gpu}[kind](options, dtype, size)
                    found = [{name: median(taken) for name, taken in times.items()} for times in alternate(calls, options.pairs, settle)]
                line = {"verb": "gram bench", **made_by(options, kind), "of": kind, "type": dtype, "size": size, "pairs": options.pairs,
                        "ranks": options.ranks, "backend": options.backend, "seconds": found[0], "processor_seconds": found[1],
                        "date": now()}
                if not job or job.rank == 0:
                    print(json.dumps(line), flush=True)
                    if options.output:
                        append(options.output, line)


if __name__ == "__main__":
    main()
