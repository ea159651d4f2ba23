"""exponents: elements far from 1, all or some, are verified like others: correct products pass completely, and an error
in an element of ordinary size is found; products that cannot be verified have their own exit code."""
import numpy as np

import elements
from running import command, ended, expect, options, records_of, run, run_cases

M, N, K = 60, 100, 70


def steep(power):
    """Columns of A and rows of B whose products have similar magnitudes."""
    return 10.0 ** np.where(np.arange(K) % 2, power, -power)


def data():
    """Name, type of A and B, type of C, factors for A, B and the old C."""
    rows, cols = np.arange(M)[:, None], np.arange(N)
    yield "both huge", "f64", "", 1e150, 1e150, 0
    yield "A huge", "f64", "", 1e160, 1, 0
    yield "B huge", "f64", "", 1, 1e160, 0
    yield "one up, one down", "f64", "", 1e200, 1e-200, 0
    yield "both tiny", "f64", "", 1e-155, 1e-155, 0
    yield "subnormal", "f64", "", 1e-162, 1e-158, 0
    yield "some rows and columns", "f64", "", 10.0 ** (300 * (rows % 3 - 1.0)), 10.0 ** -(5.0 * (cols % 3)), 0
    yield "complex", "c128", "", 1e170, 1e-190, 0
    yield "old C huge", "f64", "", 1e100, 1, 1e200
    yield "old C tiny", "f64", "", 1e-200, 1, 1e-200
    for power in (2, 4, 8):
        yield f"steep within, 1e{power}", "f32", "", steep(power), 1 / steep(power)[:, None], 0
    yield "steep within, 1e170", "f64", "", steep(170), 1 / steep(170)[:, None], 0
    yield "one huge element", "f64", "", np.where((rows == 3) & (np.arange(K) == 5), 1e300, 1.0), np.eye(K, N), 0
    yield "f16 of few bits", "f32", "f16", 1e-3, 1e-3, 0
    yield "f32 of few bits", "f64", "f32", 1e-20, 1e-20, 0


def changed(c, row, col):
    c = np.array(c)
    usual = np.sqrt(np.mean(np.abs(c[row] / np.abs(c[row]).max()) ** 2)) * np.abs(c[row]).max()
    c[row, col] += 3 * usual
    return c


def try_one(folder, damier, name, dtype, c_type, up_a, up_b, up_old):
    rng = np.random.default_rng(5)
    elements.write(folder / "a.h5", elements.random(rng, (M, K), dtype, "normal") * up_a, dtype)
    elements.write(folder / "b.h5", elements.random(rng, (K, N), dtype, "normal") * up_b, dtype)
    words = ["--type-c", c_type] if c_type else []
    if up_old:
        elements.write(folder / "old.h5", elements.random(rng, (M, N), dtype, "normal") * up_old, dtype)
        words += ["--c", folder / "old.h5", "--beta", 1]
    report = folder / "report.json"
    inputs = (folder / "a.h5", folder / "b.h5")
    out = run(damier, 1 + len(name) % 2, "multiply", *inputs, "-o", folder / "c.h5", "-q", "--json", report, *words)
    found = records_of(report)[-1]["verification"]
    expect(out.split()[-1] == "PASS" and found["part"] == 1, f"{name}: {out}, {found}")
    run(damier, 1, "verify", *inputs, folder / "c.h5", "-q")
    kind = c_type or dtype
    right = elements.exact(elements.read_raw(folder / "c.h5", kind), kind)
    for row in (7, 30, 59):
        elements.overwrite(folder / "c.h5", elements.stored(changed(right, row, 11), kind))
        run(damier, 1, "verify", *inputs, folder / "c.h5", "-q", expect=1)


def unchecked(folder, damier):
    """A row that overflows in C's type, and an old C with NaN."""
    rng = np.random.default_rng(6)
    a = elements.random(rng, (M, K), "f64", "normal")
    a[5] *= 1e20
    elements.write(folder / "a.h5", a, "f64")
    elements.write(folder / "b.h5", elements.random(rng, (K, N), "f64", "normal"), "f64")
    report, out = folder / "report.json", folder / "c.h5"
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", out, "--force", "-q", "--json", report)
    for more, code in (((), 10), (("--allow-unchecked",), 0)):
        text = run(damier, 1, *words, "--type-c", "f16", *more, expect=code)
        found = records_of(report)[-1]["verification"]
        expect(text.split()[-1] == "PARTIAL" and found["rows_left_out"] == 1 and 0.98 < found["part"] < 0.99,
               f"{text}, {found}")
        said = run(damier, 1, "info", out)
        expect("PARTIAL" in said, f"provenance: {said}")
    run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", out, "-q", expect=10)
    elements.write(folder / "old.h5", np.full((M, N), np.nan), "f64")
    text = run(damier, 1, *words, "--c", folder / "old.h5", "--beta", 1, expect=10)
    expect(text.split()[-1] == "UNCHECKED", text)


def overflow_before_alpha(folder, damier):
    """A B overflows in one row, alpha A B would not: no false FAIL, and the warning says why. Without overflow an Inf is wrong."""
    rng = np.random.default_rng(7)
    a, b, out = folder / "a.h5", folder / "b.h5", folder / "c.h5"
    values = elements.random(rng, (M, K), "f64", "normal")
    values[5] *= 1e200
    elements.write(b, elements.random(rng, (K, N), "f64", "normal") * 1e150, "f64")
    elements.write(a, values, "f64")
    words = ("-q", "--alpha", "1e-120")
    for ranks in (1, 3):
        done = ended(command(ranks, damier, "multiply", a, b, "-o", out, "--force", *words))
        expect(done.returncode == 10 and "1 row with" in done.stderr and "A B overflows before alpha" in done.stderr, done.stderr)
    run(damier, 1, "verify", a, b, out, *words, expect=10)
    c = elements.read_raw(out, "f64")
    expect(not np.isfinite(c[5]).any() and np.isfinite(np.delete(c, 5, 0)).all(), "other rows")
    values[5] /= 1e200
    elements.write(a, values, "f64")
    run(damier, 1, "multiply", a, b, "-o", out, "--force", *words)
    c = elements.read_raw(out, "f64")
    c[9, 3] = np.inf
    elements.overwrite(out, c)
    run(damier, 1, "verify", a, b, out, *words, expect=1)


run_cases(options().damier, [(try_one, *d) for d in data()] + [(unchecked,), (overflow_before_alpha,)])
