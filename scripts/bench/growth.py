#!/usr/bin/env python3
"""Doubles one size of a command or call at a time, and tells where processor time grows faster than the work.

    scripts/bench/growth.py --damier build/release/damier -o docs/results/growth.jsonl       results.py makes a table of the records

Every case doubles m, n, k, rows, columns, chunks, files, entries of a list, batches or ranks five times. The least processor time of
some turns counts, less that of the command's smallest size, an eighth of the first. A case is bad if its time grows by more than 1.3
times the work per doubling, on average over the last three, where it is longest. Needs h5py and NumPy; arrays need damier's package.
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from measure import ROOT, append, code_of, cores, made_by, options_of, run, start, timed

DOUBLINGS, LAST, MOST = 5, 3, 1.3
NOISE = 0.03  # seconds by which the same command differs
ARRAYS = """import sys, numpy as np
sys.path.insert(0, {package!r})
import damier
for size in map(int, sys.argv[1:]):
    {work}
"""


def data(path, **shapes):
    """A file of matrices: each NAME has a shape, perhaps with chunks."""
    with h5py.File(path, "w") as file:
        for name, (shape, chunks) in shapes.items():
            file.create_dataset(name, shape, "f4", chunks=chunks)[...] = np.random.default_rng(1).random(shape, "f4")


class Case:
    """NAME of a verb and an axis; WORDS(folder, size) make the files of one size and return the command; the work grows by WORK."""

    def __init__(self, verb, axis, first, words, work=2):
        self.verb, self.axis, self.first, self.words, self.work = verb, axis, first, words, work


def pair(a, b, *flags):
    """multiply of matrices whose shapes depend on the size."""
    def words(folder, s):
        data(folder / "in.h5", a=(a(s), None), b=(b(s), None))
        return ["multiply", f"{folder}/in.h5:/a", f"{folder}/in.h5:/b", "-o", folder / "c.h5", "--force", *flags]
    return words


def one(verb, shape, *flags, chunks=None):
    def words(folder, s):
        data(folder / "in.h5", x=(shape(s), chunks and chunks(s)))
        return [verb, f"{folder}/in.h5:/x", "-o", folder / "c.h5", "--force", *flags]
    return words


def verified(words):
    """verify of what WORDS make, from A and B."""
    def more(folder, s, damier):
        made = words(folder, s)
        run([damier, *made, "-q"])
        factors = [made[1], made[1]] if made[0] == "gram" else made[1:3]
        return ["verify", *factors, folder / "c.h5", *(["--op-a", "c"] if made[0] == "gram" else [])]
    return more


def files(verb):
    def words(folder, s):
        names = [folder / f"part{i}.h5" for i in range(s)]
        for name in names:
            data(name, x=((64, 64), None))
        data(folder / "b.h5", x=((64, 64), None))
        (folder / "list.txt").write_text("".join(f"{name}:/x\n" for name in names))
        if verb == "info":
            return ["info", *names]
        return [verb, f"@{folder}/list.txt", f"{folder}/b.h5:/x", "-o", folder / "c.h5", "--force"]
    return words


def listed(folder, s):
    data(folder / "in.h5", x=((4 * s, 16), None), b=((16, 16), None))
    with h5py.File(folder / "rows.h5", "w") as file:
        file["i"] = np.sort(np.random.default_rng(2).permutation(4 * s)[:s])
    return ["multiply", f"{folder}/in.h5:/x[@{folder}/rows.h5:/i, :]", f"{folder}/in.h5:/b", "-o", folder / "c.h5", "--force"]


def chunked_info(folder, s):
    data(folder / "in.h5", x=((s, 16), (1, 16)))
    return ["info", folder / "in.h5"]


def generated(rows, cols):
    return lambda folder, s: ["generate", folder / "g.h5", "--rows", rows(s), "--cols", cols(s), "--type", "f32", "--force"]


def planned(*words):
    return lambda folder, s: ["plan", *[s if word == "S" else word for word in words], "--type", "f32"]


TALL = 1 << 17
GRAM = one("gram", lambda s: (s, 4))
CASES = [
    Case("multiply", "m", 1 << 14, pair(lambda s: (s, 64), lambda s: (64, 64))),
    Case("multiply", "n", 1 << 14, pair(lambda s: (64, 64), lambda s: (64, s))),
    Case("multiply", "k", 1 << 14, pair(lambda s: (64, s), lambda s: (s, 64))),
    Case("multiply", "k, few columns", TALL, pair(lambda s: (s, 4), lambda s: (s, 4), "--op-a", "t")),
    Case("multiply", "m, few columns", TALL, pair(lambda s: (s, 4), lambda s: (4, 4))),
    Case("gram", "chunks", 128, one("gram", lambda s: (1024 * s, 4), chunks=lambda s: (1024, 4))),
    Case("multiply", "files", 16, files("multiply")),
    Case("multiply", "list entries", 1 << 13, listed),
    Case("multiply", "batch", 1 << 9, pair(lambda s: (s, 16, 16), lambda s: (s, 16, 16))),
    Case("gram", "rows", TALL, GRAM),
    Case("gram", "rows, reproducible", TALL // 4, one("gram", lambda s: (s, 4), "--reproducible")),
    Case("gram", "columns", 32, one("gram", lambda s: (512, s)), work=4),
    Case("cov", "rows", TALL, one("cov", lambda s: (s, 4))),
    Case("cov", "columns", 32, one("cov", lambda s: (512, s)), work=4),
    Case("cor", "rows", TALL, one("cor", lambda s: (s, 4))),
    Case("cor", "rows, missing pairwise", TALL // 8, one("cor", lambda s: (s, 4), "--missing", "pairwise")),
    Case("verify", "k, few columns", TALL, verified(GRAM)),
    Case("verify", "m, few columns", TALL, verified(pair(lambda s: (s, 4), lambda s: (4, 4)))),
    Case("verify", "batch", 1 << 9, verified(pair(lambda s: (s, 16, 16), lambda s: (s, 16, 16)))),
    Case("generate", "rows", TALL, generated(lambda s: s, lambda s: 4)),
    Case("generate", "columns", TALL, generated(lambda s: 4, lambda s: s)),
    Case("info", "chunks", 1 << 9, chunked_info),
    Case("info", "files", 16, files("info")),
    Case("plan", "k", 1 << 20, planned("--m", 4, "--n", 4, "--k", "S")),
    Case("plan", "ranks", 4, planned("--size", 20000, "--ranks", "S", "--machine", "nodes=1")),
]
CALLS = [
    ("matmul", "m", 1 << 15, "damier.matmul(np.ones((size, 16), 'f4'), np.ones((16, 16), 'f4'))"),
    ("matmul", "n", 1 << 15, "damier.matmul(np.ones((16, 16), 'f4'), np.ones((16, size), 'f4'))"),
    ("matmul", "k", 1 << 15, "damier.matmul(np.ones((16, size), 'f4'), np.ones((size, 16), 'f4'))"),
    ("matmul", "batch", 1 << 9, "damier.matmul(np.ones((size, 16, 16), 'f4'), np.ones((size, 16, 16), 'f4'))"),
    ("gram", "rows", 1 << 16, "damier.gram(np.ones((size, 4), 'f4'))"),
    ("cov", "rows", 1 << 16, "damier.cov(np.random.default_rng(1).random((size, 4), 'f4'))"),
]


def least(call, turns):
    return min(timed(call)[0]["processor_s"] for _ in range(turns))


def growth(seconds, base, work):
    """By how much more than the work the time grew, per doubling, over the last ones."""
    early, late = seconds[-1 - LAST] - base, seconds[-1] - base
    return (max(late, NOISE) / max(early, NOISE)) ** (1 / LAST) / work


def report(options, about, kind, verb, axis, sizes, seconds, base, work):
    found = growth(seconds, base, work)
    append(options.output, about | {"verb": "growth", "of": kind, "what": verb, "axis": axis, "sizes": sizes, "seconds": seconds,
                                    "smallest_s": base, "work_per_doubling": work, "growth": found})
    print(f"{kind:7} {verb:9} {axis:24} {sizes[0]:>8} to {sizes[-1]:>8}", *[f"{s:7.3f}" for s in seconds], f"{found:6.2f}",
          "TOO FAST" if found > MOST else "", flush=True)


def of_files(options, about, folder, case):
    sizes, seconds = [case.first * 2 ** i for i in range(DOUBLINGS + 1)], []
    for size in [max(1, case.first // 8), *sizes]:
        words = case.words(folder, size, options.damier) if case.verb == "verify" else case.words(folder, size)
        seconds.append(least(lambda w=words: run([options.damier, *w, "-q"]), options.turns))
    report(options, about, "files", case.verb, case.axis, sizes, seconds[1:], seconds[0], case.work)


def of_arrays(options, about, verb, axis, first, work):
    sizes = [first * 2 ** i for i in range(DOUBLINGS + 1)]
    script = ARRAYS.format(package=str(ROOT / "python"), work=work)
    once = [least(lambda n=size: subprocess.run([sys.executable, "-c", script, str(n)], check=True), options.turns)
            for size in [max(1, first // 8), *sizes]]
    report(options, about, "arrays", verb, axis, sizes, once[1:], once[0], 2)


def main():
    options = options_of(__doc__, "growth.jsonl", damier="build/release/damier", turns=3, only="")
    options.damier = str(pathlib.Path(options.damier).resolve())
    about = made_by(code_of(options.damier), cores=cores())
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            if options.only in f"files {case.verb} {case.axis}":
                of_files(options, about, pathlib.Path(name), case)
    for call in CALLS:
        if options.only in f"arrays {call[0]} {call[1]}":
            of_arrays(options, about, *call)


start(main)
