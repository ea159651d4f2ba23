"""split: --compute f32:f16 satisfies |C - A B| <= f u |A||B| with the reported f, on any grid, for f32 and the parts of
c64; NaN and Inf are as in f32; rows and columns that f16 cannot represent are counted."""
import numpy as np

import elements
from running import Failure, expect, options, records_of, run, run_cases, thinned

M, N, K = 70, 90, 700
RNG = np.random.default_rng


def normal(seed, shape):
    return (RNG(seed).normal(size=shape) * np.exp(0.5 * RNG(seed + 50).normal(size=shape))).astype(np.float32)


def lines(count, step):
    """Powers of two from 2^-20 to 2^20."""
    return np.exp2((np.arange(count) * step % 41) - 20).astype(np.float32)


def cancelling(a, b):
    a[:, K // 2:] = a[:, :K // 2]
    b[K // 2:] = -b[:K // 2] * np.float32(1 + 2.0**-15)
    return a, b


def spoilt(a, b, value):
    a[3, 100], b[5, 7] = value, -value
    return a, b


def data():
    """Name, A, B, whether f16 can represent all."""
    a, b, f32 = normal(1, (M, K)), normal(2, (K, N)), np.float32
    zeros = np.arange(K) % 3 == 1
    yield "normal", a, b, True
    yield "lines", a * lines(M, 7)[:, None], b * lines(N, 5), True
    yield "zeros", np.where(zeros | (np.arange(M) % 5 == 0)[:, None], f32(0), a), b, True
    yield "cancelling", *cancelling(a.copy(), b.copy()), True
    yield "1e30 and 1e-30", a * f32(1e30), b * np.where(np.arange(N) % 2, f32(1e-30), f32(1e-25)), True
    yield "subnormal", a * np.where(np.arange(M) % 2, f32(2.0**-60), f32(2.0**-70) * f32(2.0**-65))[:, None], b * f32(2.0**-70), False
    yield "steep", a * np.exp2(-(np.arange(K) % 45)).astype(f32), b, False
    for value in (np.nan, np.inf):
        yield str(value), *spoilt(a.copy(), b.copy(), f32(value)), False


def as_complex(a, b):
    """The same numbers as complex ones: pairs of neighbours in a row of A, or in a column of B."""
    made = np.empty((K // 2, N), np.complex64)
    made.real, made.imag = b[0::2], b[1::2]
    return np.ascontiguousarray(a).view(np.complex64), made


def as_real(a, b):
    """Real factors for the parts of A B, which lie side by side."""
    if a.dtype == np.float32:
        return a, b
    expanded = np.empty((2 * b.shape[0], 2 * b.shape[1]), np.float32)
    expanded[0::2, 0::2], expanded[0::2, 1::2] = b.real, b.imag
    expanded[1::2, 0::2], expanded[1::2, 1::2] = -b.imag, b.real
    return a.view(np.float32), expanded


def multiply(folder, damier, ranks, dtype, *words):
    report, out = folder / "report.json", folder / "c.h5"
    report.unlink(missing_ok=True)
    run(damier, ranks, "multiply", folder / "a.h5", folder / "b.h5", "-o", out, "-q", "--force", "--json", report,
        "--compute", "f32:f16", "--allow-unchecked", *words)
    return elements.read_raw(out, dtype).view(np.float32), records_of(report)[-1]


def turns(folder, damier, dtype, a, b, want):
    """Matrices are transposed and conjugated on reading: C has the same bits."""
    elements.write(folder / "a.h5", a.conj().T, dtype)
    elements.write(folder / "b.h5", b.T, dtype)
    c, _ = multiply(folder, damier, 2, dtype, "--reproducible", "--op-a", "c", "--op-b", "t")
    expect(c.tobytes() == want, "other bits of transposed matrices")


def keeps_promise(folder, damier, dtype, name):
    a, b, splits = next(case[1:] for case in data() if case[0] == name)
    if dtype == "c64":
        a, b = as_complex(a, b)
    elements.write(folder / "a.h5", a, dtype)
    elements.write(folder / "b.h5", b, dtype)
    rows, cols = (x.astype(float) for x in as_real(a, b))
    with np.errstate(invalid="ignore"):
        want, size = rows @ cols, abs(rows) @ abs(cols)
    finite, fixed = np.isfinite(want), set()
    for ranks, words in ((1, []), (4, ["--grid", "1x2x2", "--panel", 64]), (3, ["--grid", "3x1x1"]),
                         (2, ["--no-overlap"]), (1, ["--reproducible"]), (4, ["--reproducible"])):
        c, record = multiply(folder, damier, ranks, dtype, *words)
        problem = record["problem"]
        bound = problem["factor"] * 2.0**-24 * size + (K + 2) * 2.0**-149
        off = abs(c[finite] - want[finite]) / bound[finite]
        expect((off <= 1).all(), f"{name}, {words}: {off.max()} of the bound")
        expect(np.array_equal(c[~finite], want[~finite].astype(np.float32), equal_nan=True),
               f"{name}, {words}: other NaN and Inf")
        if (problem["natively"] == 0) != splits or record["verification"]["verdict"] not in ("PASS", "PARTIAL"):
            raise Failure(f"{name}, {words}: {problem}, {record['verification']}")
        if "--reproducible" in words:
            fixed.add(c.tobytes())
    expect(len(fixed) <= 1, f"{name}: other bits with --reproducible")
    if name == "normal":
        turns(folder, damier, dtype, a, b, *fixed)


def main():
    chosen = options()
    cases = [("f32", "normal"), ("f32", "steep"), ("f32", "nan"), ("c64", "normal"), ("c64", "cancelling"), ("c64", "inf")]
    if chosen.long:
        every = [(dtype, case[0]) for dtype in ("f32", "c64") for case in data()]
        cases += thinned([case for case in every if case not in cases], chosen)
    run_cases(chosen.damier, [(keeps_promise, *case) for case in cases])


main()
