"""Principal components and truncated SVD of files, compared with LAPACK's SVD by NumPy: both methods, shapes, types, ranks, weights, missing values; and what is refused."""
import h5py
import numpy as np
from running import command, ended, expect, how_many, options, peak_mib, process_mib, records_of, run, run_cases

# type, rows, cols, ranks, flags
CASES = [("f8", 300, 37, 1, ""), ("f8", 29, 200, 2, ""), ("f4", 500, 60, 1, ""), ("f4", 41, 90, 3, ""), ("i2", 120, 30, 1, ""),
         ("f8", 64, 64, 2, "--of rows"), ("f8", 33, 150, 1, "--of rows --reproducible"), ("f4", 200, 40, 4, "--type f64"),
         ("f8", 2000, 300, 1, "--memory host=80MiB")]
K = 4


def write(folder, **arrays):
    for name, array in arrays.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = array


def read(folder, verb="pca"):
    with h5py.File(folder / "p.h5") as file:
        return {name: file[verb][name][:] for name in file[verb]}, dict(file[verb].attrs)


def wanted(x, verb="pca", scale=False, weights=None):
    """Singular values, components, variances, their ratio, and the centered matrix, of rows that are observations."""
    x = x.astype(float)
    w = np.ones(len(x)) if weights is None else weights
    divisor = w.sum() - (w * w).sum() / w.sum()
    y = x - w @ x / w.sum() if verb == "pca" else x
    if scale:
        y = y / np.sqrt(w @ (y * y) / divisor)
    s, v = np.linalg.svd(np.sqrt(w)[:, None] * y, full_matrices=False)[1:]
    v = v[:K] * np.sign(v[np.arange(K), np.abs(v[:K]).argmax(1)])[:, None]
    return {"singular_values": s[:K], "components": v, "explained_variance": s[:K]**2 / divisor, "ratio": s[:K]**2 / (s * s).sum()}, y


def compare(got, want, tolerance, what):
    for name, values in want.items():
        key = next((k for k in (name, "explained_variance_ratio", "squares_ratio") if k in got and (k == name or name == "ratio")), None)
        if key is None:
            continue
        expect(got[key].dtype == np.float64 and got[key].shape == values.shape, f"{what}: {name} is {got[key].shape}")
        error = np.abs(got[key] - values).max() / np.abs(values).max()
        expect(error <= tolerance * (100 if name == "components" else 1), f"{what}: {name} differs by {error:.1e}")


def matrix(rng, rows, cols, dtype):
    shape = rows, cols
    x = rng.standard_normal(shape) * 1.3**-np.minimum(np.arange(shape[1]), 20) + rng.uniform(1, 4, shape[1])
    return (x * 1000 if dtype == "i2" else x).astype(dtype)


def decomposed(folder, damier, case, seed):
    dtype, rows, cols, ranks, flags = case
    rng = np.random.default_rng(seed)
    x = matrix(rng, rows, cols, dtype)
    weights = rng.integers(0, 3, len(x)) + rng.random(len(x))
    write(folder, x=x.T if "--of rows" in flags else x, w=weights)
    base = (folder / "x.h5", "--rank", K, "-o", folder / "p.h5", "--force", "-q", *flags.split())
    narrow = dtype == "f4" and "f64" not in flags
    for method in ("gram", "passes"):
        for verb, more, how in (("pca", (), {}), ("svd", (), {"verb": "svd"}), ("pca", ("--scale",), {"scale": True}),
                                ("pca", ("--weights", folder / "w.h5"), {"weights": weights})):
            (folder / "p.h5").unlink(missing_ok=True)
            run(damier, ranks, verb, *base, "--method", method, "--scores", folder / "s.h5", "--passes", 200, "--tolerance", 2e-6 if narrow else 1e-9, *more)
            what = f"{verb} {method} {' '.join(map(str, more))}"
            got, attributes = read(folder, verb)
            want, y = wanted(x, **how)
            compare(got, want, 2e-5 if narrow else 1e-9, what)
            expect(attributes["converged"] in ("yes", b"yes"), f"{what}: {attributes['converged']}")
            run(damier, ranks, "verify", folder / "x.h5", folder / "p.h5", "-q", "--tolerance", 1e-5 if narrow else 2e-9,
                *(("--type", "f64") if "f64" in flags else ()))
            with h5py.File(folder / "s.h5") as file:
                scores = file["scores"][:]
            error = np.abs(scores - y @ got["components"].T).max() / np.abs(scores).max()
            expect(error <= (1e-5 if narrow else 1e-11), f"{what}: scores differ by {error:.1e}")
            true_residuals(got, y if "weights" not in how else np.sqrt(weights)[:, None] * y, narrow, what)


def true_residuals(got, y, narrow, what):
    """Those stored are those of the stored components, to a tenth and rounding."""
    v, s = got["components"], got["singular_values"]
    u = y @ v.T / s
    right = np.linalg.norm(y.T @ u - v.T * s, axis=0) / s[0]
    floor = 1e-6 if narrow else 1e-13
    worst = np.abs(np.maximum(got["residuals_u"], got["residuals_v"]) - right) / (right + floor)
    if got["residuals_v"].max() > got["residuals_u"].max():
        expect((worst <= 0.1 + 10 * floor / (right + floor)).all(), f"{what}: residuals {got['residuals_v']}, they are {right}")


def forged(folder, damier):
    """What verify finds: changed components, values, and another X."""
    rng = np.random.default_rng(6)
    x = matrix(rng, 80, 12, "f8")
    write(folder, x=x, other=x + 0.01 * rng.standard_normal(x.shape))
    run(damier, 1, "pca", folder / "x.h5", "--rank", K, "-o", folder / "p.h5", "-q", "--scale")
    run(damier, 2, "verify", folder / "x.h5", folder / "p.h5", "-q")
    run(damier, 1, "verify", folder / "other.h5", folder / "p.h5", "-q", expect=1)
    for name, change in (("components", (1, 2)), ("singular_values", 3)):
        with h5py.File(folder / "p.h5", "r+") as file:
            kept = file["pca"][name][change]
            file["pca"][name][change] = kept * 1.001
        run(damier, 1, "verify", folder / "x.h5", folder / "p.h5:/pca", "-q", expect=1)
        with h5py.File(folder / "p.h5", "r+") as file:
            file["pca"][name][change] = kept
    run(damier, 1, "verify", folder / "x.h5", folder / "p.h5", "-q")
    run(damier, 1, "verify", folder / "x.h5", folder / "other.h5", "-q", expect=2)


def gaps(folder, damier):
    rng = np.random.default_rng(8)
    x = matrix(rng, 90, 20, "f8")
    x[5, 3] = x[17, 9] = np.nan
    write(folder, x=x)
    base = ("pca", folder / "x.h5", "--rank", K, "-o", folder / "p.h5", "--force", "-q")
    for ranks in (1, 2):
        run(damier, ranks, *base, expect=3)
        run(damier, ranks, *base, "--missing", "mean")
        compare(read(folder)[0], wanted(np.where(np.isnan(x), np.nanmean(x, 0), x))[0], 1e-10, "mean")
        run(damier, ranks, *base, "--missing", "complete")
        compare(read(folder)[0], wanted(np.delete(x, (5, 17), 0))[0], 1e-10, "complete")
        run(damier, ranks, "verify", folder / "x.h5", folder / "p.h5", "-q")
    run(damier, 1, *base, "--missing", "pairwise", expect=2)
    run(damier, 1, "svd", *base[1:4], "-o", folder / "q.h5", "-q", expect=3)


def hard(folder, damier):
    """Large means, a dominant component, a spectrum that does not converge; and seeds."""
    rng = np.random.default_rng(9)
    x = rng.standard_normal((400, 30)) * np.exp(-np.arange(30) / 5)
    x[:, 3] += 1e3 * rng.standard_normal(400)
    write(folder, x=x + 1e6, flat=rng.standard_normal((300, 200)))
    base = ("--rank", K, "-o", folder / "p.h5", "--force", "-q")
    for method in ("gram", "passes"):
        run(damier, 1, "pca", folder / "x.h5", *base, "--method", method, "--tolerance", 1e-9)
        compare(read(folder)[0], wanted(x + 1e6)[0], 1e-8, f"large means, {method}")
    done = ended(command(1, damier, "pca", folder / "flat.h5", *base, "--method", "passes", "--passes", 2, "--json", folder / "r.jsonl"))
    told = records_of(folder / "r.jsonl")[-1]["components"]["largest_residual"]
    expect(done.returncode == 10 and f"{told:.1e} of the largest" in done.stderr, f"exit {done.returncode}: {done.stderr}")
    expect(records_of(folder / "r.jsonl")[-1]["components"]["converged"] is False, "the record does not say it")
    first, attributes = read(folder)
    expect(attributes["converged"] in ("no", b"no"), "the file does not say that it did not converge")
    same = ("pca", folder / "flat.h5", *base, "--method", "passes", "--passes", 2, "--reproducible")
    run(damier, 1, *same, "--allow-unchecked")
    run(damier, 1, *same, expect=10)
    first = read(folder)[0]
    run(damier, 2, *same, expect=10)
    expect(all(np.array_equal(first[n], v) for n, v in read(folder)[0].items()), "other bits on two ranks")
    run(damier, 1, *same, "--seed", 7, expect=10)
    expect(not np.array_equal(first["components"], read(folder)[0]["components"]), "the seed changes nothing")


def proved(x, v, s):
    """The largest of |X v - s u| and |X^T u - s v| of orthonormal u, as a part of the largest s."""
    u, r = np.linalg.qr(x.astype(float) @ v.T)
    turn = np.sign(np.diag(r))
    u, r = u * turn, turn[:, None] * r
    return max(np.linalg.norm(r - np.diag(s), axis=0).max(), np.linalg.norm(x.T @ u - v.T * s, axis=0).max()) / s[0]


def dominant(folder, damier):
    """One value far above the others: what is written proves itself again, in products of f32, too."""
    rng = np.random.default_rng(12)
    for rows, cols in ((43, 51), (300, 40), (40, 300)):
        u, v = (np.linalg.qr(rng.standard_normal((n, min(rows, cols))))[0] for n in (rows, cols))
        for top, method, ranks in ((1e2, "gram", 1), (1e2, "passes", 2), (1e4, "gram", 3)):
            x = ((u * np.r_[top, np.linspace(1, 0.5, len(v.T) - 1)]) @ v.T).astype("f4")
            write(folder, x=x)
            run(damier, ranks, "svd", folder / "x.h5", "--rank", K, "--method", method, "-o", folder / "p.h5", "--force", "-q")
            run(damier, ranks, "verify", folder / "x.h5", folder / "p.h5", "-q")
            got, what = read(folder, "svd")[0], f"{top:g} and {method} of {rows} x {cols}"
            loss = np.abs(got["components"] @ got["components"].T - np.eye(K)).max()
            expect(loss < 1e-12, f"{what}: components are orthonormal to {loss:.1e}")
            largest = proved(x, got["components"], got["singular_values"])
            expect(largest < 1e-5, f"{what}: residuals are {largest:.1e}")


def dependent(folder, damier):
    """Columns that others make up, exactly or but for a little: small values are found as they are, and none that is rounding."""
    for seed in range(4):
        (folder / "p.h5").unlink(missing_ok=True)
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((200, 16))
        x[:, 15] = x[:, 3] + x[:, 2]
        write(folder, x=x)
        for method in ("gram", "passes"):
            said = ended([damier, "pca", folder / "x.h5", "--rank", "16", "--method", method, "-o", folder / "p.h5", "--force", "-q"])
            expect(said.returncode == 3 and "X has 15 components" in said.stderr, f"seed {seed}, {method}: {said.returncode} {said.stderr}")
        x[:, 15] += 1e-10 * rng.standard_normal(200)
        write(folder, x=x)
        (folder / "p.h5").unlink(missing_ok=True)
        run(damier, 1, "svd", folder / "x.h5", "--rank", 16, "--method", "gram", "-o", folder / "p.h5", "--force", "-q")
        got, want = read(folder, "svd")[0]["singular_values"], np.linalg.svd(x, compute_uv=False)
        expect(np.allclose(got, want, rtol=1e-4, atol=0), f"seed {seed}: {got[-2:]}, wanted {want[-2:]}")


def scaled(folder, damier):
    """Elements of f32 whose squares it does not hold."""
    x = matrix(np.random.default_rng(13), 300, 40, "f8") - 2
    for factor in (1e-30, 1e19):
        write(folder, x=(x * factor).astype("f4"))
        for verb, method, ranks in (("pca", "gram", 1), ("pca", "passes", 2), ("svd", "gram", 2), ("svd", "passes", 1)):
            run(damier, ranks, verb, folder / "x.h5", "--rank", K, "--method", method, "--passes", 60, "-o", folder / "p.h5", "--force", "-q")
            want, (got, _) = wanted(np.float32(x * factor) / factor, verb)[0], read(folder, verb)
            compare({"singular_values": got["singular_values"] / factor, "components": got["components"]},
                    {name: want[name] for name in ("singular_values", "components")}, 1e-5, f"{verb} {method} of {factor}")
            run(damier, ranks, "verify", folder / "x.h5", folder / "p.h5", "-q")
            (folder / "p.h5").unlink()
    run(damier, 1, "svd", folder / "x.h5", "--rank", K, "--type", "f32", "-o", folder / "p.h5", "-q", expect=3)


def limited(folder, damier):
    """Within --memory: the largest process of a run holds no more, X is several times as large; plan says how long it takes."""
    x = matrix(np.random.default_rng(6), 60000, 120, "f8")  # 55 MiB
    write(folder, x=x)
    want = wanted(x)[0]
    base = ("pca", folder / "x.h5", "--rank", K, "--tolerance", 1e-9, "--passes", 60)
    for method, ranks, more in (("gram", 1, ""), ("passes", 1, ""), ("passes", 2, ""), ("gram", 3, "")):
        most = process_mib(damier, ranks) + 30
        limit = ("--memory", f"host={most}MiB", "--method", method, *more.split())
        run(damier, ranks, *base, *limit, "-o", folder / "p.h5", "--force", "-q", "--json", folder / "r.jsonl")
        compare(read(folder)[0], want, 1e-9, f"{method} on {ranks} within {most} MiB")
        planned = run(damier, ranks, "plan", *base, *limit)
        expect("\npredicted " in planned and f"method={method}" in planned, planned)
    host = ("--backend", "cpu") if "emulated" in damier else ()  # the memory of an emulated GPU is the process's
    held = peak_mib([damier, *base, "-o", folder / "p.h5", "--force", "-q", "--memory", f"host={process_mib(damier) + 30}MiB", *host])
    expect(held <= process_mib(damier) + 36, f"{held} MiB are held, {process_mib(damier) + 30} allowed")
    run(damier, 1, "generate", folder / "wide.h5", "--rows", 16000, "--cols", 1500, "--type", "f64", "-q")  # XtX takes 17 MiB
    most = process_mib(damier) + 120
    held = peak_mib([damier, "svd", folder / "wide.h5", "--rank", 3, "--method", "gram", "--tolerance", 0.5, "-o", folder / "s.h5", "-q",
                     "--memory", f"host={most}MiB", *host])
    expect(held <= most + 12, f"{held} MiB are held, {most} allowed")


def picked(folder, damier):
    """The method without --method: few passes of a file that is read as it is, one where each pass unpacks it again."""
    for form, method in (("", "passes"), ("--chunk 500x500 --deflate 1", "gram")):
        run(damier, 1, "generate", folder / "g.h5", "--rows", 3000, "--cols", 1000, "--type", "f32", "--force", "-q", *form.split())
        planned = run(damier, 1, "plan", "pca", folder / "g.h5", "--rank", 5)
        expect(f"method={method}" in planned, planned)


def drawn(folder, damier, seed):
    """Any shape and type, on any number of ranks, within some memory, by either method or that of the plan."""
    rng = np.random.default_rng(100 + seed)
    rows, cols, ranks = int(rng.integers(6, 3000)), int(rng.integers(6, 120)), int(rng.integers(1, 5))
    dtype, verb, method = str(rng.choice(["f8", "f4", "i2"])), str(rng.choice(["pca", "svd"])), str(rng.choice(["auto", "gram", "passes"]))
    of_rows, narrow = bool(rng.integers(2)), dtype == "f4"
    x = matrix(rng, rows, cols, dtype)
    if min(x.shape) < 2 * K:
        return
    write(folder, x=x.T if of_rows else x)
    memory = process_mib(damier, ranks) + int(rng.integers(12, 60))
    run(damier, ranks, verb, folder / "x.h5", "--rank", K, "-o", folder / "p.h5", "-q", "--passes", 200, "--tolerance", 2e-6 if narrow else 1e-9,
        "--memory", f"host={memory}MiB", *(["--of", "rows"] if of_rows else []), *(["--method", method] if method != "auto" else []))
    compare(read(folder, verb)[0], wanted(x, verb)[0], 2e-5 if narrow else 1e-9, f"{verb} {method} {dtype} {x.shape} on {ranks}")


def refused(folder, damier):
    x = np.random.default_rng(4).standard_normal((30, 8))
    constant = x.copy()
    constant[:, 2] = 5
    write(folder, x=x, constant=constant, same=np.ones((30, 8)), one=np.outer(np.arange(30.0), np.arange(8.0)), complex=x * 1j,
          few=x[:3], zero=np.zeros(30), infinite=np.where(np.arange(8) == 1, np.inf, x))
    out = ("-o", folder / "p.h5", "-q")
    for verb, name, more, code, says in (
            ("pca", "x", (), 2, "--rank K"), ("pca", "x", ("--rank", 0), 2, "less than 1"), ("pca", "x", ("--rank", 9), 3, "at most 8"),
            ("pca", "few", ("--rank", 3), 3, "at most 2"), ("svd", "few", ("--rank", 4), 3, "at most 3"),
            ("pca", "constant", ("--rank", 2, "--scale"), 3, "are constant"), ("pca", "same", ("--rank", 2), 3, "no components"),
            ("pca", "one", ("--rank", 2), 3, "has 1 components"), ("pca", "complex", ("--rank", 2), 2, "numpy.linalg.eigh"),
            ("pca", "x", ("--rank", 2, "--weights", folder / "zero.h5"), 3, "all weights are 0"), ("svd", "infinite", ("--rank", 2), 3, "Inf"),
            ("svd", "infinite", ("--rank", 2, "--method", "passes"), 3, "Inf"),
            ("pca", "x", ("--rank", 2, "--type", "f16"), 2, "f32 or f64"), ("pca", "x", ("--rank", 2, "--tolerance", 0), 2, "positive"),
            ("pca", "x", ("--rank", 2, "--scores", folder / "p.h5"), 2, "of their own")):
        for ranks in (1, 2):
            done = ended(command(ranks, damier, verb, folder / f"{name}.h5", *more, *out))
            expect(done.returncode == code and says in done.stderr, f"{verb} {name} {more}: exit {done.returncode}: {done.stderr}")
    expect(not (folder / "p.h5").exists(), "something was written")


chosen = options()
run_cases(chosen.damier, [(decomposed, case, seed) for seed, case in enumerate(CASES)] + [(drawn, seed) for seed in range(how_many(chosen, 6, 24, 300))] + [(dependent,), (dominant,), (forged,), (gaps,), (hard,), (limited,), (picked,), (refused,), (scaled,)])
