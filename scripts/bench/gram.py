#!/usr/bin/env python3
"""XᵀX: damier gram compared with the general product, and with what BLAS, NumPy and torch offer, alternating, with random data.

gram.py [--output FILE.jsonl] [--pairs N] [--only files|memory|cov|gpu|gpus] [--size N] [--types f64,f32,bf16] [--damier PROGRAM]: one line
of JSON for each kind, type and size: medians of alternating calls in seconds, damier's always verified; and seconds of processors,
which other programs disturb less.

files: from a file to a file, `damier gram` and `damier multiply` of X and a copy of X on --ranks ranks, whose total and multiplying
times are recorded; in DIRECTORY (--directory; default /dev/shm); beside them --pdsyrk, tests/bench/pdgemm.c built with ScaLAPACK.
memory: NumPy arrays; damier.gram, damier.matmul, numpy.matmul (which calls dsyrk for x.T @ x) and cblas_dsyrk of the BLAS library
that --blas names. cov: the covariances of SIZE columns of ten times as many rows, by damier.cov and numpy.cov. gpu: torch arrays in
GPU memory; damier.gram, damier.matmul, torch.matmul and, for f64 and f32, cublasDsyrk of --cublas. memory, cov and gpu need the
damier package.

    mpirun -n 2 gram.py --only gpus

the same by damier for X and C of which each rank has rows in the memory of its GPU; needs mpi4py. Times are the slowest rank's.
"""
import argparse
import ctypes
import datetime
import json
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

ROW_MAJOR, LOWER, TRANSPOSED = 101, 122, 112  # of CBLAS


def processor_seconds():
    """Of this process, its threads, and the processes that it has awaited."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def alternate(calls, pairs, settle=lambda: None):
    """The median seconds of each call, and of processors, after one round that is not counted."""
    seconds, processors = ({name: [] for name in calls} for _ in range(2))
    for turn in range(pairs + 1):
        for name, call in calls.items():
            settle()
            start, used = time.perf_counter(), processor_seconds()
            call()
            settle()
            if turn > 0:
                seconds[name].append(time.perf_counter() - start)
                processors[name].append(processor_seconds() - used)
    return [{name: statistics.median(times) for name, times in all_times.items()} for all_times in (seconds, processors)]


class Files:
    """Two programs' runs on one matrix, in a scratch folder."""

    def __init__(self, options, folder):
        self.damier, self.folder, self.backend = options.damier, pathlib.Path(folder), options.backend
        self.launcher = ["mpirun", "--oversubscribe", "-n", str(options.ranks)] if options.ranks > 1 else []
        self.ranks, self.pdsyrk = options.ranks, options.pdsyrk

    def run(self, *words):
        record = self.folder / "record.json"
        (self.folder / "c.h5").unlink(missing_ok=True)
        record.unlink(missing_ok=True)
        used = processor_seconds()
        subprocess.run([*self.launcher, self.damier, *map(str, words), "-o", self.folder / "c.h5", "-q", "--backend", self.backend, "--json", record],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        text = record.read_text()
        last = json.loads(text if text.lstrip().startswith(("[", "{")) and "\n{" not in text else text.splitlines()[-1])
        last = last[-1] if isinstance(last, list) else last
        if last["verification"]["verdict"] != "PASS":
            raise RuntimeError("not verified")
        return {**last["times"], "processors_s": processor_seconds() - used}

    def scalapack(self, size, pairs):
        """Seconds of pdsyrk with blocks of 256, one thread for each rank."""
        words = [self.pdsyrk, size, 256, self.ranks, 1, pairs, 1, "", "", "syrk"]
        done = subprocess.run([*self.launcher, *map(str, words)], check=True, stdout=subprocess.PIPE)
        return statistics.median(json.loads(done.stdout)["repetitions"]["multiply_s"])

    def measure(self, dtype, size, pairs):
        x, y = self.folder / "x.h5", self.folder / "y.h5"
        for path in (x, y):
            path.unlink(missing_ok=True)
        subprocess.run([self.damier, "generate", x, "--size", str(size), "--type", dtype, "--kind", "normal", "-q"], check=True,
                       stdout=subprocess.DEVNULL)
        y.write_bytes(x.read_bytes())  # another dataset: multiply must not recognise the product
        times = {"gram": [], "multiply": []}
        for turn in range(pairs + 1):
            for name, words in (("gram", ("gram", x)), ("multiply", ("multiply", x, y, "--op-a", "t"))):
                phases = self.run(*words)
                if turn > 0:
                    times[name].append(phases)
        found = {phase: {name: statistics.median(t[f"{phase}_s"] for t in all_times) for name, all_times in times.items()}
                 for phase in ("total", "read", "multiply", "write", "processors")}
        processors = found.pop("processors")
        seconds = {f"{name}_{phase}": value for phase, values in found.items() for name, value in values.items()}
        if self.pdsyrk and dtype == "f64":
            seconds["pdsyrk"] = self.scalapack(size, pairs)
        return seconds, processors


def in_memory(options, dtype, size):
    """damier, NumPy and BLAS on arrays of the host."""
    import damier  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    x = np.random.default_rng(1).normal(size=(size, size)).astype({"f64": "f8", "f32": "f4"}[dtype])
    y, out = x.copy(), np.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out), "matmul": lambda: damier.matmul(x.T, y, out), "numpy": lambda: x.T @ x,
             "numpy_general": lambda: x.T @ y}
    if options.blas:
        syrk = getattr(ctypes.CDLL(options.blas), "cblas_dsyrk" if dtype == "f64" else "cblas_ssyrk")
        real = ctypes.c_double if dtype == "f64" else ctypes.c_float
        calls["syrk"] = lambda: syrk(ROW_MAJOR, LOWER, TRANSPOSED, size, size, real(1), ctypes.c_void_p(x.ctypes.data), size, real(0),
                                     ctypes.c_void_p(out.ctypes.data), size)
    return calls, lambda: None


def covariances(_, dtype, size):
    """damier.cov and numpy.cov of SIZE columns."""
    import damier  # pylint: disable=import-outside-toplevel
    import numpy as np  # pylint: disable=import-outside-toplevel
    x = np.random.default_rng(1).normal(size=(10 * size, size)).astype({"f64": "f8", "f32": "f4"}[dtype])
    return {"cov": lambda: damier.cov(x), "gram": lambda: damier.gram(x), "numpy_cov": lambda: np.cov(x, rowvar=False, dtype=x.dtype)}, lambda: None


def on_gpu(options, dtype, size):
    """The same in GPU memory."""
    import damier  # pylint: disable=import-outside-toplevel
    import torch  # pylint: disable=import-outside-toplevel
    kind = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    x = torch.randn(size, size, device="cuda").to(kind)
    y, out = x.clone(), torch.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out, type_c=dtype), "matmul": lambda: damier.matmul(x.T, y, out, type_c=dtype),
             "gram_unverified": lambda: damier.gram(x, out, type_c=dtype, verify=False), "torch": lambda: torch.matmul(x.T, y)}
    if options.cublas and dtype != "bf16":
        library, handle = ctypes.CDLL(options.cublas), ctypes.c_void_p()
        library.cublasCreate_v2(ctypes.byref(handle))
        syrk = library.cublasDsyrk_v2 if dtype == "f64" else library.cublasSsyrk_v2
        real = ctypes.c_double if dtype == "f64" else ctypes.c_float
        one, zero = real(1), real(0)
        calls["syrk"] = lambda: syrk(handle, 0, 0, size, size, ctypes.byref(one), ctypes.c_void_p(x.data_ptr()), size,
                                     ctypes.byref(zero), ctypes.c_void_p(out.data_ptr()), size)
    return calls, torch.cuda.synchronize


class Ranks:
    """The processes of an MPI job, each with some rows of X and of C."""

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        from mpi4py import MPI  # pylint: disable=import-outside-toplevel
        self.world, self.torch = MPI.COMM_WORLD, torch
        torch.cuda.set_device(self.world.Get_rank() % torch.cuda.device_count())

    def meet(self):
        self.torch.cuda.synchronize()
        self.world.Barrier()

    def calls(self, dtype, size):
        import damier  # pylint: disable=import-outside-toplevel
        kind = {"f64": self.torch.float64, "f32": self.torch.float32, "bf16": self.torch.bfloat16}[dtype]
        x, y, out = (self.torch.randn(size // self.world.Get_size(), size, device="cuda").to(kind) for _ in range(3))
        half, full = damier.Context(self.world, type_c=dtype), damier.Context(self.world, type_c=dtype, op_a="t")
        of_rows, full_of_rows = damier.Context(self.world, type_c=dtype), damier.Context(self.world, type_c=dtype, op_b="t")
        return {"gram": lambda: half.gram(x, out), "matmul": lambda: full.matmul(x, y, out),
                "gram_of_rows": lambda: of_rows.gram(x, out, of="rows"), "matmul_of_rows": lambda: full_of_rows.matmul(x, y, out)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", choices=("files", "memory", "cov", "gpu", "gpus"), action="append")
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--types", default="f64,f32")
    parser.add_argument("--damier", default="damier")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--directory", default="/dev/shm")
    parser.add_argument("--ranks", type=int, default=1, help="of files")
    parser.add_argument("--pdsyrk", help="the program of tests/bench/pdgemm.c")
    parser.add_argument("--blas")
    parser.add_argument("--cublas")
    options = parser.parse_args()
    job = Ranks() if options.only == ["gpus"] else None
    for kind in options.only or ("files", "memory"):
        for dtype in options.types.split(","):
            for size in options.size or (8192,):
                if kind == "files":
                    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
                        seconds, processors = Files(options, folder).measure(dtype, size, options.pairs)
                elif job:
                    seconds, processors = alternate(job.calls(dtype, size), options.pairs, job.meet)
                    options.ranks = job.world.Get_size()
                else:
                    calls, settle = {"memory": in_memory, "cov": covariances, "gpu": on_gpu}[kind](options, dtype, size)
                    seconds, processors = alternate(calls, options.pairs, settle)
                line = json.dumps({"verb": "gram bench", "machine": {}, "of": kind, "type": dtype, "size": size, "pairs": options.pairs,
                                   "ranks": options.ranks, "backend": options.backend, "seconds": seconds,
                                   "processor_seconds": processors,
                                   "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")})
                if job and job.world.Get_rank() > 0:
                    continue
                print(line, flush=True)
                if options.output:
                    with open(options.output, "a", encoding="utf-8") as file:
                        file.write(line + "\n")


if __name__ == "__main__":
    main()
