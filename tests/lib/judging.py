"""judging: runs `damier multiply` on cases and compares every element with NumPy's higher precision."""
from dataclasses import dataclass, field

import numpy as np

import elements
from running import Failure, options, run, run_cases, thinned


@dataclass
class Case:
    m: int
    n: int
    k: int
    dtype: str = "f64"  # of A's file
    dtype_b: str = ""   # of B's file, if different
    op_a: str = "n"
    op_b: str = "n"
    alpha: complex = 1
    beta: complex = 0
    old: str = ""       # type of the old C's file; "": there is none
    ranks: int = 1
    type: str = ""
    type_c: str = ""
    compute: str = ""
    flags: str = ""
    layout: str = "contiguous"
    data: str = "uniform"
    poison: bool = False  # the old C contains NaN and must not be read
    factor: float = field(default=0.0, compare=False)  # worst error / (u |A| |B|)


def scalar(z):
    z = complex(z)
    return f"{z.real!r},{z.imag!r}" if z.imag else repr(z.real)


def flags_of(case):
    words = ["--op-a", case.op_a, "--op-b", case.op_b, "--alpha", scalar(case.alpha), "--beta",
             scalar(case.beta), *case.flags.split()]
    for name in ("type", "type_c", "compute"):
        if getattr(case, name):
            words += ["--" + name.replace("_", "-"), getattr(case, name)]
    return words


def types_of(case):
    """Types of the inputs, the products, the sums and C, as documented in the manual."""
    given = case.type or elements.promoted(case.dtype, case.dtype_b or case.dtype)
    work = given
    if case.compute == "f64":
        work = "c128" if given in elements.COMPLEX else "f64"
    if case.compute == "f32" and given not in ("f16", "bf16"):
        work = "c64" if given in elements.COMPLEX else "f32"
    c = case.type_c or elements.ACCUMULATOR.get(given, given)
    return given, work, elements.ACCUMULATOR.get(work, work), c


def applied(values, op):
    return {"n": values, "t": values.T, "c": values.conj().T}[op]


def make_files(case, folder, rng):
    """A, B and the old C (or None), converted for the product."""
    given, work, _, _ = types_of(case)
    operands = []
    for name, op, shape, dtype in (("a", case.op_a, (case.m, case.k), case.dtype),
                                   ("b", case.op_b, (case.k, case.n), case.dtype_b or case.dtype)):
        shape = shape if op == "n" else shape[::-1]
        values = elements.write(folder / f"{name}.{elements.suffix(case.layout)}", elements.random(rng, shape, dtype, case.data),
                               dtype, case.layout)
        values = elements.rounded(elements.rounded(values, given), work)
        operands.append(applied(values, op))
    if not case.old:
        return operands + [None]
    old = elements.random(rng, (case.m, case.n), case.old, case.data)
    if case.poison:
        old = np.full(old.shape, np.nan)
    return operands + [elements.write(folder / f"old.{elements.suffix(case.layout)}", old, case.old, case.layout)]


def product(a, b, sums):
    """A B in a much higher precision than SUMS."""
    if sums in ("f64", "c128"):
        wider = np.clongdouble if sums == "c128" else np.longdouble
        return np.dot(a.astype(wider), np.asfortranarray(b.astype(wider)))  # twice as fast as @
    return a @ b


def gate(case, a, b, old, got):
    """Elementwise: |C - C'| <= f(k) u |alpha| |A| |B| + the rounding of the scalars and of C's type."""
    _, work, sums, c = types_of(case)
    alpha, beta = (z if work in elements.COMPLEX else z.real for z in map(complex, (case.alpha, case.beta)))
    if sums == "i32":
        alpha, beta = int(alpha), int(beta)
    want = alpha * product(a, b, sums)
    size = abs(alpha) * (abs(a) @ abs(b)).astype(float)
    old_size = 0.0
    if beta:
        want, old_size = want + beta * old, abs(beta) * abs(old)
    error = abs(got - want).astype(float)
    whole = sums == "i32" or (case.data == "integer" and not c.endswith("16"))
    if whole:
        if error.any():
            raise Failure(f"whole numbers differ in {np.count_nonzero(error)} elements")
        return 0.0
    growth = 1.5 if work in elements.COMPLEX else 1.0  # a complex product rounds more often
    u = elements.unit(sums)
    scaled = complex(case.alpha) != 1 or complex(case.beta) != 0
    finish = 3 * growth * 2.0**-53 * (scaled * size + old_size)
    finish += elements.TINY[c] + case.k * elements.TINY[sums]
    if case.compute == "tf32":  # operands are truncated to ten fraction bits
        finish += 2 * 2.0**-10 * size
    if c != sums:
        finish += (1 + 1e-6) * elements.unit(c) * abs(want).astype(float)
    sure = growth * (case.k + 2) * u * size + finish
    likely = growth * (4 + case.k**0.5) * u * size + finish
    if not (error <= sure).all():  # NaN fails too
        at = np.unravel_index(np.argmax(np.nan_to_num(error / sure, nan=np.inf)), error.shape)
        raise Failure(f"C{at} = {got[at]}, wanted {want[at]}: {error[at]:g} off, allowed {sure[at]:g}")
    if not (error <= likely).all():
        raise Failure(f"worst error is {(error / likely).max():g} of what random data explain")
    return float((np.maximum(error - finish, 0) / (u * size + 1e-300)).max())


def try_case(folder, damier, case, seed):
    a, b, old = make_files(case, folder, np.random.default_rng(seed))
    end = elements.suffix(case.layout)
    words = ["--c", folder / f"old.{end}"] if case.old else []
    run(damier, case.ranks, "multiply", folder / f"a.{end}", folder / f"b.{end}", "-o", folder / "c.h5",
        "-q", *flags_of(case), *words)
    c = types_of(case)[3]
    got = elements.exact(elements.read_raw(folder / "c.h5", c), c)
    if got.shape != (case.m, case.n):
        raise Failure(f"C is {got.shape}")
    case.factor = gate(case, a, b, old, got)


def main(quick, more):
    """Runs QUICK(), with --long also a part of MORE(rng), with --endurance all of it."""
    chosen = options()
    cases = quick() + (thinned(more(np.random.default_rng(20)), chosen) if chosen.long else [])
    run_cases(chosen.damier, [(try_case, case, seed) for seed, case in enumerate(cases)],
              lambda: f"; worst error {max(c.factor for c in cases):.3g} u |A||B|")
