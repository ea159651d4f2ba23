#!/usr/bin/env python3
"""Real jobs by damier and by what people use today: time, processor time, peak memory, right or wrong, lines of code.

    scripts/bench/jobs.py --damier build/release/damier -o jobs.jsonl      one record per job, way and run
    scripts/bench/jobs.py ... --only gram --runs 1 --scale 0.25            a quick look
    scripts/bench/jobs.py --list

Each way is a complete program of its user, run in a fresh process from files to a file; Python's and its libraries' start
counts. Its lines are those of the text below, without blank ones. The result is compared by a random vector x: C x with
A (B x). Needs NumPy and h5py; ways whose module is missing are left out. Ways alternate from run to run. With `limit` the
process may have that much data (RLIMIT_DATA), as a container or a batch job would allow it.
"""
import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

NUMPY = """
import h5py
with h5py.File("A.h5") as fa, h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    fc["c"] = fa["a"][:] @ fb["a"][:]
"""
DASK = """
import dask.array as da, h5py
with h5py.File("A.h5") as fa, h5py.File("B.h5") as fb:
    a = da.from_array(fa["a"], chunks=1000)
    b = da.from_array(fb["a"], chunks=1000)
    (a @ b).to_hdf5("C.h5", "/c")
"""
DAMIER = "damier multiply A.h5 B.h5 -o C.h5 -q"


@dataclasses.dataclass
class Job:
    name: str
    what: str
    make: object  # (random, n): A and B, or one of them as functions do
    ways: dict
    store: dict = dataclasses.field(default_factory=dict)  # how h5py stores A
    apply: object = None  # (files, x): C x by definition; None: A (B x)
    limit: int = 0  # MiB of data; such jobs have one size, as programs themselves need memory
    parts: int = 0  # files parts/*.h5 with some rows of A each
    kill_after: float = 0  # s: the first attempt is killed, and the same program runs again


def normal(m, k, n, dtype="f8"):
    def make(random, scale):
        rows, inner, cols = (max(8, int(size * scale)) for size in (m, k, n))
        return random.standard_normal((rows, inner)).astype(dtype), random.standard_normal((inner, cols)).astype(dtype)
    return make


def one(m, k, kind="normal"):
    def make(random, scale):
        shape = max(8, int(m * scale)), max(8, int(k * scale))
        a = random.integers(-3, 4, shape, dtype="i1") if kind == "i1" else random.standard_normal(shape)
        return a, None
    return make


def write(folder, job, scale):
    a, b = job.make(np.random.default_rng(1), scale)
    for name, matrix in (("A", a), ("B", b)):
        if matrix is None:
            continue
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("a", data=matrix, **(job.store if name == "A" else {}))
        if "npy" in job.name:
            np.save(folder / f"{name}.npy", matrix)
    if job.parts:
        (folder / "parts").mkdir()
        for i, rows in enumerate(np.array_split(a, job.parts)):
            with h5py.File(folder / "parts" / f"{i:04}.h5", "w") as file:
                file["a"] = rows


def ways(numpy, damier, dask=None):
    found = {"NumPy + h5py": numpy, "damier": damier}
    return found | ({"Dask": dask} if dask else {})


def by_transpose(files, x):
    a = files["A"].astype("f8")
    return a.T @ (a @ x)


def times_own_transpose(files, x):
    a = files["A"].astype("f8")
    return a @ (a.T @ x)


def covariance(files, x):
    a = files["A"] - files["A"].mean(axis=0)
    return a.T @ (a @ x) / (len(a) - 1)


def tenth(files, x):
    k = len(files["B"]) // 10
    return files["A"][:, :k] @ (files["B"][:k] @ x)


GRAM = NUMPY.replace('fa["a"][:] @ fb["a"][:]', '(a := fa["a"][:]).T @ a').replace(', h5py.File("B.h5") as fb', "")
DASK_GRAM = """
import dask.array as da, h5py
with h5py.File("A.h5") as fa:
    a = da.from_array(fa["a"], chunks=(20000, -1))
    (a.T @ a).to_hdf5("C.h5", "/c")
"""
BLOCKS = """
import h5py
with h5py.File("A.h5") as fa, h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    a, b, step = fa["a"], fb["a"], 500
    c = fc.create_dataset("c", (a.shape[0], b.shape[1]))
    for i in range(0, a.shape[0], step):
        for j in range(0, b.shape[1], step):
            c[i:i + step, j:j + step] = a[i:i + step] @ b[:, j:j + step]
"""
COVARIANCE = """
import h5py, numpy as np
with h5py.File("A.h5") as fa, h5py.File("C.h5", "w") as fc:
    fc["c"] = np.cov(fa["a"][:], rowvar=False)
"""
DASK_COVARIANCE = """
import dask.array as da, h5py
with h5py.File("A.h5") as fa:
    a = da.from_array(fa["a"], chunks=(20000, -1))
    da.cov(a, rowvar=False).to_hdf5("C.h5", "/c")
"""
FILES = """
import glob, h5py, numpy as np
a = np.concatenate([h5py.File(name)["a"][:] for name in sorted(glob.glob("parts/*.h5"))])
with h5py.File("B.h5") as fb, h5py.File("C.h5", "w") as fc:
    fc["c"] = a @ fb["a"][:]
"""

JOBS = [
    Job("product", "A B, all in memory", normal(3000, 3000, 3000), ways(NUMPY, DAMIER, DASK)),
    Job("small", "A B of 200 x 200: the start alone", normal(200, 200, 200), ways(NUMPY, DAMIER, DASK)),
    Job("single", "A B in single precision", normal(3000, 3000, 3000, "f4"), ways(NUMPY, DAMIER, DASK)),
    Job("complex", "A B of complex numbers", lambda r, s: tuple(
        x + 1j * y for x, y in zip(normal(1500, 1500, 1500)(r, s), normal(1500, 1500, 1500)(r, s))), ways(NUMPY, DAMIER, DASK)),
    Job("memory", "A, B and C take more than a process may have", normal(6000, 6000, 6000),
        ways(NUMPY, "damier multiply A.h5 B.h5 -o C.h5 --memory host=350MiB -q", DASK) | {"NumPy in blocks": BLOCKS}, limit=700),
    Job("gram", "A^T A of a tall A of bytes", one(200000, 500, "i1"),
        ways(GRAM.replace('fa["a"][:]', 'fa["a"][:].astype("f4")'), "damier gram A.h5 -o C.h5 -q",
             DASK_GRAM.replace('(a.T @ a)', '(a.astype("f4").T @ a.astype("f4"))')), apply=by_transpose),
    Job("covariance", "covariances of the columns of a tall A", one(300000, 200),
        ways(COVARIANCE, "damier cov A.h5 -o C.h5 -q", DASK_COVARIANCE), apply=covariance),
    Job("outer", "A A^T", one(4000, 500), ways(GRAM.replace("(a := fa[\"a\"][:]).T @ a", "(a := fa[\"a\"][:]) @ a.T"),
                                                 "damier gram A.h5 --of rows -o C.h5 -q"), apply=times_own_transpose),
    Job("slice", "a tenth of the columns of A, times B", normal(2000, 10000, 1000),
        ways(NUMPY.replace('fa["a"][:] @ fb["a"][:]', 'fa["a"][:, :TENTH] @ fb["a"][:TENTH]'),
             "damier multiply A.h5:/a[:,:TENTH] B.h5:/a[:TENTH,:] -o C.h5 -q"), apply=tenth),
    Job("files", "200 files with rows of A, times B", normal(20000, 500, 200),
        ways(FILES, "damier multiply parts/*.h5:/a B.h5 -o C.h5 -q"), parts=200),
    Job("tall", "tall A times a small B", normal(300000, 100, 50), ways(NUMPY, DAMIER, DASK)),
    Job("gzip", "A compressed by gzip in chunks", normal(3000, 3000, 2000), ways(NUMPY, DAMIER, DASK),
        store={"chunks": (256, 256), "compression": "gzip", "compression_opts": 1}),
    Job("lzf", "A compressed by LZF with shuffle", normal(3000, 3000, 2000), ways(NUMPY, DAMIER, DASK),
        store={"chunks": (256, 256), "compression": "lzf", "shuffle": True}),
    Job("packed", "C stored in compressed chunks", normal(2000, 2000, 2000), ways(
        NUMPY.replace('fc["c"] = fa["a"][:] @ fb["a"][:]',
                      'fc.create_dataset("c", data=fa["a"][:] @ fb["a"][:], chunks=(200, 200), compression=4)'),
        DAMIER + " --chunk 200x200 --deflate 4")),
    Job("npy", "A.npy B.npy to C.npy", normal(3000, 3000, 2000), ways(
        'import numpy as np\nnp.save("C.npy", np.load("A.npy") @ np.load("B.npy"))', "damier multiply A.npy B.npy -o C.npy -q")),
    Job("update", "C = 2 A B + D, D being a dataset of A's file",
        normal(2500, 2500, 2500), ways(NUMPY.replace('fa["a"][:] @ fb["a"][:]', '2 * (fa["a"][:] @ fb["a"][:]) + fa["a"][:]'),
                                       "damier multiply A.h5 B.h5 --alpha 2 --beta 1 --c A.h5 -o C.h5 -q"),
        apply=lambda f, x: 2 * (f["A"] @ (f["B"] @ x)) + f["A"] @ x),
    Job("killed", "killed once, then run again until done", normal(4000, 4000, 4000),
        ways(NUMPY, DAMIER + " --checkpoint-interval 0", DASK), kill_after=1.5),
]


# Runs a program from a small process: the peak of a process counts the memory of the one that it was forked from.
LAUNCHER = """
import json, os, resource, subprocess, sys, time
limit, kill_after, *words = json.loads(sys.argv[1])
began = time.monotonic()
with open("said", "ab") as said:
    process = subprocess.Popen(words, stdout=said, stderr=said, preexec_fn=lambda: limit and resource.setrlimit(
        resource.RLIMIT_DATA, (limit << 20, limit << 20)))
    try:
        process.wait(kill_after or None)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, process.returncode]))
"""


def attempt(folder, limit, words, kill_after):
    """The seconds, those of processors, peak bytes and return code of one process."""
    command = [sys.executable, "-S", "-c", LAUNCHER, json.dumps([limit, kill_after, *words])]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout)


def result_of(folder):
    if (folder / "C.npy").exists():
        return np.load(folder / "C.npy")
    if (folder / "C.h5").exists():
        with h5py.File(folder / "C.h5") as file:
            return file["c"][:]
    return None


def judge(folder, job, c):
    files = {}
    for name in "AB":
        if (folder / f"{name}.h5").exists():
            with h5py.File(folder / f"{name}.h5") as file:
                files[name] = file["a"][:]
    x = np.random.default_rng(7).standard_normal(c.shape[1])
    exact = job.apply(files, x) if job.apply else files["A"] @ (files["B"] @ x)
    bound = 1e-3 if c.dtype == np.float32 else 1e-9
    return "right" if np.abs(c @ x - exact).max() <= bound * np.abs(exact).max() else "wrong"


def why_not(folder, code):
    said = (folder / "said").read_text(errors="replace")
    if "MemoryError" in said or "unable to allocate" in said.lower():
        return "no memory"
    return "killed" if code in (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT) else "failed"


def run(folder, job, way, program, damier):
    for name in ("C.h5", "C.npy", "said", "C.h5.part", "C.h5.journal"):
        (folder / name).unlink(missing_ok=True)
    with h5py.File(folder / "A.h5") as file:
        program = program.replace("TENTH", str(file["a"].shape[1] // 10))
    words = [sys.executable, "-c", program]
    if program.startswith("damier "):
        words = [damier, *program.split()[1:]]
    seconds, busy, peak, code = 0.0, 0.0, 0, None
    load = os.getloadavg()[0]
    if job.kill_after:
        seconds, busy, peak, code = attempt(folder, job.limit, words, job.kill_after)
        if code != 0 and way != "damier":
            (folder / "C.h5").unlink(missing_ok=True)
    if code != 0:
        more, more_busy, peak, code = attempt(folder, job.limit, words, 0)
        seconds, busy = seconds + more, busy + more_busy
    c = result_of(folder) if code == 0 else None
    verdict = judge(folder, job, c) if c is not None else why_not(folder, code)
    return {"verb": "job", "job": job.name, "what": job.what, "way": way, "seconds": round(seconds, 4),
            "processor_s": round(busy, 4), "load": round(load, 1), "peak_bytes": peak, "verdict": verdict, "exit": code, "lines": sum(bool(line.strip()) for line in program.splitlines())}


def version_of(damier):
    return subprocess.run([damier, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def processor():
    models = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return models[0].split(": ", 1)[1] if models else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", default="build/release/damier")
    parser.add_argument("-o", "--output", default="jobs.jsonl", help="records are appended")
    parser.add_argument("--only", nargs="*", help="names of jobs")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all dimensions; jobs with "
                        "little memory have no other and are left out unless named")
    parser.add_argument("--folder", help="for the files [a temporary one]")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for job in JOBS:
            print(f"{job.name:12}{job.what}; {', '.join(job.ways)}")
        return
    damier = str(pathlib.Path(options.damier).resolve())
    about = {"version": version_of(damier), "machine": {"device": processor(), "cores": os.cpu_count()},
             "numpy": np.__version__, "h5py": h5py.__version__}
    for job in JOBS:
        if job.name not in options.only if options.only else job.limit and options.scale != 1:
            continue
        scale = 1.0 if job.limit else options.scale
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-jobs-") as name:
            folder = pathlib.Path(name)
            write(folder, job, scale)
            for number in range(options.runs):
                for way, program in job.ways.items():
                    if way == "Dask" and not importlib.util.find_spec("dask"):
                        continue
                    record = run(folder, job, way, program, damier) | {"run": number, "date": time.strftime("%F"), "scale": scale} | about
                    print(f"{job.name:12}{way:18}{record['seconds']:9.3f} s {record['peak_bytes'] >> 20:7} MiB  {record['verdict']}",
                          flush=True)
                    with open(options.output, "a", encoding="utf-8") as file:
                        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
