"""layouts: inputs and old C contiguous, chunked, compressed, big-endian, compact."""
import elements
import judging
from judging import Case

LAYOUTS = ("contiguous", "chunked", "deflate", "big-endian", "compact")


def quick():
    each = [Case(45, 60, 70, layout=name, ranks=1 + i, alpha=2, beta=1, old="f64")
            for i, name in enumerate(LAYOUTS)]
    turned = [Case(45, 60, 70, dtype=d, layout=name, op_a="t", op_b="c", ranks=3) for name, d in
              (("deflate", "c128"), ("big-endian", "c64"), ("big-endian", "bf16"),
               ("chunked", "i8"), ("deflate", "f16"), ("compact", "f32"))]
    pieces = [Case(130, 120, 300, layout=name, ranks=6, flags="--grid 3x2x1 --panel 64")
              for name in ("deflate", "big-endian")]
    return each + turned + pieces


def more(rng):
    return [Case(*map(int, rng.integers(1, 60, 3)), dtype=dtype, layout=layout,
                 op_a=str(rng.choice(list("ntc"))), op_b=str(rng.choice(list("ntc"))),
                 ranks=int(rng.integers(1, 9))) for dtype in elements.FACTORS for layout in LAYOUTS]


judging.main(quick, more)
