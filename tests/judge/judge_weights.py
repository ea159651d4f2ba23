"""Weights of the terms of sums, as numpy.cov's aweights and fweights, and lines that are centered and scaled by the user's numbers."""
import h5py
import numpy as np
from running import command, ended, expect, options, run, run_cases

# type, ranks, flags
CASES = [("f8", 1, ""), ("f4", 2, ""), ("i2", 1, "--type f64"), ("c16", 1, ""), ("f8", 4, "--grid 2x2x1"), ("f8", 1, "--memory host=72MiB")]


def write(folder, **arrays):
    for name, array in arrays.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = array


def read(folder):
    with h5py.File(folder / "c.h5") as file:
        return file["c"][:]


def close(c, want, dtype, what):
    bound = 3e-5 if dtype == "f4" else 1e-12
    expect(np.array_equal(np.isnan(c), np.isnan(want)), f"{what}: NaN elsewhere")
    expect(np.nanmax(np.abs(c - want), initial=0) <= bound * np.nanmax(np.abs(want)), what)


def covariances(folder, damier, case, seed):
    dtype, ranks, flags = case
    rng = np.random.default_rng(seed)
    rows, cols = int(rng.integers(30, 300)), int(rng.integers(2, 50))
    x = (rng.normal(size=(rows, cols)) * 9 + 30 + (1j * rng.normal(size=(rows, cols)) if dtype == "c16" else 0)).astype(dtype)
    w, f = rng.uniform(0, 2, rows), rng.integers(0, 4, rows)
    w[rng.random(rows) < 0.1] = 0
    write(folder, x=x, w=w, f=f)
    np.save(folder / "w.npy", w.reshape(-1, 1))
    wide = x.astype(complex if dtype == "c16" else float)
    base = ("-o", folder / "c.h5", "--force", "-q", "--threads", 1, *flags.split())
    for weights, kind, numpys in (("w.h5:/x", "reliability", {"aweights": w}), ("w.npy", "reliability", {"aweights": w}),
                                  ("f.h5", "frequency", {"fweights": f})):
        given = ("--weights", folder / weights, "--weights-are", kind)
        for divide, ddof in (("n-1", 1), ("n", 0)):
            run(damier, ranks, "cov", folder / "x.h5", *base, *given, "--divide", divide)
            want = np.cov(wide, rowvar=False, ddof=ddof, **numpys)
            close(read(folder), want.conj(), dtype, f"cov {kind} {divide}")
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
        run(damier, ranks, "cor", folder / "x.h5", *base, *given)
        deviations = np.sqrt(np.diag(want).real)
        close(read(folder), want.conj() / np.outer(deviations, deviations), dtype, f"cor {kind}")
    write(folder, t=np.ascontiguousarray(x.T))
    run(damier, ranks, "cov", folder / "t.h5", *base, "--of", "rows", "--weights", folder / "w.h5")
    close(read(folder), np.cov(wide.T, aweights=w) if dtype != "c16" else np.cov(wide.T, aweights=w), dtype, "of rows")
    run(damier, ranks, "gram", folder / "x.h5", *base, "--weights", folder / "w.h5")
    close(read(folder), (wide.conj().T * w) @ wide, dtype, "gram")


def products(folder, damier):
    rng = np.random.default_rng(3)
    a, b, w = rng.normal(size=(60, 90)) + 4, rng.normal(size=(90, 40)), rng.uniform(0.1, 3, 90)
    u, v = rng.uniform(1, 2, 60), rng.uniform(-2, -1, 90)
    write(folder, a=a, b=b, w=w, u=u, v=v)
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
    for flags, left, right in ((f"--weights {folder}/w.h5", a * w, b),
                               (f"--scale-a {folder}/v.h5:/x", a / v, b),
                               (f"--scale-a rows:{folder}/u.h5", a / u[:, None], b),
                               (f"--center-a columns:{folder}/v.h5 --scale-a columns", (a - v) / a.std(0, ddof=1), b),
                               (f"--scale-b rows:{folder}/w.h5 --center-b rows", a, (b - b.mean(1, keepdims=True)) / w[:, None])):
        for ranks in (1, 2):
            run(damier, ranks, *words, *flags.split())
            close(read(folder), left @ right, "f8", flags)
        run(damier, 1, "verify", folder / "a.h5", folder / "b.h5", folder / "c.h5", "-q")
    centered = a.T - np.average(a.T, 0, w), b - np.average(b, 0, w)
    run(damier, 2, *words[:1], folder / "a.h5", folder / "b.h5", *words[3:], "--center-a", "rows", "--center-b", "columns", "--weights",
        folder / "w.h5", "--divide", "n-1")
    close(read(folder), (centered[0].T * w) @ centered[1] / (w.sum() - (w * w).sum() / w.sum()), "f8", "cross-covariance")


def refused(folder, damier):
    x, good = np.ones((20, 3)), np.ones(20)
    write(folder, x=x, short=np.ones(19), square=np.ones((20, 2)), negative=np.where(np.arange(20) == 7, -1, 1.0),
          hole=np.where(np.arange(20) == 5, np.nan, 1.0), zero=0 * good, infinite=good * np.inf, complex=good * 1j,
          empty=good[:0], text=np.array([b"1"] * 20), half=good / 2, one=np.eye(20)[0], divisor=np.array([1.0, 0, 1]),
          batch=np.ones((2, 3, 3)))
    words = ("cov", folder / "x.h5", "-o", folder / "c.h5", "-q")
    for weights, code, says in (("short", 3, "19"), ("square", 3, "20 x 2"), ("negative", 3, "number 7"), ("hole", 3, "number 5"),
                                ("zero", 3, "all weights are 0"), ("infinite", 3, "number 0"),
                                ("complex", 3, "is complex"), ("text", 3, "text"), ("empty", 3, "not one for each of 20"), ("one", 3, "divided by n-1"), ("nowhere", 4, "nowhere")):
        for ranks in (1, 2):
            done = ended(command(ranks, damier, *words, "--weights", folder / f"{weights}.h5"))
            expect(done.returncode == code and says in done.stderr, f"{weights}: exit {done.returncode}: {done.stderr}")
    run(damier, 1, *words, "--weights", folder / "half.h5", "--weights-are", "frequency", expect=3)
    run(damier, 1, *words, "--weights", folder / "half.h5", "--missing", "pairwise", expect=2)
    kept = (folder / "half.h5").read_bytes()
    for verb, option in (("cov", "--weights"), ("multiply", "--center-b"), ("multiply", "--scale-a")):
        operands = [folder / "x.h5"] + ([folder / "x.h5", "--op-a", "t"] if verb == "multiply" else [])
        vector = folder / ("divisor.h5" if option == "--center-b" else "half.h5")
        vector = f"rows:{vector}" if option == "--scale-a" else vector
        output = folder / ("divisor.h5" if option == "--center-b" else "half.h5")
        done = ended(command(1, damier, verb, *operands, option, vector, "-o", f"{output}:/x", "--force", "-q"))
        expect(done.returncode == 2 and "is also an input" in done.stderr, f"{option}: {done.stderr}")
    expect((folder / "half.h5").read_bytes() == kept, "weights were overwritten")
    run(damier, 1, "multiply", folder / "x.h5", folder / "x.h5", "--op-a", "t", "-o", folder / "c.h5", "--scale-b",
        folder / "divisor.h5", "-q", expect=3)
    run(damier, 1, "multiply", folder / "batch.h5", folder / "batch.h5", "-o", folder / "c.h5", "--weights", folder / "divisor.h5", "-q",
        expect=2)
    run(damier, 1, "multiply", folder / "x.h5", folder / "x.h5", "--op-a", "t", "-o", folder / "c.h5", "--scale-b", "lines", "-q", expect=2)
    expect(not (folder / "c.h5").exists() and not (folder / "c.h5.part").exists(), "something was written")


run_cases(options().damier, [(covariances, case, seed) for seed, case in enumerate(CASES)] + [(products,), (refused,)])
