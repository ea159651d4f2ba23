#!/usr/bin/env python3
"""Searches for components, reductions and whole distances that are killed at random moments (SIGKILL of all ranks, or of one), several
times, and started again with the same command, on any number of ranks: the result of an undisturbed run, to the bit where nothing but
the ranks may change it (--reproducible), and nothing is left beside it. --long: more cases."""
import os
import random
import signal
import subprocess
import time

import h5py
import numpy as np

import faulty_runs
import running
from running import expect

SEED = 20261130
ALWAYS = ["--checkpoint-interval", "0"]


class Program:
    """A command, and its undisturbed result. BITS: those of any run; else of runs on one rank."""

    def __init__(self, bed, name, verb, operands, words, memory=0, bits=True):
        self.bed, self.name, self.verb, self.bits = bed, name, verb, bits
        self.operands, self.words, self.memory = operands, words, memory
        started = time.monotonic()
        expect(self.run("whole", 1)[0] == 0, f"{name}: not undisturbed")
        self.seconds, self.wanted = time.monotonic() - started, self.read("whole")

    def path(self, run):
        return self.bed.folder / f"{self.name}_{run}.h5"

    def command(self, run, ranks):
        memory = ["--memory", f"host={running.process_mib(self.bed.damier, ranks) + self.memory}MiB"] if self.memory else []
        return running.command(ranks, self.bed.damier, self.verb, *self.operands, "-o", self.path(run), *self.words, *ALWAYS, *memory)

    def run(self, run, ranks):
        done = running.ended(self.command(run, ranks))
        return done.returncode, done.stderr

    def read(self, run):
        found = {}
        with h5py.File(self.path(run)) as file:
            file.visititems(lambda name, item: found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
        return found

    def expect_whole(self, run, same):
        got = self.read(run)
        expect(got.keys() == self.wanted.keys(), f"other arrays: {[*got]}")
        for key, array in self.wanted.items():
            if same:
                expect(got[key].tobytes() == array.tobytes(), f"other bits of {key}")
            else:
                expect(got[key].shape == array.shape, f"{key} has another shape")
                expect(np.allclose(got[key], array, rtol=1e-7, atol=1e-9, equal_nan=True), f"another {key}")
        left = [path.name for path in self.bed.folder.glob(f"{self.name}_{run}.h5*") if path != self.path(run)]
        expect(not left, f"left {left}")


def killed(program, run, ranks, rng):
    """Whether the run had not ended at its random moment."""
    with subprocess.Popen(program.command(run, ranks), env=running.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        time.sleep(rng.uniform(0.1, 1.1) * (program.seconds + 0.4 * (ranks > 1)))
        pids = [process.pid] if ranks == 1 else running.ranks_of(process.pid)
        for pid in pids if rng.random() < 0.7 else rng.sample(pids, min(1, len(pids))):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        running.await_killed(process)
        return process.wait() != 0


def one_case(program, number, resumed):
    rng = random.Random(SEED + number)
    run, alone, what = f"case{number}", True, f"{program.name}, case {number}:"
    try:
        for _ in range(rng.choice((1, 2, 3))):
            ranks = rng.choice((1, 1, 2, 3))
            alone, what = alone and ranks == 1, f"{what} killed on {ranks},"
            if not killed(program, run, ranks, rng) or program.path(run).exists():
                break
        ranks = rng.choice((1, 1, 2, 4))
        alone, what = alone and ranks == 1, f"{what} then {ranks}"
        if not program.path(run).exists():
            code, said = program.run(run, ranks)
            expect(code == 0, f"exit {code}: {said[-900:]}")
            resumed[program.name] = resumed.get(program.name, 0) + ("resuming: " in said)
            program.expect_whole(run, program.bits or alone)
    except running.PROBLEMS as failure:
        raise running.Failure(f"{what}: {failure}") from failure


def programs(bed):
    rng = np.random.default_rng(1)
    np.save(bed.folder / "tall.npy", rng.standard_normal((150000, 60)) * 1.15**-np.arange(60) + 3)
    np.save(bed.folder / "whole.npy", np.round(rng.standard_normal((2500000, 20)) * 60 / (1 + np.arange(20))).clip(-127, 127).astype("i1"))
    np.save(bed.folder / "lines.npy", rng.integers(-3, 4, (6000, 40)).astype("f4"))
    np.save(bed.folder / "other.npy", rng.standard_normal((3500, 40)))
    tall, whole, lines, other = (bed.folder / f"{name}.npy" for name in ("tall", "whole", "lines", "other"))
    passes = ["--rank", 5, "--method", "passes", "--tolerance", "1e-9", "--passes", 40, "--reproducible"]
    kept = ["--of", "rows", "--top", 4, "--above", 60, "--reduce", "sum,norm,argmax", "--no-self", "--reproducible"]
    yield Program(bed, "passes", "pca", [tall], passes)
    yield Program(bed, "pairs", "pca", [whole], ["--rank", 3, "--method", "gram"], 20, bits=False)
    yield Program(bed, "kept", "gram", [lines], kept)
    yield Program(bed, "spilled", "gram", [lines], ["--of", "rows", "--above", 30, "--by", "abs"], 24)
    yield Program(bed, "distances", "multiply", [lines, other], ["--op-b", "t", "--metric", "euclidean"], 24, bits=False)


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, shape=(4, 4, 4))
        every, count, resumed = [*programs(bed)], 25 if options.long else 5, {}
        cases = [(program, number) for number in range(count) for program in every]
        failures = running.each(lambda case: one_case(*case, resumed), cases, lambda case: f"{case[0].name} {case[1]}")
        if options.long:
            failures += [f"{p.name}: of {count} runs none was resumed" for p in every if not resumed.get(p.name)]
        elif not any(resumed.values()):  # of few runs of a program all may end before they are killed, or begin nothing
            failures.append("no run was resumed")
    running.finish(failures, len(cases), f"; resumed: {resumed}; alone {[round(p.seconds, 1) for p in every]} s")


main()
