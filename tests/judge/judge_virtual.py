"""virtual: virtual datasets, whose sources are read like inputs of their own or refused, never replaced by fill values."""
import h5py
import numpy as np

from running import ended, expect, how_many, options, run, run_cases

ROWS, COLS = 60, 40
MANY = 300
RNG = np.random.default_rng(3)
A, B = RNG.standard_normal((ROWS, COLS)), RNG.standard_normal((COLS, 10))
ALL = np.s_[:]
SOURCE = h5py.VirtualSource


def put(path, data, name="d", **more):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        file.create_dataset(name, data=data, **more)


def virtual(path, maps, shape=(ROWS, COLS), dtype="f8", **more):
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    layout = h5py.VirtualLayout(shape, dtype)
    for to, source in maps:
        layout[to] = source
    with h5py.File(path, "w", libver="v110") as file:
        file.create_virtual_dataset("a", layout, **more)


def stack(folder, count=6, **more):
    """Rows of A, in files s0.h5, s1.h5, ...; returns their mappings."""
    height = ROWS // count
    maps = []
    for i in range(count):
        put(folder / f"s{i}.h5", A[i * height:(i + 1) * height], **more)
        maps.append((np.s_[i * height:(i + 1) * height], SOURCE(f"s{i}.h5", "d", (height, COLS))))
    return maps


def right(folder, damier, want, ranks=1, words=(), name="v.h5"):
    """The product of NAME and B, or of its transpose and A's first columns, is right, and verify agrees."""
    for words_op, left, other in (((), want, B), (("--op-a", "t"), want.T, A[:, :7].astype(want.dtype))):
        put(folder / "b.h5", other.astype(want.dtype))
        run(damier, ranks, "multiply", folder / name, folder / "b.h5", "-o", folder / "c.h5", "--force", "-q", *words_op,
            *words)
        run(damier, 1, "verify", folder / name, folder / "b.h5", folder / "c.h5", "-q",
            *[word for word in words if word.startswith("--allow")])
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], left @ other, 1e-4 if want.dtype == np.float32 else 1e-10, 1e-4 if want.dtype == np.float32 else 1e-10),
                   f"wrong product of {name}, {words_op}, {words}")


def refused(folder, damier, code, words=(), name="v.h5", verb="multiply"):
    put(folder / "b.h5", B)
    (folder / "c.h5").unlink(missing_ok=True)
    end = (folder / "b.h5", "-o", folder / "c.h5", "-q") if verb == "multiply" else ()
    run(damier, 1, verb, folder / name, *end, *words, expect=code)
    expect(not (folder / "c.h5").exists(), f"{name}: refused, but C exists")


def layouts(folder, damier):
    maps = stack(folder)
    virtual(folder / "v.h5", maps)
    out = run(damier, 1, "info", folder / "v.h5:/a")
    expect("virtual, 6 sources" in out, out)
    right(folder, damier, A)
    right(folder, damier, A, ranks=3)
    stack(folder, chunks=(3, 16), compression="gzip", shuffle=True)
    right(folder, damier, A, ranks=3, words=("--panel", "64"))
    for i in range(4):
        put(folder / f"k{i}.h5", A[:, i * 10:i * 10 + 10], chunks=(7, 4), compression="lzf")
        put(folder / f"j{i}.h5", A[i::4], chunks=(7, 7), fletcher32=True)
    virtual(folder / "v.h5", [(np.s_[:, i * 10:i * 10 + 10], SOURCE(f"k{i}.h5", "d", (ROWS, 10))) for i in range(4)])
    right(folder, damier, A, words=("--io-threads", "0"))
    virtual(folder / "v.h5", [(np.s_[i::4], SOURCE(f"j{i}.h5", "d", (15, COLS))) for i in range(4)])
    right(folder, damier, A, ranks=3)


def lines(folder, damier):
    for i in range(ROWS):
        put(folder / "rows.h5", A[i], f"r{i}")
    for i in range(COLS):
        put(folder / "cols.h5", A[:, i], f"r{i}", chunks=(16,))
    virtual(folder / "v.h5", [(i, SOURCE("rows.h5", f"r{i}", (COLS,))) for i in range(ROWS)])
    right(folder, damier, A)
    virtual(folder / "v.h5", [(np.s_[:, i], SOURCE("cols.h5", f"r{i}", (ROWS,))) for i in range(COLS)])
    right(folder, damier, A)
    large = np.zeros((2 * ROWS, 2 * COLS))
    large[::2, ::2] = A
    put(folder / "large.h5", large)
    virtual(folder / "v.h5", [(ALL, SOURCE("large.h5", "d", large.shape)[::2, ::2])])
    right(folder, damier, A)


def nested(folder, damier):
    virtual(folder / "n.h5", stack(folder))
    both = np.vstack([A[35:], A[:35]])
    virtual(folder / "v.h5", [(np.s_[:25], SOURCE("n.h5", "a", A.shape)[35:]), (np.s_[25:], SOURCE("n.h5", "a", A.shape)[:35])])
    right(folder, damier, both)
    virtual(folder / "v.h5", [(ALL, SOURCE(".", "a", A.shape))])
    refused(folder, damier, 3)
    (folder / "s3.h5").unlink()
    virtual(folder / "v.h5", [(ALL, SOURCE("n.h5", "a", A.shape))])
    refused(folder, damier, 4)


def types(folder, damier):
    maps = stack(folder)
    put(folder / "s0.h5", A[:10].astype("f4"))
    put(folder / "s1.h5", (9 * A[10:20]).astype("i2"))
    put(folder / "s2.h5", A[20:30].astype(">f8"))
    for dtype in ("f8", "f4"):
        virtual(folder / "v.h5", maps, dtype=dtype)
        with h5py.File(folder / "v.h5") as file:
            want = file["a"][()]
        right(folder, damier, want)
    right(folder, damier, want.astype("f8"), words=("--type", "f64"))
    virtual(folder / "v.h5", maps, dtype="i4")
    refused(folder, damier, 3)


def gaps(folder, damier):
    maps = stack(folder)
    virtual(folder / "v.h5", maps[:2] + maps[4:], fillvalue=2.5)
    refused(folder, damier, 3)
    want = A.copy()
    want[20:40] = 2.5
    right(folder, damier, want, words=("--allow-no-data",))
    virtual(folder / "v.h5", maps + [(np.s_[5:9], SOURCE("s0.h5", "d", (10, COLS))[:4])])
    refused(folder, damier, 3)


def cubes(folder, damier):
    """Three dimensions: more in judge_naming."""
    for i in range(2):
        put(folder / f"k{i}.h5", A[i * 30:i * 30 + 30].reshape(30, 4, COLS // 4))
    virtual(folder / "v.h5", [(np.s_[i * 30:i * 30 + 30], SOURCE(f"k{i}.h5", "d", (30, 4, COLS // 4))) for i in range(2)],
            (ROWS, 4, COLS // 4))
    for name in ("v.h5", "k*.h5"):
        run(damier, 1, "gram", f"{folder}/{name}", "--row-axes-a", "1", "-o", folder / "g.h5", "-q", "--force")
        with h5py.File(folder / "g.h5") as file:
            expect(np.allclose(file["c"][()], A.T @ A), f"gram of cubes, {name}")


def sources(folder, damier):
    """A source that is not as it should be."""
    virtual(folder / "v.h5", stack(folder))
    source = folder / "s3.h5"
    whole = source.read_bytes()
    for data in (b"junk" * 99, b""):
        source.write_bytes(data)
        refused(folder, damier, 3)
    source.unlink()
    refused(folder, damier, 4)
    refused(folder, damier, 4, ("--allow-virtual",))
    refused(folder, damier, 4, verb="info")
    for name, more in (("e", {"data": A[:10]}), ("d", {"shape": (10, COLS), "dtype": "f8", "chunks": (5, COLS)}),
                       ("d", {"data": A[:9]}), ("d", {"data": A[:10].T}), ("d", {"data": A[:2].reshape(2, COLS, 1)}),
                       ("d", {"data": np.zeros((10, COLS), "S3")})):
        source.unlink(missing_ok=True)
        with h5py.File(source, "w") as file:
            file.create_dataset(name, **more)
        refused(folder, damier, 3)
    A[30:40].tofile(folder / "raw")
    with h5py.File(source, "w") as file:
        file.create_dataset("d", (10, COLS), "f8", external=[(str(folder / "raw"), 0, h5py.h5f.UNLIMITED)])
    refused(folder, damier, 3)
    right(folder, damier, A, words=("--allow-external",))
    source.write_bytes(whole)
    with h5py.File(source, "r+"):
        done = ended([damier, "info", f"{folder}/v.h5:/a"], HDF5_USE_FILE_LOCKING="TRUE")
        expect(done.returncode == 4 and "s3.h5" in done.stderr and "another program" in done.stderr, done.stderr)
    right(folder, damier, A)
    put(folder / "b.h5", B)
    run(damier, 1, "multiply", folder / "v.h5", folder / "b.h5", "-o", source, "--force", expect=2)


def places(folder, damier):
    put(folder / "below" / "deep.h5", A)
    virtual(folder / "v.h5", [(ALL, SOURCE("below/deep.h5", "d", A.shape))])
    right(folder, damier, A)
    with h5py.File(folder / "v.h5", "a", libver="v110") as file:
        layout = h5py.VirtualLayout(A.shape, "f8")
        layout[:] = SOURCE(".", "x", A.shape)
        del file["a"]
        file["x"] = A
        file.create_virtual_dataset("a", layout)
    right(folder, damier, A, name="v.h5:/a")
    (folder / "below" / "link.h5").symlink_to(folder / "s.h5")
    put(folder / "s.h5", A)
    for name in (folder / "s.h5", "../s.h5", "link.h5"):
        virtual(folder / "below" / "v.h5", [(ALL, SOURCE(str(name), "d", A.shape))])
        refused(folder, damier, 3, name="below/v.h5")
        right(folder, damier, A, words=("--allow-virtual",), name="below/v.h5")


def many(folder, damier):
    """More sources than files can be open."""
    for more in ({}, {"chunks": (1, 16), "compression": "gzip"}):
        a = RNG.standard_normal((MANY, COLS))
        for i in range(MANY):
            put(folder / f"m{i}.h5", a[i:i + 1], **more)
        virtual(folder / "v.h5", [(np.s_[i:i + 1], SOURCE(f"m{i}.h5", "d", (1, COLS))) for i in range(MANY)], a.shape)
        limited = folder / "limited"
        limited.write_text(f'#!/bin/sh\nulimit -n 72\nexec {damier} "$@"\n')
        limited.chmod(0o755)
        put(folder / "b.h5", B)
        run(limited, 1, "multiply", folder / "v.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], a @ B), "many sources: wrong product")
        run(damier, 1, "multiply", f"{folder}/m*.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], a @ B), "many stacked files: wrong product")
    one_is_wrong(folder, damier)


def one_is_wrong(folder, damier):
    """Several processes examine many sources; each fault among them is found and named."""
    maps = [(np.s_[i:i + 1], SOURCE(f"m{i}.h5", "d", (1, COLS))) for i in range(MANY)]
    virtual(folder / "v.h5", maps, (MANY, COLS))
    for i, code, data in ((MANY - 1, 4, None), (200, 3, np.array([[b"text"] * COLS])), (150, 3, np.zeros((2, COLS)))):
        path = folder / f"m{i}.h5"
        before = path.read_bytes()
        path.unlink()
        if data is not None:
            put(path, data)
        refused(folder, damier, code)
        text = ended([str(word) for word in (damier, "multiply", folder / "v.h5", folder / "b.h5", "-o", folder / "c.h5")]).stderr
        expect(f"m{i}.h5" in text, f"the message does not name m{i}.h5: {text}")
        path.write_bytes(before)
    virtual(folder / "n.h5", maps, (MANY, COLS))
    with h5py.File(folder / "n.h5") as file:
        a = file["a"][()]
    virtual(folder / "v.h5", [(np.s_[i:i + 1], SOURCE("n.h5", "a", (MANY, COLS))[i:i + 1]) for i in range(100)] +
            maps[100:], (MANY, COLS))
    run(damier, 1, "multiply", folder / "v.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
    with h5py.File(folder / "c.h5") as file:
        expect(np.allclose(file["c"][()], a @ B), "many sources, some virtual: wrong product")


def similar(folder, damier):
    """Sources that differ in a few bytes of their metadata: each still counts as what it is."""
    a = RNG.standard_normal((80, COLS))

    def write(i, name="d", attribute="scale_footer", dtype="f8"):
        path = folder / f"m{i}.h5"
        path.unlink(missing_ok=True)
        put(path, a[i:i + 1].astype(dtype), name)
        with h5py.File(path, "a") as file:
            file[name].attrs[attribute] = 2.0
        return path.stat().st_size

    sizes = {write(i) for i in range(len(a))}
    virtual(folder / "v.h5", [(np.s_[i:i + 1], SOURCE(f"m{i}.h5", "d", (1, COLS))) for i in range(len(a))], a.shape)
    for i, code, more in ((0, 0, {}), (71, 0, {"dtype": ">f8"}), (78, 3, {"name": "e"}), (75, 3, {"attribute": "scale_factor"})):
        sizes.add(write(i, **more))
        expect(len(sizes) == 1, "the files have the same size")
        if code:
            refused(folder, damier, code)
            text = ended([str(word) for word in (damier, "info", folder / "v.h5:/a")]).stderr
            expect(f"m{i}.h5" in text, f"the message does not name m{i}.h5: {text}")
        else:
            put(folder / "b.h5", B)
            run(damier, 1, "multiply", folder / "v.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
            with h5py.File(folder / "c.h5") as file:
                expect(np.allclose(file["c"][()], a @ B), f"similar sources, {more}: wrong product")
        write(i)


def bands(folder, damier):
    """Bands of whole rows, which are multiplied in the page cache: of A, B, both, and parts of wider sources."""
    rng = np.random.default_rng(8)
    for dtype in ("f8", "f4", "c16"):
        a = rng.standard_normal((1700, 900)).astype(dtype)
        b = rng.standard_normal((900, 33)).astype(dtype)
        for name, matrix, heights in (("a", a, (400, 20, 700, 580)), ("b", b, (257, 300, 343))):
            row, maps = 0, []
            for i, height in enumerate(heights):
                wide = rng.standard_normal((height + 3, matrix.shape[1] + 5)).astype(dtype)
                wide[2:height + 2, 4:matrix.shape[1] + 4] = matrix[row:row + height]
                put(folder / f"{name}{i}.h5", wide)
                maps.append((np.s_[row:row + height], SOURCE(f"{name}{i}.h5", "d", wide.shape)[2:height + 2, 4:matrix.shape[1] + 4]))
                row += height
            virtual(folder / f"v{name}.h5", maps, matrix.shape, dtype)
            put(folder / f"p{name}.h5", matrix)
        tolerance = 1e-3 if dtype == "f4" else 1e-10
        for left, right_ in (("va", "pb"), ("pa", "vb"), ("va", "vb")):
            for ranks, words in ((1, ()), (2, ()), (1, ("--reproducible",))):
                run(damier, ranks, "multiply", folder / f"{left}.h5", folder / f"{right_}.h5", "-o", folder / "c.h5", "--force", "-q",
                    *words)
                with h5py.File(folder / "c.h5") as file:
                    expect(np.allclose(file["c"][()], a @ b, tolerance, tolerance), f"wrong {left} {right_} {dtype} {words}")


def some_slice(rng, size, count=None):
    """COUNT elements of SIZE, or any number of them, at a random distance."""
    count = count or int(rng.integers(1, size + 1))
    most = (size - 1) // (count - 1) if count > 1 else 1
    step = int(rng.integers(1, min(most, 3) + 1))
    first = int(rng.integers(0, size - (count - 1) * step))
    return slice(first, first + (count - 1) * step + 1, step)


def some_source(rng, path, shape):
    """A new dataset and a random part of it that has as many elements as SHAPE."""
    count = shape[0] * shape[1]
    kind = rng.integers(3)
    if kind == 0:  # the same shape
        whole = tuple(int(n * rng.integers(1, 4) + rng.integers(0, 5)) for n in shape)
        part = tuple(some_slice(rng, n, c) for n, c in zip(whole, shape))
    elif kind == 1:  # one dimension
        whole = (int(count * rng.integers(1, 4)),)
        part = (some_slice(rng, whole[0], count),)
    else:  # other rows and columns
        rows = int(rng.choice([d for d in range(1, count + 1) if count % d == 0]))
        whole, part = (rows + 2, count // rows + 3), (slice(1, rows + 1), slice(2, 2 + count // rows))
    more = {"chunks": tuple(int(rng.integers(1, n + 1)) for n in whole)} if rng.integers(2) else {}
    if more and rng.integers(2):
        more["compression"] = "gzip"
    put(path, rng.integers(0, 100, whole).astype(rng.choice(["f8", ">f8", "f4", "i2", ">i4", "u1"])), **more)
    return SOURCE(path.name, "d", whole)[part]


def at_random(folder, damier, seed):
    """Mappings of any form, as h5py reads them. Without all elements they are refused."""
    rng = np.random.default_rng(seed)
    for case in range(12):
        shape = tuple(int(n) for n in rng.integers(1, 40, 2))
        free, maps = np.ones(shape, bool), []
        for i in range(int(rng.integers(1, 12))):
            to = tuple(some_slice(rng, n) for n in shape)
            if free[to].all():
                maps.append((to, some_source(rng, folder / f"r{case}_{i}.h5", free[to].shape)))
                free[to] = False
        virtual(folder / "v.h5", maps, shape, fillvalue=5)
        with h5py.File(folder / "v.h5") as file:
            want = file["a"][()]
        put(folder / "e.h5", np.eye(shape[1]))
        words = ("multiply", folder / "v.h5", folder / "e.h5", "-o", folder / "c.h5", "--force", "-q",
                 "--io-threads", int(rng.choice([0, 3])))
        if free.any():
            run(damier, 1, *words, expect=3)
        run(damier, 1, *words, *(["--allow-no-data"] if free.any() else []))
        with h5py.File(folder / "c.h5") as file:
            expect(np.array_equal(file["c"][()], want), f"case {case}: not what h5py reads")


def changed(folder, damier):
    """A finished result is not the result of a source that was written again."""
    virtual(folder / "v.h5", stack(folder))
    right(folder, damier, A)
    put(folder / "s2.h5", A[20:30] + 1)
    want = A.copy()
    want[20:30] += 1
    right(folder, damier, want)


def main():
    chosen = options()
    work = [(case,) for case in (layouts, lines, nested, types, gaps, cubes, sources, places, many, similar, bands, changed)]
    work += [(at_random, seed) for seed in range(how_many(chosen, 4, 8, 40))]
    run_cases(chosen.damier, work)


main()
