"""ops: transposes, conjugates, alpha and beta; with beta = 0 the old C must not be read."""
import elements
import judging
from judging import Case

OPS = [(a, b) for a in "ntc" for b in "ntc"]


def quick():
    every = [Case(33, 47, 70, dtype="c128", op_a=a, op_b=b, ranks=1 + i % 4, alpha=0.5 - 2j,
                  beta=1.5 + 1j, old="c128", flags="--panel 64") for i, (a, b) in enumerate(OPS)]
    real = [Case(33, 47, 140, op_a="t", op_b="t", ranks=4, alpha=-1.25, beta=0.75, old="f64"),
            Case(33, 47, 140, dtype="bf16", op_a="t", op_b="c", alpha=3, beta=-1, old="f32"),
            Case(33, 47, 140, dtype="i8", op_a="t", op_b="t", ranks=2, alpha=3, beta=-7, old="i32"),
            Case(33, 47, 140, dtype="c64", op_a="c", op_b="n", alpha=1j, beta=2, old="f32", ranks=3)]
    scalars = [Case(20, 21, 30, alpha=0, beta=0), Case(20, 21, 30, alpha=0, beta=2, old="f64"),
               Case(20, 21, 30, alpha=1e-3, beta=1, old="f32", ranks=2),
               Case(20, 21, 200, beta=1, old="f64", ranks=8, flags="--grid 2x2x2 --panel 64")]
    unread = [Case(20, 21, 30, dtype=d, old=o, poison=True, ranks=2, beta=0) for d, o in
              (("f64", "f64"), ("f32", "f32"), ("c64", "c64"), ("bf16", "f32"))]
    return every + real + scalars + unread


def more(rng):
    def one():
        a, b = OPS[rng.integers(9)]
        dtype = str(rng.choice(elements.FACTORS))
        turn = 1j * rng.normal() if dtype in elements.COMPLEX else 0
        alpha, beta = rng.normal() + turn, rng.normal() - turn
        if dtype == "i8":
            alpha, beta = int(rng.integers(-9, 9)), int(rng.integers(-9, 9))
        old = "i32" if dtype == "i8" else "c128" if dtype in elements.COMPLEX else "f64"
        return Case(*map(int, rng.integers(1, 150, 3)), dtype=dtype, op_a=a, op_b=b, alpha=alpha,
                    beta=beta, old=old, ranks=int(rng.integers(1, 9)))
    return [one() for _ in range(28)]


judging.main(quick, more)
