"""bound: in correct runs the residual stays below 1, and its largest is at least 1/200, of the bound."""
import numpy as np

import elements
from running import Failure, expect, options, records_of, run, run_cases

LEAST = 1 / 200


def residual(folder, damier, ranks, words=()):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    run(damier, ranks, "multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "-q",
        "--force", "--json", report, "--verify-seed", 1, *words)
    return records_of(report)[0]["verification"]["residual"]


def random_runs(folder, damier, dtype, type_c, runs):
    """Largest residual of RUNS products of uniform and normal data."""
    rng = np.random.default_rng(11)
    seen = []
    for i in range(runs):
        m, n, k = map(int, rng.integers(60, 260, 3))
        kind = ("uniform", "normal")[i % 2]
        elements.write(folder / "a.h5", elements.random(rng, (m, k), dtype, kind), dtype)
        elements.write(folder / "b.h5", elements.random(rng, (k, n), dtype, kind), dtype)
        seen.append(residual(folder, damier, 1 + i % 3,
                             ["--type-c", type_c] if type_c else []))
    worst = max(seen)
    print(f"{dtype} to {type_c or 'its own'}: the bound is {1 / max(worst, 1e-9):.3g} x the largest "
          "residual")
    expect(worst == 0 if dtype == "i8" else LEAST <= worst <= 1,
           f"{dtype}: the largest residual of {runs} runs is {worst:g} of the bound")


def hilbert(m, n):
    return 1 / (np.arange(m)[:, None] + np.arange(n) + 1.0)


def ozaki(rng, shape, phi):
    return (rng.random(shape) - 0.5) * np.exp(phi * rng.normal(size=shape))


def adverse(rng, dtype):
    """Name, A, B: data that break careless bounds."""
    m, n, k = 150, 140, 330
    far = 100 if dtype in ("f64", "c128") else 15 if dtype in ("f32", "c64", "bf16") else 1
    up = 10.0 ** rng.uniform(-far, far, (m, 1)), 10.0 ** rng.uniform(-far, far, (1, n))
    a, b = rng.uniform(-1, 1, (m, k)), rng.uniform(-1, 1, (k, n))
    half, other = a[:, :k // 2], b[:k // 2]
    yield "positive", abs(a), abs(b)
    yield "constant", np.full((m, k), 0.1), np.full((k, n), 0.7)
    yield "ones", np.ones((m, k)), np.ones((k, n))
    yield "identity", np.eye(m, k), np.eye(k, n)
    yield "identity times any", np.eye(m, k), b
    yield "zero", np.zeros((m, k)), b
    yield "ozaki", ozaki(rng, (m, k), 2), ozaki(rng, (k, n), 2)
    yield "scaled", a * up[0], b * up[1]
    yield "cancelling", np.hstack([half, half]), np.vstack([other, -other])
    yield "nearly cancelling", np.hstack([half, half]), np.vstack([other, -other * (1 + 1e-6)])
    yield "hilbert", hilbert(m, k), hilbert(k, n)
    yield "one hot row", a * (np.arange(k) == 7) * 1e3 + 1e-3 * a, b
    yield "tiny", a * 1e-30 if far > 1 else a * 1e-4, b


def adverse_runs(folder, damier, dtype):
    rng = np.random.default_rng(13)
    for name, a, b in adverse(rng, dtype):
        elements.write(folder / "a.h5", a, dtype)
        elements.write(folder / "b.h5", b, dtype)
        try:
            worst = residual(folder, damier, 2 if name == "ozaki" else 1)
        except Failure as reason:
            raise Failure(f"{dtype}, {name}: {reason}") from None
        expect(worst <= 1, f"{dtype}, {name}: residual {worst} of the bound")


def main():
    chosen = options()
    every = [(d, "") for d in elements.FACTORS] + [("bf16", "bf16"), ("f64", "f32"), ("f32", "f16")]
    cases = [(random_runs, d, c, 8 if chosen.long else 4) for d, c in every]
    cases += [(adverse_runs, d) for d in (elements.FACTORS[:6] if chosen.long else ("f64", "bf16"))]
    run_cases(chosen.damier, cases)


main()
