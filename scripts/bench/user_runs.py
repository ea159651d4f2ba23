#!/usr/bin/env python3
"""Times what users get: whole commands, from fork to exit, that make C = A B from the same files into a file.

    scripts/bench/user_runs.py --damier build/release/damier      results.py makes tables of the records

Of each set (a size and a type) the rows alternate: A B C, A B C. The first round is not timed; in it each C
is compared with NumPy's product at some rows. Every C of damier is verified by itself, too.
"""
import argparse
import itertools
import os
import pathlib
import re
import shlex
import sys
import tempfile

import h5py
import numpy as np

from measure import (NUMPY_TYPES, ROOT, Failed, alternated, answer, append, code_of, cores, middle, multiply, now, options_of, run, start,
                     timed)
from user_rows import all_rows, machine, told_environment

ROWS_CHECKED = 8


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


class Set:
    """One size and type: the rows, and what each took."""

    def __init__(self, options, shape, kind, rows):
        self.shape, self.kind, self.failures, self.records = shape, kind, {}, {}
        self.rows, self.times = {row.name: row for row in rows}, {row.name: [] for row in rows}
        self.load, self.begun, self.code = os.getloadavg()[0], now().replace("+00:00", "Z"), code_of(options.damier)
        m, k, n = shape
        for seed, (name, rows_of, cols) in enumerate((("A.h5", m, k), ("B.h5", k, n)), 1):
            run([options.damier, "generate", name, "--rows", rows_of, "--cols", cols, "--type", kind, "--seed", seed, "-q"])
        self.check = expect(shape, kind)

    def once(self, name):
        """Seconds of one run, onto no C; the first C of each row is compared."""
        row, is_first = self.rows[name], name not in self.records
        if name in self.failures:
            return None
        try:
            pathlib.Path("C.h5").unlink(missing_ok=True)
            seconds, _, self.records[name] = multiply(row.words, "C.h5", "record.json") if row.ours else timed(lambda: run(row.words))
            if is_first and row.product:
                self.check()
            return seconds
        except (Failed, OSError, ValueError, KeyError) as reason:
            self.failures[name] = str(reason)
            return None

    def lines(self, base):
        """A record of each row."""
        m, k, n = self.shape
        for name, row in self.rows.items():
            times = self.times[name]
            yield {"schema": "damier-user/1", "verb": "user", "row": name, **self.code, "date": self.begun,
                   "command": shlex.join([*row.words, *(["-o", "C.h5", "--json", "record.json"] if row.ours else [])]),
                   "environment": told_environment(), "problem": {"shape": f"{m} x {n} x {k}", "m": m, "n": n, "k": k, "work": self.kind},
                   "machine": {**base, "ranks": row.ranks, "library": row.library}, "load_before": self.load,
                   "file_system": answer(["stat", "-f", "-c", "%T", "."]), "error": self.failures.get(name),
                   "repetitions": {"command_s": times}, "times": dict(zip(
                       ("command_median_s", "command_ci95_low_s", "command_ci95_high_s"), middle(times) if times else [None] * 3)),
                   "damier": self.records.get(name) if row.ours else None}


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
    every = list(all_rows(options))
    rows = [row for row in every if options.only.fullmatch(row.name)]
    if not rows:
        sys.exit("no such row; there are " + " ".join(row.name for row in every))
    print("rows:", *(row.name for row in rows), flush=True)
    base, failed = machine(), False
    for shape, kind in itertools.product(options.sizes, options.types):
        print(f"== {'x'.join(map(str, shape))} {kind}", flush=True)
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-user-") as scratch:
            os.chdir(scratch)
            measured = Set(options, shape, kind, rows)
            for name, seconds in alternated(measured.rows, options.pairs, measured.once):
                measured.times[name] += [seconds] * (seconds is not None)
            for record in measured.lines(base):
                append(options.output, record)
            os.chdir(ROOT)
        for name, times in measured.times.items():
            print(f"   {name:20}", f"FAILED: {measured.failures[name]}" if name in measured.failures else
                  "{:.4f} s [{:.4f}, {:.4f}]".format(*middle(times)), flush=True)
        failed |= bool(measured.failures)
    sys.exit(failed)


if __name__ == "__main__":
    start(main)
