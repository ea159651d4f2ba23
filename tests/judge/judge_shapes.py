"""shapes: edge cases of m, n and k, on every number of ranks, including more ranks than rows."""
import judging
from judging import Case

EDGES = (1, 2, 7, 61, 255, 256, 257)


def quick():
    small = [Case(1, 1, 1), Case(1, 1, 1, ranks=8), Case(2, 3, 1, ranks=3), Case(3, 2, 67, ranks=5),
             Case(1, 300, 2, ranks=7), Case(300, 1, 131, ranks=4), Case(1, 1, 701, ranks=2)]
    tiles = [Case(255, 256, 257), Case(257, 255, 256, ranks=2), Case(256, 257, 255, ranks=3),
             Case(256, 256, 256, ranks=6, flags="--reproducible"), Case(61, 67, 71, ranks=8)]
    long_sides = [Case(1500, 3, 5, ranks=4), Case(3, 1500, 5, ranks=6), Case(5, 3, 1500, ranks=5),
                  Case(400, 500, 1, ranks=2), Case(2, 2, 1025, ranks=8, flags="--grid 1x1x8")]
    return small + tiles + long_sides


def more(rng):
    def size():
        return int(rng.choice(EDGES)) if rng.random() < 0.6 else int(rng.integers(1, 400))
    return [Case(size(), size(), size(), ranks=int(rng.integers(1, 9)),
                 flags=str(rng.choice(["", "--panel 64", "--no-overlap", "--reproducible"])))
            for _ in range(24)]


judging.main(quick, more)
