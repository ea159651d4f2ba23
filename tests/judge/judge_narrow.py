"""narrow: parts of few columns or rows, lists of them, and results with few columns: the products, and how many calls and
chunks it takes to read them."""
import h5py
import numpy as np

from running import ended, expect, how_many, options, records_of, run, run_cases

LAYOUTS = ("contiguous", "c.npy", "fortran.npy", "rows", "columns", "squares", "lzf")
TYPES = ("f4", "f8", "i2", ">f8", ">f4", "c8")


def chunks_of(shape, layout):
    return {"rows": (max(1, shape[0] // 9), shape[1]), "columns": (shape[0], max(1, shape[1] // 5)),
            "squares": (max(1, shape[0] // 7), max(1, shape[1] // 3)), "lzf": (max(1, shape[0] // 5), max(1, shape[1] // 2))}[layout]


def store(path, x, layout):
    """Writes X; its location."""
    if layout.endswith(".npy"):
        np.save(f"{path}.npy", np.asfortranarray(x) if layout == "fortran.npy" else x)
        return f"{path}.npy"
    more = {} if layout == "contiguous" else {"chunks": chunks_of(x.shape, layout),
                                              "compression": "lzf" if layout == "lzf" else 1, "shuffle": True}
    with h5py.File(f"{path}.h5", "w") as file:
        file.create_dataset("x", data=x, **more)
    return f"{path}.h5:/x"


def some(folder, axis, n, few, rng):
    """Indices of an axis of N, and how the location states them."""
    kind = int(rng.integers(5))
    start = int(rng.integers(n))
    if kind == 0:
        return np.arange(n)[start:start + few], f"{start}:{min(n, start + few)}"
    if kind == 1:
        step = int(rng.integers(1, max(2, n // few)))
        return np.arange(n)[start % step::step], f"{start % step}::{step}"
    if kind == 2:
        return np.arange(n), ":"
    chosen = rng.integers(-n, n, few)
    chosen = np.sort(chosen % n) if kind == 3 else chosen
    with h5py.File(folder / "l.h5", "a") as file:
        file[f"l{axis}"] = chosen
    return chosen, f"@{folder}/l.h5:/l{axis}"


def at_random(folder, damier, seed):
    """Any part of any layout, as A or its transpose, on one or three ranks; then the result is verified."""
    rng = np.random.default_rng(seed)
    for number, layout in enumerate(LAYOUTS):
        place = folder / layout
        place.mkdir()
        shape = (int(rng.integers(3000, 60000)), int(rng.integers(2, 40)))
        shape = shape[::-1] if rng.random() < 0.3 else shape
        x = rng.integers(-9, 9, shape).astype(str(rng.choice(TYPES)))
        at = store(place / "a", x, layout)
        rows, down = some(place, 0, shape[0], int(rng.integers(1, 400 if shape[0] > 100 else 5)), rng)
        cols, right = some(place, 1, shape[1], int(rng.integers(1, 400 if shape[1] > 100 else 5)), rng)
        turned = rng.random() < 0.5
        wide = "c16" if np.iscomplexobj(x) else "f8"
        left = x[rows][:, cols].astype(wide)
        left = left.T if turned else left
        right_side = rng.integers(-5, 5, (left.shape[1], int(rng.integers(1, 4)))).astype(wide)
        np.save(place / "b.npy", right_side)
        c = place / str(rng.choice(["c.npy", "c.h5"]))
        words = ["--type", "c128" if wide == "c16" else "f64", *(["--op-a", "t"] if turned else [])]
        packed = ["--chunk", "64x1", "--deflate", "1"] if c.suffix == ".h5" and rng.random() < 0.5 else []
        few = ["--memory", "host=96MiB"] if rng.random() < 0.3 else []
        inputs = (f"{at}[{down}, {right}]", place / "b.npy")
        run(damier, 3 if (seed + number) % 3 == 0 else 1, "multiply", *inputs, "-o", c, "-q", *words, *packed, *few)
        got = np.load(c) if c.suffix == ".npy" else h5py.File(c)["c"][()]
        expect(np.array_equal(got, left @ right_side), f"wrong: {inputs[0]} {words} {packed} {few}")
        run(damier, 1, "verify", *inputs, c, "-q", *words)


def counted(folder, damier, *words):
    """What the record says of the files."""
    (folder / "r.json").unlink(missing_ok=True)
    run(damier, 1, *words, "-o", folder / "c.h5", "--force", "-q", "--json", folder / "r.json")
    with h5py.File(folder / "c.h5") as file:
        return records_of(folder / "r.json")[-1]["files"], file["c"][()]


def calls(folder, damier):
    """A run of close rows or columns takes few calls, however many elements are wanted of it; distant ones take one each, and
    nothing between them is read."""
    rng = np.random.default_rng(1)
    tall, wide = rng.integers(-9, 9, (600000, 4)).astype("f4"), rng.integers(-9, 9, (20000, 100)).astype("f8")
    listed, few = rng.permutation(100)[:20], rng.permutation(600000)[:3000]
    store(folder / "tall", tall, "contiguous")
    store(folder / "wide", wide, "contiguous")
    store(folder / "flat", wide.T, "fortran.npy")
    with h5py.File(folder / "l.h5", "w") as file:
        file["j"], file["i"] = listed, few
        file["far"] = np.arange(0, 40) ** 2 * 7 % 20000
    for location, part, most in (
            (f"{folder}/tall.h5:/x[:, 0:2]", tall[:, :2], 30), (f"{folder}/tall.h5:/x[::3, 3]", tall[::3, 3:4], 30),
            (f"{folder}/tall.h5:/x[@{folder}/l.h5:/i]", tall[few], 400), (f"{folder}/wide.h5:/x[:, @{folder}/l.h5:/j]", wide[:, listed], 30),
            (f"{folder}/wide.h5:/x[5:15000:2, 7:9]", wide[5:15000:2, 7:9], 30),
            (f"{folder}/flat.npy[3:5, :]", wide.T[3:5], 30), (f"{folder}/flat.npy[@{folder}/l.h5:/j, 100:]", wide.T[listed, 100:], 30),
            (f"{folder}/wide.h5:/x[@{folder}/l.h5:/far]", wide[np.arange(0, 40) ** 2 * 7 % 20000], 60)):
        vector = "x[::3, 3]" in location
        of = ["--of", "rows"] if part.shape[1] > 200 else []
        files, c = counted(folder, damier, "gram", location, "--type", "f64", "--panel", 65536, *of, *(["--as-column"] if vector else []))
        x = part.astype("f8")
        expect(np.array_equal(c, x @ x.T if of else x.T @ x), f"wrong: {location}")
        expect(0 < files["read_calls"] <= most, f"{files['read_calls']} calls for {location}")


def covariance(folder, damier, ranks, location, of):
    """The record's files and the covariances."""
    (folder / "r.json").unlink(missing_ok=True)
    run(damier, ranks, "cov", location, "-o", folder / "c.h5", "--force", "-q", "--type", "f64", "--of", of, "--reproducible",
        "--json", folder / "r.json")
    with h5py.File(folder / "c.h5") as file:
        return records_of(folder / "r.json")[-1]["files"], file["c"][()]


def moments(folder, damier, chunks):
    """Means take each chunk once, whatever its shape, and on any number of ranks the same bits."""
    rng = np.random.default_rng(2)
    x = (rng.standard_normal((20000, 60)) + 5).astype("f4")
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=chunks, compression=1)
    down, across = -(-20000 // chunks[0]), -(-60 // chunks[1])
    for of, part in (("columns", ""), ("rows", "[:300]")):
        taken = x.astype("f8") if of == "columns" else x[:300].astype("f8").T
        found = {}
        for ranks in (1, 3):
            files, found[ranks] = covariance(folder, damier, ranks, f"{folder}/x.h5:/x{part}", of)
            expect(np.allclose(found[ranks], np.cov(taken.T), rtol=1e-10, atol=1e-12), f"wrong: {of}, {ranks} ranks")
            spare = 0 if ranks == 1 else 2 * min(down, across)  # two ranks may meet inside of a chunk
            before = files["chunks_unpacked_before"]
            expect(of == "rows" or down * across <= before <= down * across + spare, f"{before} of {down * across} chunks, {ranks} ranks")
        expect(found[1].tobytes() == found[3].tobytes(), f"other bits on 3 ranks: {of}")


def results(folder, damier):
    """C of one to three columns in every form, resumed from a run that was stopped, too."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(-9, 9, (90000, 5)).astype("f8"), rng.integers(-9, 9, (5, 3)).astype("f8")
    at, beside = store(folder / "a", a, "contiguous"), store(folder / "b", b, "contiguous")
    for cols, ranks, words in ((1, 1, ()), (2, 1, ("--chunk", "1000x2", "--deflate", "1")), (3, 3, ()), (3, 1, ("--memory", "host=96MiB")),
                               (2, 1, ("--type-c", "f32")), (3, 1, ("--alpha", "3"))):
        for name in ("c.h5", "c.npy"):
            if name == "c.npy" and "--chunk" in words:
                continue
            run(damier, ranks, "multiply", at, f"{beside}[:, :{cols}]", "-o", folder / name, "--force", "-q", *words)
            got = np.load(folder / name) if name == "c.npy" else h5py.File(folder / name)["c"][()]
            expect(np.array_equal(got, a @ b[:, :cols] * (3 if "--alpha" in words else 1)), f"wrong: {cols} columns, {words}, {name}")
    got[7, 1] += 1e-3  # one element of few
    np.save(folder / "c.npy", got)
    done = ended([str(damier), "verify", at, f"{beside}[:, :3]", str(folder / "c.npy"), "--alpha", "3", "-q"])
    expect(done.returncode == 1, f"a wrong element of a narrow C: exit {done.returncode}")


def main():
    chosen = options()
    work = [(calls,), (results,)]
    work += [(moments, chunks) for chunks in ((20000, 1), (20000, 7), (50, 60), (3000, 9), (20000, 60))]
    work += [(at_random, seed) for seed in range(how_many(chosen, 3, 6, 30))]
    run_cases(chosen.damier, work)


main()
