"""Statistics at the edges of f64: columns and weights of any size, correlations that rounding would take beyond 1, and observations
that are left out because a value is missing."""
import elements
import h5py
import numpy as np
from running import command, ended, expect, options, records_of, run, run_cases


def write(folder, **arrays):
    for name, array in arrays.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = array


def read(folder):
    with h5py.File(folder / "c.h5") as file:
        return file["c"][:]


def covariance(x, y=None, weights=None, less=True):
    """Of the columns of X and Y, in long double, whose range is wider than that of f64."""
    x, y = (np.asarray(z, np.longdouble) for z in (x, x if y is None else y))
    w = np.ones(len(x), np.longdouble) if weights is None else np.asarray(weights, np.longdouble)
    x, y = (z - (w[:, None] * z).sum(0) / w.sum() for z in (x, y))
    return (x * w[:, None]).T @ y / (w.sum() - ((w * w).sum() / w.sum() if less else 0))


def correlation(x, y=None, weights=None):
    y = x if y is None else y
    with np.errstate(all="ignore"):
        deviations = [np.sqrt([covariance(z[:, i:i + 1], weights=weights)[0, 0] for i in range(z.shape[1])]) for z in (x, y)]
        return np.clip(covariance(x, y, weights) / np.outer(*deviations), -1, 1)


def near(c, want, bound=4e-14):
    want = np.asarray(want)
    expect(np.array_equal(np.isnan(c), np.isnan(want)), f"NaN elsewhere: {c}, not {want}")
    size = np.nanmax(np.abs(want), initial=0)
    off = np.nanmax(np.abs(c - want), initial=0)
    expect(off <= bound * size + 1e-321, f"off by {off:.3g} of {size:.3g}")


def sizes(folder, damier, exponent):
    """Columns of one size, of many, and constant ones: no deviation vanishes or overflows."""
    rng = np.random.default_rng(exponent + 2000)
    x = rng.standard_normal((300, 9))
    x[:, 3] = x[:, 0] + 1e-3 * x[:, 3]
    x[:, 5] = 0.7
    x[:, 6] = np.where(np.arange(300) < 3, [0, 1, -1] * 100, 0)  # its mean is that of the first element
    for powers in (np.full(9, exponent), rng.integers(-abs(exponent), abs(exponent) + 1, 9)):
        scaled = np.ldexp(x, powers)
        write(folder, x=scaled, t=np.ascontiguousarray(scaled.T))
        for source, words, ranks in (("x", (), 1), ("x", (), 2), ("t", ("--of", "rows"), 1), ("x", ("--compute", "auto", "--memory", "host=72MiB"), 1)):
            run(damier, ranks, "cor", folder / f"{source}.h5", "-o", folder / "c.h5", "--force", "-q", "--threads", 1, *words)
            c = read(folder)
            near(c, correlation(x))
            expect(np.all(np.isnan(np.diag(c)) | (np.diag(c) == 1)) and np.isnan(c).sum() == 17, "NaN of columns that vary")
        path = folder / f"{source}.h5"
        run(damier, 1, "verify", path, path, folder / "c.h5", "-q")
        run(damier, 2, "gram", folder / "x.h5", "-o", folder / "c.h5", "--force", "-q", "--scale")
        y, c = np.delete(x, 5, 1), np.delete(np.delete(read(folder), 5, 0), 5, 1)
        y = y / np.sqrt(np.diag(covariance(y)))
        expect(np.allclose(c, (y.T @ y).astype(float), atol=1e-10), "scaled only")


def weights(folder, damier, exponent):
    """Sums of squares of the weights stay in range, whatever their size."""
    rng = np.random.default_rng(exponent + 2000)
    x, w = rng.standard_normal((200, 6)), rng.uniform(0, 2, 200)
    write(folder, x=x, w=np.ldexp(w, exponent))
    for verb, want in (("cov", covariance(x, weights=w)), ("cor", correlation(x, weights=w))):
        run(damier, 1, verb, folder / "x.h5", "-o", folder / "c.h5", "--force", "-q", "--weights", folder / "w.h5")
        near(read(folder), want)
        run(damier, 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "gram", folder / "x.h5", "-o", folder / "c.h5", "--force", "-q", "--weights", folder / "w.h5")
    near(np.ldexp(read(folder), -exponent), (x.T * w) @ x)
    run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")


def at_most_one(folder, damier, dtype):
    """No correlation is beyond 1, and that of a column with itself is 1, in every type and however C is made."""
    rng = np.random.default_rng(len(dtype))
    x = rng.standard_normal((400, 70)) + (1j * rng.standard_normal((400, 70)) if dtype in elements.COMPLEX else 0)
    x[:, 35:] = 1 - 3 * x[:, :35]
    elements.write(folder / "x.h5", x, dtype, "chunked")
    for ranks, words, factor in ((1, (), 1), (3, (), 1), (1, ("--alpha", "-0.5"), -0.5), (1, ("--memory", "host=72MiB"), 1), (2, ("--type-c", "f16"), 1)):
        if dtype in elements.COMPLEX and "f16" in words:
            continue
        run(damier, ranks, "cor", folder / "x.h5", "-o", folder / "c.h5", "--force", "-q", "--threads", 1, *words)
        c = read(folder)
        expect(np.all(np.diag(c) == factor), f"{words}: diagonal {np.diag(c)}")
        expect(max(np.abs(c.real).max(), np.abs(c.imag).max()) <= abs(factor), f"{words}: beyond {factor}")
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    words = "--op-a c --center-a columns --scale-a columns --center-b columns --scale-b columns --divide n-1".split()
    run(damier, 2, "multiply", f"{folder}/x.h5:/x[:, :35]", f"{folder}/x.h5:/x[:, 35:]", "-o", folder / "c.h5", "--force", "-q", *words)
    expect(np.abs(read(folder).real).max() <= 1, "of two matrices: beyond 1")


def complete(folder, damier, dtype, ranks):
    """Observations with a missing value are left out: what is computed of the others alone."""
    rng = np.random.default_rng(ranks * 7 + len(dtype))
    x = rng.standard_normal((250, 8)) * 9 + (1j * rng.standard_normal((250, 8)) if dtype in elements.COMPLEX else 0)
    x = x.astype(elements.STORED.get(dtype, dtype)) if dtype in elements.INTEGER else x
    gaps = rng.random(x.shape) < 0.07
    x = np.where(gaps, -77 if dtype in elements.INTEGER else np.nan, x)
    flags = ("--missing", "complete", "--force", "-q", "--threads", 1, *(("--missing-value", -77, "--type", "f64") if dtype in elements.INTEGER else ()))
    x = elements.write(folder / "x.h5", x, dtype, "chunked")
    elements.write(folder / "t.h5", np.ascontiguousarray(x.T), dtype, "contiguous")
    y = rng.standard_normal((250, 3))
    y[rng.random(y.shape) < 0.05] = np.nan
    w, f = rng.uniform(0.5, 2, 250), rng.integers(0, 4, 250)
    write(folder, w=w, f=f, y=y)
    kept = ~gaps.any(1)
    z = x[kept].astype(complex if dtype in elements.COMPLEX else float)
    bound = {"f32": 1e-5, "bf16": 3e-2}.get(dtype, 1e-12)
    for source, of in (("x", "columns"), ("t", "rows")):
        path = folder / f"{source}.h5"
        turn = (lambda c: c) if of == "rows" else np.conj
        for verb, want in (("cov", np.cov(z, rowvar=False)), ("cor", np.corrcoef(z, rowvar=False)), ("gram", z.T @ z.conj())):
            run(damier, ranks, verb, path, "-o", folder / "c.h5", "--of", of, *flags, "--json", folder / "record.json")
            near(read(folder), turn(want), bound)
            record = records_of(folder / "record.json")[-1]
            expect(f"{kept.sum()} observations are complete" in record["files"]["a_centering"], f"not counted: {record['files']}")
            run(damier, 1, "verify", path, path, folder / "c.h5", "-q")
        for name, numpys in (("w", {"aweights": w[kept]}), ("f", {"fweights": f[kept]})):
            run(damier, ranks, "cov", path, "-o", folder / "c.h5", "--of", of, *flags, "--weights", folder / f"{name}.h5",
                "--weights-are", "frequency" if name == "f" else "reliability")
            near(read(folder), turn(np.cov(z, rowvar=False, **numpys)), bound)
            run(damier, 1, "verify", path, path, folder / "c.h5", "-q")
        run(damier, ranks, "cov", path, "-o", folder / "c.h5", "--of", of, *flags, "--divide", "n")
        near(read(folder), turn(np.cov(z, rowvar=False, ddof=0)), bound)
    run(damier, ranks, "cov", f"{folder}/x.h5:/x[10:200:3, 1:6]", "-o", folder / "c.h5", *flags)
    part = x[10:200:3, 1:6][~gaps[10:200:3, 1:6].any(1)].astype(complex if dtype in elements.COMPLEX else float)
    near(read(folder), np.cov(part, rowvar=False).conj(), bound)
    if dtype == "f64":
        both = kept & ~np.isnan(y).any(1)
        run(damier, ranks, "multiply", folder / "x.h5", folder / "y.h5", "--op-a", "t", "-o", folder / "c.h5", *flags)
        near(read(folder), x[both].T @ y[both])
        run(damier, 1, "verify", folder / "x.h5", folder / "y.h5", folder / "c.h5", "-q")


def nothing_complete(folder, damier):
    x = np.random.default_rng(3).standard_normal((30, 4))
    x[np.arange(30), np.arange(30) % 4] = np.nan
    inf = np.where(np.arange(120).reshape(30, 4) == 9, np.inf, 1.0 + np.arange(120).reshape(30, 4) ** 2)
    inf[2, 0] = np.nan  # the observation with Inf
    write(folder, x=x, inf=inf, w=np.where(np.arange(30) == 2, 1.0, 0))
    for ranks in (1, 2):
        done = ended(command(ranks, damier, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--missing", "complete"))
        expect(done.returncode == 3 and "0 of 30 observations are complete" in done.stderr, done.stderr)
    x[4, 0] = 1
    write(folder, x=x)
    done = ended(command(1, damier, "cov", folder / "x.h5", "-o", folder / "c.h5", "-q", "--missing", "complete"))
    expect(done.returncode == 3 and "1 of 30 observations are complete" in done.stderr, done.stderr)
    done = ended(command(1, damier, "cov", folder / "inf.h5", "-o", folder / "c.h5", "-q", "--missing", "complete", "--weights", folder / "w.h5"))
    expect(done.returncode == 3 and "have no weight" in done.stderr, done.stderr)
    expect(not (folder / "c.h5").exists(), "something was written")
    for verb in ("cov", "cor"):
        run(damier, 2, verb, folder / "inf.h5", "-o", folder / "c.h5", "-q", "--force", "--missing", "complete")
        y = np.delete(inf, 2, 0)
        near(read(folder), np.cov(y, rowvar=False) if verb == "cov" else np.corrcoef(y, rowvar=False), 1e-12)


def of_pairs(x, y, scaled, less=1):
    """pandas' cov and corr(min_periods=1), or R's of two matrices."""
    c = np.full((x.shape[1], y.shape[1]), np.nan, np.longdouble)
    for i, j in np.ndindex(*c.shape):
        both = ~np.isnan(x[:, i]) & ~np.isnan(y[:, j])
        a, b = x[both, i].astype(np.longdouble), y[both, j].astype(np.longdouble)
        if len(a) <= (1 if scaled else max(0, less)):
            continue
        constant = a.min() == a.max() or b.min() == b.max()
        a, b = a - a.mean(), b - b.mean()
        if scaled and not constant:
            c[i, j] = np.clip((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()), -1, 1)
        elif not scaled:
            c[i, j] = 0 if constant else (a * b).sum() / (len(a) - less)
    return c


def matrix_with_gaps(rng, rows, cols, kind):
    x, gaps = rng.standard_normal((rows, cols)), rng.random((rows, cols)) < 0.2
    gaps[:4] = False
    x[rows // 2:, 0] = 0.25  # constant where others have values
    gaps[:rows // 2, 0] |= rng.random(rows // 2) < 0.5
    x[:, 1] = 0.75
    gaps[:, 2] = np.arange(rows) != 7  # one observation
    if kind == "outlier":  # values beside which others vanish, in observations that many columns lack
        for row, size in ((5, 1e20), (9, 1e150)):
            gaps[row], gaps[row, row % cols], gaps[row, 4] = True, False, False
            x[row, row % cols] = size
    elif kind == "mean":
        x += 1e9
    elif kind == "mixed":
        x = np.ldexp(x, rng.integers(-480, 480, cols))
    elif kind != "plain":
        x = np.ldexp(x, int(kind))
    return np.where(gaps, np.nan, x)


def relative(c, want, spread, bound):
    expect(np.array_equal(np.isnan(c), np.isnan(want)), "NaN elsewhere")
    off = np.nanmax(np.abs(c - want) / spread, initial=0)
    expect(off <= bound, f"off by {off:.3g}")


def pairwise(folder, damier, kind, ranks):
    rng = np.random.default_rng(len(kind) * 31 + ranks)
    x, y = matrix_with_gaps(rng, 140, 8, kind), matrix_with_gaps(rng, 140, 5, "plain")
    turned = ranks == 2
    write(folder, x=x.T.copy() if turned else x, y=y.T.copy() if turned else y)
    common = ("-o", folder / "c.h5", "--force", "-q", "--missing", "pairwise", "--of", "rows" if turned else "columns")
    for second, name in ((x, "x"), (y, "y")):
        files = (folder / "x.h5",) if name == "x" else (folder / "x.h5", folder / "y.h5")
        for verb, less, divide in (("cor", 1, ()), ("cov", 1, ()), ("cov", 0, ("--divide", "n"))):
            if verb == "cov" and kind in ("-520", "-900"):
                continue  # f64 does not hold them
            out = run(damier, ranks, verb, *files, *common, *divide)
            expect(out.strip().endswith("PASS") and "residual=" in out, f"no verdict: {out}")
            want = of_pairs(x, second, verb == "cor", less)
            spread = 1 if verb == "cor" else np.sqrt(np.abs(of_pairs(x, x, False, 0).diagonal()[:, None] * of_pairs(second, second, False, 0).diagonal())) + 5e-324
            c = read(folder)
            relative(c, want, np.where(np.isnan(spread) | (spread == 0), 1, spread), 1e-12)
            if verb == "cor":
                expect(np.nanmax(np.abs(c)) <= 1 and (name == "y" or np.all((np.diag(c) == 1) | np.isnan(np.diag(c)))), "beyond 1")
            run(damier, 1, "verify", folder / "x.h5", folder / f"{name}.h5", folder / "c.h5", "-q")
            place = tuple(np.argwhere(np.abs(np.nan_to_num(c)) > 0)[-1])
            with h5py.File(folder / "c.h5", "r+") as file:
                file["x" if "x" in file else "c"][place] *= 1 - 1e-6
            run(damier, 1, "verify", folder / "x.h5", folder / f"{name}.h5", folder / "c.h5", "-q", expect=1)


def two_matrices(folder, damier, ranks):
    """cov and cor of two matrices are multiply with both centered."""
    rng = np.random.default_rng(ranks)
    x, y = rng.standard_normal((90, 6)) + 3, rng.standard_normal((90, 4))
    y[:, 1] = -x[:, 2]
    write(folder, x=x, y=y, w=rng.uniform(0, 1, 90), short=y[:80])
    for verb, want in (("cov", covariance(x, y)), ("cor", correlation(x, y))):
        run(damier, ranks, verb, folder / "x.h5", folder / "y.h5", "-o", folder / "c.h5", "--force", "-q")
        near(read(folder), want)
        run(damier, 1, "verify", folder / "x.h5", folder / "y.h5", folder / "c.h5", "-q")
    with h5py.File(folder / "w.h5") as file:
        w = file["x"][:]
    run(damier, ranks, "cov", folder / "x.h5", folder / "y.h5", "-o", folder / "c.h5", "--force", "-q", "--weights", folder / "w.h5")
    near(read(folder), covariance(x, y, w))
    run(damier, 1, "cov", folder / "x.h5", folder / "short.h5", "-o", folder / "c.h5", "--force", "-q", expect=3)
    run(damier, 1, "cov", folder / "x.h5", folder / "x.h5", "-o", folder / "c.h5", "--force", "-q")
    near(read(folder), covariance(x))


run_cases(options().damier, [(sizes, e) for e in (-1000, -560, -530, 0, 530, 990)] + [(weights, e) for e in (-1000, -660, 660, 1000)]
          + [(at_most_one, dtype) for dtype in ("f64", "f32", "f16", "bf16", "c64", "c128", "i8")]
          + [(complete, dtype, ranks) for dtype, ranks in (("f64", 1), ("f64", 4), ("f32", 2), ("c128", 1), ("i16", 2))] + [(nothing_complete,)]
          + [(pairwise, kind, ranks) for kind, ranks in (("plain", 1), ("-520", 1), ("-900", 2), ("500", 3), ("mixed", 1), ("outlier", 1), ("outlier", 3), ("mean", 2))]
          + [(two_matrices, 1), (two_matrices, 3)])
