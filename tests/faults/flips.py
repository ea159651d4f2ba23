#!/usr/bin/env python3
"""A campaign of single bit flips: every type, every bit, in C, in partial sums, in shares and in panels, for normal
data, data of a range of 1e+-6 and whole numbers; and clean products of hard data, which must raise no alarm.

A flip is 'repaired', 'below' (no element moves by more than 16 times its own a-priori bound, k u |A||B|), 'missed',
or 'left out' (exit 10: the row overflows in C's type). Without --long: a few of each, of which none may be missed but
in data of a range.
With it: --flips of each kind, and the table for docs/reliability.md. A share is of inputs that are not in the page
cache: products begin before A and B are looked at.
"""
import argparse
import collections
import pathlib
import random

import h5py
import numpy as np

import running
from running import expect

SHAPE = (150, 130, 300)
ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-24, "i8": 0.0}
BITS = {"f64": 64, "f32": 32, "bf16": 32, "i8": 32}
KINDS = {"f64": ("normal", "range", "whole"), "f32": ("normal", "range", "whole"), "bf16": ("normal", "range", "whole"),
         "i8": ("whole",)}
PLACES = ("C", "partial sum", "share", "panel")
RUNS = {1: "--panel 64", 2: "--panel 64 --transport host", 4: "--panel 64 --grid 2x1x2"}
LIMIT = 16.0  # times the bound of an element


def matrix(rng, kind, rows, cols):
    if kind == "whole":
        return rng.integers(-100, 101, (rows, cols)).astype("f8")
    x = rng.standard_normal((rows, cols))
    return x if kind == "normal" else x * 10.0 ** rng.uniform(-6, 6, (rows, cols))


def rounded(x, kind):
    if kind == "f64":
        return x
    x = x.astype("f4")
    if kind == "bf16":  # to nearest, ties to even
        bits = x.view("u4")
        x = ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view("f4")
    return x.astype("f8")


def write(path, x):
    with h5py.File(path, "w") as file:
        file["x"] = x


class Bed:
    """Factors of one type and kind, what C has to be, and how far rounding may move each element."""

    def __init__(self, folder, kind, data, seed=1):
        self.folder, self.kind, self.data = folder / f"{kind}{data}{seed}", kind, data
        self.folder.mkdir()
        rng, (m, n, k) = np.random.default_rng(seed), SHAPE
        a, b = (rounded(matrix(rng, data, *shape), kind) for shape in ((m, k), (k, n)))
        for name, x in (("A.h5", a), ("B.h5", b)):
            write(self.folder / name, x.astype({"i8": "i1", "f64": "f8"}.get(kind, "f4")))
        self.c = (a.astype("g") @ b.astype("g")).astype("f8")
        self.bound = k * ROUNDOFF[kind] * (np.abs(a) @ np.abs(b)) + 1e-300
        self.calls = {}

    def run(self, ranks, name, flip=None, evicts=False):
        """Exit code, stderr, record, and C; None where there is none."""
        record, out, more = self.folder / f"{name}.jsonl", self.folder / f"{name}.h5", {}
        more = {"LD_PRELOAD": chosen.shim, "FLIP_RANK": str(ranks - 1), "FLIP_COUNT": str(self.folder / "count")}
        if flip:
            more["FLIP"] = flip
        if evicts:
            running.evict(self.folder / "A.h5", self.folder / "B.h5")
        words = ["env", *(f"{key}={value}" for key, value in more.items()), chosen.damier, "multiply",
                 self.folder / "A.h5", self.folder / "B.h5", "-o", out, "--threads", 1, "--read-by", "pread", "--json",
                 record, *RUNS[ranks].split()]
        if self.kind == "bf16":
            words += ["--type", "bf16"]
        done = running.ended(running.command(ranks, *words))
        c = None
        if out.exists():
            with h5py.File(out) as file:
                c = file["c"][()].astype("f8")
        told = running.records_of(record)[-1]["verification"] if record.exists() else {}
        for path in (record, out, self.folder / f"{name}.h5.part"):
            path.unlink(missing_ok=True)
        return done.returncode, done.stderr, told, c

    def moved(self, c):
        """By how many of its bounds the element moved that moved most."""
        with np.errstate(invalid="ignore", over="ignore"):
            moved = np.abs(c - self.c) / self.bound
        return np.inf if np.isnan(moved).any() else moved.max()

    def prepare(self, ranks):
        count = self.folder / "count"
        count.unlink(missing_ok=True)
        code, err, told, c = self.run(ranks, "clean")
        expect(code == 0 and told["repaired_tiles"] == 0 and self.moved(c) <= 1.0, f"clean: {code} {self.moved(c)}\n{err}")
        lines = dict(map(int, line.split()) for line in count.read_text().splitlines())
        self.calls[ranks] = lines[ranks - 1]


def flip_of(rng, bed, ranks, place, bit):
    """The last product has the last panel: of C; those before it have partial sums."""
    calls = bed.calls[ranks]
    call = calls if place == "C" else rng.randint(1, max(1, calls - 1)) if place == "partial sum" else rng.randint(1, calls)
    what = "c" if place in ("C", "partial sum") else rng.choice("ab") + ("t" if place == "panel" else "")
    return f"{what}:{call}:{bit}:{rng.random():.6f}"


def outcome(bed, ranks, name, flip, evicts):
    code, err, told, c = bed.run(ranks, name, flip, evicts)
    expect(code in (0, 10), f"{flip}: exit {code}\n{err[-900:]}")
    if told["repaired_tiles"] or "what failed was the verification" in err:
        expect(bed.moved(c) <= 1.0, f"{flip}: repaired, and still wrong: {bed.moved(c)}")
        return "repaired"
    if bed.moved(c) <= LIMIT:
        return "below"
    return "left out" if code == 10 else "missed"


def campaign(folder, rng, flips):
    """[(type, data, place, ranks, bit, outcome)] and the failures."""
    work = []
    for kind, kinds in KINDS.items():
        for data in kinds:
            bed = Bed(folder, kind, data)
            for ranks in RUNS:
                bed.prepare(ranks)
            for place in PLACES:
                for number in range(flips):
                    ranks = 1 if number % 8 else rng.choice((1, 2, 4))
                    bit = rng.randrange(BITS[kind])
                    work.append((bed, place, ranks, bit, f"C{len(work)}", flip_of(rng, bed, ranks, place, bit)))
    results = []

    def one(item):
        bed, place, ranks, bit, name, flip = item
        came = outcome(bed, ranks, name, flip, place == "share")
        results.append((bed.kind, bed.data, place, ranks, bit, came))
        if came == "missed":
            print("missed", bed.kind, bed.data, place, ranks, "ranks", flip, flush=True)

    failures = running.each(one, work, lambda item: f"{item[0].kind} {item[0].data}, {item[2]} ranks, {item[5]}")
    return results, failures


def hilbert(rows, cols):
    return 1.0 / (np.arange(rows)[:, None] + np.arange(cols)[None, :] + 1.0)


def hard(rng, number):
    """(name, A, B, words) of a product that is right and looks odd."""
    m, n, k = (int(x) for x in rng.integers(1, 90, 3))
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    spread = [10.0 ** rng.uniform(-150, 150, x.shape) for x in (a, b)]
    special = rng.choice([np.nan, np.inf, -np.inf, 1.0], (m, k), p=[0.01, 0.01, 0.01, 0.97])
    cases = [
        ("cancels to zero", np.hstack([a, -a]), np.vstack([b, b]), ""),
        ("range 1e+-150", a * spread[0], b * spread[1] * 1e-150, ""),
        ("rows 1e+-150", a * spread[0][:, :1], b * spread[1][:1, :], ""),
        ("constant", np.full((m, k), 0.1), np.full((k, n), 3.0), ""),
        ("Hilbert", hilbert(m, k), hilbert(k, n), ""),
        ("NaN and Inf", a * special, b, ""),
        ("f16 overflows", a * 500, b * 500, "--type f16 --type-c f16"),
        ("subnormal", a * 1e-160, b * 1e-160, ""),
        ("subnormal f32", (a * 1e-20).astype("f4"), (b * 1e-20).astype("f4"), ""),
        ("cancels, f32", np.hstack([a, -a]).astype("f4"), np.vstack([b, b]).astype("f4"), ""),
        ("cancels, bf16", np.hstack([a, -a]).astype("f4"), np.vstack([b, b]).astype("f4"), "--type bf16 --type-c bf16"),
        ("zeros", np.zeros((m, k)), b, ""),
    ]
    return cases[number % len(cases)]


def clean(folder, count, seed):
    """Alarms of COUNT clean products, and what they were of."""
    rng = np.random.default_rng(seed)
    products = [(number, *hard(rng, number)) for number in range(count)]

    def one(product):
        number, name, a, b, words = product
        place = folder / f"clean{number}"
        place.mkdir()
        write(place / "A.h5", a)
        write(place / "B.h5", b)
        done = running.ended(running.command(1, chosen.damier, "multiply", place / "A.h5", place / "B.h5", "-o",
                                             place / "C.h5", "--allow-unchecked", *words.split()))
        expect(done.returncode == 0 and "verification failed" not in done.stderr and "FAIL" not in done.stdout,
               f"{name}: {done.returncode}\n{done.stderr[-900:]}")

    return running.each(one, products, lambda product: f"clean product {product[0]}, {product[1]}")


def table(results, columns, out):
    came = ("repaired", "below", "left out", "missed")
    counts = collections.defaultdict(collections.Counter)
    for row in results:
        counts[tuple(str(row[column]) for column in columns)][row[5]] += 1
    for key, count in counts.items():
        out.append(f"| {' | '.join(key)} | {' | '.join(str(count[c]) for c in came)} | {sum(count.values())} |")


def show(results, products):
    out = ["| type | data | flipped in | repaired | below 16 bounds | left out | missed | flips |",
           "|---|---|---|---|---|---|---|---|"]
    table(results, (0, 1, 2), out)
    out += ["", "| ranks | repaired | below 16 bounds | left out | missed | flips |", "|---|---|---|---|---|---|"]
    table(sorted(results, key=lambda row: row[3]), (3,), out)
    print("\n".join(out))
    print(f"\n{len(results)} flips; {products} clean products of hard data")


def options():
    parser = argparse.ArgumentParser()
    for name in ("--damier", "--shim"):
        parser.add_argument(name, required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--long", action="store_true", help="all of it, and missed flips are counted only")
    parser.add_argument("--flips", type=int, help="of each type, kind of data and place")
    parser.add_argument("--clean", type=int, help="clean products")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    flips, products = chosen.flips or (40 if chosen.long else 2), chosen.clean or (400 if chosen.long else 24)
    with running.scratch() as folder:  # on a disk, whose files can leave the page cache
        results, failures = campaign(folder, random.Random(chosen.seed), flips)
        failures += clean(folder, products, chosen.seed)
    show(results, products)
    if not chosen.long:
        failures += [f"{row}" for row in results if row[5] == "missed" and row[1] != "range"]
    running.finish(failures, len(results) + products)


chosen = options()
main()
