"""Reductions: what is kept of a C that is never stored is what NumPy keeps of C: order, ties, NaN, padding, sums;
whatever the tiles, the ranks, the types and the verb; refusals."""
import time

import elements
import h5py
import numpy as np
import zarr_stores
from running import command, ended, expect, how_many, options, peak_mib, process_mib, records_of, run, run_cases

INTEGER = ("i8", "i32")
NUMBERS = {"max": np.nanmax, "min": np.nanmin, "sum": np.sum, "mean": np.mean}


def whole(rng, rows, cols, most):
    return rng.integers(-most, most + 1, size=(rows, cols))


def matrix(rng, rows, cols, dtype):
    """Whole numbers, whose products have many ties and no rounding; or any numbers."""
    if dtype in INTEGER or rng.random() < 0.5:
        return whole(rng, rows, cols, 3)
    return rng.normal(size=(rows, cols)) * 10.0 ** rng.integers(-2, 3)


def scores_of(c, by):
    return {"value": c, "abs": np.abs(c), "smallest": -c}[by]


def lines_of(c, each, self_too):
    """C with its lines as rows, NaN where an element is not looked at."""
    lines = np.array(c if each == "row" else c.T, dtype=float)
    if not self_too:
        np.fill_diagonal(lines, np.nan)
    return lines


def expect_top(file, lines, count, by, tolerance):
    """The best of each line, by value and then by index; with rounding two near ones may change places."""
    values, indices = file["c/values"][:].astype(float), file["c/indices"][:]
    count = min(count, lines.shape[1])
    expect(values.shape == indices.shape == (len(lines), count), f"shapes {values.shape}, {indices.shape}")
    for line, some, at in zip(lines, values, indices):
        known = ~np.isnan(line)
        there = at >= 0
        expect(there.sum() == min(count, known.sum()), f"{there.sum()} elements of {known.sum()}")
        expect((at[:there.sum()] >= 0).all() and len(set(at[there])) == there.sum(), "indices occur twice")
        expect(known[at[there]].all(), "what must be left out was kept")
        expect((np.abs(line[at[there]] - some[there]) <= tolerance).all(), "values are not those of the indices")
        score = np.where(known, scores_of(line, by), -np.inf)
        order = np.argsort(-score, kind="stable")[:there.sum()]
        expect((np.abs(score[order] - score[at[there]]) <= 2 * tolerance).all(), "not the best ones")
        if tolerance == 0.0:
            expect((order == at[there]).all(), "another order of equal elements")


def expect_beyond(file, lines, shape, each, kept, tolerance, threshold):
    data, indices, indptr = (file["c"][name][:] for name in ("data", "indices", "indptr"))
    group = file["c"].attrs
    expect(group["encoding-type"] == ("csr_matrix" if each == "row" else "csc_matrix"), "another encoding")
    expect(tuple(group["shape"]) == shape and len(indptr) == len(lines) + 1 and indptr[-1] == len(data), "shape")
    for i, line in enumerate(lines):
        at, some = indices[indptr[i]:indptr[i + 1]], data[indptr[i]:indptr[i + 1]]
        expect((np.diff(at) > 0).all(), "indices are not in order")
        expect((np.abs(line[at] - some) <= tolerance).all(), "values are not those of the indices")
        is_kept = np.zeros(len(line), bool)
        is_kept[at] = True
        differ = is_kept != kept(line)
        expect((np.abs(np.abs(line[differ]) - abs(threshold)) <= tolerance).all(), "not the elements beyond")


def expect_number(file, lines, name, unit):
    got = file["c"][name][:]
    some = ~np.isnan(lines).all(1)
    if name.startswith("arg"):
        wanted = np.full(len(lines), -1)
        wanted[some] = getattr(np, "nan" + name)(lines[some], axis=1)
        same = got == wanted
        at = np.arange(len(lines))
        near = np.abs(lines[at, got] - lines[at, wanted]) <= 4 * unit * np.nanmax(np.abs(lines), 1, initial=0)
        return expect((same | (near & (got >= 0))).all(), "another place")
    if name == "count":
        return expect((got == (~np.isnan(lines)).sum(1)).all(), "another count")
    if name == "diagonal":
        wanted = np.diag(lines)
        return expect(got.shape == wanted.shape and (np.abs(got - wanted) <= 4 * unit * (np.abs(wanted).max(initial=0) + 1e-300)).all(), name)
    magnitudes = np.nansum(np.abs(lines), 1)
    if name in ("max", "min"):
        wanted = np.full(len(lines), np.nan)
        wanted[some] = NUMBERS[name](lines[some], axis=1)
    elif name == "norm":
        wanted = np.sqrt((lines ** 2).sum(1))
    else:
        wanted = NUMBERS[name](lines, axis=1)
    bound = 4 * unit * magnitudes + 1e-300
    return expect((np.isnan(got) == np.isnan(wanted)).all() and
                  (np.abs(got - wanted)[~np.isnan(wanted)] <= bound[~np.isnan(wanted)]).all(), f"another {name}")


def operands(folder, rng, dtype, layout, verb):
    """Files of A and B, and C."""
    m, n, k = (int(1 + 10 ** rng.uniform(0, 2.3)) for _ in range(3))
    a = matrix(rng, m, k, dtype)
    suffix = elements.suffix(layout)
    if verb == "multiply":
        b = matrix(rng, k, n, dtype)
        a, b = (elements.write(folder / f"{name}.{suffix}", x, dtype, layout) for name, x in (("a", a), ("b", b)))
        return [folder / f"a.{suffix}", folder / f"b.{suffix}"], a.astype(np.longdouble) @ b.astype(np.longdouble)
    x = elements.write(folder / f"a.{suffix}", a, dtype, layout).astype(np.longdouble)
    if verb == "gram":
        return [folder / f"a.{suffix}"], x.T @ x
    y = x - x.mean(0)
    c = y.T @ y / max(1, len(x) - 1)
    return [folder / f"a.{suffix}"], c


def drawn(folder, damier, seed):
    rng = np.random.default_rng(seed)
    verb = str(rng.choice(["multiply", "gram", "cov"]))
    dtype = str(rng.choice(["f64", "f32", "i8", "bf16"]))
    layout = str(rng.choice(["contiguous", "chunked"]))
    each, ranks = str(rng.choice(["row", "column"])), int(rng.choice([1, 1, 2, 3, 5]))
    self_too = verb == "multiply" or rng.random() < 0.5
    files, c = operands(folder, rng, dtype, layout, verb)
    if verb == "cov" and (c.shape[0] < 1 or np.isnan(c.astype(float)).any()):
        return
    unit = 0.0 if np.array_equal(c, np.round(c)) and np.abs(c).max() < 2**24 and verb != "cov" else 2.0**-20
    if dtype in ("f64",) or (dtype in INTEGER and verb == "cov"):
        unit = min(unit, 2.0**-40)
    if dtype == "bf16" and verb == "cov":  # centered values are rounded to it
        unit = 2.0**-13
    scale = np.sqrt(np.abs(np.outer(np.diag(c), np.diag(c)))).max() if verb != "multiply" else np.abs(c).max()
    tolerance = float(unit * 64 * scale)
    what = str(rng.choice(["top", "above", "below", "max", "min", "argmax", "argmin", "sum", "mean", "norm", "count", "diagonal"]))
    self_too = self_too or what == "diagonal"
    lines = lines_of(c.astype(float), each, self_too)
    more = 24 if dtype in ("f64", "f32") else 64  # 36 MiB widen narrow types
    flags = ["--each", each, *([] if self_too else ["--no-self"]), "--memory", f"host={process_mib(damier, ranks) + more}MiB"]
    by, count, threshold = "value", 0, 0.0
    if what == "top":
        by, count = str(rng.choice(["value", "abs", "smallest"])), int(rng.integers(1, 40))
        flags += ["--top", count, "--by", by]
    elif what in ("above", "below"):
        by, threshold = str(rng.choice(["value", "abs"])), float(np.float32(rng.choice(c.astype(float).ravel())))
        flags += [f"--{what}", f"{threshold!r}", "--by", by]
    else:
        flags += ["--reduce", what]
    out = run(damier, ranks, verb, *files, "-o", folder / "r.h5", "--threads", 1, "-q", *flags)
    expect(out.rstrip().endswith("PASS"), out)
    with h5py.File(folder / "r.h5") as file:
        if what == "top":
            expect_top(file, lines, count, by, tolerance)
        elif what in ("above", "below"):
            def kept(line):
                value = np.abs(line) if by == "abs" else line
                return value > threshold if what == "above" else value < threshold
            expect_beyond(file, lines, c.shape, each, kept, tolerance, threshold)
        elif self_too:
            expect_number(file, lines, what, max(unit, 2.0**-52) * 64)
    said = run(damier, int(rng.integers(1, 3)), "verify", files[0], files[-1], folder / "r.h5", "-q")
    expect(said.rstrip().endswith("PASS"), said)


def several_tiles(folder, damier, verb, ranks, self_too):
    """Tiles of a C that a rank's memory does not hold; ties everywhere."""
    rng = np.random.default_rng(5)
    x = rng.integers(-2, 3, size=(40, 2000 + 1000 * ranks)).astype("f4")
    x[:, 7] = x[:, -9]
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    c = x.T.astype("f8") @ x
    words = [folder / "x.h5"] if verb == "gram" else [folder / "x.h5", folder / "x.h5", "--op-a", "t"]
    flags = ["--memory", f"host={process_mib(damier, ranks) + 16}MiB", *([] if self_too else ["--no-self"])]
    out = run(damier, ranks, verb, *words, "-o", folder / "r.h5", "--top", 25, "-q", *flags)
    tiles = int(out.split(" tiles=")[1].split()[0])
    expect(tiles > 1 and out.rstrip().endswith("PASS"), out)
    with h5py.File(folder / "r.h5") as file:
        expect_top(file, lines_of(c, "row", self_too), 25, "value", 0.0)
    run(damier, ranks, verb, *words, "-o", folder / "s.h5", "--above", 60, "-q", *flags)
    with h5py.File(folder / "s.h5") as file:
        expect_beyond(file, lines_of(c, "row", self_too), c.shape, "row", lambda line: line > 60, 0.0, 60.0)


# what changes A and B, or C, on its way
ALIKE = [("cov", "--weights w.h5"), ("cor", "--missing mean"), ("cov", "--missing complete --weights w.h5"), ("cor", ""),
         ("gram", "--scale --alpha -2"), ("gram", "--center --divide n"), ("cov", "--of rows"), ("cor", "--type f32 --of rows"),
         ("gram", "--missing zero"), ("multiply", "--op-b t --scale-a rows --center-b columns --missing mean")]


def as_stored(folder, damier, verb, flags, ranks):
    """In several tiles, the elements are those of the C that the same command stores."""
    rng = np.random.default_rng(3)
    rows = "rows" in flags or verb == "multiply"
    lines = 500 + 600 * ranks
    x = rng.normal(size=(lines, 60) if rows else (60, lines)) + 3
    if "missing" in flags:
        x[rng.random(x.shape) < 0.003] = np.nan
    if "complete" in flags:
        x[5:] = np.nan_to_num(x[5:])
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = x
    with h5py.File(folder / "w.h5", "w") as file:
        file["w"] = rng.uniform(0.5, 2, size=60)
    words = [folder / "x.h5:/x[:, :]"] * (2 if verb == "multiply" else 1)
    words += [word.replace("w.h5", str(folder / "w.h5")) for word in flags.split()]
    run(damier, 1, verb, *words, "-o", folder / "c.h5", "-q")
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][:].astype(float)
    memory = f"host={process_mib(damier, ranks) + 14}MiB"
    out = run(damier, ranks, verb, *words, "-o", folder / "r.h5", "--top", 9, "--by", "abs", "--memory", memory, "-q")
    expect(int(out.split(" tiles=")[1].split()[0]) > 1, f"one tile: {out}")
    unit = 2.0**-20 if "f32" in flags else 2.0**-44
    with h5py.File(folder / "r.h5") as file:
        expect_top(file, lines_of(c, "row", True), 9, "abs", unit * np.nanmax(np.abs(c)))


def other_inputs(folder, damier):
    """Slices, many files as one matrix, and arrays of Zarr, in several tiles; correlations of two matrices."""
    rng = np.random.default_rng(8)
    x, y = (rng.normal(size=(50, count)) + 1 for count in (1300, 1100))
    with h5py.File(folder / "x.h5", "w") as file:
        file["wide"] = np.repeat(np.pad(x, ((3, 2), (1, 0))), 2, axis=1)
        file["y"], file["deep"] = y, np.stack([y, -y])
        file.create_dataset("y_chunks", data=y, chunks=(16, 128), compression="gzip")
    for i, part in enumerate(np.split(x, 5)):
        with h5py.File(folder / f"part{i}.h5", "w") as file:
            file["p"] = part
    zarr_stores.write(folder / "x.zarr", x, chunks=(20, 300), codecs=("gzip",))
    zarr_stores.write(folder / "y.zarr", y, chunks=(50, 100), codecs=())
    c = np.corrcoef(x.T, y.T)[:1300, 1300:]
    memory = f"host={process_mib(damier) + 16}MiB"
    xs = [f"{folder}/x.h5:/wide[3:53, 2::2]", f"{folder}/part*.h5:/p", folder / "x.zarr"]
    ys = [f"{folder}/x.h5:/deep[0]", f"{folder}/x.h5:/y_chunks", folder / "y.zarr"]
    for i, words in enumerate(zip(xs, ys)):
        each, lines = ("row", c) if i % 2 == 0 else ("column", c.T)
        out = run(damier, 1 + i % 2, "cor", *words, "-o", folder / "r.h5", "--top", 7, "--by", "abs", "--each", each, "--memory", memory,
                  "-q", "--force")
        expect(int(out.split(" tiles=")[1].split()[0]) > 1, f"one tile: {out}")
        with h5py.File(folder / "r.h5") as file:
            expect_top(file, lines, 7, "abs", 2.0**-44)
        said = run(damier, 1, "verify", *words, folder / "r.h5", "-q")
        expect(said.rstrip().endswith("PASS"), said)
    for each in xs:  # of one matrix
        run(damier, 1, "gram", each, "-o", folder / "g.h5", "--above", 90, "--memory", memory, "-q", "--force")
        with h5py.File(folder / "g.h5") as file:
            expect_beyond(file, x.T @ x, (1300, 1300), "row", lambda line: line > 90, 1e-10, 90.0)


class Part:
    """One of the results of a file, as if it were alone."""

    def __init__(self, file, name):
        self.file, self.name = file, name

    def __getitem__(self, name):
        return self.file[name.replace("c", f"c/{self.name}", 1)]


def several(folder, damier, verb, ranks, each):
    """Several reductions in one run, in several tiles; each can be verified."""
    x = np.random.default_rng(9).integers(-3, 4, size=(30, 1000 + 700 * ranks)).astype("f4")
    y = x[:, :-300]
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"], file["y"] = x, y
    words = [f"{folder}/x.h5:/x"] if verb == "gram" else [f"{folder}/x.h5:/x", f"{folder}/x.h5:/y", "--op-a", "t"]
    c = x.T.astype("f8") @ (x if verb == "gram" else y)
    lines = lines_of(c, each, True)
    out = run(damier, ranks, verb, *words, "-o", folder / "r.h5", "--each", each, "--top", 4, "--above", 70, "--below", -70, "--reduce",
              "argmax,sum,diagonal", "--memory", f"host={process_mib(damier, ranks) + 24}MiB", "-q")
    expect(int(out.split(" tiles=")[1].split()[0]) > 1, f"one tile: {out}")
    with h5py.File(folder / "r.h5") as file:
        expect(sorted(file["c"]) == ["above", "argmax", "below", "diagonal", "sum", "top"], f"{list(file['c'])}")
        expect_top(Part(file, "top"), lines, 4, "value", 0.0)
        expect_beyond(Part(file, "above"), lines, c.shape, each, lambda line: line > 70, 0.0, 70.0)
        expect_beyond(Part(file, "below"), lines, c.shape, each, lambda line: line < -70, 0.0, 70.0)
        for name in ("argmax", "sum", "diagonal"):
            expect_number(Part(file, name), lines, name, 2.0**-50)
    operands = (words[0], words[0] if verb == "gram" else words[1])
    for name in ("top", "below", "sum"):
        run(damier, 1, "verify", *operands, f"{folder}/r.h5:/c/{name}", "-q")
    run(damier, 1, "verify", *operands, folder / "r.h5", "-q", expect=3)
    run(damier, 1, verb, *words, "-o", folder / "r.h5", "--reduce", "max,min", "-q", "--force")


def diagonal(folder, damier):
    """Of a C of any shape; only tiles on it are computed."""
    rng = np.random.default_rng(6)
    for m, n, ranks in ((2500, 3000, 1), (1300, 20, 2)):
        a, b = rng.normal(size=(m, 30)), rng.normal(size=(30, n))
        np.save(folder / "a.npy", a)
        np.save(folder / "b.npy", b)
        out = run(damier, ranks, "multiply", folder / "a.npy", folder / "b.npy", "-o", folder / "d.h5", "--reduce", "diagonal",
                  "--force", "-q")
        expect(int(out.split(" tiles=")[1].split()[0]) == -(-min(m, n) // 1024), out)
        with h5py.File(folder / "d.h5") as file:
            expect(np.allclose(file["c/diagonal"][:], np.einsum("ik,ki->i", a[:min(m, n)], b[:, :min(m, n)])), "another diagonal")


def nan_and_inf(folder, damier):
    """NaN is left out of lists and extremes and counted; Inf is a number."""
    a = np.array([[np.nan, 1.0, np.inf, 2.0], [np.nan] * 4, [-np.inf, 5.0, 5.0, np.nan]])
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = a
        file["i"] = np.eye(4)[:, :4]
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.ones((1, 4))
        file["a"] = np.array([[1.0], [np.nan], [-3.0]])
    words = [folder / "b.h5:/a", folder / "b.h5:/b"]
    out = run(damier, 1, "multiply", *words, "-o", folder / "t.h5", "--top", 6, "-q")
    expect(" nan=4 " in out, out)
    with h5py.File(folder / "t.h5") as file:
        expect((file["c/indices"][0] == [0, 1, 2, 3]).all(), "ties are not by index")
        expect((file["c/indices"][1] == -1).all() and np.isnan(file["c/values"][1]).all(), "a line of NaN")
    run(damier, 2, "multiply", *words, "-o", folder / "m.h5", "--reduce", "argmax", "-q")
    with h5py.File(folder / "m.h5") as file:
        expect(list(file["c/argmax"][:]) == [0, -1, 0], "argmax")


def norms(folder, damier):
    """Squares of large and small numbers."""
    a = np.array([[3e200, 4e200], [3e-200, 4e-200], [1e300, 1e-300], [0.0, 0.0], [3.0, 4.0]])
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"] = a, np.eye(2)
    for ranks in (1, 3):
        run(damier, ranks, "multiply", folder / "a.h5:/a", folder / "a.h5:/b", "-o", folder / "n.h5", "--reduce", "norm",
            "--force", "-q")
        with h5py.File(folder / "n.h5") as file:
            got = file["c/norm"][:]
        expect(np.allclose(got, [5e200, 5e-200, 1e300, 0.0, 5.0], rtol=1e-14, atol=0), f"{got}")


def dry_runs(folder, damier):
    """The tiles, and the size of the result, without a result; what does not fit is said."""
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.ones((20, 4000), "f4")
    words = ["gram", folder / "x.h5", "-o", folder / "r.h5", "--memory", f"host={process_mib(damier, 2) + 16}MiB"]
    planned = run(damier, 2, *words, "--top", 5, "--dry-run")
    expect(f" {4000 * 5 * 12 / 1024:.0f} KiB" in planned.split("size of the result")[1].splitlines()[0], planned)
    expect(not (folder / "r.h5").exists(), "there is a result")
    expect("\npredicted " in planned, planned)
    done = run(damier, 2, *words, "--top", 5, "-q")
    tiles = [int(out.split(" tiles=")[1].split()[0]) for out in (planned, done)]
    expect(tiles[0] == tiles[1] > 1, f"{tiles} tiles")
    run(damier, 1, *words[:3], folder / "t.h5", *words[4:], "--top", 4000, "--dry-run", expect=5)
    # plan says the same without an output, of distances, too, and of a C of one column
    memory = words[-2:]
    same = run(damier, 2, "plan", *words[:2], *memory, "--top", 5)
    kept = [line for line in planned.splitlines() if "predicted" not in line and "damier:" not in line]
    expect([line for line in same.splitlines() if "predicted" not in line and "damier:" not in line] == kept, f"{planned}{same}")
    with h5py.File(folder / "v.h5", "w") as file:
        file["tall"], file["v"] = np.ones((200000, 3), "f4"), np.ones((3, 1), "f4")
    for more, size in (([f"{folder}/v.h5:/tall", f"{folder}/v.h5:/v", "--reduce", "max"], "1.53 MiB"),
                       ([*words[:2], "--metric", "euclidean"], "122 MiB"),
                       (["cor", folder / "x.h5", "--below", 0.5], "as many elements as are beyond the threshold")):
        out = run(damier, 1, "plan", *more)
        expect(size in out.split("size of the result")[1].splitlines()[0] and "\npredicted " in out, out)
    for more in (["gram", folder / "x.h5", "--top", 2, "--ranks", 2], ["gram", "--m", 9, "--top", 2], ["gram", folder / "x.h5", "--no-self"],
                 [folder / "x.h5", folder / "x.h5", "--op-a", "t", "--top", 2, "--no-self"]):
        run(damier, 1, "plan", *more, expect=2)


def tall(folder, damier):
    """A C of few columns and many rows, or the other way round, in tiles; progress says rows and elements."""
    rng = np.random.default_rng(14)
    a, b = rng.integers(-9, 10, size=(130000, 4)).astype("f4"), rng.integers(-9, 10, size=(4, 30)).astype("f4")
    with h5py.File(folder / "x.h5", "w") as file:
        file["a"], file["b"] = a, b
    c = a.astype("f8") @ b
    for ranks, each in ((1, "row"), (3, "column")):
        for words, lines, count in ((["a", "b"], c if each == "row" else c.T, 40), (["b", "a"], c.T if each == "row" else c, 3)):
            ops = [] if words[0] == "a" else ["--op-a", "t", "--op-b", "t"]
            most = min(count, lines.shape[1])
            memory = f"host={process_mib(damier, ranks) + 44 + 80 * (most + 4) * len(lines) // 2**20}MiB"
            done = ended(command(ranks, damier, "multiply", *(f"{folder}/x.h5:/{word}" for word in words), *ops, "-o", folder / "r.h5", "--force",
                                 "--top", count, "--reduce", "sum", "--each", each, "--memory", memory, "--progress", "always"))
            expect(done.returncode == 0, done.stderr)
            if each == "row" and ranks == 1:
                expect(" rows, " in done.stderr and " elements kept" in done.stderr, done.stderr)
            with h5py.File(folder / "r.h5") as file:
                expect(np.array_equal(file["c/sum/sum"][:], lines.sum(1)), "another sum")
                at = rng.integers(0, len(lines), 20)
                some = {"c/values": file["c/top/values"][:][at], "c/indices": file["c/top/indices"][:][at]}
            expect_top(some, lines[at], count, "value", 0.0)


def limited(folder, damier):
    """--memory holds: for lines so long that each tile is a product in tiles, and where what is kept takes most of it."""
    for rows, cols, top, more in ((1500, 16000, 10, 70), (5000, 4000, 400, 150)):
        run(damier, 1, "generate", folder / "x.h5", "--rows", rows, "--cols", cols, "--type", "f32", "-q", "--force")
        most = process_mib(damier) + more
        held = peak_mib([damier, "gram", folder / "x.h5", "--of", "rows", "--top", top, "-o", folder / "r.h5", "--force", "-q", "--memory",
                         f"host={most}MiB"])
        expect(held <= most + 12, f"{rows} x {cols}: {held} MiB are held, {most} allowed")


def planned(folder, damier):
    """What `damier plan` says of memory, size and time is what happens, as far as a busy computer lets it."""
    run(damier, 1, "generate", folder / "x.h5", "--rows", 4000, "--cols", 400, "--type", "f64", "-q")
    run(damier, 1, "generate", folder / "long.h5", "--rows", 1500, "--cols", 16000, "--type", "f32", "-q")
    most = f"host={process_mib(damier) + 70}MiB"
    for name, verb, words in (("x", "gram", ["--of", "rows", "--top", 50]), ("x", "cor", ["--of", "rows", "--reduce", "sum,max", "--reproducible"]),
                              ("x", "gram", ["--of", "rows", "--metric", "euclidean"]), ("long", "gram", ["--of", "rows", "--top", 9, "--memory", most]),
                              ("x", "pca", ["--rank", 9, "--method", "gram"]), ("x", "pca", ["--rank", 9, "--method", "passes", "--passes", 8])):
        words = [verb, folder / f"{name}.h5", *words]
        record = folder / "plan.jsonl"
        run(damier, 1, "plan", *words, "-q", "--json", record)
        said = records_of(record)[-1]
        said = said.get("reduction") or said["components"]
        started = time.monotonic()
        held = peak_mib([damier, *words, "-o", folder / "r.h5", "-q", *(["--tolerance", 0.9] if verb == "pca" else [])])
        took = time.monotonic() - started
        told = said["host_bytes"] / 2**20
        expect(held <= 1.2 * told + 16 and told <= 4 * held, f"{words}: {held} MiB are held, {told:.0f} were predicted")
        expect(said["predicted_s"] / 10 <= took <= 30 * said["predicted_s"] + 3, f"{words}: {took:.2f} s, {said['predicted_s']:.2f} were predicted")
        if "result_bytes" in said:
            size = (folder / "r.h5").stat().st_size
            expect(abs(size - said["result_bytes"]) <= 30000, f"{words}: {size} bytes, {said['result_bytes']} were predicted")
        (folder / "r.h5").unlink()


def without_room(folder, damier):
    """More elements than fit in memory go to the disk of the result; nothing stays of that."""
    x = np.random.default_rng(8).integers(-3, 4, size=(1500, 20)).astype("f4")
    np.save(folder / "x.npy", x)
    c = (x @ x.T).astype("f8")
    for ranks, each in ((1, "row"), (2, "row"), (3, "column")):
        run(damier, ranks, "gram", folder / "x.npy", "--of", "rows", "--above", 3, "--memory", f"host={process_mib(damier, ranks) + 8}MiB", "-o",
            folder / "r.h5", "-q", "--force", "--each", each)
        expect(sorted(path.name for path in folder.iterdir()) == ["r.h5", "x.npy"], "something is left")
        with h5py.File(folder / "r.h5") as file:
            expect(file["c/data"].size * 24 > 10 << 20, "they fit in memory")
            expect_beyond(file, c, c.shape, each, lambda line: line > 3, 0.0, 3.0)


def same_bits(folder, damier, verb, flags):
    """With --reproducible what is kept has the same bits on any number of ranks, also of 1 / 2 sums over several tiles."""
    rng = np.random.default_rng(12)
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"], file["y"] = rng.normal(size=(700, 4600)).astype("f4") + 1, rng.normal(size=(700, 5100)).astype("f4")
    words = [f"{folder}/x.h5:/x", *([f"{folder}/x.h5:/y", "--op-a", "t"] if verb == "multiply" else [])]
    flags = ["--reproducible", "--top", 5, "--above", 60 if verb != "cor" else 0.1, "--reduce", "sum,mean,norm,argmin", *flags.split()]
    first = None
    for ranks in (1, 2, 3, 4):
        memory = ["--memory", f"host={process_mib(damier, ranks) + 1500 // ranks}MiB"] if ranks > 2 else []
        out = run(damier, ranks, verb, *words, *flags, *memory, "-o", folder / "r.h5", "-q", "--force")
        expect(int(out.split(" tiles=")[1].split()[0]) > 1, f"one tile: {out}")
        with h5py.File(folder / "r.h5") as file:
            got = {f"{group}/{name}": file["c"][group][name][:].tobytes() for group in file["c"] for name in file["c"][group]}
        first = first or got
        differ = [name for name in got if got[name] != first[name]]
        expect(not differ, f"{ranks} ranks: other bits of {differ}")
    run(damier, 1, verb, *words, *flags, "--memory", f"host={process_mib(damier) + 40}MiB", "-o", folder / "s.h5", expect=5)


def expect_archive(path, stored, shape, each):
    """What scipy.sparse.load_npz looks for, without scipy, too; the same elements as in the HDF5 file."""
    with np.load(path) as file:
        kept = {name: file[name] for name in file.files}
    expect(kept["format"].item() == (b"csr" if each == "row" else b"csc") and kept["_is_array"].item() is True, f"{kept['format']}")
    expect(tuple(kept["shape"]) == shape and kept["indptr"][-1] == len(kept["data"]), "shape")
    expect(b"verified: PASS" in b"".join(value for name, value in kept.items() if name.endswith(".txt")), "no provenance")
    if "data" in stored:
        expect(all(np.array_equal(kept[name], stored[name]) for name in ("data", "indices", "indptr")), "other elements")
    else:  # the best of each line; those that are none are left out
        there = stored["indices"] >= 0
        expect(np.array_equal(kept["indices"], stored["indices"][there]), "other indices")
        expect(np.array_equal(kept["data"], stored["values"][there].astype(kept["data"].dtype)), "other values")
        expect(np.array_equal(np.diff(kept["indptr"]), there.sum(1)), "other rows")
    try:
        import scipy.sparse
    except ImportError:
        return
    dense = scipy.sparse.load_npz(path).toarray()
    expect(dense.shape == shape and np.count_nonzero(dense) == np.count_nonzero(kept["data"]), "scipy reads something else")


def archives(folder, damier):
    """Archives of NumPy: the elements of the HDF5 file, also where lines have fewer than K; replaced only by --force."""
    x = np.random.default_rng(4).normal(size=(60, 8)).astype("f4")
    x[7] = np.nan
    np.save(folder / "x.npy", x)
    words = ["gram", folder / "x.npy", "--of", "rows", "--missing", "nan", "--no-self", "-q"]
    for flags, ranks in (("--top 5", 1), ("--top 100 --each column --by abs", 2), ("--above 3.5 --each column", 1), ("--below -4", 3),
                         ("--top 2 --type bf16", 1), ("--above 1e9", 1)):
        each = "column" if "column" in flags else "row"
        for name in ("r.h5", "r.npz"):
            run(damier, ranks, *words, *flags.split(), "-o", folder / name, "--force", "--allow-unchecked")
        with h5py.File(folder / "r.h5") as file:
            stored = {name: file["c"][name].astype("f4")[:] if "bf16" in flags and name == "values" else file["c"][name][:] for name in file["c"]}
        expect_archive(folder / "r.npz", stored, (60, 60), each)
    run(damier, 1, *words, "--top", 3, "--reduce", "max,argmin", "-o", folder / "r.npz", "--force", "--allow-unchecked")
    with np.load(folder / "r.npz") as file:
        expect(file["max"].shape == file["argmin"].shape == (60,) and file["indptr"][-1] == 3 * 59, "not all arrays")
    np.save(folder / "y.npy", x[:7])
    run(damier, 1, "pca", folder / "y.npy", "--rank", 2, "-o", folder / "p.npz", "-q")
    with np.load(folder / "p.npz") as file:
        expect(file["components"].shape == (2, 8), "no components")
    for operands in (["x.npy", "x.npy", "r.npz"], ["y.npy", "p.npz"]):
        done = ended(command(1, damier, "verify", *(folder / name for name in operands)))
        expect(done.returncode == 2 and "archives of NumPy are not verified later" in done.stderr, done.stderr)
    (folder / "mine.npz").write_bytes(b"not an archive")
    for more, code in ((["--top", 2, "-o", folder / "r.npz"], 2), (["--top", 2, "-o", folder / "mine.npz", "--force"], 2),
                       (["--top", 2, "--above", 1, "-o", folder / "s.npz"], 2), (["--top", 2, "-o", f"{folder}/s.npz:/c"], 2),
                       (["-o", folder / "s.npz"], 2)):
        run(damier, 1, *words, *more, expect=code)
    expect(sorted(path.suffix for path in folder.iterdir()) == [".h5", ".npy", ".npy", ".npz", ".npz", ".npz"], "something is left")


def refusals(folder, damier):
    rng = np.random.default_rng(2)
    with h5py.File(folder / "x.h5", "w") as file:
        file["c"], file["x"], file["z"] = np.ones((5, 5)), rng.normal(size=(6, 5)), rng.normal(size=(6, 5)) + 1j
        file["s"] = rng.normal(size=(2, 6, 5))
    x, z, s = (f"{folder}/x.h5:/{name}" for name in "xzs")
    out = ["-o", folder / "r.h5"]
    for words, code in (([x, "--top", 0], 2), ([x, "--top", "1.5"], 2), ([x, "--reduce", "max,median"], 2), ([x, "--reduce", "max,"], 2), ([x, "--reduce", "diagonal,max", "--no-self"], 2), ([x, "--top", 2, "--above", 1, "--by", "smallest"], 2),
                        ([x, "--above", "x"], 2), ([x, "--above", "nan"], 2), ([x, "--by", "abs"], 2),
                        ([x, "--each", "row"], 2), ([x, "--no-self"], 2), ([x, "--above", 1, "--by", "smallest"], 2),
                        ([x, "--top", 2, "--chunk", "2x2"], 2), ([x, "--top", 2, "--max-elements", 3], 2),
                        ([x, "--top", 2, "--append"], 2), ([x, "--top", 2, "--triangle", "lower"], 2),
                        ([x, "--reduce", "median"], 2),
                        ([z, "--top", 2], 2), ([x, "--above", -9, "--max-elements", 3], 5),
                        ([s, "--top", 2], 3), ([x, "--top", 10**15], 0)):
        if code:
            run(damier, 1, "gram", *words, *out, expect=code)
            expect(not (folder / "r.h5").exists(), f"{words}: there is a result")
    run(damier, 1, "gram", x, "--top", 2, "-o", folder / "r.npy", expect=2)
    run(damier, 1, "cov", x, "--top", 2, "--missing", "pairwise", *out, expect=2)
    run(damier, 1, "multiply", x, x, "--op-a", "t", "--c", f"{folder}/x.h5:/c", "--beta", 1, "--top", 2, *out, expect=2)


def replaces(folder, damier):
    """--force replaces a result, but no file with anything else."""
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.eye(4)
    out = ["-o", folder / "r.h5:/some/c"]
    run(damier, 1, "gram", folder / "x.h5", "--top", 2, "-q", *out)
    run(damier, 1, "gram", folder / "x.h5", "--top", 2, "-q", *out, expect=2)
    run(damier, 1, "gram", folder / "x.h5", "--above", 0.5, "-q", *out, "--force")
    with h5py.File(folder / "r.h5", "a") as file:
        expect(list(file["some/c"]) == ["data", "indices", "indptr"], "not replaced")
        file["mine"] = 1
    run(damier, 1, "gram", folder / "x.h5", "--top", 2, "-q", *out, "--force", expect=2)


TILES = [("gram", 1, True), ("gram", 3, False), ("multiply", 2, True)]

chosen = options()
run_cases(chosen.damier, [(several_tiles, *case) for case in TILES] + [(as_stored, *case, 1 + i % 3) for i, case in enumerate(ALIKE)] + [(other_inputs,), (several, "gram", 1, "row"), (several, "multiply", 2, "column"), (diagonal,), (nan_and_inf,), (norms,), (dry_runs,), (tall,), (limited,), (planned,), (without_room,), (archives,), (same_bits, "cor", "--no-self"), (same_bits, "multiply", "--each column"), (refusals,), (replaces,)]
          + [(drawn, seed) for seed in range(how_many(chosen, 16, 32, 1000))])
