"""nonfinite: NaN and Inf anywhere in A, B and the old C, mostly after the first panels: products streamed by panels
and tiles give the same elements, verdict and warning as products in memory."""
from dataclasses import dataclass

import numpy as np

import elements
from running import Failure, command, ended, expect, how_many, options, process_mib, records_of, run_cases

LIMIT = 6  # MiB per rank in addition to the process's own memory
VALUES = (np.nan, np.inf, -np.inf)
VERDICT = ("verdict", "rows_left_out", "cols_left_out", "rows_by_pattern", "cols_by_pattern")


@dataclass
class Case:
    m: int
    n: int
    k: int
    dtype: str = "f64"
    ranks: int = 1
    in_a: int = 0  # number of non-finite elements
    in_b: int = 0
    in_old: int = 0
    op_b: str = "n"
    flags: str = ""


def poisoned(rng, shape, dtype, count, along):
    """Random values with COUNT non-finite ones, mostly in the last two thirds of AXIS."""
    values = elements.random(rng, shape, dtype, "uniform")
    values[np.abs(values) < 2.0**-20] = 0.5  # no zeros: zero times Inf is NaN
    for _ in range(count):
        at = [rng.integers(size) for size in shape]
        at[along] = rng.integers(shape[along] // 3, shape[along])
        values[tuple(at)] = rng.choice(VALUES)
    return values


def hits(a, b):
    """Whether any term of each sum satisfies both."""
    return a.astype(np.float32) @ b.astype(np.float32) > 0


def signs(x):
    return [x == np.inf, x == -np.inf, x > 0, x < 0]


def expected(a, b):
    """Expected A B: NaN and Inf follow from the terms, other elements are finite sums."""
    finite_a, finite_b = (np.where(np.isfinite(x), x, 0) for x in (a, b))
    want = finite_a @ finite_b
    error = 4 * a.shape[1] * (np.abs(finite_a) @ np.abs(finite_b))
    if np.iscomplexobj(a):
        spoiled = ~np.isfinite(a).all(1)[:, None] | ~np.isfinite(b).all(0)[None, :]
        return np.where(spoiled, np.nan, want), error
    (au, ad, ap, an), (bu, bd, bp, bn) = signs(a), signs(b)
    up = hits(au, bp) | hits(ad, bn) | hits(ap, bu) | hits(an, bd)
    down = hits(au, bn) | hits(ad, bp) | hits(ap, bd) | hits(an, bu)
    none = np.isnan(a).any(1)[:, None] | np.isnan(b).any(0)[None, :] | (up & down)
    want = np.where(up, np.inf, np.where(down, -np.inf, want))
    return np.where(none, np.nan, want), error


def compare(got, want, error, unit):
    finite = np.isfinite(want)
    if np.iscomplexobj(got):  # the method determines which part is NaN or Inf
        expect((np.isfinite(got) == finite).all(),
               f"{np.count_nonzero(np.isfinite(got) != finite)} elements are (not) finite")
    elif not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        raise Failure("NaN and Inf stand elsewhere")
    expect((np.abs(got[finite] - want[finite]) <= unit * error[finite]).all(), "finite elements differ")


def multiply(folder, damier, case, name, words):
    """(C, verification, plan, warnings) of a run."""
    report, out = folder / f"{name}.json", folder / f"{name}.h5"
    old = ["--c", folder / "old.h5", "--beta", "0.5"] if case.in_old else []
    done = ended(command(case.ranks, damier, "multiply", folder / "a.h5", folder / "b.h5", "-o", out, "-q",
                         "--json", report, "--op-b", case.op_b, "--allow-unchecked", *old, *case.flags.split(), *words))
    if done.returncode:
        raise Failure(f"{name}: exit {done.returncode}\n{done.stderr[-900:]}")
    record = records_of(report)[-1]
    c = elements.ACCUMULATOR.get(case.dtype, case.dtype)
    warnings = [line for line in done.stderr.splitlines() if "NaN" in line]
    verification = tuple(record["verification"][key] for key in VERDICT)
    return elements.exact(elements.read_raw(out, c), c), verification, record["plan"], warnings


def try_case(folder, damier, case, seed):
    rng = np.random.default_rng(seed)
    a = elements.write(folder / "a.h5", poisoned(rng, (case.m, case.k), case.dtype, case.in_a, 1), case.dtype)
    b = poisoned(rng, (case.k, case.n), case.dtype, case.in_b, 0)
    b = elements.write(folder / "b.h5", b if case.op_b == "n" else b.T, case.dtype)
    b = b if case.op_b == "n" else b.T
    with np.errstate(invalid="ignore"):
        want, error = expected(a, b)
    rows, spoiled = np.zeros(case.m, bool), ~np.isfinite(a).all(1)
    if case.in_old:
        old = elements.write(folder / "old.h5", poisoned(rng, want.shape, "f64", case.in_old, 0), "f64")
        rows = ~np.isfinite(old[:, np.isfinite(b).all(0)]).all(1) & ~spoiled  # other columns are affected in any case
        with np.errstate(invalid="ignore"):
            want, error = want + 0.5 * old, error + np.abs(np.where(np.isfinite(old), old, 0))
    left_out = ("PASS" if not rows.any() else "PARTIAL" if not rows.all() else "UNCHECKED", int(rows.sum()), 0,
                int(spoiled.sum()), int((~np.isfinite(b).all(0)).sum()))
    limit = LIMIT + process_mib(damier, case.ranks)
    whole = multiply(folder, damier, case, "whole", [])
    parts = multiply(folder, damier, case, "parts", ["--memory", f"host={limit}MiB"])
    if parts[2]["tiles"] < 2 and "file" not in (parts[2]["a_in"], parts[2]["b_in"]):
        raise Failure(f"all in memory: {parts[2]}")
    unit = elements.unit(elements.ACCUMULATOR.get(case.dtype, case.dtype))
    for name, (c, verdict, _, warnings) in (("whole", whole), ("in parts", parts)):
        try:
            compare(c, want, error, unit)
        except Failure as failure:
            raise Failure(f"{name}: {failure}") from None
        expect(verdict == left_out, f"{name}: {dict(zip(VERDICT, verdict))}, wanted {left_out}")
        if len(warnings) != (left_out[1] > 0) + (sum(left_out[3:]) > 0) or warnings != whole[3]:
            raise Failure(f"{name}: warned {warnings}")


def too_large(dtype, ranks):
    """Sizes of matrices that need more memory per rank than LIMIT."""
    m, n, k = 1000, 900, 500
    while (m * n + m * k + k * n) * np.dtype(elements.STORED[dtype]).itemsize / ranks < (LIMIT + 4) << 20:
        m, n = m + 100, n + 90
    return m, n, k


def random_case(rng):
    deep = rng.random() < 0.5
    dtype = rng.choice(["f64", "f64", "f32", "c128"]) if not deep else "f64"
    ranks = int(rng.integers(1, 5))
    m, n, k = (100, 90, 28000) if deep else too_large(dtype, ranks)
    return Case(m, n, k, dtype=dtype, ranks=ranks, in_a=int(rng.integers(0, 4)), in_b=int(rng.integers(0, 4)),
                in_old=int(rng.integers(0, 3)) if rng.random() < 0.3 else 0, op_b=rng.choice(["n", "t"]))


def beyond(folder, damier, seed):
    """A finite number that the type of the product cannot hold is refused; Inf, NaN and the largest number are not."""
    rng = np.random.default_rng(seed)
    dtype, type_, most = (("f64", "f32", 3.4e38), ("f64", "bf16", 3.38e38), ("f32", "f16", 65504), ("c128", "c64", 3.4e38),
                          ("u32", "f16", 65504), ("f32", "bf16", 3.38e38), ("f64", "f16", 65504), ("f64", "c64", 3.4e38))[seed % 8]
    words = ("--compute", type_) if type_ == "f32" and seed % 16 >= 8 else ("--type", type_, "--allow-rounding")
    layout, ranks = str(rng.choice(["contiguous", "deflate", "big-endian", "npy-fortran"])), int(rng.integers(1, 4))
    a, b = np.ones((40, 300), complex if dtype == "c128" else float), np.ones((300, 20))
    a[3, 5] = most
    at = tuple(rng.integers(0, size) for size in a.shape)
    if dtype not in elements.INTEGER:
        a[0, 0] = VALUES[seed % 3]
    for factor, code in ((1, 0), (1.006, 3)):
        a[at] = most * factor * (1j if dtype == "c128" else 1) if code else 1
        for name, x in (("a", a), ("b", b)):
            elements.write(folder / f"{name}.{elements.suffix(layout)}", x, dtype, layout)
        end = elements.suffix(layout)
        done = ended(command(ranks, damier, "multiply", folder / f"a.{end}", folder / f"b.{end}", "-o", folder / "c.h5", "-q",
                             "--allow-unchecked", "--force", *words))
        expect(done.returncode == code, f"exit {done.returncode}: {done.stderr}")
        expect(not code or f"finite numbers beyond the range of {type_}" in done.stderr, done.stderr)


chosen = options()
cases = [Case(100, 90, 16000, in_b=1), Case(100, 90, 16000, ranks=2, in_b=2, op_b="t"),
         Case(100, 90, 16000, ranks=3, in_a=2), Case(1000, 900, 500, ranks=2, in_a=1, in_b=1),
         Case(1000, 900, 500, ranks=4, in_old=2, in_b=1), Case(1000, 900, 500, dtype="c128", in_a=1, in_b=1),
         Case(1500, 1400, 300, dtype="f32", ranks=2, in_a=2, in_b=3, flags="--no-overlap"),
         Case(100, 90, 16000, in_a=400, in_b=1), Case(1000, 900, 500, ranks=3)]
if chosen.long:
    rng = np.random.default_rng(5)
    cases += [random_case(rng) for _ in range(how_many(chosen, 0, 5, 40))]
run_cases(chosen.damier, [(try_case, case, seed) for seed, case in enumerate(cases)] + [(beyond, seed) for seed in range(16)])
