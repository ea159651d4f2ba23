"""types: every element type, and the conversions of inputs and outputs."""
import elements
import judging
from judging import Case


def quick():
    every = [Case(66, 45, 130, dtype=d, ranks=r) for d, r in
             zip(elements.FACTORS, (1, 2, 3, 4, 5, 6, 8))]
    whole = [Case(40, 50, 300, dtype=d, data="integer", alpha=-2, beta=3, old=old, ranks=2)
             for d, old in (("f64", "f64"), ("f32", "f32"), ("bf16", "f32"), ("f16", "f64"),
                            ("i8", "i32"), ("i8", "i8"), ("c64", "c64"))]
    # k above 1024: the CPU multiplies i8 in slices that are exact in f32.
    deep = [Case(9, 11, 2500, dtype="i8"), Case(9, 11, 2500, dtype="bf16")]
    converted = [Case(30, 31, 90, dtype=a, dtype_b=b, type=t, type_c=c) for a, b, t, c in
                 (("f64", "f32", "f64", ""), ("f64", "f64", "f32", ""), ("f32", "f64", "bf16", ""),
                  ("bf16", "f16", "f32", "f64"), ("f32", "c64", "c128", ""), ("f64", "f64", "f16", "f16"),
                  ("i8", "f32", "f64", "f32"), ("i32", "i32", "f64", ""), ("c128", "f32", "c64", "c128"))]
    converted += [Case(20, 31, 60, dtype=a, dtype_b=b, ranks=r, data="integer") for a, b, r in
                  (("f32", "f64", 1), ("c64", "f64", 3), ("bf16", "f16", 1), ("u8", "u8", 1), ("bool", "f32", 2), ("c64", "i16", 1))]
    results = [Case(30, 31, 90, dtype=d, type_c=c) for d, c in
               (("f64", "f32"), ("f64", "bf16"), ("f32", "f16"), ("f16", "f64"), ("bf16", "bf16"),
                ("c128", "c64"))]
    computed = [Case(30, 31, 90, dtype=d, compute=c) for d, c in
                (("f32", "f64"), ("f64", "f32"), ("bf16", "f64"), ("c64", "f64"), ("c128", "f32"),
                 ("f16", "f32"))]
    # Types that are only allowed for inputs, exact and rounded; values with more bits than f32 has.
    whole += [Case(31, 40, 90, dtype=d, dtype_b=b, type=t, data="integer", ranks=r, layout=layout)
              for d, b, t, r, layout in
              (("i16", "u8", "f32", 1, "contiguous"), ("bool", "u16", "f32", 3, "lzf"),
               ("u32", "i32", "f64", 3, "big-endian"), ("u8", "bool", "bf16", 1, "contiguous"),
               ("i16", "c64", "c64", 1, "chunked"))]
    converted += [Case(30, 31, 90, dtype=d, type=t, ranks=r, data="large", flags="--allow-rounding")
                  for d, t, r in (("i64", "f64", 1), ("u64", "f64", 3), ("i64", "f32", 3))]
    whole += [Case(21, 22, 40, old=d, beta=2, data="integer") for d in ("i16", "bool")]
    return every + whole + deep + converted + results + computed


def more(rng):
    def one():
        kind = elements.COMPLEX if rng.random() < 0.3 else elements.REAL
        pick = lambda: str(rng.choice(kind))
        return Case(*map(int, rng.integers(1, 150, 3)), dtype=pick(), dtype_b=pick(), type=pick() if rng.random() < 0.7 else "",
                    type_c=pick(), compute=str(rng.choice(["", "f64", "f32"])),
                    ranks=int(rng.integers(1, 5)))
    return [one() for _ in range(28)]


judging.main(quick, more)
