"""sift: what a GPU finds of tiles in its memory, and the host merges, is bit for bit what the host keeps of whole tiles."""
import h5py
import numpy as np

from running import expect, how_many, options, records_of, run, run_cases


def contents(path):
    """All arrays of a result."""
    found = {}
    with h5py.File(path) as file:
        file["c"].visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
        nans = [group.attrs["nan_left_out"] for group in (file["c"], *file["c"].values()) if "nan_left_out" in group.attrs]
    return found, nans


def same(folder, damier, words, device):
    """The command in tiles on the GPU, of DEVICE bytes in all, and on the host."""
    words = [*words, "-q", "--allow-unchecked", "--json", folder / "r.json"]
    (folder / "r.json").unlink(missing_ok=True)
    run(damier, 1, *words, "-o", folder / "gpu.h5", "--memory", f"device={device}")
    record = records_of(folder / "r.json")[-1]
    expect(record["reduction"].get("sifted"), f"not on the GPU: {record['reduction']}")
    run(damier, 1, *words, "-o", folder / "cpu.h5", "--backend", "cpu")
    (one, nans), (other, more) = contents(folder / "gpu.h5"), contents(folder / "cpu.h5")
    expect(one.keys() == other.keys() and nans == more, f"{one.keys()}, {nans} instead of {other.keys()}, {more}")
    for name, values in other.items():
        expect(one[name].dtype == values.dtype and one[name].tobytes() == values.tobytes(), f"{name}: {one[name]} instead of {values}")
    for path in ("gpu.h5", "cpu.h5"):
        (folder / path).unlink()
    return record["reduction"]["tiles"]


def drawn(folder, damier, seed):
    """Whole numbers, whose products have many ties; NaN and Inf; all types, orders and kinds of lists."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(1 + 10 ** rng.uniform(0, 2.6)) for _ in range(3))
    dtype, most = str(rng.choice(["f4", "f8", "f2"])), int(rng.choice([1, 3, 8]))
    a, b = (rng.integers(-most, most + 1, size=shape).astype(dtype) for shape in ((m, k), (k, n)))
    if rng.random() < 0.3:
        a[int(rng.integers(m)), int(rng.integers(k))] = rng.choice([np.nan, np.inf])
    symmetric = rng.random() < 0.5
    turned = bool(rng.random() < 0.5)
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"], file["b"] = a.T if turned else a, b
    if symmetric:
        words = ["gram", folder / "x.h5:/a", "--of", "columns" if turned else "rows"]
    else:
        words = ["multiply", folder / "x.h5:/a", folder / "x.h5:/b", "--op-a", "t" if turned else "n"]
    if rng.random() < 0.7:
        words += ["--top", int(10 ** rng.uniform(0, 2.3))]
    if rng.random() < 0.5 or "--top" not in words:
        words += [str(rng.choice(["--above", "--below"])), int(rng.integers(-k, k + 1))]
    by = ["value", "abs"] if {"--above", "--below"} & set(map(str, words)) else ["value", "abs", "smallest"]
    words += ["--by", str(rng.choice(by)), "--each", str(rng.choice(["row", "column"]))]
    words += ["--no-self"] if symmetric and rng.random() < 0.5 else []
    size = np.dtype(dtype).itemsize
    same(folder, damier, words, 4 * (a.size + b.size) * size + int(10 ** rng.uniform(4, 6)))


def many_tiles(folder, damier, words, seed):
    """Rows that are alike fill lists, which overflow; columns get their limits by tiles of other rows."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, size=(1500, 12)).astype("f4")
    x[200:900] = x[200]
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    tiles = same(folder, damier, ["gram", folder / "x.h5:/x", "--of", "rows", *words], 1 << 20)
    expect(tiles > 6, f"{tiles} tiles")


def centered(folder, damier, words):
    """Correlations, whose factors are centered on the GPU, are those of NumPy."""
    x = np.random.default_rng(4).normal(size=(700, 30)).astype("f4") + np.float32(2)
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    out = run(damier, 1, "cor", folder / "x.h5", "--of", "rows", "-o", folder / "r.h5", "--top", 11, "--no-self", "--memory",
              "device=700KiB", "-v", *words)
    expect("on the GPU" in out and "PASS" in out, out)
    c = np.corrcoef(x.astype("f8"))
    np.fill_diagonal(c, -2)
    with h5py.File(folder / "r.h5") as file:
        values, indices = file["c/values"][:], file["c/indices"][:]
    wanted = -np.sort(-c, axis=1)[:, :11]
    expect(np.abs(values - wanted).max() < 1e-5, "other values")
    expect(np.abs(np.take_along_axis(c, indices, 1) - values).max() < 1e-5, "values of other indices")
    said = run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "r.h5", "-q")
    expect(said.rstrip().endswith("PASS"), said)


def alike(folder, damier, words):
    """Correlations of lines that are multiples of others: rounding takes none beyond 1, and equal ones are in order."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(900, 37)).astype("f4")
    x[100:] = x[rng.integers(100, size=800)] * (np.exp2(rng.integers(-2, 3, size=(800, 1))) * rng.choice([-1, 1], size=(800, 1))).astype("f4")
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    run(damier, 1, "cor", folder / "x.h5", "--of", "rows", "-o", folder / "r.h5", "--top", 20, "--memory", "device=900KiB", "-q", *words)
    c = np.corrcoef(x.astype("f8"))
    with h5py.File(folder / "r.h5") as file:
        values, indices = file["c/values"][:], file["c/indices"][:]
    most = 1 if "--alpha" not in words else 3
    expect(np.abs(values).max() == most, f"{np.abs(values).max()}")
    scores, got = (np.abs(c), np.abs(values)) if "abs" in words else (-c, -values) if "smallest" in words else (c, values)
    expect(np.abs(got / most + np.sort(-scores, axis=1)[:, :20]).max() < 1e-5, "other values")
    same = values[:, 1:] == values[:, :-1]
    expect((indices[:, 1:] > indices[:, :-1])[same].all(), "another order of equal elements")


def otherwise(folder, damier):
    """The same matrix as both factors, which are centered in different ways: C is not symmetric."""
    x = np.random.default_rng(6).normal(size=(300, 20)) + 3
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    y = x / np.linalg.norm(x, axis=1, keepdims=True)
    c = y @ (x - x.mean(0)).T
    run(damier, 1, "multiply", folder / "x.h5", folder / "x.h5", "--op-b", "t", "--center-b", "columns", "--scale-a", "rows", "-o",
        folder / "r.h5", "--top", 4, "--memory", "device=1MiB", "-q")
    with h5py.File(folder / "r.h5") as file:
        values = file["c/values"][:]
    scale = values[:, :1] / -np.sort(-c, axis=1)[:, :1]  # whatever the length is
    expect(np.allclose(values, -np.sort(-c, axis=1)[:, :4] * scale, rtol=1e-10), "other values")


def main():
    chosen = options()
    cases = [(drawn, seed) for seed in range(how_many(chosen, 40, 150, 1500))]
    cases += [(many_tiles, words, 1) for words in (["--top", 5], ["--top", 200, "--no-self"], ["--above", 20], ["--top", 3, "--below", -9],
                                                   ["--top", 1000, "--by", "abs"])]
    cases += [(alike, words) for words in ([], ["--by", "abs", "--alpha", 3], ["--by", "smallest"])]
    cases += [(otherwise,), (centered, []), (centered, ["--compute", "f32:f16"])]
    run_cases(chosen.damier, cases)


main()
