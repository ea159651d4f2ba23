#!/usr/bin/env python3
"""Times what users get: whole commands, from fork to exit, that make C = A B from the same files into a file.

    scripts/bench/user_runs.py --damier build/release/damier      results.py makes tables of the records

Of each set (a size and a type) the rows alternate: A B C, A B C. The first round is not timed; in it each C
is compared with NumPy's product at some rows. Every C of damier is verified by itself, too.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

from measure import NUMPY_TYPES, ROOT, append, cores, middle, now, options_of, timed, turns
from user_rows import Launcher, all_rows, file_system, machine, told_environment

FILES = {"a": "A.h5", "b": "B.h5", "c": "C.h5", "json": "record.json"}
ROWS_CHECKED = 8


class Failed(Exception):
    """A command that did not do what it should."""


def seconds_of(words):
    """From before the fork to after the exit."""
    with open("log", "w+b") as log:
        took, _, done = timed(lambda: subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False))
        log.seek(0)
        if done.returncode != 0:
            raise Failed(f"exit {done.returncode}: {log.read().decode(errors='replace')[-600:].strip()}")
    return took


class Set:
    """One size and type: the files, and what each row took."""

    def __init__(self, options, shape, kind, rows):
        self.options, self.shape, self.kind = options, shape, kind
        self.rows, self.times, self.failures, self.records = list(rows), {r.name: [] for r in rows}, {}, {}
        self.load, self.begun = os.getloadavg()[0], now().replace("+00:00", "Z")

    def generate(self):
        m, k, n = self.shape
        for seed, (name, size) in enumerate({"a": (m, k), "b": (k, n)}.items(), 1):
            words = ["generate", FILES[name], "--rows", size[0], "--cols", size[1], "--type", self.kind,
                     "--seed", seed, "--force", "-q", "--json", FILES["json"]]
            seconds_of([self.options.damier, *map(str, words)])
        said = json.loads(pathlib.Path(FILES["json"]).read_text().splitlines()[-1])
        self.version, self.git = said["version"], said["git"]
        for name in "ab":
            with open(FILES[name], "rb+") as file:
                os.fsync(file)

    def expect(self):
        """Some rows of C, and how far rounding may take an element from them."""
        m, k, _ = self.shape
        self.checked = np.unique(np.random.default_rng(1).integers(0, m, ROWS_CHECKED))
        with h5py.File(FILES["a"]) as file:
            a = file["a"][self.checked].astype(np.float64)
        with h5py.File(FILES["b"]) as file:
            b = file["a"][:].astype(np.float64, copy=False)
        self.expected, self.allowed = a @ b, k * np.finfo(NUMPY_TYPES[self.kind]).eps * (abs(a) @ abs(b))

    def check(self):
        m, _, n = self.shape
        with h5py.File(FILES["c"]) as file:
            c = file["c"]
            if c.shape != (m, n) or c.dtype != NUMPY_TYPES[self.kind]:
                raise Failed(f"C is {c.shape} {c.dtype}")
            if not np.all(abs(c[self.checked] - self.expected) <= self.allowed):
                raise Failed("C is not NumPy's product")

    def run(self, row, is_first):
        """Seconds of one run, onto no C."""
        for name in ("c", "json"):
            pathlib.Path(FILES[name]).unlink(missing_ok=True)
        for name in "ab" if self.options.cold and row.product else "":
            with open(FILES[name], "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        seconds = seconds_of(row.command(FILES))
        if row.own_record:
            record = json.loads(pathlib.Path(FILES["json"]).read_text())
            if record["verification"]["verdict"] != "PASS":
                raise Failed("damier's verification does not say PASS")
            self.records[row.name] = record
        if is_first and row.product:
            self.check()
        return seconds

    def rounds(self):
        for number, row in turns(self.options.pairs, self.rows):
            if row.name in self.failures:
                continue
            try:
                seconds = self.run(row, number < 0)
            except (Failed, OSError, ValueError, KeyError) as reason:
                self.failures[row.name] = str(reason)
                continue
            if number >= 0:
                self.times[row.name].append(seconds)

    def lines(self, base):
        """A record of each row."""
        m, k, n = self.shape
        for row in self.rows:
            times = self.times[row.name]
            found = middle(times) if times else [None] * 3
            yield {"schema": "damier-user/1", "verb": "user", "row": row.name, "version": self.version,
                   "git": self.git, "date": self.begun,
                   "command": shlex.join(row.command(FILES)), "environment": told_environment(),
                   "problem": {"shape": f"{m} x {n} x {k}", "m": m, "n": n, "k": k, "work": self.kind},
                   "machine": {**base, "ranks": row.ranks, "library": row.library},
                   "cold": self.options.cold, "load_before": self.load, "file_system": file_system("."),
                   "error": self.failures.get(row.name), "repetitions": {"command_s": times},
                   "times": dict(zip(("command_median_s", "command_ci95_low_s", "command_ci95_high_s"), found)),
                   "damier": self.records.get(row.name)}


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
        __doc__, ROOT / "docs/results/user.jsonl", ("--damier", {"required": True}),
        ("--sizes", {"type": words_of(shapes), "default": "256 512 4096 8192", "help": "N or MxKxN"}),
        ("--types", {"type": words_of(str), "default": "f64 f32"}),
        ("--ranks", {"type": words_of(int), "help": "[1, 2, 4, ... up to the cores]"}), ("--pairs", {"type": int, "default": 10}),
        ("--only", {"type": re.compile, "default": ".*", "help": "rows whose whole name this expression matches"}),
        ("--cpu", {"action": "store_true", "help": "also rows of damier with --backend cpu"}),
        ("--cold", {"action": "store_true", "help": "A and B leave the page cache before each run"}),
        ("--folder", {"help": "where the files are [a tmpfs, else TMPDIR]"}),
        ("--seconds", {"type": float, "default": float("inf"), "help": "no set begins after so many"}),
        ("--python", {"type": words_of(str), "default": "python3 /usr/bin/python3",
                      "help": "where h5py, NumPy, CuPy and torch are looked for, in this order"}), ("--launcher", {"default": "mpirun"}))
    if set(options.types) - set(NUMPY_TYPES) or options.pairs < 1:
        sys.exit("error: types are f64 and f32, pairs at least 1")
    options.ranks = options.ranks or [2**i for i in range(cores().bit_length())]
    options.damier = in_path(options.damier)
    options.output = pathlib.Path(options.output).resolve()
    in_memory = os.access("/dev/shm", os.W_OK) and not options.cold
    options.folder = os.path.abspath(options.folder or ("/dev/shm" if in_memory else tempfile.gettempdir()))
    if options.cold and file_system(options.folder) == "tmpfs":
        sys.exit(f"error: --cold: {options.folder} is memory; --folder names another")
    return options


def measure(options, shape, kind, rows, base):
    """True where no row failed."""
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-user-") as scratch:
        os.chdir(scratch)
        measured = Set(options, shape, kind, rows)
        measured.generate()
        measured.expect()
        measured.rounds()
        for record in measured.lines(base):
            append(options.output, record)
        os.chdir(ROOT)
    for row in rows:
        times, failure = measured.times[row.name], measured.failures.get(row.name)
        print(f"   {row.name:20}", f"FAILED: {failure}" if failure else
              "{:.4f} s [{:.4f}, {:.4f}]".format(*middle(times)), flush=True)
    return not measured.failures


def main():
    options = read_options()
    launcher = Launcher(options.launcher)
    every = list(all_rows(options, launcher))
    rows = [row for row in every if options.only.fullmatch(row.name)]
    if not rows:
        sys.exit("no such row; there are " + " ".join(row.name for row in every))
    print("rows:", *(row.name for row in rows), flush=True)
    base, start, good = machine(launcher), time.monotonic(), True
    for shape, kind in itertools.product(options.sizes, options.types):
        began = time.monotonic()
        name = f"{'x'.join(map(str, shape))} {kind}{' cold' if options.cold else ''}"
        if began - start > options.seconds:
            print(f"== {name}: not begun after {began - start:.0f} s", flush=True)
            continue
        print(f"== {name}", flush=True)
        good &= measure(options, shape, kind, rows, base)
        print(f"   {name} took {time.monotonic() - began:.1f} s in all", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"error: {failure}")
