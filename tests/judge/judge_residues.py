"""residues: --compute f64:int8 satisfies |C - A B| <= f u |A||B| with the reported f, in exact rational arithmetic; has
the same bits for any division of the product; and falls back to f64 if the bound cannot be guaranteed."""
import math
import random
from fractions import Fraction

import numpy as np

import elements
from running import Failure, expect, how_many, options, records_of, run, run_cases

M, N, K = 13, 11, 40
U, SUBNORMAL = Fraction(1, 2**53), Fraction(1, 2**1074)
RNG = np.random.default_rng


def up(values, power):
    """Scales rows or columns by powers of two, exactly within the range of exponents."""
    return np.ldexp(values, power)


def normal(seed, shape):
    return RNG(seed).normal(size=shape)


def hilbert(rows, cols):
    return 1.0 / (np.arange(rows)[:, None] + np.arange(cols) + 1.0)


def cancelling():
    """Sums that cancel completely, or to one bit of the smallest product."""
    a, b = normal(3, (M, K)), normal(4, (K, N))
    a[:, K // 2:] = -a[:, :K // 2]
    b[K // 2:] = b[:K // 2]
    b[K - 1, ::2] = np.nextafter(b[K - 1, ::2], 0)
    return a, b


def with_zeros(a, b):
    a[2], a[5, ::8], b[:, 4], b[::9, 1] = 0, 0, 0, 0
    return a, b


def fitting():
    """Name, A, B: products computed by residues."""
    rows, cols = np.arange(M)[:, None], np.arange(N)
    a, b = normal(1, (M, K)), normal(2, (K, N))
    yield "normal", a, b
    yield "Hilbert", hilbert(M, K), hilbert(K, N)
    yield "cancelling", *cancelling()
    yield "zeros", *with_zeros(a.copy(), b.copy())
    yield "all zeros", a * 0, b
    yield "ones", np.ones((M, K)), np.ones((K, N))
    yield "whole numbers", np.rint(1e6 * a), np.rint(1e5 * b)
    yield "huge", up(a, 990 - 7 * rows), up(b, -20 - 9 * cols)
    yield "1e300 and 1e-300", up(a, 996 * (1 - 2 * (rows % 2))), up(b, 5 - 3 * cols)
    yield "subnormal inputs", up(a, -1065), up(b, 500)
    yield "subnormal results", up(a, -530 - rows), up(b, -525 - cols)
    yield "results that vanish", up(a, -600), up(b, -600)
    yield "exponents", a * np.exp(0.5 * normal(5, a.shape)), b * np.exp(0.5 * normal(6, b.shape))


def unfit():
    """Name, A, B: products that need f64."""
    a, b = normal(1, (M, K)), normal(2, (K, N))
    for name, value in (("NaN", np.nan), ("Inf", np.inf), ("-Inf", -np.inf)):
        spoilt = b.copy()
        spoilt[7, 3] = value
        yield name, a, spoilt
    yield "one element far above", np.where(np.arange(M * K).reshape(M, K) == 77, 1e30, a), b
    yield "steep", a * 10.0 ** (np.arange(K) % 2 * 60 - 30), b


def exact(a, b):
    """A B and |A||B|, as fractions."""
    a = [[Fraction(x) for x in row] for row in a.tolist()]
    b = [[Fraction(x) for x in col] for col in b.T.tolist()]
    return [[(sum(x * y for x, y in zip(r, c)), sum(abs(x * y) for x, y in zip(r, c))) for c in b] for r in a]


def within(name, c, want, f):
    """The bound for all parts of C; WANT: as from `exact`."""
    for i, row in enumerate(want):
        for j, (sum_, size) in enumerate(row):
            part = c.view(float)[i, j]
            expect(abs(Fraction(part) - sum_) <= f * U * size + SUBNORMAL,
                   f"{name}: part {j} of row {i} of C is {part!r}, wanted {float(sum_)!r}, f {float(f)}")


def prepared(folder, a, b, dtype="f64"):
    elements.write(folder / "a.h5", a, dtype)
    elements.write(folder / "b.h5", b, dtype)


def multiply(folder, damier, ranks, *words, dtype="f64"):
    return multiply_files(folder, damier, ranks, (folder / "a.h5", folder / "b.h5"), *words, dtype=dtype)


def multiply_files(folder, damier, ranks, files, *words, dtype):
    """C and the record of the run."""
    report, out = folder / "report.json", folder / "c.h5"
    report.unlink(missing_ok=True)
    run(damier, ranks, "multiply", *files, "-o", out, "-q", "--force", "--json", report,
        "--allow-unchecked", *words)
    return elements.read_raw(out, dtype), records_of(report)[-1]


def real_of(a, b):
    """Real matrices with the product of A and B: rows hold real and imaginary parts side by side."""
    turned = np.empty((2 * b.shape[0], 2 * b.shape[1]))
    turned[::2], turned[1::2] = b.view(float), np.ascontiguousarray(1j * b).view(float)
    return a.view(float), turned


def complex_fitting():
    """Name, A, B: complex products."""
    rows, cols = np.arange(M)[:, None], np.arange(N)
    a, b = normal(1, (M, K)) + 1j * normal(2, (M, K)), normal(3, (K, N)) + 1j * normal(4, (K, N))
    yield "normal", a, b
    yield "cancelling", np.hstack([a, 1j * a]), np.vstack([b, 1j * b])
    yield "far apart", a * 2.0**(900 - 140 * rows), b * 2.0**(90 * cols - 900)
    yield "small imaginary parts", a.real + 0.01j * a.imag, b
    yield "whole numbers", np.rint(1e6 * a.real) + 1j * np.rint(1e6 * a.imag), np.rint(b.real) + 1j * np.rint(9 * b.imag)


def of_complex(folder, damier, name):
    """The bound for the parts of C, whose sums have twice as many products; then with ops, alpha and beta, which apply
    to rounded parts."""
    a, b = (np.ascontiguousarray(x) for x in next(case[1:] for case in complex_fitting() if case[0] == name))
    prepared(folder, a, b, "c128")
    want = exact(*real_of(a, b))
    first, record = multiply(folder, damier, 1, "--compute", "f64:int8", dtype="c128")
    f = Fraction(record["problem"]["factor"])
    if record["verification"]["verdict"] != "PASS" or record["problem"]["moduli"] < 16 or f > max(64, 2 * a.shape[1]):
        raise Failure(f"{name}: {record['verification']}, {record['problem']}")
    within(name, first, want, f)
    elements.write(folder / "a.h5", np.ascontiguousarray(a.conj().T), "c128")
    elements.write(folder / "b.h5", np.ascontiguousarray(b.T), "c128")
    words = ["--compute", "f64:int8", "--op-a", "c", "--op-b", "t"]
    turned, _ = multiply(folder, damier, 3, *words, "--grid", "1x1x3", dtype="c128")
    expect(turned.tobytes() == first.tobytes(), f"{name}: other bits of transposed matrices")
    elements.write(folder / "old.h5", first, "c128")
    scaled, _ = multiply(folder, damier, 2, *words, "--alpha", "2,-3", "--beta", "-1,0.5", "--c", folder / "old.h5",
                         dtype="c128")
    expected = (2 - 3j) * first + (-1 + 0.5j) * first
    expect(np.allclose(scaled, expected, rtol=1e-14, atol=0),
           f"{name}: alpha and beta give {abs(scaled - expected).max()} too much")


def keeps_promise(folder, damier, name):
    a, b = next(case[1:] for case in fitting() if case[0] == name)
    prepared(folder, a, b)
    for moduli in ("", ":17", ":20"):
        c, record = multiply(folder, damier, 1 + len(name) % 3, "--compute", f"f64:int8{moduli}")
        problem = record["problem"]
        expect(record["verification"]["verdict"] == "PASS" and problem.get("moduli") == int(moduli[1:] or 16),
               f"{name}: {record['verification']}, {problem}")
        f = Fraction(problem["factor"])
        expect(1 <= f <= max(64, K), f"{name}: f = {float(f)}")
        within(f"{name}, {moduli}", c, exact(a, b), f)


def wide():
    """Name, A, B, element type: products that need more moduli than 16, and fewer than 21."""
    a, b = normal(1, (M, K)), normal(2, (K, N))
    yield "exponents of 3", a * np.exp(3 * normal(5, a.shape)), b * np.exp(normal(6, b.shape)), "f64"
    yield "real numbers", a + 0j, b + 0j, "c128"


def takes_more(folder, damier, name):
    """The number of moduli satisfies the bound and is the same on every grid; a specified number is kept."""
    a, b, dtype = next(case[1:] for case in wide() if case[0] == name)
    prepared(folder, a, b, dtype)
    c, record = multiply(folder, damier, 1, "--compute", "f64:int8", dtype=dtype)
    problem, recipe = record["problem"], record["plan"]["recipe"]
    moduli = problem.get("moduli", 0)
    expect(16 < moduli <= 20 and "more_moduli" in problem and f" work=f64:int8:{moduli} " in recipe,
           f"{name}: {problem}, {recipe}")
    f = Fraction(problem["factor"])
    if record["verification"]["verdict"] != "PASS" or f > max(64, K * (2 if dtype == "c128" else 1)):
        raise Failure(f"{name}: {record['verification']}, {problem}")
    real = real_of(a, b) if dtype == "c128" else (a, b)
    within(name, c, exact(*real), f)
    for words in (["f64:int8", "--grid", "1x2x2"], [f"f64:int8:{moduli}"]):
        same, _ = multiply(folder, damier, 4, "--compute", *words, dtype=dtype)
        expect(same.tobytes() == c.tobytes(), f"{name}, {words}: other bits")
    _, stated = multiply(folder, damier, 1, "--compute", "f64:int8:16", dtype=dtype)
    expect("instead" in stated["problem"], f"{name}: 16 moduli were stated, {stated['problem']}")


def exact_residual(c, a, b):
    """C(i, j) - A(i, .) B(., j) and the sum of magnitudes, for rows of A and of B's transpose: products are split
    exactly, and math.fsum rounds once."""
    def halves(x):
        high = x * 134217729.0
        high = high - (high - x)
        return high, x - high

    product = a * b
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    rest = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return math.fsum(np.concatenate((product, rest, [-c]))), math.fsum(abs(product))


def deep_factors(kind, k):
    """Rows of A, rows of B's transpose."""
    a, b = normal(k, (5, k)), normal(k + 1, (4, k))
    return {"uniform": (RNG(1).random((5, k)), RNG(2).random((4, k))),
            "normal": (a, b),
            "cancelling": (np.hstack([a[:, : k // 2], -a[:, : k // 2]]), np.hstack([b[:, : k // 2], b[:, : k // 2]])),
            "far apart": (a * np.exp(0.7 * normal(3, a.shape)), b * np.exp(0.7 * normal(4, b.shape))),
            "offset": (1.0 + 1e-9 * a, 1.0 - 1e-9 * b),
            "falling": (a / np.arange(1.0, k + 1) ** 0.25, b / np.arange(k, 0.0, -1) ** 0.25)}[kind]


def deep(folder, damier, kind, k):
    """The bound for long sums; also in two layers, with the same bits."""
    a, b = deep_factors(kind, k)
    prepared(folder, a, b.T)
    c, record = multiply(folder, damier, 1, "--compute", "f64:int8")
    layered, _ = multiply(folder, damier, 2, "--compute", "f64:int8", "--grid", "1x1x2")
    f = record["problem"].get("factor", 0)
    expect(record["verification"]["verdict"] == "PASS" and 1 <= f <= k and c.tobytes() == layered.tobytes(),
           f"{kind}, k = {k}: {record['verification']}, {record['problem']}")
    for i, row in enumerate(a):
        for j, col in enumerate(b):
            error, size = exact_residual(c[i, j], row, col)
            expect(abs(error) <= f * 2.0**-53 * size * (1 + 1e-12),
                   f"{kind}, k = {k}: C({i}, {j}) is off by {error}, {error / size * 2.0**53} of f = {f}")


def in_f32(folder, damier):
    """The same bound for f32, in f64 with some slack."""
    a, b = (elements.rounded(normal(seed, shape), "f32") for seed, shape in ((1, (60, 500)), (2, (500, 70))))
    prepared(folder, a, b, "f32")
    want, size, first = a @ b, abs(a) @ abs(b), None
    for ranks, words in ((1, []), (4, ["--grid", "1x2x2", "--panel", 64]), (3, ["--grid", "3x1x1"]), (2, ["--reproducible"])):
        c, record = multiply(folder, damier, ranks, "--compute", "f32:int8", *words, dtype="f32")
        first = c.tobytes() if first is None else first
        used = (abs(c - want) / (record["problem"]["factor"] * 2.0**-24 * size * (1 + 1e-6))).max()
        expect(c.tobytes() == first and used <= 1 and record["problem"]["moduli"] == 9,
               f"{ranks} ranks, {words}: {used} of the bound, {record['problem']}")


def is_native(folder, damier, name):
    prepared(folder, *next(case[1:] for case in unfit() if case[0] == name))
    c, record = multiply(folder, damier, 1, "--compute", "f64:int8")
    expect("instead" in record["problem"] and "moduli" not in record["problem"], f"{name}: {record['problem']}")
    native, _ = multiply(folder, damier, 1, "--compute", "f64")
    expect(c.tobytes() == native.tobytes(), f"{name}: other bits than those of f64")


def any_cut(chosen):
    """Ranks and options of a run."""
    ranks = chosen.randint(1, 6)
    grid = [1, 1, 1]
    left = ranks
    for place in chosen.sample(range(3), 3):
        grid[place] = chosen.randint(1, left)
        left //= grid[place]
    words = ["--grid", "x".join(map(str, grid)), "--panel", str(64 * chosen.randint(1, 6))]
    if chosen.random() < 0.3:
        words += ["--no-overlap"]
    if chosen.random() < 0.15:
        ranks, words = chosen.randint(1, 5), ["--reproducible"]
    return ranks, words


def same_bits(folder, damier, seed, shape, cuts, dtype="f64"):
    m, n, k = shape
    mode = "f32:int8" if dtype in ("f32", "c64") else "f64:int8"
    a, b = normal(seed, (m, k)), normal(seed + 1, (k, n))
    if dtype[0] == "c":
        a, b = a + 1j * normal(seed + 3, a.shape), b + 1j * normal(seed + 4, b.shape)
    elements.write(folder / "a.h5", a * np.exp(0.5 * normal(seed + 2, a.shape)), dtype)
    elements.write(folder / "b.h5", b, dtype)
    first, _ = multiply(folder, damier, 1, "--compute", mode, dtype=dtype)
    chosen = random.Random(seed)
    for _ in range(cuts):
        ranks, words = any_cut(chosen)
        c, record = multiply(folder, damier, ranks, "--compute", mode, *words, dtype=dtype)
        expect(c.tobytes() == first.tobytes(),
               f"{shape}: {ranks} ranks, {words}: other bits, {record['plan']['recipe']}")


def little_memory(record, room):
    """Options that give ranks ROOM MiB for panels and the CPU's residues, in addition to the memory of the processes in
    RECORD."""
    process = record["memory"]["host_process_bytes"] >> 20
    if record["machine"]["backend"] == "cuda":  # panels are allocated temporarily, and cuBLAS has 64 MiB
        return ["--memory", f"host={process + room - 34}MiB,device={64 + room - 40}MiB"]
    return ["--memory", f"host={process + room}MiB"]


def as_op(values, op):
    return np.ascontiguousarray({"n": values, "t": values.T, "c": values.conj().T}[op])


def streamed(folder, damier, dtype, ops, layouts, ranks, grid, room):
    """A and B stay in their files and are read once or twice before the first product: the same bits as in memory."""
    m, n, k = (130, 120, 6000) if dtype[0] == "c" else (260 // ranks, 240 // ranks, 6000 * ranks**2)
    a, b = normal(60, (m, k)), normal(61, (k, n)) * np.exp(0.3 * normal(62, (k, n)))
    if dtype[0] == "c":
        a, b = a * (1 - 2j), b + 1j * normal(63, (k, n))
    mode = ["--compute", "f32:int8" if dtype == "f32" else "f64:int8", "--op-a", ops[0], "--op-b", ops[1]]
    for name, values, op, layout in (("a", a, ops[0], layouts[0]), ("b", b, ops[1], layouts[1])):
        elements.write(folder / f"{name}.{elements.suffix(layout)}", as_op(values, op), dtype, layout)
    files = [folder / f"{name}.{elements.suffix(layout)}" for name, layout in zip("ab", layouts)]
    first, record = multiply_files(folder, damier, ranks, files, *mode, dtype=dtype)
    memory = little_memory(record, room)
    c, record = multiply_files(folder, damier, ranks, files, *mode, *memory, *grid, dtype=dtype)
    plan, problem = record["plan"], record["problem"]
    expect("file" in (plan["a_in"], plan["b_in"]), f"nothing stays in its file: {plan}")
    expect("moduli" in problem and record["verification"]["verdict"] == "PASS", f"{problem}, {record['verification']}")
    expect(c.tobytes() == first.tobytes(), f"other bits, {plan['recipe']}")


def streamed_more(folder, damier):
    """More moduli, and products left to f64, when nothing stays in memory."""
    a, b = normal(70, (200, 6000)), normal(71, (6000, 210))
    prepared(folder, a, b * np.exp(1.5 * normal(72, b.shape)))
    first, record = multiply(folder, damier, 1, "--compute", "f64:int8")
    memory = little_memory(record, 57)
    c, record = multiply(folder, damier, 1, "--compute", "f64:int8", *memory)
    expect("more_moduli" in record["problem"] and "file" in (record["plan"]["a_in"], record["plan"]["b_in"]),
           f"{record['problem']}, {record['plan']}")
    expect(c.tobytes() == first.tobytes(), "other bits with more moduli")
    a[100, 3000] = np.nan
    prepared(folder, a, b)
    c, record = multiply(folder, damier, 1, "--compute", "f64:int8", *memory)
    off, rest = abs(c - a @ b), np.arange(len(a)) != 100  # the plan, and thus the bits of native products, depends on free memory
    expect("NaN" in record["problem"].get("instead", "") and np.isnan(c[100]).all(), f"with NaN: {record['problem']}")
    expect((off[rest] <= 2 * a.shape[1] * 2.0**-53 * (abs(a) @ abs(b))[rest]).all(),
           f"with NaN: off by {off[rest].max()}")


def main():
    chosen = options()
    cases = [(keeps_promise, case[0]) for case in fitting()] + [(is_native, case[0]) for case in unfit()]
    shapes = ((70, 60, 700), (131, 257, 512), (1, 300, 1030), (300, 1, 90), (64, 64, 64))
    cases += [(same_bits, 10 + i, s, how_many(chosen, 2, 3, 20)) for i, s in enumerate(shapes)]
    cases += [(takes_more, case[0]) for case in wide()]
    cases += [(of_complex, case[0]) for case in complex_fitting()]
    cases += [(same_bits, 20, (61, 75, 530), 3, "c128"), (same_bits, 21, (40, 131, 300), 2, "c64")]
    cases += [(streamed, *case) for case in
              (("f64", "nn", ("contiguous", "contiguous"), 1, [], 57),
               ("f64", "tn", ("deflate", "chunked"), 1, [], 57),
               ("f64", "nt", ("npy-fortran", "big-endian"), 2, ["--grid", "1x1x2"], 57),
               ("c128", "ct", ("contiguous", "chunked"), 1, [], 57),
               ("f32", "tt", ("contiguous", "contiguous"), 2, ["--grid", "2x1x1"], 53))]
    kinds = ("uniform", "normal", "cancelling", "far apart", "offset", "falling")
    if "emulated" in chosen.damier:  # the same arithmetic as without a device: only its ways of the data differ
        kept = {"normal", "NaN", "one element far above", 12, 20, "exponents of 3"}
        cases = [case for case in cases if case[0] is streamed or case[1] in kept]
        kinds = kinds[:1]
    cases += [(deep, kind, k) for kind in kinds for k in ((4097, 32768, 131072) if chosen.endurance else (4097, 131072) if chosen.long else (131072,))]
    run_cases(chosen.damier, cases + [(in_f32,), (streamed_more,)])


main()
