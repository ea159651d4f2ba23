#!/usr/bin/env python3
"""The campaign of flips.py for the library and matrices in memory: thousands of flips in one process.

With on_corruption="stop" a flip is 'found' (VerifyError, and C is not delivered), 'below', 'missed', or 'left out'.
Clean products of hard data must raise no alarm.  Without --long: a few flips of each kind; only in data of a range may
any be missed.  With it: the tables for docs/results/reliability.md, and a list of missed flips.

By default wrong parts are computed again: C has the bits of an undisturbed product.
"""
import argparse
import ctypes
import os
import pathlib
import random
import sys
import time

import numpy as np

from hard_products import BITS, KINDS, LIMIT, hard, moved, operand, product_of, table

PLACES = ("C", "partial sum", "panel")
CAME = ("found", "below", "left out", "missed")


def loaded():
    """The package and the shim; both libraries are already loaded when this process starts."""
    words = {"LD_PRELOAD": f"{chosen.shim}:{chosen.library}/libdamier.so.0", "DAMIER_LIBRARY": chosen.library}
    if os.environ.get("LD_PRELOAD") != words["LD_PRELOAD"]:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **words})
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import damier
    shim = ctypes.CDLL(chosen.shim)
    shim.flip_next.restype = ctypes.c_long
    return damier, lambda text: shim.flip_next(text and text.encode())


def flip_of(rng, calls, place, bit):
    call = calls if place == "C" else rng.randint(1, max(1, calls - 1)) if place == "partial sum" else rng.randint(1, calls)
    return f"{rng.choice('ab') + 't' if place == 'panel' else 'c'}:{call}:{bit}:{rng.random():.6f}"


class Bed:
    def __init__(self, damier, context, flip_next, kind, data):
        self.damier, self.context, self.flip_next, self.kind, self.data = damier, context, flip_next, kind, data
        a, b, self.c, self.bound = product_of(kind, data, 1)
        self.a, self.b = operand(damier, a, kind), operand(damier, b, kind)
        assert self.product(None) == "below", f"{kind} {data}: without a flip"
        self.calls = flip_next(None)

    def product(self, flip):
        """The outcome of one flip."""
        out = np.full(self.c.shape, -7.0, {"i8": "i4", "f64": "f8"}.get(self.kind, "f4"))
        self.flip_next(flip)
        try:
            self.context.matmul(self.a, self.b, out)
        except self.damier.VerifyError:
            assert (out == -7).all(), f"{flip}: a wrong C was delivered"
            return "found"
        except self.damier.UncheckedError:
            return "left out"
        return "below" if moved(out.astype("f8"), self.c, self.bound) <= LIMIT else "missed"


def campaign(damier, flip_next, rng):
    """[(type, data, place, 1 rank, bit, outcome)] and the missed flips."""
    results, missed = [], []
    with damier.Context(panel=64, threads=1, on_corruption="stop") as context:
        for kind, kinds in KINDS.items():
            for data in kinds:
                bed = Bed(damier, context, flip_next, kind, data)
                for place in PLACES:
                    for _ in range(chosen.flips):
                        bit = rng.randrange(BITS[kind])
                        flip = flip_of(rng, bed.calls, place, bit)
                        results.append((kind, data, place, 1, bit, bed.product(flip)))
                        if results[-1][5] == "missed":
                            missed.append(f"{kind} {data}, {place}: {flip}")
    flip_next(None)
    return results, missed


def repaired(damier, flip_next):
    """Problems of recomputed products, in one tile and in several."""
    problems, size, few, gram = [], 2000, {"memory": "host=20MiB"}, {"gram": True}  # too little for all of C
    rng = np.random.default_rng(chosen.seed)
    a, b, old = rng.random((size, 200)), rng.random((200, size)), rng.random((size, size))

    def product(flip, beta=0, gram=False, **words):
        """(number of repaired tiles or name of the error, tiles, C)."""
        out = old + old.T if gram else old.copy()
        with damier.Context(threads=1, beta=beta, **words) as context:
            flip_next(flip)
            try:
                context.gram(b, out) if gram else context.matmul(a, b, out)
            except damier.Error as error:
                return type(error).__name__, 0, out
            record = context.record
            return record["verification"]["repaired_tiles"], record["plan"]["tiles"], out

    # Below the diagonal of a symmetric C a flip also spoils the mirror image.
    cases = [({}, "c:1", 1), ({}, "at:1", 1), (few, "c:1", 1), (few, "c:2", 1)]
    for words, flip, most in cases + [(gram | words, flip, 2) for words, flip, _ in cases if flip != "at:1"]:
        _, tiles, wanted = product(None, **words)
        found, _, out = product(f"{flip}:62:0.5", **words)
        if found not in (1, most) or (tiles > 1) != ("memory" in words) or (out != wanted).any():
            problems.append(f"{words}, {flip}: {found} of {tiles} tiles repaired, C right: {(out == wanted).all()}")
    found, _, out = product("c:1+:62:0.5")
    if found != "CorruptError":
        problems.append(f"wrong again: {found}")
    found, _, out = product("c:1:62:0.5", beta=2)
    if found != 1 or (out != product(None, beta=2)[2]).any():
        problems.append(f"added to the old C: {found}")
    if product("c:1:62:0.5", beta=2, **few)[0] != "VerifyError":  # part of the old C is already overwritten
        problems.append("added to the old C in tiles: no VerifyError")
    return problems


def tall(damier, flip_next):
    """Problems of a C of so many rows that they are multiplied and verified some after others."""
    rng, problems = np.random.default_rng(chosen.seed), []
    a, b = rng.random((9_000_000, 2), dtype="f4"), rng.random((2, 2), dtype="f4")
    with damier.Context(threads=1) as context:
        flip_next(None)
        wanted, calls = context.matmul(a, b), flip_next(None)
        if calls < 3 or not np.allclose(wanted, a @ b, rtol=1e-6, atol=0):
            problems.append(f"tall: {calls} calls, or a wrong C")
        for call in (1, calls // 2, calls):
            flip_next(f"c:{call}:30:0.5")
            out = context.matmul(a, b)
            if context.record["verification"]["repaired_tiles"] != 1 or (out != wanted).any():
                problems.append(f"tall, call {call} of {calls}: not repaired")
    flip_next(None)
    return problems


def clean(damier):
    """Alarms raised by clean products."""
    rng, alarms = np.random.default_rng(chosen.seed), []
    contexts = {}
    for number in range(chosen.clean):
        name, a, b, words = hard(rng, number, most=200)
        split = words.split()
        kind = split[1] if split else {"f8": "f64", "f4": "f32"}[a.dtype.str[1:]]
        type_c = split[3] if split else None
        if (kind, type_c) not in contexts:
            contexts[kind, type_c] = damier.Context(threads=1, allow_unchecked=True)
        out = damier.Rows(np.zeros((len(a), b.shape[1]), "u2"), type=type_c) if type_c else None
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                contexts[kind, type_c].matmul(operand(damier, a, kind), operand(damier, b, kind), out)
        except damier.VerifyError as error:
            alarms.append(f"{number}, {name}: {error}")
    return alarms


def options():
    parser = argparse.ArgumentParser()
    for name in ("--library", "--shim"):
        parser.add_argument(name, required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--damier", help="not used")
    parser.add_argument("--long", action="store_true", help="all of it, and missed flips are counted only")
    parser.add_argument("--flips", type=int, help="of each type, kind of data and place")
    parser.add_argument("--clean", type=int, help="clean products")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.flips = given.flips or (200 if given.long else 5)
    given.clean = given.clean or (10000 if given.long else 120)
    return given


def main():
    damier, flip_next = loaded()
    start = time.time()
    results, missed = campaign(damier, flip_next, random.Random(chosen.seed))
    alarms = clean(damier)
    alarms += repaired(damier, flip_next)
    alarms += tall(damier, flip_next)
    for columns, head in (((0, 1), "type | data"), ((2,), "flipped in"), ((0, 1, 2), "type | data | flipped in")):
        out = [f"| {head} | found | below 16 bounds | left out | missed | flips |", "|---" * (len(columns) + 5) + "|"]
        table(results, columns, CAME, out)
        print("\n".join(out), end="\n\n")
    print("\n".join(f"missed: {line}" for line in missed))
    print("\n".join(f"alarm: {line}" for line in alarms))
    print(f"{len(results)} flips, {len(missed)} missed; {chosen.clean} clean products of hard data, {len(alarms)} alarms; "
          f"{time.time() - start:.0f} s")
    unexpected = alarms + [line for line in missed if " range," not in line and not chosen.long]
    sys.exit(1 if unexpected else 0)


chosen = options()
main()
