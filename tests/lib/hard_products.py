"""Factors of products in which bits are flipped, and correct products that look suspicious."""
import collections

import numpy as np

SHAPE = (150, 130, 300)
ROUNDOFF = {"f64": 2.0**-53, "f32": 2.0**-24, "bf16": 2.0**-24, "i8": 0.0}
BITS = {"f64": 64, "f32": 32, "bf16": 32, "i8": 32}
KINDS = {"f64": ("normal", "range", "whole"), "f32": ("normal", "range", "whole"), "bf16": ("normal", "range", "whole"),
         "i8": ("whole",)}
LIMIT = 16.0  # times the error bound of an element: larger errors must be detected


def matrix(rng, kind, rows, cols):
    if kind == "whole":
        return rng.integers(-100, 101, (rows, cols)).astype("f8")
    x = rng.standard_normal((rows, cols))
    return x if kind == "normal" else x * 10.0 ** rng.uniform(-6, 6, (rows, cols))


def rounded(x, kind):
    if kind == "f64":
        return x
    x = x.astype("f4")
    if kind == "bf16":  # to nearest, ties to even
        bits = x.view("u4")
        x = ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view("f4")
    return x.astype("f8")


def operand(damier, x, kind):
    """X as passed to the library: bf16 as the upper halves of f32."""
    if kind in ("bf16", "f16"):
        bits = (rounded(x, "bf16").astype("f4").view("u4") >> 16).astype("u2")
        return damier.Rows(bits if kind == "bf16" else x.astype("f2").view("u2"), type=kind)
    return x.astype({"i8": "i1", "f64": "f8"}.get(kind, "f4"))


def product_of(kind, data, seed):
    """A, B, C, and the rounding error bound of each element of C: k u |A||B|."""
    rng, (m, n, k) = np.random.default_rng(seed), SHAPE
    a, b = (rounded(matrix(rng, data, *shape), kind) for shape in ((m, k), (k, n)))
    c = (a.astype("g") @ b.astype("g")).astype("f8")
    return a, b, c, k * ROUNDOFF[kind] * (np.abs(a) @ np.abs(b)) + 1e-300


def moved(c, right, bound):
    """The largest error in units of the element's bound."""
    with np.errstate(invalid="ignore", over="ignore"):
        by = np.abs(c - right) / bound
    return np.inf if np.isnan(by).any() else by.max()


def hilbert(rows, cols):
    return 1.0 / (np.arange(rows)[:, None] + np.arange(cols)[None, :] + 1.0)


def contrast(k):
    return np.where(3 * np.arange(k) < k, 0.67, -0.33)


def hard(rng, number, most=90):
    """(name, A, B, words) of a correct product of at most MOST rows, columns and depth that looks suspicious."""
    m, n, k = (int(x) for x in rng.integers(1, most, 3))
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    spread = [10.0 ** rng.uniform(-150, 150, x.shape) for x in (a, b)]
    special = rng.choice([np.nan, np.inf, -np.inf, 1.0], (m, k), p=[0.01, 0.01, 0.01, 0.97])
    cases = [
        ("cancels to zero", np.hstack([a, -a]), np.vstack([b, b]), ""),
        ("range 1e+-150", a * spread[0], b * spread[1] * 1e-150, ""),
        ("rows 1e+-150", a * spread[0][:, :1], b * spread[1][:1, :], ""),
        ("constant", np.full((m, k), 0.1), np.full((k, n), 3.0), ""),
        ("Hilbert", hilbert(m, k), hilbert(k, n), ""),
        ("NaN and Inf", a * special, b, ""),
        ("f16 overflows", a * 500, b * 500, "--type f16 --type-c f16"),
        ("subnormal", a * 1e-160, b * 1e-160, ""),
        ("subnormal f32", (a * 1e-20).astype("f4"), (b * 1e-20).astype("f4"), ""),
        ("cancels, f32", np.hstack([a, -a]).astype("f4"), np.vstack([b, b]).astype("f4"), ""),
        ("cancels, bf16", np.hstack([a, -a]).astype("f4"), np.vstack([b, b]).astype("f4"), "--type bf16 --type-c bf16"),
        ("zeros", np.zeros((m, k)), b, ""),
        ("contrast", np.tile(contrast(k + 250), (m, 1)), np.full((k + 250, n), 1.7), ""),  # rounding errors are all alike
    ]
    return cases[number % len(cases)]


def table(results, columns, came, out):
    counts = collections.defaultdict(collections.Counter)
    for row in results:
        counts[tuple(str(row[column]) for column in columns)][row[5]] += 1
    for key, count in counts.items():
        out.append(f"| {' | '.join(key)} | {' | '.join(str(count[c]) for c in came)} | {sum(count.values())} |")
