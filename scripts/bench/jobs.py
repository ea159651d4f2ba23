#!/usr/bin/env python3
"""Real jobs by damier and by what people use today: time, processor time, peak memory, right or wrong, lines of code.

    scripts/bench/jobs.py --damier build/release/damier -o jobs.jsonl      one record per job and way
    scripts/bench/jobs.py ... --only gram --runs 1 --scale 0.25            a quick look
    scripts/bench/jobs.py --list

Each way is a complete program of its user (job_programs.py), run in a fresh process from files to a file; the start of
Python, Octave or R counts. Lines are those of the program without blank ones. The result is compared by a random vector x: C x
with A (B x). Needs NumPy and h5py; ways whose package or program is missing are left out. Ways alternate from run to run. With
`limit` the process may have that much data (RLIMIT_DATA), as a container or a batch job would allow it.
"""
import functools
import json
import os
import pathlib
import signal
import sys
import tempfile

import h5py
import numpy as np

from job_programs import JOBS, PACKAGES, R_PACKAGES, write
from measure import answer, code_of, compare, made_by, options_of, run, start

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


def result_of(folder):
    if (folder / "C.npy").exists():
        return np.load(folder / "C.npy")
    if (folder / "C.h5").exists():
        with h5py.File(folder / "C.h5") as file:
            c = file["c"]
            return (c["value"] if isinstance(c, h5py.Group) else c)[:]  # Octave stores a group
    return None


def judge(folder, job, c):
    files = {}
    for path in folder.glob("[AB].h5"):
        with h5py.File(path) as file:
            files[path.stem] = file["a"][:]
    x = np.random.default_rng(7).standard_normal((c.shape[-1], 1))
    exact = job.apply(files, x) if job.apply else files["A"] @ (files["B"] @ x)
    bound = 1e-3 if c.dtype == np.float32 else 1e-9
    return "right" if np.abs(c @ x - exact).max() <= bound * np.abs(exact).max() else "wrong"


def why_not(folder, code):
    said = (folder / "said").read_text(errors="replace")
    if "MemoryError" in said or "unable to allocate" in said.lower():
        return "no memory"
    return "killed" if code in (-signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT) else "failed"


def attempt(folder, job, way, damier):
    """What one run took, and whether its result is right."""
    for name in ("C.h5", "C.npy", "said", "C.h5.part", "C.h5.journal"):
        (folder / name).unlink(missing_ok=True)
    with h5py.File(folder / "A.h5") as file:
        program = job.ways[way].replace("TENTH", str(file["a"].shape[1] // 10))
    words = [damier, *program.split()[1:]] if way == "damier" else [*start_of(way)[0], program]
    seconds, busy, peak, code = 0.0, 0.0, 0, None
    for kill_after in [job.kill_after, 0] if job.kill_after else [0]:
        if code != 0:
            told = json.dumps([job.limit, kill_after, *words])
            more, more_busy, peak, code = json.loads(run([sys.executable, "-S", "-c", LAUNCHER, told], cwd=folder))
            seconds, busy = seconds + more, busy + more_busy
            if kill_after and code != 0 and way != "damier":
                (folder / "C.h5").unlink(missing_ok=True)
    c = result_of(folder) if code == 0 else None
    return {"seconds": seconds, "processor_s": busy, "peak_bytes": float(peak),
            "verdict": why_not(folder, code) if c is None else judge(folder, job, c), "exit": code,
            "lines": sum(bool(line.strip()) for line in program.splitlines())}


@functools.cache
def start_of(way):
    """How programs of WAY are started, and the version of its package; None if it is not installed."""
    if way in PACKAGES:  # in this Python, or in the system's
        probe = f"import h5py, {PACKAGES[way]} as p; print(p.__version__)"
        starts = {(python, "-c"): probe for python in (sys.executable, "/usr/bin/python3")}
    elif way in R_PACKAGES:
        starts = {("Rscript", "-e"): f"suppressMessages(library({way})); cat(as.character(packageVersion('{way}')))"}
    elif way == "Octave":
        starts = {("octave-cli", "-qf", "--eval"): "disp(version)"}
    else:
        return (sys.executable, "-c"), None
    found = ((words, answer([*words, probe])) for words, probe in starts.items())
    return next(((words, version) for words, version in found if version), None)


def measure(options, job, damier, about):
    scale = 1.0 if job.limit else options.scale
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-jobs-") as name:
        folder = pathlib.Path(name)
        try:
            write(folder, job, scale)
        except (ImportError, ValueError) as reason:
            print(f"{job.name:12}left out: {reason}", file=sys.stderr)
            return
        ways, failed = [way for way in job.ways if way == "damier" or start_of(way)], {}

        def once(way):
            """A way that failed does not run again."""
            found = failed.get(way) or attempt(folder, job, way, damier)
            if found["verdict"] != "right":
                failed[way] = found
            return found | ({} if way == "damier" else {"package": start_of(way)[1]})

        compare(options.output, {"verb": "job", **about}, {"job": job.name, "what": job.what, "scale": scale}, ways, once, options.runs,
                warm_up=0)


def main():
    options = options_of(__doc__, "jobs.jsonl", damier="build/release/damier", only={"nargs": "*", "help": "names of jobs"}, runs=5,
                         scale={"type": float, "default": 1.0, "help": "factor of all dimensions; jobs with little memory have no other "
                                "and are left out unless named"},
                         folder={"help": "for the files [a temporary one]"}, list={"action": "store_true"})
    if options.list:
        for job in JOBS:
            print(f"{job.name:12}{job.what}; {', '.join(job.ways)}")
        return
    damier = str(pathlib.Path(options.damier).resolve())
    about = {**made_by(code_of(damier), cores=os.cpu_count()), "numpy": np.__version__, "h5py": h5py.__version__}
    for job in JOBS:
        if job.name in options.only if options.only else not job.limit or options.scale == 1:
            measure(options, job, damier, about)


if __name__ == "__main__":
    start(main)
