"""layouts: inputs and old C contiguous, chunked, compressed, big-endian, compact, one-dimensional."""
import elements
import judging
from judging import Case

LAYOUTS = ("contiguous", "chunked", "deflate", "big-endian", "compact", "lzf")


def quick():
    each = [Case(45, 60, 70, layout=name, ranks=1 + i, alpha=2, beta=1, old="f64")
            for i, name in enumerate(LAYOUTS)]
    turned = [Case(45, 60, 70, dtype=d, layout=name, op_a="t", op_b="c", ranks=3) for name, d in
              (("deflate", "c128"), ("big-endian", "c64"), ("big-endian", "bf16"),
               ("chunked", "i8"), ("deflate", "f16"), ("compact", "f32"))]
    pieces = [Case(130, 120, 300, layout=name, ranks=6, flags="--grid 3x2x1 --panel 64")
              for name in ("deflate", "big-endian")]
    vectors = [Case(*mnk, layout=layout, ranks=ranks, flags=flags, **more)
               for mnk, layout, ranks, flags, more in
               (((45, 1, 70), "vector", 1, "--as-column", {"beta": 2, "old": "f64"}),
                ((1, 60, 70), "vector-deflate", 3, "--as-row", {"beta": 2, "old": "f64"}),
                ((45, 1, 70), "vector-lzf", 3, "--as-column", {"op_a": "t"}),
                ((45, 60, 1), "vector-big-endian", 3, "--as-column", {"op_b": "t"}),
                ((1, 1, 70), "vector-chunked", 1, "--as-row", {"op_b": "t"}))]
    numpy = [Case(45, 60, 70, layout=name, ranks=ranks, beta=1, old="f64") for name, ranks in
             (("npy", 1), ("npy-fortran", 3), ("npy-big-endian", 3))]
    numpy += [Case(130, 120, 300, dtype=d, layout="npy-fortran", op_a=a, op_b=b, ranks=r, type=t,
                   flags="--panel 64")
              for d, a, b, r, t in (("c128", "c", "n", 3, ""), ("f16", "n", "c", 1, ""),
                                    ("i8", "t", "t", 3, ""), ("u8", "n", "n", 3, "f32"),
                                    ("c64", "n", "t", 1, ""))]
    return each + turned + pieces + vectors + numpy


def more(rng):
    return [Case(*map(int, rng.integers(1, 60, 3)), dtype=dtype, layout=layout,
                 op_a=str(rng.choice(list("ntc"))), op_b=str(rng.choice(list("ntc"))),
                 ranks=int(rng.integers(1, 9))) for dtype in elements.FACTORS for layout in LAYOUTS]


judging.main(quick, more)
