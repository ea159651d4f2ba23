"""verify: a correct C passes; a flipped bit, a lost, doubled or swapped part, and a lost beta fail. Neither errors prepared
for a known random vector nor forged attributes of C pass."""
import h5py
import numpy as np

import elements
from running import Failure, options, records_of, run, run_cases

M, N, K, PANEL = 130, 140, 192, 64
ALPHA, BETA = 2, -3
# Type of A and B, type of C.
TYPES = [("f64", "f64"), ("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("c64", "c64"),
         ("c128", "c128"), ("i8", "i32"), ("bf16", "bf16"), ("f16", "f16"), ("f64", "f32")]
EXPONENT = {"f64": (52, 62), "f32": (23, 30), "f16": (10, 14), "bf16": (7, 14), "c64": (23, 30),
            "c128": (52, 62), "i32": (0, 30)}  # lowest and highest bit to flip; any bit of an integer


def product(a, b, dtype):
    """A B as computed by a careful program of that type."""
    narrow = {"c64": np.complex64}.get(dtype, np.float32 if dtype in ("f32", "f16", "bf16") else None)
    if narrow:
        return (a.astype(narrow) @ b.astype(narrow)).astype(elements.wide(dtype))
    return a @ b


def flipped(c, dtype, bit):
    """C with one bit of an element of ordinary size flipped."""
    raw = elements.stored(c, dtype)
    usual = np.sqrt(np.mean(abs(c.astype(complex)) ** 2))
    at = int(np.argmin(abs(abs(c.real) - usual)))
    words = raw.reshape(-1).view({2: "u2", 4: "u4", 8: "u8"}[
        raw.dtype.itemsize // (2 if dtype in elements.COMPLEX else 1)])
    words[at * (2 if dtype in elements.COMPLEX else 1)] ^= words.dtype.type(1 << bit)
    return raw


def faults(a, b, old, dtype, c_type):
    """Name, elements of C, exit code."""
    right = ALPHA * product(a, b, dtype) + BETA * old
    panel = ALPHA * product(a[:, PANEL:2 * PANEL], b[PANEL:2 * PANEL], dtype)
    swapped, holed = right.copy(), right.copy()
    swapped[:64, :64], swapped[64:128, :64] = right[64:128, :64], right[:64, :64]
    low, high = EXPONENT[c_type]
    yield "right", elements.stored(right, c_type), 0
    yield "lowest exponent bit", flipped(right, c_type, low), 1
    yield "highest exponent bit", flipped(right, c_type, high), 1
    yield "panel missing", elements.stored(right - panel, c_type), 1
    yield "panel twice", elements.stored(right + panel, c_type), 1
    yield "tiles swapped", elements.stored(swapped, c_type), 1
    yield "beta ignored", elements.stored(right - BETA * old, c_type), 1
    if dtype != "i8":
        holed[17, 3] = np.nan
        yield "NaN in C", elements.stored(holed, c_type), 1


def expect(damier, folder, name, code, *words, ranks=1):
    try:
        out = run(damier, ranks, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q",
                  *words, expect=code)
    except Failure as reason:
        raise Failure(f"{name}: {reason}") from None
    if out.split()[-1] != {0: "PASS", 1: "FAIL", 10: "PARTIAL"}[code]:
        raise Failure(f"{name}: the last line is {out!r}")


def inputs(folder, dtype, old_type):
    rng = np.random.default_rng(3)
    a = elements.write(folder / "a.h5", elements.random(rng, (M, K), dtype), dtype)
    b = elements.write(folder / "b.h5", elements.random(rng, (K, N), dtype), dtype)
    return a, b, elements.write(folder / "old.h5", elements.random(rng, (M, N), old_type), old_type)


def one_type(folder, damier, dtype, c_type, full):
    a, b, old = inputs(folder, dtype, c_type)
    words = ["--alpha", ALPHA, "--beta", BETA, "--c", folder / "old.h5"] + ["--full"] * full
    made = False
    for i, (name, raw, code) in enumerate(faults(a, b, old, dtype, c_type)):
        if not made:
            elements.write(folder / "c.h5", np.zeros((M, N)), c_type)
            made = True
        elements.overwrite(folder / "c.h5", raw, "x")
        expect(damier, folder, f"{dtype} to {c_type}, {name}", code, *words, ranks=1 + 2 * (i == 3))


def by_provenance(folder, damier, dtype, c_type):
    """No options: scalars and ops come from the attributes that multiply wrote to C."""
    a, b, old = inputs(folder, dtype, c_type)
    elements.write(folder / "a.h5", a.T, dtype)
    run(damier, 2, "multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--op-a",
        "t", "--alpha", ALPHA, "--beta", BETA, "--c", folder / "old.h5", "-q")
    expect(damier, folder, f"{dtype} as multiplied", 0)
    c = elements.exact(elements.read_raw(folder / "c.h5", c_type), c_type)
    largest = np.unravel_index(np.argmax(abs(c)), c.shape)
    c[largest] += 1 if dtype == "i8" else c[largest] * 2.0**-18  # far below the bound, but the norm
    elements.overwrite(folder / "c.h5", elements.stored(c, c_type))
    expect(damier, folder, f"{dtype} with one element changed a little", 1)
    elements.overwrite(folder / "c.h5", elements.stored(ALPHA * product(a, b, dtype), c_type))
    expect(damier, folder, f"{dtype} without beta", 1)


def mix(x):
    """As dm_mix of core/element.h."""
    mask = 2**64 - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return x ^ (x >> 31)


def weight(seed, b, j):
    """w_j of check/freivalds.h for a real B."""
    bits = mix(mix(mix(mix(seed)) + j))
    size = 1 + (bits % 2**52) * 2.0**-52
    return (-size if bits >> 63 else size) / np.linalg.norm(b[:, j])


def prepared(folder, damier, dtype, c_type):
    """Errors that are orthogonal to the random vector of a known seed pass only with that seed."""
    seed = 0x64616D69
    a, b, _ = inputs(folder, dtype, c_type)
    c = product(a, b, dtype)
    for row in range(0, M, 7):
        c[row, 3] += 1
        c[row, 4] -= weight(seed, b, 3) / weight(seed, b, 4)
    elements.write(folder / "c.h5", c, c_type)
    report = folder / "report.json"
    for text in (seed, hex(seed)):
        expect(damier, folder, "errors orthogonal to w", 0, "--verify-seed", text, "--json", report)
    found = records_of(report)[-1]["verification"]
    if found["seed"] != f"0x{seed:016x}" or found["equation"] != f"C = A B in {dtype}":
        raise Failure(f"the record states {found}")
    for ranks in (1, 2, 1):
        expect(damier, folder, "errors orthogonal to a w of another seed", 1, ranks=ranks)
    expect(damier, folder, "the next seed", 1, "--verify-seed", seed + 1)


def forged(folder, damier, dtype, c_type):
    """Attributes that anybody can write do not widen the tolerance, and the line states their equation."""
    a, b, _ = inputs(folder, dtype, c_type)
    right = product(a, b, dtype)
    rough = right * (1 + 2.0**-9 * np.random.default_rng(5).standard_normal(right.shape))
    for name, claims, c, code, words in (
            ("TF32", {"compute": "tf32"}, rough, 1, ()), ("TF32, as the user states", {"compute": "tf32"}, rough, 0,
                                                           ("--compute", "tf32")),
            ("f16", {"type": "f16"}, rough, 1, ()), ("bf16", {"type": "bf16", "backend": "cuda"}, rough, 1, ()),
            ("f64:int8 of few moduli", {"compute": f"{dtype}:int8:8"}, rough, 1, ()),
            ("alpha, stated otherwise", {"alpha": "3"}, 3 * right, 1, ("--alpha", 1)),
            ("alpha", {"alpha": "3"}, 3 * right, 0, ())):
        elements.write(folder / "c.h5", c, c_type)
        with h5py.File(folder / "c.h5", "r+") as file:
            file["x"].attrs.update({"backend": "cpu"} | claims)
        report = folder / "report.json"
        expect(damier, folder, name, code, *words, "--json", report)
        equation = records_of(report)[-1]["verification"]["equation"]
        if name == "alpha" and equation != f"C = 3 A B (as C's attributes state) in {dtype}":
            raise Failure(f"{name}: {equation}")


def left_out(folder, damier, dtype, c_type):
    """Rows of A and columns of B with NaN or Inf are compared by pattern, and hide no error elsewhere."""
    a, b, old = inputs(folder, dtype, c_type)
    a[5, 0], a[9, 100], b[3, 8] = np.nan, np.inf, -np.inf
    elements.write(folder / "a.h5", a, dtype)
    elements.write(folder / "b.h5", b, dtype)
    with np.errstate(invalid="ignore"):
        c = product(a, b, dtype)
    elements.write(folder / "c.h5", c, c_type)
    report = folder / "report.json"
    expect(damier, folder, f"{dtype} with NaN and Inf", 0, "--json", report)
    found = records_of(report)[-1]["verification"]
    if (found["rows_by_pattern"], found["cols_by_pattern"], found["rows_left_out"]) != (2, 1, 0):
        raise Failure(f"{dtype}: left out {found}")
    c[5, 7] = 1  # must be NaN, unless it is multiplied by zero
    elements.write(folder / "c.h5", c, c_type)
    expect(damier, folder, f"{dtype}, a number where NaN must be", 10)
    c[5, 7] = np.nan
    c[20, 7] += 5  # as large as the elements
    elements.write(folder / "c.h5", c, c_type)
    expect(damier, folder, f"{dtype}, error beside NaN", 1)


def alike(folder, damier, *_):
    """The same error in two columns of equal norm: with equal weights the errors would cancel."""
    elements.write(folder / "a.h5", np.eye(9), "f64")
    elements.write(folder / "b.h5", np.ones((9, 5)), "f64")
    for one in range(5):
        for other in range(one):
            for error in (1, -1):
                c = np.ones((9, 5))
                c[4, one], c[4, other] = 2, 1 + error
                elements.write(folder / "c.h5", c, "f64")
                expect(damier, folder, f"columns {other} and {one}", 1)


CUT_OFF = 8e-4


def sums(folder, damier, dtype, pieces):
    """C says that 16-bit products were summed in f32, and is judged by the narrower bound for that; what is kept of it says
    so, too."""
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0.5, 1.5, (40, 16 * pieces)), rng.uniform(0.5, 1.5, (16 * pieces, 30))
    elements.write(folder / "a.h5", a, dtype, "contiguous")
    elements.write(folder / "b.h5", b, dtype, "contiguous")
    words = [folder / "a.h5", folder / "b.h5"]
    for more in ((), ("--reduce", "max")):
        residuals = {}
        for name in ("f32", "fast", "auto"):
            path = folder / f"{name}{len(more)}.h5"
            run(damier, 1, "multiply", *words, "--accumulate", name, "--type-c", "f32", *more, "-o", path, "-q")
            out = run(damier, 1, "verify", *words, path, "-q", "--verify-seed", 7)
            residuals[name] = float(out.split("residual=")[1].split()[0])
            with h5py.File(path) as file:
                said = file["c"].attrs.get("accumulate")
            told = (said.decode() if isinstance(said, bytes) else said) == "f32"
            if told != (name == "f32"):
                raise Failure(f"{name} {more}: C says {said}")
        if not more and residuals["f32"] < 2 * residuals["fast"]:
            raise Failure(f"judged by the same bound: {residuals}")
    for path, code in (("fast", 0), ("f32", 1)):
        with h5py.File(folder / "cut.h5", "w") as file:
            file["c"] = (elements.rounded(a, dtype) @ elements.rounded(b, dtype) * (1 - CUT_OFF)).astype("f4")
            if path == "f32":
                file["c"].attrs["accumulate"] = path
        run(damier, 1, "verify", *words, folder / "cut.h5", "-q", "--verify-seed", 7, expect=code)


def main():
    chosen = options()
    floats = [t for t in TYPES if t[0] != "i8"]
    cases = [(one_type, *t, False) for t in TYPES] + [(by_provenance, *t) for t in TYPES[:7]]
    cases += [(alike, "f64", "f64"), (prepared, "f64", "f64"), (forged, "f32", "f32"), (forged, "f64", "f64")]
    cases += [(sums, "f16", 1536), (sums, "bf16", 3072)]
    cases += [(left_out, *t) for t in (floats if chosen.long else floats[:6])]
    if chosen.long:
        cases += [(one_type, *t, True) for t in TYPES]
    run_cases(chosen.damier, cases)


main()
