"""reproducible: with --reproducible C has the same bytes on any number of ranks and any grid."""
import numpy as np

import elements
from running import Failure, options, run, run_cases, thinned

RANKS = (1, 2, 3, 4, 7)
GRIDS = ((8, "2x4x1"), (8, "8x1x1"), (8, "1x7x1"), (6, "3x2x1"), (4, "1x4x1"))
SHAPES = {"f64": (300, 523, 1100), "f32": (513, 257, 700), "bf16": (260, 300, 1030),
          "i8": (129, 270, 1500), "c128": (257, 259, 600), "f16": (300, 300, 513),
          "c64": (511, 130, 600)}
ODD = ((1, 700, 513), (700, 1, 513), (3, 5, 2000), (256, 512, 512), (257, 255, 1))


def bytes_of(folder, damier, dtype, name, ranks, words):
    out = folder / f"{name}.h5"
    run(damier, ranks, "multiply", folder / "a.h5", folder / "b.h5", "-o", out, "-q",
        "--reproducible", "--alpha", "3", *words)
    c = elements.ACCUMULATOR.get(dtype, dtype)
    return elements.read_raw(out, c).tobytes()


def same_bits(folder, damier, dtype, shape, runs):
    rng = np.random.default_rng(7)
    m, n, k = shape
    elements.write(folder / "a.h5", elements.random(rng, (m, k), dtype), dtype)
    elements.write(folder / "b.h5", elements.random(rng, (k, n), dtype), dtype)
    first = None
    for i, (ranks, grid) in enumerate(runs):
        got = bytes_of(folder, damier, dtype, i, ranks, ["--grid", grid] if grid else [])
        first = first or got
        if got != first:
            raise Failure(f"{dtype} {shape}: {ranks} ranks, grid {grid or 'auto'} gives other bits "
                          f"than {runs[0][0]} rank")


def main():
    chosen = options()
    everywhere = [(r, "") for r in RANKS] + list(GRIDS)
    quick = [(d, SHAPES[d], everywhere if d == "f64" else [(1, ""), (3, ""), (4, "1x4x1"), (7, "")])
             for d in ("f64", "f32", "bf16", "i8", "c128")]
    # Every grid with one type and shape; every type and odd shape on some grids of each kind.
    some = [(1, ""), (3, ""), (7, ""), (8, "2x4x1"), (4, "1x4x1")]
    more = [(d, SHAPES[d], everywhere if d == "f64" else some) for d in SHAPES]
    more += [("f64", s, some) for s in ODD]
    cases = quick + thinned([case for case in more if case not in quick], chosen) if chosen.long else quick
    run_cases(chosen.damier, [(same_bits, *case) for case in cases])


main()
