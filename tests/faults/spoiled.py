#!/usr/bin/env python3
"""A bit of one product flips: in its result, or in a factor in memory. The verification finds it, the wrong tile is
computed again, and C is that of an undisturbed run; for any product, on one rank and on several, in memory and in
tiles, with layers, in every type, and in resumed runs. If a tile is wrong again the run ends with 7, and keeps all good
tiles. --on-corruption stop and warn work as documented. With the emulated device the flipped shares are in its memory.
"""
import json

import h5py
import numpy as np

from running import command, ended, evict, expect, options, preloading, records_of, run, run_cases

SHAPE = (1500, 1300, 2100)
TILES, TILES4 = "--memory host=60MiB", "--memory host=60MiB --grid 2x1x2"
# (ranks, words, type, whether C is in tiles, FLIPs in the last rank)
CASES = [
    (1, "", "f64", False, ("c:1:63:0.4", "c:6:61:0.99", "a:4:63:0.5", "b:1:62:0", "at:3:63:0.1", "bt:2:61:0.7")),
    (1, "--no-checkpoint", "f64", False, ("c:3:63:0.4",)),
    (1, "--verify-files", "f64", False, ("c:3:63:0.4",)),
    (2, "--transport host", "f64", False, ("c:1:63:0.4", "b:3:61:0.3", "at:2:61:0")),
    (4, "--grid 2x1x2", "f64", False, ("c:1:63:0.4", "a:1:61:0.3", "c:2:61:0.9")),
    (4, "--grid 1x2x2", "f32", False, ("c:1:30:0.4", "bt:1:29:0.2")),
    (1, TILES, "f64", True, ("c:1:63:0", "c:10:61:0.3", "c:18:62:1", "b:9:61:0.5", "at:9:63:0.5")),
    (1, f"{TILES} --no-checkpoint", "f64", True, ("c:10:61:0.3",)),
    (2, "--memory host=58MiB --grid 2x1x1", "f64", True, ("c:6:63:0.4", "c:20:61:0.4")),
    (3, "--memory host=58MiB --grid 1x3x1", "f64", True, ("c:12:63:0.4",)),
    (4, TILES4, "f64", True, ("c:8:63:0.4", "b:6:61:0.5")),
    (1, "--reproducible", "f64", False, ("c:5:63:0.4",)),
    (1, "", "f32", False, ("c:1:31:0.4", "c:5:29:0.9", "b:1:30:0.3")),
    (2, "", "bf16", False, ("c:1:31:0.4", "at:2:30:0.9")),
    (2, "", "i8", False, ("c:1:23:0.4", "c:3:12:0.9", "bt:1:23:0.5")),
    (2, "", "c128", False, ("c:1:63:0.4",)),
]


def multiply(folder, ranks, words, flip, wanted, out="C.h5"):
    record = folder / "record.json"
    record.unlink(missing_ok=True)
    more = {"LD_PRELOAD": preloading(chosen.shim), "FLIP_RANK": str(ranks - 1), "FLIP_COUNT": str(folder / "count")}
    if flip:
        more["FLIP"] = flip
    (folder / "count").unlink(missing_ok=True)
    launch = ["env", *(f"{name}={value}" for name, value in more.items()), chosen.damier]
    done = ended(command(ranks, *launch, "multiply", folder / "A.h5", folder / "B.h5", "-o", folder / out,
                         "--threads", 1, "--read-by", "pread", "--json", record, *words.split()))
    expect(done.returncode == wanted, f"{flip}: exit {done.returncode}, wanted {wanted}\n{done.stderr[-1500:]}")
    return done, records_of(record)[-1] if record.exists() else None


def calls(folder, ranks):
    """Number of products of the last rank; a flip in a later one would test nothing."""
    return dict(map(int, line.split()) for line in (folder / "count").read_text().splitlines())[ranks - 1]


def result(folder, out="C.h5"):
    with h5py.File(folder / out) as file:
        return file["c"][()], {name: str(value) for name, value in file["c"].attrs.items()}


def inputs(folder, kind, shape=SHAPE):
    m, n, k = shape
    as_type = [] if kind == "f64" else ["--type", kind]
    if kind == "i8":
        as_type += ["--kind", "integer", "--range", "100"]
    for seed, (name, rows, cols) in enumerate((("A.h5", m, k), ("B.h5", k, n))):
        run(chosen.damier, 1, "generate", folder / name, "--rows", rows, "--cols", cols, "--seed", seed, "-q", *as_type)


def expect_same(got, wanted, words, what):
    if got.dtype.kind == "i" or "--reproducible" in words:
        expect(np.array_equal(got, wanted), f"{what}: C has other bits")
    else:
        near = 1e-4 if got.dtype.itemsize < 8 else 1e-11
        expect(np.allclose(got, wanted, rtol=near, atol=near), f"{what}: C is wrong")


def repaired(folder, _, ranks, words, kind, tiles, flips):
    if not tiles and "--no-checkpoint" not in words:
        words += " --checkpoint-interval 1h"  # no tiles either if links seem slow, as on a busy computer
    inputs(folder, kind)
    done, record = multiply(folder, ranks, words, None, 0)
    expect((record["plan"]["tiles"] > 1) == tiles and "PASS" in done.stdout, f"undisturbed:\n{done.stdout}")
    expect(record["verification"]["repaired_tiles"] == 0 and "repaired " not in done.stdout, done.stdout)
    wanted, count = result(folder)[0], calls(folder, ranks)
    for number, flip in enumerate(flips):
        expect(int(flip.split(":")[1]) <= count, f"{flip}: there are {count} products")
        out = f"C{number}.h5"
        done, record = multiply(folder, ranks, words, flip, 0, out)
        got, provenance = result(folder, out)
        expect_same(got, wanted, words, flip)
        times = record["verification"]["repaired_tiles"]
        expect(times >= 1 and record["verification"]["verdict"] == "PASS", f"{flip}: {record['verification']}")
        expect("computed again" in done.stdout and "wrong and computed again: row" in done.stderr, done.stderr)
        expect(f"rank {ranks - 1} (" in done.stderr or ranks > 1 and flip[0] != "c" or "x2" in words,
               f"{flip}\n{done.stderr}")
        blocks = done.stderr.count("wrong and computed again: row")
        expect(blocks == 1 or flip[0] != "c", f"{flip}: one element is wrong, and {blocks} blocks\n{done.stderr}")
        expect(provenance["repaired_tiles"] == str(times), f"{flip}: {provenance}")
        left = [path.name for path in folder.iterdir() if path.suffix in (".part", ".journal")]
        expect(not left, f"{flip}: left {left}")
        if "--no-checkpoint" not in words:
            run(chosen.damier, 1, "verify", folder / out, "-q")  # includes the checksums of the new tiles


def shares(folder, _, ranks, words, flips):
    """If products start before all is read, A and B are inspected after them: only the checksum of a share detects an
    earlier change."""
    inputs(folder, "f64")
    evict(folder / "A.h5", folder / "B.h5")
    _, record = multiply(folder, ranks, words, None, 0)
    if record["plan"]["read_first"]:
        return  # a file system in memory
    wanted = result(folder)[0]
    for number, flip in enumerate(flips):
        evict(folder / "A.h5", folder / "B.h5")
        done, record = multiply(folder, ranks, words, flip, 0, f"C{number}.h5")
        expect("changed in memory since they were read" in done.stderr, f"{flip}\n{done.stderr}")
        expect(record["verification"]["repaired_tiles"] >= 1, f"{flip}: {record['verification']}")
        expect_same(result(folder, f"C{number}.h5")[0], wanted, words, flip)


def unprotected(folder, _, words):
    """With --no-protect a share that changed before its inspection goes undetected, a wrong C does not; and C has no
    checksums."""
    inputs(folder, "f64")
    evict(folder / "A.h5", folder / "B.h5")
    _, record = multiply(folder, 1, words, None, 0)
    if not record["plan"]["read_first"]:
        evict(folder / "A.h5", folder / "B.h5")
        done, _ = multiply(folder, 1, words + " --no-protect", "a:1:63:0.5", 0, "D.h5")
        expect("changed in memory" not in done.stderr, done.stderr)
        expect(not np.array_equal(result(folder, "D.h5")[0], result(folder)[0]), "the share did not change")
    done, record = multiply(folder, 1, words + " --no-protect", "c:3:61:0.5", 0, "E.h5")
    expect(record["verification"]["repaired_tiles"] >= 1, f"{record['verification']}")
    for name, has_sums in (("C.h5", True), ("E.h5", False)):
        with h5py.File(folder / name) as file:
            expect(("damier_tiles" in file["c"].attrs) == has_sums, f"{name}: {list(file['c'].attrs)}")


def part_alone(folder, _, ranks, words):
    """A C of one tile is split: only a part of it is computed again."""
    inputs(folder, "f64")
    multiply(folder, ranks, words, None, 0)
    wanted, count = result(folder)[0], calls(folder, ranks)
    for place in (1, count):
        _, record = multiply(folder, ranks, words, f"c:{place}:62:0.7", 0, f"C{place}.h5")
        again, tiles = record["verification"]["repaired_tiles"], record["plan"]["tiles"]
        expect(again == 1 and tiles >= 4, f"{place}: {again} of {tiles}")
        expect_same(result(folder, f"C{place}.h5")[0], wanted, words, place)
        run(chosen.damier, ranks, "verify", folder / f"C{place}.h5", "-q")


def forms(folder, _, words, out):
    """C is packed, in another file format, or next to other data."""
    inputs(folder, "f64")
    run(chosen.damier, 1, "generate", folder / "D.h5", "--size", 10, "-q")
    _, record = multiply(folder, 1, words, "c:3:61:0.4", 0, out)
    expect(record["verification"]["repaired_tiles"] == 1, str(record["verification"]))
    run(chosen.damier, 1, "verify", folder / "A.h5", folder / "B.h5", folder / out, "-q")
    left = sorted(path.name for path in folder.iterdir() if path.suffix not in (".h5", ".npy", ".json"))
    expect(left == ["count"], f"left {left}")


def one_tile_alone(folder, _):
    """Only the wrong one of several tiles is computed again; with one row of tiles, only its columns."""
    inputs(folder, "f64", (600, 2000, 1000))
    words = "--memory host=52MiB"
    _, record = multiply(folder, 1, words, None, 0)
    expect(record["plan"]["tiles"] > 1, record["plan"])
    wanted, count = result(folder)[0], calls(folder, 1)
    for place in (1, count // 2, count):
        _, record = multiply(folder, 1, words, f"c:{place}:62:0.5", 0, f"C{place}.h5")
        expect(record["verification"]["repaired_tiles"] == 1, f"{place}: {record['verification']}")
        expect(np.array_equal(result(folder, f"C{place}.h5")[0], wanted), f"{place}: C has other bits")


def in_vain(folder, _, ranks, words, keeps):
    """All products from one on are wrong: exit 7 names the place; the same command then completes C."""
    inputs(folder, "f64")
    multiply(folder, ranks, words, None, 0)
    wanted, count = result(folder)[0], calls(folder, ranks)
    first = count - 1 if keeps else 1
    done, record = multiply(folder, ranks, words, f"c:{first}+:61:0.5", 7, "D.h5")
    for text in ("is wrong again after it was computed again: row", f"rank {ranks - 1} (", "times the bound"):
        expect(text in done.stderr, f"{text}?\n{done.stderr}")
    expect(record["verification"]["verdict"] == "FAIL", str(record))
    expect(not (folder / "D.h5").exists() and (folder / "D.h5.part").exists(), "C was published, or is gone")
    kept = (folder / "D.h5.journal").exists()
    expect(kept == ("the same command resumes" in done.stderr), done.stderr)
    expect(kept or not keeps, "nothing was kept")
    multiply(folder, ranks, words + ("" if kept else " --force"), None, 0, "D.h5")
    expect_same(result(folder, "D.h5")[0], wanted, words, "once more")


def resumed(folder, _, ranks, words):
    """A resumed run has a wrong product, too."""
    inputs(folder, "f64")
    multiply(folder, ranks, words, None, 0)
    wanted, count = result(folder)[0], calls(folder, ranks)
    multiply(folder, ranks, words, f"c:{count - 1}+:61:0.5", 7, "D.h5")
    done, record = multiply(folder, ranks, words, "c:2:61:0.7", 0, "D.h5")
    expect("resuming: " in done.stderr and record["verification"]["repaired_tiles"] > 0, done.stderr)
    expect_same(result(folder, "D.h5")[0], wanted, words, "resumed")


def in_place(folder, _, ranks):
    """C += A B, where C replaces its old version: nothing is lost, and nothing is added twice."""
    inputs(folder, "f64")
    multiply(folder, 1, "", None, 0)
    old = (folder / "C.h5").read_bytes()
    words = f"--c {folder}/C.h5 --beta 2 --force"
    multiply(folder, ranks, words, None, 0)
    wanted = result(folder)[0]
    (folder / "C.h5").write_bytes(old)
    multiply(folder, ranks, words, "c:1+:61:0.7", 7)
    expect((folder / "C.h5").read_bytes() == old, "the old C was touched")
    multiply(folder, ranks, words, "c:3:61:0.7", 0)
    expect_same(result(folder)[0], wanted, words, "in place")


def chosen_end(folder, _, ranks, words):
    inputs(folder, "f64")
    done, record = multiply(folder, ranks, words + " --on-corruption stop", "c:3:61:0.5", 1, "D.h5")
    expect("failed its verification" in done.stderr and "FAIL" in done.stdout, done.stderr)
    expect(record["verification"]["verdict"] == "FAIL", json.dumps(record["verification"]))
    expect(not (folder / "D.h5").exists() and (folder / "D.h5.part").exists(), "stop: C was published, or is gone")
    done, record = multiply(folder, ranks, words + " --on-corruption warn", "c:3:61:0.5", 10, "E.h5")
    expect("E.h5 is wrong: row" in done.stderr, done.stderr)
    _, provenance = result(folder, "E.h5")
    expect(provenance["verified"] == "FAIL" and record["verification"]["verdict"] == "FAIL", str(provenance))
    run(chosen.damier, 1, "verify", folder / "A.h5", folder / "B.h5", folder / "E.h5", "-q", expect=1)


def some(number, flips):
    """All flips of the first case, one of the others, the first or the second; with --endurance all."""
    return flips if chosen.endurance or number == 0 else flips[min(number % 2, len(flips) - 1):][:1]


chosen = options("--shim")
EMULATED = ([(repaired, 1, "", "f64", False, ("c:1:63:0.4", "a:2:61:0.3", "bt:1:62:0.7")),
             (repaired, 4, "--grid 2x2x1 --transport ipc", "f32", False, ("c:2:30:0.4", "b:1:30:0.3"))] +
            # A single rank inspects A and B during products. These flips hit the last rank's own pieces.
            [(shares, 4, "--panel 256 --grid 2x2x1 --transport ipc", ("a:1:63:0.7", "b:2:61:0.8")),
             (shares, 2, "--panel 256 --grid 2x1x1 --transport host", ("a:1:63:0.5", "a:3:61:0.9"))])
FEW = [(repaired, *CASES[3]), (one_tile_alone,), (in_vain, 1, TILES, True), (chosen_end, 1, "")]
ALL = ([(repaired, *case[:-1], some(number, case[-1])) for number, case in enumerate(CASES)] + [(one_tile_alone,)] +
       [(part_alone, 1, ""), (part_alone, 2, ""), (part_alone, 4, "--grid 2x1x2"), (part_alone, 1, "--reproducible")] +
       [(in_vain, 1, "", False), (in_vain, 1, "--no-checkpoint", False), (in_vain, 2, "", False)] +
       [(in_vain, 1, TILES, True), (in_vain, 4, TILES4, True)] +
       [(resumed, 1, TILES), (resumed, 4, TILES4), (in_place, 1), (in_place, 2)] +
       [(shares, 1, "", ("a:1:63:0.5", "a:4:61:0", "b:2:61:0.3", "b:5:62:1"))] +
       [(unprotected, "")] +
       [(forms, "--chunk 100x100 --deflate 2", "C.h5"), (forms, "", "C.npy"), (forms, "--append", "D.h5:/c")] +
       [(chosen_end, 1, ""), (chosen_end, 4, TILES4)])
run_cases(chosen.damier, EMULATED if "emulated" in chosen.damier else ALL if chosen.long else FEW)
