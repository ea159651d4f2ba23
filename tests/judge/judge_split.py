"""split: --compute f32:f16 keeps |C - A B| <= f u |A||B| with the f that it reports, on any grid; NaN and Inf come out as
in f32; rows and columns that f16 cannot hold are counted."""
import numpy as np

import elements
from running import Failure, options, records_of, run, run_cases

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
    """Name, A, B, whether all can be split."""
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


def multiply(folder, damier, ranks, *words):
    report, out = folder / "report.json", folder / "c.h5"
    report.unlink(missing_ok=True)
    run(damier, ranks, "multiply", folder / "a.h5", folder / "b.h5", "-o", out, "-q", "--force", "--json", report,
        "--compute", "f32:f16", "--allow-unchecked", *words)
    return elements.read_raw(out, "f32"), records_of(report)[-1]


def keeps_promise(folder, damier, name):
    a, b, splits = next(case[1:] for case in data() if case[0] == name)
    elements.write(folder / "a.h5", a, "f32")
    elements.write(folder / "b.h5", b, "f32")
    with np.errstate(invalid="ignore"):
        want, size = a.astype(float) @ b.astype(float), abs(a.astype(float)) @ abs(b.astype(float))
    finite, fixed = np.isfinite(want), set()
    for ranks, words in ((1, []), (4, ["--grid", "1x2x2", "--panel", 64]), (3, ["--grid", "3x1x1"]),
                         (2, ["--no-overlap"]), (1, ["--reproducible"]), (4, ["--reproducible"])):
        c, record = multiply(folder, damier, ranks, *words)
        problem = record["problem"]
        bound = problem["factor"] * 2.0**-24 * size + (K + 2) * 2.0**-149
        off = abs(c[finite] - want[finite]) / bound[finite]
        if not (off <= 1).all():
            raise Failure(f"{name}, {words}: {off.max()} of the bound")
        if not np.array_equal(c[~finite], want[~finite].astype(np.float32), equal_nan=True):
            raise Failure(f"{name}, {words}: other NaN and Inf")
        if (problem["natively"] == 0) != splits or record["verification"]["verdict"] not in ("PASS", "PARTIAL"):
            raise Failure(f"{name}, {words}: {problem}, {record['verification']}")
        if "--reproducible" in words:
            fixed.add(c.tobytes())
    if len(fixed) > 1:
        raise Failure(f"{name}: other bits with --reproducible")


def main():
    run_cases(options().damier, [(keeps_promise, case[0]) for case in data()])


main()
