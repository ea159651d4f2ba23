#!/usr/bin/env python3
"""One element of one product is wrong: the verification says so, whichever product it is, on one rank
and on several, in memory and in tiles whose A and B are read again, and nothing but that ends with 1.
"""
from running import Failure, options, run, run_cases

SHAPE = (1500, 1300, 2100)
# (ranks, words, whether C is in tiles, products of the last rank that are spoilt)
CASES = [(1, "", False, (0, 5)), (2, "--transport host", False, (0, 3)), (4, "--grid 2x1x2", False, (0, 2)),
         (1, "--memory host=60MiB", True, (0, 9, 17)), (2, "--memory host=58MiB --grid 2x1x1", True, (0, 5, 30)),
         (3, "--memory host=58MiB --grid 1x3x1", True, (0, 20)),
         (4, "--memory host=60MiB --grid 2x1x2", True, (0, 11))]


def multiply(folder, damier, ranks, words, spoilt, expect):
    more = [f"LD_PRELOAD={chosen.shim}", f"SPOIL_CALL={spoilt}", f"SPOIL_RANK={ranks - 1}"]
    return run("env", ranks, *more, damier, "multiply", folder / "A.h5", folder / "B.h5", "-o",
               folder / "C.h5", "--force", "--threads", 1, *words.split(), expect=expect)


def try_case(folder, damier, ranks, words, tiles, calls):
    m, n, k = SHAPE
    for seed, (name, rows, cols) in enumerate((("A.h5", m, k), ("B.h5", k, n))):
        run(damier, 1, "generate", folder / name, "--rows", rows, "--cols", cols, "--seed", seed, "-q")
    out = multiply(folder, damier, ranks, words, -1, 0)
    if ("tiles=" in out) != tiles or "PASS" not in out:
        raise Failure(f"undisturbed:\n{out}")
    for call in calls:
        if "FAIL" not in multiply(folder, damier, ranks, words, call, 1):
            raise Failure(f"product {call} is wrong, and nobody says so")


chosen = options("--shim")
run_cases(chosen.damier, [(try_case, *case) for case in CASES])
