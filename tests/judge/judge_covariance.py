"""cov, cor, centered and scaled products: those of NumPy, from any file, on any number of ranks; constant columns are
NaN and counted; verify and refusals know of it."""
import elements
import h5py
import numpy as np
from running import ended, expect, how_many, options, records_of, run, run_cases

COMPLEX = ("c64", "c128")
# rows and columns, type, layout, ranks, flags
CASES = [(300, 70, "f64", "contiguous", 1, ""), (1000, 40, "f64", "chunked", 3, ""), (2, 30, "f32", "contiguous", 2, ""),
         (500, 90, "f32", "big-endian", 4, ""), (333, 50, "c128", "contiguous", 2, ""), (200, 40, "c64", "chunked", 1, ""),
         (400, 60, "i8", "contiguous", 2, ""), (400, 60, "i32", "chunked", 1, ""), (400, 300, "u16", "contiguous", 5, ""),
         (700, 20, "bf16", "contiguous", 1, ""), (300, 30, "f16", "contiguous", 2, ""), (400, 200, "f64", "npy-fortran", 2, ""),
         (900, 400, "f64", "contiguous", 3, "--reproducible"), (600, 200, "f32", "contiguous", 2, "--type f64"),
         (5000, 30, "f64", "contiguous", 8, ""), (300, 250, "f64", "contiguous", 4, "--grid 2x2x1")]


def values(rows, cols, dtype, seed):
    """Columns with means that are large beside their deviations."""
    rng = np.random.default_rng(seed)
    if dtype in elements.INTEGER:
        return rng.integers(0, 100, size=(rows, cols))
    x = rng.normal(size=(rows, cols)) + (1e6 if dtype in ("f64", "c128") else 30) * rng.normal(size=cols)
    return x + 1j * rng.normal(size=(rows, cols)) if dtype in COMPLEX else x


def wide(x):
    return x.astype(np.clongdouble if np.iscomplexobj(x) else np.longdouble)


def standard(x, axis, scale):
    """X less its means along AXIS and, with SCALE, divided by its deviations."""
    y = wide(x) - wide(x).mean(axis, keepdims=True)
    if not scale:
        return y
    return y / np.sqrt((np.abs(y) ** 2).sum(axis, keepdims=True) / (x.shape[axis] - 1))


def near(c, want, dtype, sizes):
    """Whether C is WANT but for rounding of products of SIZES."""
    unit = max(elements.unit(dtype if dtype in elements.BITS else "f64"), 2.0**-53)
    return (np.abs(c - want) <= 60 * unit * sizes).all()


def compare(folder, damier, case, verb, of, seed):
    rows, cols, dtype, layout, ranks, flags = case
    x = elements.write(folder / f"x.{elements.suffix(layout)}", values(rows, cols, dtype, seed), dtype, layout)
    source = folder / f"x.{elements.suffix(layout)}"
    axis = 0 if of == "columns" else 1
    run(damier, ranks, verb, source, "-o", folder / "c.h5", "--of", of, "--threads", 1, "-q", *flags.split(), "--json",
        folder / "record.json")
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][:]
    y = standard(x, axis, verb == "cor")
    terms = x.shape[axis]
    want = (y.conj().T @ y if axis == 0 else y @ y.conj().T) / (terms - 1)
    deviation = np.sqrt(np.abs(np.diag(want)))
    used = "f64" if "--type f64" in flags else dtype
    expect(near(c, want, used, np.outer(deviation, deviation) + 1e-300), f"other numbers: {np.abs(c - want).max():.3g}")
    expect(np.array_equal(c, c.conj().T), "not symmetric")
    if not np.iscomplexobj(x):
        numpys = (np.cov if verb == "cov" else np.corrcoef)(x.astype(float), rowvar=axis == 1)
        expect(np.abs(c - numpys).max() <= max(60 * elements.unit(used), 1e-7) * np.abs(numpys).max(), "not NumPy's")
    expect(records_of(folder / "record.json")[-1]["verification"]["verdict"] == "PASS", "not verified")
    run(damier, 1 + seed % 2, "verify", source, source, folder / "c.h5", "-q")


def drawn(folder, damier, seed):
    """Any shape, type, layout, number of ranks, grid, memory and divisor, some lines constant, some runs weighted."""
    rng = np.random.default_rng(1000 + seed)
    dtype = str(rng.choice(["f64", "f64", "f32", "c128", "c64", "i8", "i32", "u16", "bf16", "f16"]))
    layout = str(rng.choice(["contiguous", "chunked", "big-endian" if dtype != "bf16" else "contiguous", "deflate"]))
    verb, of, ranks = str(rng.choice(["cov", "cor"])), str(rng.choice(["columns", "rows"])), int(rng.integers(1, 9))
    terms, lines = int(2 + 10 ** rng.uniform(0, 3)), int(10 ** rng.uniform(0, 2.2))
    x = values(terms, lines, dtype, seed)
    fixed = rng.random(lines) < 0.1
    x[:, fixed] = x[0, fixed]
    x = x if of == "columns" else np.ascontiguousarray(x.T)
    source = folder / f"x.{elements.suffix(layout)}"
    x = wide(elements.write(source, x, dtype, layout))
    x = x if of == "columns" else x.T
    ddof = int(rng.integers(0, 2)) if verb == "cov" else 1
    layers = 1 if (reproducible := rng.random() < 0.2) else 8
    grids = [f"{i}x{i}x{k}" for i in (1, 2) for k in range(1, layers + 1) if i * i * k <= ranks]
    flags = [("--of", of), ("--divide", "n") if ddof == 0 else (), ("--grid", str(rng.choice(grids))) if rng.random() < 0.6 else (),
             ("--memory", "host=72MiB") if rng.random() < 0.2 else (), ("--reproducible",) if reproducible else ()]
    w = np.ones(terms)
    if rng.random() < 0.3:
        w = rng.uniform(0.2, 2, terms)
        np.save(folder / "w.npy", w)
        flags.append(("--weights", folder / "w.npy"))
    divisor = w.sum() - ddof * (w * w).sum() / w.sum()
    y = x - (x * w[:, None]).sum(0) / w.sum()
    y[:, (x == x[0]).all(0)] = 0
    want = (y.conj().T * w) @ y / divisor
    want = want if of == "columns" else want.conj()
    sizes = np.sqrt(np.abs(np.diag(want)))
    if verb == "cor":
        with np.errstate(all="ignore"):
            want = want / np.outer(sizes, sizes)
        sizes[sizes == 0] = np.nan
        sizes = sizes / sizes
    what = f"{verb} {x.shape} {dtype} {layout} {ranks} ranks {flags}"
    run(damier, ranks, verb, source, "-o", folder / "c.h5", "-q", "--threads", 1, "--json", folder / "record.json", *sum(flags, ()))
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][:]
    expect(np.array_equal(np.isnan(c), np.isnan(want)), f"{what}: other NaN")
    good = np.isfinite(sizes)
    expect(near(c[np.ix_(good, good)], want[np.ix_(good, good)], dtype, np.outer(sizes, sizes)[np.ix_(good, good)] + 1e-300), what)
    record = records_of(folder / "record.json")[-1]
    expect(record["verification"]["verdict"] == "PASS", f"{what}: not verified")
    told = record["files"]["a_centering"]
    count = np.isnan(np.diag(want)).sum()
    expect(f"{count} are constant" in told if count else "constant" not in told, f"{what}: '{told}' for {count} constant lines")
    run(damier, 1 + seed % 2, "verify", source, source, folder / "c.h5", "-q")


def constant(folder, damier):
    x = values(200, 30, "f64", 1)
    x[:, [3, 17]] = 0.1
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    run(damier, 2, "cor", folder / "x.h5", "-o", folder / "c.h5", "-q", "--json", folder / "record.json")
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][:]
    with np.errstate(all="ignore"):
        want = np.corrcoef(np.where(np.arange(30) == 3, 1.0, np.where(np.arange(30) == 17, 2.0, x)), rowvar=False)
    expect(np.array_equal(np.isnan(c), np.isnan(want)), "other NaN than NumPy")
    expect(np.allclose(c, want, rtol=0, atol=1e-9, equal_nan=True), "other numbers")
    expect("2 are constant" in records_of(folder / "record.json")[-1]["files"]["a_centering"], "not counted")
    record = records_of(folder / "record.json")[-1]["verification"]
    expect((record["verdict"], record["rows_by_pattern"], record["cols_by_pattern"]) == ("PASS", 2, 2), f"not verified: {record}")
    run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    for place, wrong in (((3, 5), 0.0), ((5, 17), 0.5), ((0, 1), np.nan)):
        with h5py.File(folder / "c.h5", "r+") as file:
            file["c"][place] = wrong
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q", expect=1)
        with h5py.File(folder / "c.h5", "r+") as file:
            file["c"][...] = c
    run(damier, 2, "cor", folder / "x.h5", "-o", folder / "c.h5", "-q", "--force", "--triangle", "lower")
    run(damier, 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")


def products(folder, damier):
    """Products of two matrices, each centered by rows or columns; --divide; a small memory."""
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(700, 400)) + 9, rng.normal(size=(400, 500)) - 3
    for name, x in (("a", a), ("b", b)):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = x
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
    for flags, left, right in (("--center-a columns", standard(a, 0, False), b),
                               ("--center-a rows --scale-a rows --center-b columns", standard(a, 1, True), standard(b, 0, False)),
                               ("--scale-b rows --divide n", a, b / b.std(1, ddof=1, keepdims=True) / 400),
                               ("--center-a rows --memory host=72MiB", standard(a, 1, False), b)):
        run(damier, 2, *words, *flags.split(), "--threads", 1)
        with h5py.File(folder / "c.h5") as file:
            c = file["c"][:]
        expect(np.allclose(c, np.asarray(left @ right, float), rtol=1e-11, atol=1e-11), flags)
        run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q")
    run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q", "--center-a", "columns", expect=1)
    run(damier, 1, "gram", folder / "a.h5", "-o", folder / "g.h5", "--center", "--scale", "--divide", "n-1", "-q")
    with h5py.File(folder / "g.h5") as file:
        expect(np.allclose(file["c"][:], np.corrcoef(a, rowvar=False), atol=1e-12), "gram is not cor")


def parts(folder, damier):
    """Slices, several files as one matrix, and a virtual dataset."""
    x = values(600, 80, "f64", 9)
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    for i in range(3):
        with h5py.File(folder / f"part{i}.h5", "w") as file:
            file.create_dataset("x", data=x[i * 200:(i + 1) * 200], chunks=(30, 17))
    for source, want in ((f"{folder}/x.h5:/x[5:590:3, ::2]", x[5:590:3, ::2]), (f"{folder}/part*.h5:/x", x)):
        run(damier, 2, "cov", source, "-o", folder / "c.h5", "--force", "-q")
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][:], np.cov(want, rowvar=False), rtol=1e-9, atol=1e-9), source)


def missing(folder, damier):
    x = values(100, 8, "f64", 2)
    x[[3, 50], [1, 4]] = -999.0
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
        file["x"].attrs["_FillValue"] = -999.0
    words = ("cov", folder / "x.h5", "-o", folder / "c.h5", "-q")
    run(damier, 1, *words, expect=3)
    expect(not (folder / "c.h5").exists(), "something was written")
    run(damier, 1, *words, "--missing", "zero")
    with h5py.File(folder / "c.h5") as file:
        expect(np.allclose(file["c"][:], np.cov(np.where(x == -999.0, 0, x), rowvar=False)), "zeros are not taken")


def told(folder, damier):
    """The verdict names what was centered; whoever verifies may state that nothing was."""
    x, c = folder / "x.h5", folder / "c.h5"
    with h5py.File(x, "w") as file:
        file["x"] = np.random.default_rng(3).standard_normal((20, 20)) + 5
    out = run(damier, 1, "multiply", x, x, "-o", c, "--center-a", "columns", "--scale-b", "rows")
    expect("C = A B, columns of A centered, rows of B scaled in f64" in out, out)
    out = run(damier, 1, "verify", x, x, c)
    expect("columns of A centered, rows of B scaled (as C's attributes state) in f64" in out, out)
    expect("center_a=columns scale_b=rows" in run(damier, 1, "verify", x, x, c, "-q"), "the last line is silent")
    done = ended([str(word) for word in (damier, "verify", x, x, c, "--center-a", "none")])
    expect(done.returncode == 1 and "state --center-a columns --scale-b rows, which" in done.stderr, done.stderr)


def without_provenance(folder, damier):
    """A .npy file says nothing of its product: the user states the divisor, too."""
    x, w = values(90, 12, "f64", 4), np.random.default_rng(2).uniform(1, 2, 90)
    np.save(folder / "x.npy", x)
    np.save(folder / "w.npy", w)
    stated = ("--op-a", "t", "--center-a", "columns", "--center-b", "columns", "--divide", "n-1", "-q")
    for weights in ((), ("--weights", folder / "w.npy")):
        run(damier, 1, "cov", folder / "x.npy", "-o", folder / "c.npy", "-q", "--force", *weights)
        files = folder / "x.npy", folder / "x.npy", folder / "c.npy"
        run(damier, 1, "verify", *files, *stated, *weights)
        run(damier, 1, "verify", *files, *stated, *weights, "--divide", "n", expect=1)
    run(damier, 1, "cov", folder / "x.npy", "-o", folder / "c.h5", "-q", "--alpha", 2)
    files = folder / "x.npy", folder / "x.npy", folder / "c.h5"
    run(damier, 1, "verify", *files, "-q", "--alpha", 2, "--divide", "n-1")
    run(damier, 1, "verify", *files, "-q", "--divide", "n-1", expect=1)


def refused(folder, damier):
    for name, shape in (("one", (1, 5)), ("i8", (9, 5))):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = np.ones(shape, "i1" if name == "i8" else "f8")
    out = ("-o", folder / "c.h5", "-q")
    run(damier, 2, "cov", folder / "one.h5", *out, expect=3)
    run(damier, 1, "cor", folder / "one.h5", *out, expect=3)
    run(damier, 1, "gram", folder / "i8.h5", "--divide", "n", *out, expect=2)
    run(damier, 1, "cov", folder / "i8.h5", "--type", "i8", *out, expect=2)
    run(damier, 1, "multiply", folder / "i8.h5", folder / "i8.h5", "--op-b", "t", "--center-a", "rows", "--scale-a",
        "columns", *out, expect=2)
    run(damier, 1, "cor", folder / "one.h5", "--center", *out, expect=2)
    expect(not (folder / "c.h5").exists() and not (folder / "c.h5.part").exists(), "something was written")


chosen = options()
run_cases(chosen.damier, [(compare, case, verb, of, seed) for seed, case in enumerate(CASES)
                          for verb in ("cov", "cor") for of in ("columns", "rows") if of == "columns" or seed % 3 == 0]
          + [(drawn, seed) for seed in range(how_many(chosen, 6, 10, 100))] + [(constant,), (products,), (parts,), (missing,), (told,), (without_provenance,), (refused,)])
