"""--metric: C and what is kept of it are those of NumPy, at any scale, of any type; the diagonal of cosines is 1, nothing is
beyond 1, rows of zeros are NaN; distances of equal and nearly equal lines lose no digits; the results verify; refusals."""
import elements
import h5py
import numpy as np
from running import expect, options, process_mib, run, run_cases


def cosines(x, y):
    """Rows are scaled before their norm is taken."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (z / np.abs(z).max(1, keepdims=True) for z in (x.astype(np.longdouble), y.astype(np.longdouble)))
        x, y = (z / np.sqrt((z * z).sum(1, keepdims=True)) for z in (x, y))
    return (x @ y.T).astype(float)


def lines(rng, count, dtype):
    x = rng.normal(size=(count, 25)) if dtype in ("f64", "f32", "f16", "bf16") else rng.integers(-5, 6, size=(count, 25))
    x[3] = 0
    x[5] = x[4]
    x[6] = -2 * x[4]
    if dtype == "f64":
        x[7], x[8] = x[7] * 1e200, x[8] * 1e-170
    return x


def cosine(folder, damier, dtype, verb, turned, ranks):
    rng = np.random.default_rng(4)
    names = {}
    for name, count in (("a", 60), ("b", 47)):
        x = lines(rng, count, dtype)
        written = elements.write(folder / f"{name}.h5", x.T if turned else x, dtype, "contiguous")
        names[name] = written.T if turned else written
    a, b = names["a"], names["a" if verb == "gram" else "b"]
    c = cosines(a, b)
    words = [folder / "a.h5"] if verb == "gram" else [folder / "a.h5", folder / "b.h5"]
    ops = ["--of", "columns" if turned else "rows"] if verb == "gram" else ["--op-a", "t" if turned else "n", "--op-b", "n" if turned else "t"]
    run(damier, ranks, verb, *words, *ops, "--metric", "cosine", "-o", folder / "c.h5", "-q")
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][:].astype(float)
    unit = {"f64": 2.0**-50, "f32": 2.0**-21, "f16": 2.0**-10, "bf16": 2.0**-7}.get(dtype, 2.0**-50)
    expect((np.isnan(got) == np.isnan(c)).all() and np.nanmax(np.abs(got - c)) <= unit, f"off by {np.nanmax(np.abs(got - c))}")
    expect(np.nanmax(np.abs(got)) <= 1, "beyond 1")
    if verb == "gram":
        expect((np.delete(np.diag(got), 3) == 1).all() and np.array_equal(got, got.T, equal_nan=True), "not 1 on the diagonal, or not symmetric")
    out = run(damier, ranks, verb, *words, *ops, "--metric", "cosine", "--top", 4, "-o", folder / "r.h5", "-q")
    expect(f" nan={np.isnan(c).sum()} " in out, out)
    with h5py.File(folder / "r.h5") as file:
        values, indices = file["c/values"][:].astype(float), file["c/indices"][:]
    expect((indices[3] == -1).all() and np.isnan(values[3]).all(), "a row of zeros has neighbours")
    best = -np.sort(-np.where(np.isnan(c), -9, c), axis=1)[:, :4]
    keep = np.arange(len(c)) != 3
    expect((np.abs(values - best)[keep] <= 2 * unit).all(), "not the nearest")
    for name in ("c.h5", "r.h5"):
        said = run(damier, 2, "verify", words[0], words[-1], folder / name, "-q")
        expect(said.rstrip().endswith("PASS"), said)


def in_tiles(folder, damier):
    """Lengths are those of whole lines, of both sides of a tile."""
    x = np.random.default_rng(5).normal(size=(3000, 20)).astype("f4") * 100
    np.save(folder / "x.npy", x)
    memory = f"host={process_mib(damier) + 12}MiB"
    out = run(damier, 1, "gram", folder / "x.npy", "--of", "rows", "--metric", "cosine", "--no-self", "--reduce", "max", "-o",
              folder / "r.h5", "--memory", memory, "-q")
    expect(int(out.split(" tiles=")[1].split()[0]) > 3, out)
    c = cosines(x, x)
    np.fill_diagonal(c, -1)
    with h5py.File(folder / "r.h5") as file:
        expect(np.abs(file["c/max"][:] - c.max(1)).max() < 1e-6, "another maximum")


GAMMA = 0.25
OF_SQUARES = {"euclidean": np.sqrt, "sqeuclidean": lambda d: d, f"rbf:{GAMMA}": lambda d: np.exp(-GAMMA * d)}


def squares(x, y):
    """Of the distances of rows, from their differences."""
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(2)


def expect_distances(got, x, y, metric, unit):
    """UNIT: relative, of the sum of squares and of C's rounding."""
    d = squares(x, y)
    wanted, more = OF_SQUARES[metric](d), OF_SQUARES[metric](d * (1 - unit))
    expect((np.isnan(got) == np.isnan(wanted)).all(), "NaN elsewhere")
    off = np.abs(got - wanted) - np.abs(more - wanted) - unit * np.abs(wanted)
    expect(not (off > 0).any(), f"{metric}: off by {np.nanmax(off)}")


def near_lines(rng, count, dtype, first):
    """Far from 0; some are equal or nearly equal, also to lines of another matrix with the same FIRST."""
    if dtype in ("i8", "i32"):
        x = rng.integers(-50, 51, size=(count, 25))
        x[1] = np.round(first - 100)
    else:
        x = rng.normal(size=(count, 25)) + (0 if dtype in ("f16", "bf16") else 100)
        x[:8] = first * (1 + np.arange(8)[:, None] * 1e-13)
        x[9] = x[8] + np.where(np.arange(25) == 3, 1e-6, 0)
    x[2] = x[1]
    return x


def distances(folder, damier, dtype, verb, turned, ranks, metric):
    rng = np.random.default_rng(11)
    first, stored = rng.normal(size=25) + 100, {}
    if dtype in ("f16", "bf16"):
        first -= 100
    for name, count in (("a", 61), ("b", 47)):
        x = near_lines(rng, count, dtype, first)
        written = elements.write(folder / f"{name}.h5", x.T if turned else x, dtype, "contiguous")
        stored[name] = written.T if turned else written
    a, b = stored["a"], stored["a" if verb == "gram" else "b"]
    words = [folder / "a.h5"] if verb == "gram" else [folder / "a.h5", folder / "b.h5"]
    ops = ["--of", "columns" if turned else "rows"] if verb == "gram" else ["--op-a", "t" if turned else "n", "--op-b", "n" if turned else "t"]
    run(damier, ranks, verb, *words, *ops, "--metric", metric, "-o", folder / "c.h5", "-q")
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][:]
    expect(got.dtype == "f8", f"{got.dtype}")
    expect_distances(got, a, b, metric, 2.0**-40)
    same = 1 if metric.startswith("rbf") else 0
    if verb == "gram":
        expect((np.diag(got) == same).all() and (got == got.T).all(), "the diagonal, or not symmetric")
    expect(got[1, 2] == same, "equal lines")
    out = run(damier, ranks, verb, *words, *ops, "--metric", metric, "--top", 4, *(("--by", "smallest") if same else ()), "-o", folder / "r.h5", "-q")
    with h5py.File(folder / "r.h5") as file:
        values, indices = file["c/values"][:], file["c/indices"][:]
    expect((np.take_along_axis(got, indices, 1) == values).all(), f"other values: {out}")
    expect((np.argsort(got, axis=1, kind="stable")[:, :4] == indices).all(), "not the nearest")
    run(damier, ranks, verb, *words, *ops, "--metric", metric, "--top", 4, "--by", "value", "-o", folder / "far.h5", "-q")
    with h5py.File(folder / "far.h5") as file:
        expect((np.argsort(-got, axis=1, kind="stable")[:, :4] == file["c/indices"][:]).all(), "not the farthest")
    for name in ("c.h5", "r.h5", "far.h5"):
        said = run(damier, 2, "verify", words[0], words[-1], folder / name, "-q")
        expect(said.rstrip().endswith("PASS"), said)


def distance_forms(folder, damier):
    """In chunks, as .npy, in another type; of lines in tiles; a wrong element is found."""
    x = np.random.default_rng(12).normal(size=(1700, 7)).astype("f4")
    x[1000:1400] = x[:400]  # many close pairs
    x[1100:1300] += np.float32(1e-7)
    np.save(folder / "x.npy", x)
    words = ["gram", folder / "x.npy", "--of", "rows", "--metric", "euclidean", "--memory", f"host={process_mib(damier) + 12}MiB"]
    wanted = np.sqrt(squares(x, x)).astype(float)
    out = run(damier, 1, *words, "-o", folder / "c.npy", "-q")
    expect(int(out.split(" tiles=")[1].split()[0]) > 1, out)
    got = np.load(folder / "c.npy")
    expect((np.abs(got - wanted) <= 2.0**-40 * wanted).all() and (got == got.T).all(), "other distances")
    run(damier, 3, *words[:-2], "--type-c", "f32", "--chunk", "64x64", "--deflate", 1, "-o", folder / "c.h5", "-q")
    with h5py.File(folder / "exact.h5", "w") as file:
        file["c"] = wanted
        file["c"].attrs.update(metric="euclidean", op_a="n", op_b="t", type="f64", alpha="1", beta="0")
    said = run(damier, 1, "verify", folder / "x.npy", folder / "x.npy", folder / "exact.h5", "-q")
    expect(said.rstrip().endswith("PASS"), said)
    with h5py.File(folder / "exact.h5", "a") as file:
        file["c"][:, 1500] *= 1 + 1e-11
    run(damier, 1, "verify", folder / "x.npy", folder / "x.npy", folder / "exact.h5", "-q", expect=1)
    with h5py.File(folder / "c.h5", "a") as file:
        expect(file["c"].dtype == "f4" and file["c"].chunks == (64, 64), "another form")
        expect((np.abs(file["c"][:] - wanted) <= 2.0**-23 * wanted).all(), "other distances in f32")
        file["c"][:, 5] += 0.01
    said = run(damier, 1, "verify", folder / "x.npy", folder / "x.npy", folder / "c.h5", "-q", expect=1)
    expect(said.rstrip().endswith("FAIL"), said)


def distances_of_missing(folder, damier):
    """NaN is refused unless stated; then distances to such lines are NaN, and others right. Squares that overflow are Inf."""
    x = np.random.default_rng(13).normal(size=(30, 6))
    x[3, 2] = np.nan
    np.save(folder / "x.npy", x)
    words = ["gram", folder / "x.npy", "--of", "rows", "--metric", "sqeuclidean", "-o", folder / "c.h5", "-q"]
    run(damier, 1, *words, expect=3)
    run(damier, 1, *words, "--missing", "nan")
    with h5py.File(folder / "c.h5") as file:
        expect_distances(file["c"][:], x, x, "sqeuclidean", 2.0**-44)
    x[3, 2] = 1e200
    np.save(folder / "x.npy", x)
    run(damier, 1, *words, "--force", "--allow-unchecked")
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][:]
    expect(np.isinf(np.delete(got[3], 3)).all() and got[3, 3] == 0, "a line far away")
    others = np.delete(np.arange(30), 3)
    expect_distances(got[np.ix_(others, others)], x[others], x[others], "sqeuclidean", 2.0**-44)


def refusals(folder, damier):
    x = np.random.default_rng(6).normal(size=(6, 5))
    np.save(folder / "x.npy", x)
    np.save(folder / "z.npy", x + 1j)
    out = ["-o", folder / "c.h5"]
    for words in (["--metric", "manhattan"], ["--metric", "cosine", "--center"], ["--metric", "cosine", "--alpha", 2],
                  ["--metric", "cosine", "--missing", "complete"], ["--metric", "cosine", "--weights", folder / "x.npy"]):
        run(damier, 1, "gram", folder / "x.npy", *out, *words, expect=2)
    for words in (["rbf"], ["rbf:"], ["rbf:-1"], ["rbf:0"], ["rbf:nan"], ["rbf:x"], ["rbf_1"], ["euclidean", "--type", "f32"],
                  ["euclidean", "--compute", "f32"], ["euclidean", "--triangle", "lower"], ["euclidean", "--missing", "mean"],
                  ["euclidean", "--alpha", 2], ["sqeuclidean", "--reproducible"]):
        run(damier, 1, "gram", folder / "x.npy", *out, "--metric", *words, expect=2)
    run(damier, 1, "multiply", folder / "x.npy", folder / "x.npy", "--op-b", "t", *out, "--metric", "euclidean", "--c", folder / "x.npy",
        "--beta", 1, expect=2)
    for metric in ("cosine", "euclidean"):
        run(damier, 1, "gram", folder / "z.npy", *out, "--metric", metric, expect=2)
    run(damier, 1, "cov", folder / "x.npy", *out, "--metric", "cosine", expect=2)
    expect(not (folder / "c.h5").exists(), "there is a result")


chosen = options()
CASES = [("f64", "gram", False, 1), ("f64", "multiply", True, 3), ("f32", "gram", True, 2), ("f16", "multiply", False, 1),
         ("bf16", "gram", False, 1), ("i8", "gram", True, 2), ("i32", "multiply", False, 1)]
DISTANCES = [("f64", "gram", False, 1, "euclidean"), ("f64", "multiply", True, 3, f"rbf:{GAMMA}"), ("f32", "gram", True, 2, "sqeuclidean"),
             ("f16", "multiply", False, 1, "euclidean"), ("i32", "multiply", True, 1, "sqeuclidean"), ("i8", "gram", False, 2, "euclidean")]
run_cases(chosen.damier, [(cosine, *case) for case in CASES] + [(distances, *case) for case in DISTANCES]
          + [(in_tiles,), (distance_forms,), (distances_of_missing,), (refusals,)])
