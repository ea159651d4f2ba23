#!/usr/bin/env python3
"""Times what users get: whole commands, from fork to exit, that make C = A B from the same files into a file.

    scripts/bench/user_runs.py --damier build/release/damier      results.py makes tables of the records

Of each set (a size and a type) the rows alternate: A B C, A B C. The first round is not timed; in it each C
is compared with NumPy's product at some rows. Every C of damier is verified by itself, too.
"""
import argparse
import datetime
import itertools
import json
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile
import time

import h5py
import numpy as np

from user_machine import environment, file_system, machine, told_environment
from user_rows import Launcher, all_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "report"))
from tables import interval, median  # pylint: disable=wrong-import-position

TYPES = {"f64": np.float64, "f32": np.float32}
FILES = {"a": "A.h5", "b": "B.h5", "c": "C.h5", "json": "record.json"}
LONGEST = 600  # time limit of a command in seconds
ROWS_CHECKED = 8


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Failed(Exception):
    """A command that did not do what it should."""


def timed(words, log):
    """Seconds from before the fork to after the exit."""
    out = (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), out, (os.POSIX_SPAWN_DUP2, 1, 2)]
    mine = environment()
    start = time.monotonic_ns()
    child = os.posix_spawnp(words[0], words, mine, file_actions=actions, setpgroup=0)
    ended = False
    try:
        signal.alarm(LONGEST)
        status = os.waitpid(child, 0)[1]
        end = time.monotonic_ns()
        ended = True
    finally:
        signal.alarm(0)
        if not ended:
            os.killpg(child, signal.SIGTERM)  # launchers forward it
            time.sleep(2)
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if status:
        said = pathlib.Path(log).read_text(errors="replace")[-600:].strip()
        raise Failed(f"exit {os.waitstatus_to_exitcode(status)}: {said}")
    return (end - start) * 1e-9


class Set:
    """One size and type: the files, and what each row took."""

    def __init__(self, options, shape, kind, rows):
        self.options, self.shape, self.kind = options, shape, kind
        self.rows, self.times, self.failures, self.records = list(rows), {r.name: [] for r in rows}, {}, {}
        self.load, self.begun = os.getloadavg()[0], now()

    def generate(self):
        m, k, n = self.shape
        for seed, (name, size) in enumerate({"a": (m, k), "b": (k, n)}.items(), 1):
            words = ["generate", FILES[name], "--rows", size[0], "--cols", size[1], "--type", self.kind,
                     "--seed", seed, "--force", "-q", "--json", FILES["json"]]
            timed([self.options.damier, *map(str, words)], "log")
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
        self.expected, self.allowed = a @ b, k * np.finfo(TYPES[self.kind]).eps * (abs(a) @ abs(b))

    def check(self):
        m, _, n = self.shape
        with h5py.File(FILES["c"]) as file:
            c = file["c"]
            if c.shape != (m, n) or c.dtype != TYPES[self.kind]:
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
        seconds = timed(row.command(FILES), "log")
        if row.own_record:
            record = json.loads(pathlib.Path(FILES["json"]).read_text())
            if record["verification"]["verdict"] != "PASS":
                raise Failed("damier's verification does not say PASS")
            self.records[row.name] = record
        if is_first and row.product:
            self.check()
        return seconds

    def rounds(self):
        for number in range(self.options.pairs + 1):
            for row in [r for r in self.rows if r.name not in self.failures]:
                try:
                    seconds = self.run(row, number == 0)
                except (Failed, OSError, ValueError, KeyError) as reason:
                    self.failures[row.name] = str(reason)
                    continue
                if number > 0:
                    self.times[row.name].append(seconds)

    def lines(self, base):
        """A record of each row."""
        m, k, n = self.shape
        for row in self.rows:
            times = self.times[row.name]
            low, high = interval(times) if times else (None, None)
            yield {"schema": "damier-user/1", "verb": "user", "row": row.name, "version": self.version,
                   "git": self.git, "date": self.begun,
                   "command": shlex.join(row.command(FILES)), "environment": told_environment(),
                   "problem": {"shape": f"{m} x {n} x {k}", "m": m, "n": n, "k": k, "work": self.kind},
                   "machine": {**base, "ranks": row.ranks, "library": row.library},
                   "cold": self.options.cold, "load_before": self.load, "file_system": file_system("."),
                   "error": self.failures.get(row.name), "repetitions": {"command_s": times},
                   "times": {"command_median_s": median(times) if times else None,
                             "command_ci95_low_s": low, "command_ci95_high_s": high},
                   "damier": self.records.get(row.name)}


def shapes(text):
    """N, or MxKxN."""
    sizes = [int(word) for word in text.split("x")]
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text} is neither N nor MxKxN")
    return tuple(sizes * 3 if len(sizes) == 1 else sizes)


def powers(cores):
    return [2**i for i in range(cores.bit_length())]


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", required=True)
    parser.add_argument("--sizes", type=words_of(shapes), default="256 512 4096 8192", help="N or MxKxN")
    parser.add_argument("--types", type=words_of(str), default="f64 f32")
    parser.add_argument("--ranks", type=words_of(int), help="[1, 2, 4, ... up to the cores]")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", type=re.compile, default=".*", help="rows whose whole name this expression matches")
    parser.add_argument("--cpu", action="store_true", help="also rows of damier with --backend cpu")
    parser.add_argument("--cold", action="store_true", help="A and B leave the page cache before each run")
    parser.add_argument("--folder", help="where the files are [a tmpfs, else TMPDIR]")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no set begins after so many")
    parser.add_argument("--python", type=words_of(str), default="python3 /usr/bin/python3",
                        help="where h5py, NumPy, CuPy and torch are looked for, in this order")
    parser.add_argument("--launcher", default="mpirun")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/results/user.jsonl")
    options = parser.parse_args()
    if set(options.types) - set(TYPES) or options.pairs < 1:
        parser.error("types are f64 and f32, pairs at least 1")
    options.cores = len(os.sched_getaffinity(0))
    options.ranks = options.ranks or powers(options.cores)
    options.damier = in_path(options.damier)
    options.output = options.output.resolve()
    in_memory = os.access("/dev/shm", os.W_OK) and not options.cold
    options.folder = os.path.abspath(options.folder or ("/dev/shm" if in_memory else tempfile.gettempdir()))
    if options.cold and file_system(options.folder) == "tmpfs":
        parser.error(f"--cold: {options.folder} is memory; --folder names another")
    return options


def append(path, records):
    """All of a set at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    with open(path, "ab", buffering=0) as file:
        file.write(text.encode())


def measure(options, shape, kind, rows, base):
    """True where no row failed."""
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-user-") as scratch:
        os.chdir(scratch)
        measured = Set(options, shape, kind, rows)
        measured.generate()
        measured.expect()
        measured.rounds()
        append(options.output, measured.lines(base))
        os.chdir(ROOT)
    for row in rows:
        times, failure = measured.times[row.name], measured.failures.get(row.name)
        print(f"   {row.name:20}", f"FAILED: {failure}" if failure else
              "{:.4f} s [{:.4f}, {:.4f}]".format(median(times), *interval(times)), flush=True)
    return not measured.failures


def stop(number, _frame):
    if number == signal.SIGALRM:
        raise Failed(f"not ended after {LONGEST} s")
    sys.exit(128 + number)


def main():
    options = read_options()
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    launcher = Launcher(options.launcher, environment())
    every = list(all_rows(options, launcher, environment()))
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
