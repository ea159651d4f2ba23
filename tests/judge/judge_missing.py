"""Missing values: NaN, those that attributes name and those that the user names are refused with their number and
place, or become what --missing says: zero, the mean, NaN as with NumPy, or they are left out pair by pair as with pandas."""
import os
import subprocess
import warnings

import elements
import h5py
import numpy as np
from running import command, ended, environment, expect, needs_own_memory, options, process_mib, records_of, run, run_cases

warnings.filterwarnings("ignore", "Mean of empty slice|Degrees of freedom|invalid value")
COMPLEX = ("c64", "c128")
# type, layout, ranks, part of the values that is missing, whether attributes name them, flags
CASES = [("f64", "contiguous", 1, 0.02, False, ""), ("f32", "chunked", 2, 0.1, False, ""),
         ("f64", "big-endian", 3, 0.3, True, ""), ("bf16", "contiguous", 1, 0.05, False, "--type f64"),
         ("c128", "chunked", 2, 0.1, False, ""), ("i16", "chunked", 1, 0.1, True, "--type f64"),
         ("i32", "contiguous", 1, 0.1, True, "--type f64"), ("f64", "npy-fortran", 1, 0.1, False, ""),
         ("f64", "contiguous", 8, 0.1, False, "--grid 2x2x2"), ("f32", "deflate", 1, 0.01, False, "--memory host=72MiB")]
SENTINEL = 77  # every type has it


def matrix(folder, case, seed):
    """A file with gaps, its values with NaN in them, and what names the gaps."""
    dtype, layout, _, part, named, _ = case
    rng = np.random.default_rng(seed)
    rows, cols = int(rng.integers(40, 400)), int(rng.integers(3, 60))
    x = elements.random(rng, (rows, cols), dtype, "normal")
    if dtype in elements.INTEGER:
        x[x == SENTINEL] = 0
    x = x + (x.dtype.type(20) if dtype not in elements.INTEGER else 0)
    gaps = rng.random((rows, cols)) < part
    gaps[:3] = False  # each column has a deviation
    whole = dtype in elements.INTEGER or named
    path = folder / f"x.{elements.suffix(layout)}"
    x = elements.write(path, np.where(gaps, SENTINEL if whole else np.nan, x), dtype, layout)
    if named:
        with h5py.File(path, "r+") as file:
            file["x"].attrs["_FillValue"] = np.array(SENTINEL, elements.STORED[dtype])
    x = x.astype(np.clongdouble if dtype in COMPLEX else np.longdouble)
    x[gaps] = np.nan
    return path, x


def standard(x, axis, scale):
    y = x - x.mean(axis, keepdims=True)
    return y / np.sqrt((np.abs(y) ** 2).sum(axis, keepdims=True) / (x.shape[axis] - 1)) if scale else y


def filled(x, axis, how):
    with np.errstate(all="ignore"):
        mean = np.nanmean(x, axis, keepdims=True)
    return np.where(np.isnan(x), 0 if how == "zero" else mean, x)


def covariance(x, axis, scale):
    y = standard(x, axis, scale)
    return (y.conj().T @ y if axis == 0 else y @ y.conj().T) / (x.shape[axis] - 1)


def of_pairs(x, scale):
    """pandas' DataFrame.cov(), or corr(min_periods=1)."""
    n = x.shape[1]
    c = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(n):
            both = ~np.isnan(x[:, i]) & ~np.isnan(x[:, j])
            a, b = x[both, i], x[both, j]
            a, b = a - a.mean(), b - b.mean()
            divisor = np.sqrt((a * a).sum() * (b * b).sum()) if scale else len(a) - 1
            c[i, j] = (a * b).sum() / divisor if divisor > 0 else np.nan
    return c


def read(path):
    with h5py.File(path) as file:
        return file["c"][:]


def near(c, want, case):
    unit = max(elements.unit("f64" if "f64" in case[5] or case[0] in elements.INTEGER else case[0]), 2.0**-53)
    expect(np.array_equal(np.isnan(c), np.isnan(want)), "NaN elsewhere")
    size = np.nanmax(np.abs(want), initial=1e-300)
    off = np.nanmax(np.abs(c - want), initial=0) / unit / size
    expect(off <= 2000, f"off by {off:.3g} units")


def covariances(folder, damier, case, verb, of, seed):
    path, x = matrix(folder, case, seed)
    ranks, flags = case[2], case[5].split()
    axis = 0 if of == "columns" else 1
    words = (verb, path, "-o", folder / "c.h5", "--of", of, "-q", "--force", "--threads", 1, *flags)
    count = int(np.isnan(x).sum())
    if count:
        row, col = np.argwhere(np.isnan(x))[0]
        told = run_told(damier, ranks, *words)
        how_many = "one of its values is" if count == 1 else f"{count} of its values are"
        expect(f"{how_many} missing; the first is in row {row}, column {col} " in told, told)
        expect(not (folder / "c.h5").exists() and not (folder / "c.h5.part").exists(), "something was written")
    for how in ("zero", "mean"):
        run(damier, ranks, *words, "--missing", how, "--json", folder / "record.json")
        near(read(folder / "c.h5"), covariance(filled(x, axis, how), axis, verb == "cor"), case)
        run(damier, 1 + seed % 2, "verify", path, path, folder / "c.h5", "-q")
        record = records_of(folder / "record.json")[-1]
        expect(how == "zero" or f"{count} missing values replaced" in record["files"]["a_centering"], "not counted")
    run(damier, ranks, *words, "--missing", "nan")
    with np.errstate(all="ignore"):
        near(read(folder / "c.h5"), covariance(x, axis, verb == "cor"), case)


def pairwise(folder, damier, case, seed):
    path, x = matrix(folder, case, seed)
    of = ("columns", "rows")[seed % 2 if case[1] != "npy-fortran" else 0]
    axis = 0 if of == "columns" else 1
    for verb in ("cov", "cor"):
        words = (verb, path, "-o", folder / "c.h5", "--of", of, "-q", "--force", "--missing", "pairwise", *case[5].split())
        if case[0] in COMPLEX:
            run(damier, 1, *words, expect=2)
            continue
        run(damier, case[2], *words)
        c = read(folder / "c.h5")
        near(c, of_pairs(x if axis == 0 else x.T, verb == "cor"), case)
        expect(np.array_equal(c, c.T, equal_nan=True), "not symmetric")
        expect(verb == "cov" or np.all((np.diag(c) == 1) | np.isnan(np.diag(c))), "the diagonal is not 1")
        expect(sorted(file.name for file in folder.iterdir()) == sorted(["c.h5", path.name]), "files are left")
        run(damier, 1 + seed % 3, "verify", path, path, folder / "c.h5", "-q")
        for wrong in (np.nan, c[0, 1] + 1e-3 * np.nanmax(np.abs(c))):
            with h5py.File(folder / "c.h5", "r+") as file:
                file["c"][0, 1] = wrong
            run(damier, 1, "verify", path, path, folder / "c.h5", "-q", expect=1)


def pairs_with_little(folder, damier):
    """Pairs with no observation, one, or constant ones."""
    rng = np.random.default_rng(12)
    x = rng.normal(size=(100, 12)) + 1e3
    x[rng.random(x.shape) < 0.3] = np.nan
    x[:, 3] = np.where(np.arange(100) < 50, 5, np.nan)
    x[:40, 4] = x[40:, 5] = x[:, 6] = x[1:, 7] = np.nan
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    for verb in ("cov", "cor"):
        run(damier, 2, verb, folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", "pairwise", "--chunk", "5x7")
        near(read(folder / "c.h5"), of_pairs(x, verb == "cor"), ("f64", "", 1, 0, False, ""))
        run(damier, 3, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    n = (~np.isnan(x)).T.astype(float) @ ~np.isnan(x)
    with np.errstate(all="ignore"):
        sums = np.where(n > 1, of_pairs(x, False) * (n - 1), np.where(n == 1, 0, np.nan))
    for divide, divisor in (("1", 1), ("n", n)):
        run(damier, 1, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", "pairwise", "--divide", divide)
        near(read(folder / "c.h5"), sums / np.maximum(divisor, 1), ("f64", "", 1, 0, False, ""))
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", "pairwise", "--divide", "n", "--alpha", -3)
    run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "verify", folder / "x.h5", folder / "c.h5", folder / "c.h5", "-q", expect=3)


def pairs_far_from_one(folder, damier):
    """Sums of squares of the products leave the range of f64, the products do not."""
    x = np.random.default_rng(13).normal(size=(90, 10))
    x[x > 1.5] = np.nan
    path, c = folder / "x.h5", folder / "c.h5"
    for exponent, verb in ((300, "cov"), (300, "cor"), (-300, "cov"), (-300, "cor")):
        power = 2.0 ** exponent
        with h5py.File(path, "w") as file:
            file["x"] = x * power
        run(damier, 2, verb, path, "-o", c, "-q", "--force", "--missing", "pairwise")
        got = read(c) / power / power if verb == "cov" else read(c)
        near(got, of_pairs(x, verb == "cor"), ("f64", "", 1, 0, False, ""))
        for ranks in (1, 3):
            run(damier, ranks, "verify", path, path, c, "-q")
        with h5py.File(c, "r+") as file:
            file["c"][0, 1] *= 1.001
        run(damier, 1, "verify", path, path, c, "-q", expect=1)


def run_told(damier, ranks, *words):
    done = ended(command(ranks, damier, *words))
    expect(done.returncode == 3, f"exit {done.returncode}: {done.stderr}")
    return done.stderr


def products(folder, damier, case, seed):
    """gram and multiply: NaN is a number like others, unless --missing is given."""
    path, x = matrix(folder, case, seed)
    flags = case[5].split()
    if np.iscomplexobj(x):
        return
    for how in ("zero", "mean"):
        y = filled(x, 0, how)
        run(damier, case[2], "gram", path, "-o", folder / "c.h5", "--force", "-q", "--missing", how, "--threads", 1, *flags)
        near(read(folder / "c.h5"), y.T @ y, case)
        run(damier, case[2], "multiply", path, path, "--op-b", "t", "-o", folder / "c.h5", "--force", "-q", "--missing", how, *flags)
        near(read(folder / "c.h5"), y @ y.T, case)
        run(damier, 1, "verify", path, path, folder / "c.h5", "-q")
    if np.isnan(x).any():
        expect("missing; the first is in row" in run_told(damier, case[2], "gram", path, "-o", folder / "d.h5", "--missing",
                                                          "refuse", *flags), "not refused")


def named_by_the_user(folder, damier):
    """--missing-value, exact for integers, ignored where the file names another."""
    rng = np.random.default_rng(8)
    big = 2**53 + 1
    for dtype, value in (("f8", -999.25), ("i4", -2147483648), ("i8", big), ("f4", 1e20), ("u1", 255), ("u8", 2**64 - 1)):
        x = rng.integers(0, 9, (60, 7)).astype(dtype)
        x[[3, 40], [2, 6]] = value
        with h5py.File(folder / "x.h5", "w") as file:
            file["x"] = x
        words = ("cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing-value", repr(value))
        told = run_told(damier, 1, *words)
        expect("2 of its values are missing; the first is in row 3, column 2 " in told, told)
        run(damier, 2, *words, "--missing", "mean")
        y = x.astype(float)
        y[[3, 40], [2, 6]] = np.nan
        want = np.cov(filled(y, 0, "mean"), rowvar=False)
        expect(np.allclose(read(folder / "c.h5"), want, rtol=1e-5 if dtype == "f4" else 1e-12), dtype)
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    with h5py.File(folder / "x.h5", "w") as file:  # C has the number, too, and not as a missing value
        file["x"] = [[1.0, 2], [3, 10]]
    run(damier, 1, "gram", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", "zero", "--missing-value", 10)
    expect(np.array_equal(read(folder / "c.h5"), [[10, 2], [2, 4]]), "other numbers")
    run(damier, 1, "verify", folder / "c.h5", "-q")
    run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "gram", folder / "c.h5", "-o", folder / "g.h5", "-q")
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.where(np.arange(30).reshape(10, 3) == 4, -1.0, np.arange(30.0).reshape(10, 3) ** 2)
        file["x"].attrs["_FillValue"] = -1.0
    told = run_told(damier, 1, "cov", folder / "x.h5", "-o", folder / "d.h5", "-q", "--missing-value", "9")
    expect("one of its values is missing; the first is in row 1, column 1 " in told, told)
    for wrong in ("", "1e999", "none"):
        run(damier, 1, "cov", folder / "x.h5", "-o", folder / "d.h5", "-q", "--missing-value", wrong, expect=2)
    run(damier, 1, "gram", folder / "x.h5", "-o", folder / "d.h5", "-q", "--missing", "pairwise", expect=2)
    for dtype, value in (("u1", "256"), ("u1", "-1"), ("i4", "0.5"), ("i4", "nan"), ("i8", "1e30"), ("f4", "1e300"), ("f2", "7e4"), ("c16", "-9")):
        with h5py.File(folder / "x.h5", "w") as file:
            file["x"] = np.ones((9, 3), dtype)
        told = run_told(damier, 1, "cov", folder / "x.h5", "-o", folder / "d.h5", "-q", "--missing", "mean", "--missing-value", value)
        expect("--missing-value" in told, told)
    expect(not list(folder.glob("d.h5*")), "something was written")


def of_the_old_c(folder, damier):
    """Missing values of an old C have no mean."""
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"], file["c"] = np.ones((4, 4)), np.full((4, 4), 3.0)
        file["c"][1, 2] = -9
        file["c"].attrs["_FillValue"] = -9.0
    words = ("multiply", f"{folder}/x.h5:/x", f"{folder}/x.h5:/x", "--beta", "1", "--c", f"{folder}/x.h5:/c", "-o", folder / "d.h5", "-q")
    for ranks in (1, 2):
        told = run_told(damier, ranks, *words, "--missing", "mean")
        expect("one of its values is missing; the first is in row 1, column 2 " in told, told)
    run(damier, 1, *words, "--missing", "zero")
    with h5py.File(folder / "d.h5") as file:
        expect(file["c"][1, 2] == 4 and file["c"][1, 1] == 7, "other numbers")


def types_of_pairs(folder, damier):
    """C of pairs has the type that other covariances have."""
    for dtype, words, wanted in (("f2", (), "f4"), ("f8", ("--type", "f32"), "f4"), ("i2", (), "f8"), ("f4", ("--type-c", "f64"), "f8")):
        with h5py.File(folder / "x.h5", "w") as file:
            file["x"] = np.arange(12).reshape(4, 3).astype(dtype)
        for more in ((), ("--missing", "pairwise")):
            run(damier, 1, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", *words, *more)
            expect(read(folder / "c.h5").dtype == wanted, f"{dtype} {words} {more}")


def whole_numbers(folder, damier):
    """Products of integers of which none is missing are exact, whatever --missing says."""
    rng = np.random.default_rng(4)
    x = rng.integers(-9, 9, (70, 40))
    for dtype, value in (("i1", -100), ("i4", -2147483648)):
        with h5py.File(folder / "x.h5", "w") as file:
            file["x"] = x.astype(dtype)
            file["x"].attrs["_FillValue"] = np.array(value, dtype)
        for how in ("refuse", "zero", "mean"):
            run(damier, 2, "gram", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", how,
                *(("--type", "f64") if dtype == "i4" else ()))
            expect(np.array_equal(read(folder / "c.h5"), x.T @ x), f"{dtype} {how}")


def gaps(folder, damier):
    """Columns that begin with gaps, have one value, or none at all; Inf is no gap."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3000, 9)) + 1e8
    x[:700, 0] = x[:, 3] = x[1:, 4] = x[-1, 5] = np.nan
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    words = ("cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--allow-unchecked")
    for ranks in (1, 3):
        run(damier, ranks, *words, "--missing", "mean")
        with np.errstate(all="ignore"):
            want = np.cov(filled(x, 0, "mean"), rowvar=False)
        c = read(folder / "c.h5")
        expect(np.array_equal(np.isnan(c), np.isnan(want)) and np.allclose(c, want, rtol=1e-6, atol=1e-9, equal_nan=True),
               "other numbers")
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.where(np.arange(27000).reshape(3000, 9) == 13, np.inf, rng.normal(size=(3000, 9)))
    run(damier, 1, *words)
    c = read(folder / "c.h5")
    expect(np.isnan(c[4]).all() and np.isfinite(np.delete(np.delete(c, 4, 0), 4, 1)).all(), "Inf is a missing value")


def memory_of_pairs(folder, damier):
    """C and its products lie in files: what a rank holds of them keeps to its limit."""
    needs_own_memory()
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.random.default_rng(2).normal(size=(40, 1500))
    limit, libraries = process_mib(damier) + 24, 40
    words = command(1, damier, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--missing", "pairwise", "--read-by", "pread",
                    "--memory", f"host={limit}MiB")
    with subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL) as job:
        _, status, used = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
    expect(job.returncode == 0, f"exit {job.returncode}")
    expect(used.ru_maxrss >> 10 <= limit + libraries, f"took {used.ru_maxrss >> 10} MiB of {limit} and {libraries}")


run_cases(options().damier, [(covariances, case, ("cov", "cor")[seed % 2], ("columns", "rows")[seed % 3 == 2], seed)
                             for seed, case in enumerate(CASES)]
          + [(products, case, seed) for seed, case in enumerate(CASES) if seed % 2 == 0]
          + [(pairwise, case, seed) for seed, case in enumerate(CASES)]
          + [(pairs_with_little,), (pairs_far_from_one,), (named_by_the_user,), (whole_numbers,), (of_the_old_c,), (types_of_pairs,),
             (gaps,), (memory_of_pairs,)])
