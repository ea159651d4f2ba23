"""tall: matrices with more rows of op(B), or of C, than the verification holds at a time (plan/buffers.h): products are NumPy's,
right ones pass, from files and arrays and on any ranks, and one wrong element is found."""
import h5py
import numpy as np
from running import expect, options, process_mib, run, run_cases

ROWS = 1_150_000  # more than two windows of 2^19 rows
ROWS_OF_C = 4_300_000  # many parts of 2^17 rows
FEW_PARTS = 300_007
FEW = 40


def write(folder, **matrices):
    with h5py.File(folder / "in.h5", "w") as file:
        for name, matrix in matrices.items():
            file[name] = matrix
    return {name: f"{folder}/in.h5:/{name}" for name in matrices}


def values(shape, dtype="f4", seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def product(folder):
    with h5py.File(folder / "c.h5") as file:
        return file["c"][()]


def check(folder, damier, ranks, want, words, *flags, unit=2.0 ** -23):
    run(damier, ranks, *words, "-o", folder / "c.h5", "--force", "-q", *flags)
    expect(np.abs(product(folder) - want).max() <= 40 * unit * np.abs(want).max(), f"{words}: other numbers than NumPy")


def spoil(folder):
    with h5py.File(folder / "c.h5", "r+") as file:
        file["c"][-1, 0] += np.abs(file["c"][()]).max() / 50


def plain(folder, damier, ranks, flags):
    x, y = values((ROWS, 3)), values((ROWS, 2), seed=2)
    at = write(folder, x=x, y=y)
    want = x.T.astype("f8") @ y
    words = ("multiply", at["x"], at["y"], "--op-a", "t")
    check(folder, damier, ranks, want, words, *[f.replace("LIMIT", str(process_mib(damier, ranks) + FEW)) for f in flags])
    verify = ("verify", at["x"], at["y"], folder / "c.h5", "--op-a", "t", "-q")
    run(damier, ranks, *verify)
    spoil(folder)
    run(damier, ranks, *verify, expect=1)


def wide(folder, damier):
    """k along the rows of A."""
    a, b = values((2, ROWS)), values((ROWS, 2), seed=2)
    at = write(folder, a=a, b=b)
    check(folder, damier, 1, a.astype("f8") @ b, ("multiply", at["a"], at["b"]))
    run(damier, 2, "verify", at["a"], at["b"], folder / "c.h5", "-q")


def batch(folder, damier, count, k):
    """Windows of several entries, or of parts of one."""
    a, b = values((count, 3, k), "f8"), values((count, k, 2), "f8", 2)
    at = write(folder, a=a, b=b)
    check(folder, damier, 1, np.matmul(a, b), ("multiply", at["a"], at["b"]), unit=2.0 ** -52)
    verify = ("verify", at["a"], at["b"], folder / "c.h5", "-q")
    run(damier, 1, *verify)
    with h5py.File(folder / "c.h5", "r+") as file:
        file["c"][count - 1, 1, 1] += 1000
    run(damier, 1, *verify, expect=1)


def rows_of_c(folder, damier, ranks, turned):
    """A rank has no room for sums of all rows."""
    a, b = values((ROWS_OF_C, 3)), values((3, 2), seed=2)
    at = write(folder, a=np.ascontiguousarray(a.T) if turned else a, b=b)
    op = ("--op-a", "t") if turned else ()
    limit = f"host={process_mib(damier, ranks) + 4 * FEW}MiB"
    check(folder, damier, ranks, a.astype("f8") @ b, ("multiply", at["a"], at["b"], *op), "--memory", limit)
    verify = ("verify", at["a"], at["b"], folder / "c.h5", *op)
    run(damier, ranks, *verify, "-q")
    with h5py.File(folder / "c.h5", "r+") as file:
        file["c"][ROWS_OF_C - 7, 1] += 3
        for name in [name for name in file["c"].attrs if name.startswith("damier_tiles")]:
            del file["c"].attrs[name]
    run(damier, ranks, *verify, "-q", expect=1)


def parts_of_rows(folder, damier, kind):
    """C is verified some rows at a time: with an old C, of complex and whole numbers, and entries of a batch that parts cut."""
    rng, lead = np.random.default_rng(3), (5,) if kind == "batch" else ()
    draw = lambda *shape: rng.integers(-9, 9, shape).astype("i1") if kind == "i8" else rng.standard_normal(shape)
    a, b, c = draw(*lead, FEW_PARTS, 3), draw(*lead, 3, 2), draw(FEW_PARTS, 2)
    a, b = (a * (1 + 2j), b * (2 - 1j)) if kind == "complex" else (a, b)
    at = write(folder, a=a, b=b, c=c)
    words = ("--c", at["c"], "--beta", "2") if kind == "beta" else ()
    want = np.matmul(a.astype("i4") if kind == "i8" else a, b) + (2 * c if kind == "beta" else 0)
    check(folder, damier, 1, want, ("multiply", at["a"], at["b"], *words), "--verify-files")
    verify = ("verify", at["a"], at["b"], folder / "c.h5", *words, "-q")
    run(damier, 1, *verify)
    with h5py.File(folder / "c.h5", "r+") as file:
        last = tuple(n - 1 for n in file["c"].shape)
        file["c"][last] = file["c"][last] + 50
    run(damier, 1, *verify, expect=1)


def scaled(folder, damier):
    """NaN in one column and exponents that have no squares: the matrices are scaled, window by window."""
    x = values((ROWS, 3), "f8")
    x[:, 1] *= 1e-200
    x[ROWS - 5, 2] = np.nan
    at = write(folder, x=x)
    run(damier, 1, "gram", at["x"], "-o", folder / "c.h5", "--force", "-q")
    c, want = product(folder), x.T @ x
    expect(np.isnan(c[2]).all() and np.isnan(c[:, 2]).all(), "NaN is lost")
    expect(abs(c[0, 0] / want[0, 0] - 1) < 1e-12 and abs(c[0, 1] / want[0, 1] - 1) < 1e-9, "other numbers than NumPy")
    with h5py.File(folder / "c.h5", "r+") as file:
        file["c"][0, 1] = file["c"][0, 1] + abs(want[0, 1]) * 1e-3
    run(damier, 1, "verify", at["x"], at["x"], folder / "c.h5", "--op-a", "c", "-q", expect=1)


run_cases(options().damier, [(plain, 1, ()), (plain, 1, ("--memory", "host=LIMITMiB")), (plain, 2, ()),
                             (plain, 3, ("--grid", "1x1x3")), (wide,), (batch, 2, 600_000), (batch, 700, 1000), (scaled,),
                             (rows_of_c, 1, False), (rows_of_c, 2, True),
                             *((parts_of_rows, kind) for kind in ("beta", "complex", "i8", "batch"))])
