"""grids: process grids of up to 8 ranks, including idle ranks, several panels, with and without overlap."""
import judging
from judging import Case

GRIDS = [(i, j, l) for i in range(1, 9) for j in range(1, 9) for l in range(1, 9) if i * j * l <= 8]


def named(grid):
    return "--grid " + "x".join(map(str, grid))


def quick():
    some = [(1, 1, 1), (2, 2, 2), (8, 1, 1), (1, 8, 1), (1, 1, 8), (2, 4, 1), (3, 2, 1), (1, 2, 3),
            (5, 1, 1), (2, 1, 3), (1, 1, 7)]
    cases = [Case(50, 45, 400, ranks=8, flags=f"{named(g)} --panel 64") for g in some]
    # More layers than panels, more rank rows than rows.
    thin = [Case(3, 5, 65, ranks=8, flags="--grid 4x1x2 --panel 64"),
            Case(5, 3, 60, ranks=8, flags="--grid 1x4x2 --panel 64"),
            Case(40, 3, 130, ranks=7, flags="--grid 1x1x7 --panel 64")]
    still = [Case(50, 45, 400, ranks=4, flags="--grid 2x2x1 --panel 64 --no-overlap"),
             Case(50, 45, 400, dtype="c64", ranks=6, flags="--grid 1x2x3 --panel 128 --no-overlap"),
             Case(50, 45, 400, dtype="i8", ranks=8, flags="--grid 2x2x2 --panel 64"),
             Case(50, 45, 400, dtype="bf16", ranks=5, flags="--grid 1x2x2 --panel 64")]
    return cases + thin + still


def more(rng):
    dtypes = ("f64", "f32", "c128", "i8")
    return [Case(*map(int, rng.integers(1, 120, 2)), int(rng.integers(1, 700)), dtype=dtypes[i % 4],
                 ranks=min(8, g[0] * g[1] * g[2] + i % 3), flags=f"{named(g)} --panel 64")
            for i, g in enumerate(GRIDS)]


judging.main(quick, more)
