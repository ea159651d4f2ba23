#!/usr/bin/env python3
"""Times what users get: whole commands, from fork to exit, that make C = A B from the same files into a file.

    scripts/bench/user_runs.py --damier build/release/damier      results.py makes tables of the records

Of each set (a size and a type) the rows alternate; the first round is not timed, and in it each C is compared with NumPy's product
at some rows. Every C of damier is verified by itself, too. Rows: damier, alone and by mpirun with its default binding and without
binding; scripts for NumPy, CuPy and torch as short as users would write them; mpirun alone.
"""
import argparse
import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import shlex
import sys
import tempfile

import h5py
import numpy as np

from job_programs import h5py_program
from measure import (MPIRUN, NUMPY_TYPES, ROOT, Failed, answer, code_of, compare, cores, made_by, mpirun, multiply, options_of, processor,
                     run, start, timed)

ROWS_CHECKED = 8
LIBRARIES = {  # name: (its product, what must hold)
    "numpy": ('fa["a"][:] @ fb["a"][:]', "True"),
    "cupy": ('cupy.asnumpy(cupy.asarray(fa["a"][:]) @ cupy.asarray(fb["a"][:]))', "library.cuda.runtime.getDeviceCount() > 0"),
    "torch": ('(torch.from_numpy(fa["a"][:]).cuda() @ torch.from_numpy(fb["a"][:]).cuda()).cpu().numpy()', "library.cuda.is_available()"),
}
PROBE = """import {name} as library, h5py, platform
assert {holds}
blas = sorted({{line.split("/")[-1].strip() for line in open("/proc/self/maps") if "blas" in line.lower()}})
print(library.__name__, library.__version__ + ",", "h5py", h5py.__version__ + ", Python", platform.python_version(),
      *(["with", *blas] if blas else []))
"""


# ---- rows ----

@dataclasses.dataclass
class Row:
    words: list
    ranks: int = 1
    library: str = ""  # its components
    ours: bool = False


def all_rows(options):
    """{name: row}, in the order in which they alternate."""
    rows = {}
    for suffix, backend in (("", []), ("-cpu", ["--backend", "cpu"]))[:2 if options.cpu else 1]:
        words = [options.damier, "multiply", "A.h5", "B.h5", *backend]
        rows["damier" + suffix] = Row(words, ours=True)
        for ranks in filter(mpirun, options.ranks):
            for kind, more in (("", []), ("-unbound", ["--bind-to", "none"]))[:1 + ("MPI" in launcher() or "RTE" in launcher())]:
                rows[f"mpirun{suffix}-{ranks}{kind}"] = Row([*mpirun(ranks), *more, *words], ranks, ours=True)
    for (name, (product, holds)), python in itertools.product(LIBRARIES.items(), options.python):
        if name not in rows and (library := answer([python, "-c", PROBE.format(name=name, holds=holds)])) is not None:
            rows[name] = Row([python, "-c", h5py_program(product, f", {name}" * (name != "numpy"))], library=library)
    return rows | {f"hostname-{ranks}": Row([*mpirun(ranks), "hostname"], ranks)
                   for ranks in filter(mpirun, sorted({1, *options.ranks}))}


def matrix(name, rows=slice(None)):
    with h5py.File(name) as file:
        return file["a"][rows].astype("f8", copy=False)


def expect(shape, kind):
    """A function that compares C with some rows of NumPy's product; rounding may take an element as far as it allows."""
    rows = np.unique(np.random.default_rng(1).integers(0, shape[0], ROWS_CHECKED))
    a, b = matrix("A.h5", rows), matrix("B.h5")
    expected, allowed = a @ b, shape[1] * np.finfo(NUMPY_TYPES[kind]).eps * (abs(a) @ abs(b))

    def check():
        with h5py.File("C.h5") as file:
            c = file["c"]
            if c.shape != (shape[0], shape[2]) or c.dtype != NUMPY_TYPES[kind]:
                raise Failed(f"C is {c.shape} {c.dtype}")
            if not np.all(abs(c[rows] - expected) <= allowed):
                raise Failed("C is not NumPy's product")

    return check


def measure(options, shape, kind, rows):
    """One size and type in this folder. Returns the errors of rows."""
    m, k, n = shape
    for seed, (name, rows_of, cols) in enumerate((("A.h5", m, k), ("B.h5", k, n)), 1):
        run([options.damier, "generate", name, "--rows", rows_of, "--cols", cols, "--type", kind, "--seed", seed, "-q"])
    check, errors, compared = expect(shape, kind), {}, set()

    def once(name):
        """One run, onto no C; the first C of each row is compared."""
        row = rows[name]
        about = {"command": shlex.join([*row.words, *(["-o", "C.h5"] if row.ours else [])]), "ranks": row.ranks, "library": row.library}
        if name in errors:
            return about | {"error": errors[name]}
        try:
            pathlib.Path("C.h5").unlink(missing_ok=True)
            took, record = multiply(row.words, "C.h5", "record.json") if row.ours else timed(lambda: run(row.words))
            if name not in compared and not name.startswith("hostname"):
                check()
            compared.add(name)
            return took | about | ({"backend": record["machine"]["backend"]} if row.ours else {})
        except (Failed, OSError, ValueError, KeyError) as reason:
            errors[name] = str(reason)
            return about | {"error": str(reason)}

    about = {"verb": "user", **made_by(code_of(options.damier), **machine()), "environment": told_environment(),
             "file_system": answer(["stat", "-f", "-c", "%T", "."])}
    return compare(options.output, about, {"shape": f"{m} x {n} x {k}", "type": kind}, rows, once, options.pairs)


# ---- the computer ----

def launcher():
    return ((answer([MPIRUN, "--version"]) or "").splitlines() or [""])[0]


def forget_settings():
    """What tests and other benchmarks set, but users do not."""
    for name in list(os.environ):
        if re.match(r"\w*_NUM_THREADS$|(OMPI|PRTE)_MCA_(rmaps|hwloc|mpi_yield)", name):
            del os.environ[name]


def told_environment():
    """What matters for speed."""
    return {name: value for name, value in os.environ.items() if re.match(r"(OMP|OMPI|OPENBLAS|MKL|PRTE|CUDA|NCCL|HDF5|DAMIER)_", name)}


def cpu_limit():
    """Cores that the control group allows, None where it does not say."""
    with contextlib.suppress(OSError, ValueError):
        allowed, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        return int(allowed) / int(period)
    return None


def machine():
    gpus = sorted((answer(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]) or "").splitlines())
    return {"device": " and ".join([processor(), *sorted({gpu.split(",")[0] for gpu in gpus})]), "gpus": gpus, "cores": os.cpu_count(),
            "cores_allowed": cores(), "cpu_limit": cpu_limit(), "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "system": " ".join(os.uname()[i] for i in (0, 2, 4)), "launcher": launcher()}


# ---- options ----

def shapes(text):
    """N, or MxKxN."""
    sizes = [int(word) for word in text.split("x")]
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text} is neither N nor MxKxN")
    return tuple(sizes * 3 if len(sizes) == 1 else sizes)


def in_path(program):
    """Its name, by which commands find it from now on."""
    path = pathlib.Path(program).resolve()
    if not os.access(path, os.X_OK):
        sys.exit(f"{program} is no program")
    os.environ["PATH"] = f"{path.parent}:{os.environ['PATH']}"
    return path.name


def words_of(each):
    return lambda text: [each(word) for word in text.split()]


def read_options():
    options = options_of(
        __doc__, ROOT / "docs/results/user.jsonl", damier={"required": True}, pairs=10,
        sizes={"type": words_of(shapes), "default": "256 512 4096 8192", "help": "N or MxKxN"},
        types={"type": words_of(str), "default": "f64 f32"}, ranks={"type": words_of(int), "help": "[1, 2, 4, ... up to the cores]"},
        only={"type": re.compile, "default": ".*", "help": "rows whose whole name this expression matches"},
        cpu={"action": "store_true", "help": "also rows of damier with --backend cpu"},
        folder={"help": "where the files are [a tmpfs, else TMPDIR]", "default": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None},
        python={"type": words_of(str), "default": "python3 /usr/bin/python3",
                "help": "where h5py, NumPy, CuPy and torch are looked for, in this order"})
    if set(options.types) - set(NUMPY_TYPES) or options.pairs < 1:
        sys.exit("error: types are f64 and f32, pairs at least 1")
    options.ranks = options.ranks or [2**i for i in range(cores().bit_length())]
    options.damier, options.output = in_path(options.damier), pathlib.Path(options.output).resolve()
    return options


def main():
    options = read_options()
    forget_settings()
    every = all_rows(options)
    rows = {name: row for name, row in every.items() if options.only.fullmatch(name)}
    if not rows:
        sys.exit("no such row; there are " + " ".join(every))
    failed = False
    for shape, kind in itertools.product(options.sizes, options.types):
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-user-") as scratch:
            os.chdir(scratch)
            failed |= bool(measure(options, shape, kind, rows))
            os.chdir(ROOT)
    sys.exit(failed)


if __name__ == "__main__":
    start(main)
