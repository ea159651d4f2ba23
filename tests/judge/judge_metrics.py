"""--metric cosine: C and what is kept of it are those of NumPy, at any scale, of any type; the diagonal is 1, nothing is beyond
1, rows of zeros are NaN; the results verify; refusals."""
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


def refusals(folder, damier):
    x = np.random.default_rng(6).normal(size=(6, 5))
    np.save(folder / "x.npy", x)
    np.save(folder / "z.npy", x + 1j)
    out = ["-o", folder / "c.h5"]
    for words in (["--metric", "manhattan"], ["--metric", "cosine", "--center"], ["--metric", "cosine", "--alpha", 2],
                  ["--metric", "cosine", "--missing", "complete"], ["--metric", "cosine", "--weights", folder / "x.npy"]):
        run(damier, 1, "gram", folder / "x.npy", *out, *words, expect=2)
    run(damier, 1, "gram", folder / "z.npy", *out, "--metric", "cosine", expect=2)
    run(damier, 1, "cov", folder / "x.npy", *out, "--metric", "cosine", expect=2)
    expect(not (folder / "c.h5").exists(), "there is a result")


chosen = options()
CASES = [("f64", "gram", False, 1), ("f64", "multiply", True, 3), ("f32", "gram", True, 2), ("f16", "multiply", False, 1),
         ("bf16", "gram", False, 1), ("i8", "gram", True, 2), ("i32", "multiply", False, 1)]
run_cases(chosen.damier, [(cosine, *case) for case in CASES] + [(in_tiles,), (refusals,)])
