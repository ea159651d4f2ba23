"""slices: parts of datasets of two to four dimensions, lists of rows and columns, and many files as one matrix."""
import ctypes
import os
import threading

import h5py
import numpy as np

from running import ended, expect, how_many, options, run, run_cases

LAYOUTS = ("contiguous", "chunked", "deflated", "lzf", "compact", "virtual", "npy")


def write(path, x, name="x", **more):
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        file.create_dataset(name, data=x, **more)


def store(folder, x, layout, rng):
    """Writes X; its location, and the array that is there."""
    if layout == "npy":
        np.save(folder / "a.npy", np.asfortranarray(x) if x.ndim == 2 and rng.random() < 0.5 else x)
        return f"{folder}/a.npy"
    chunks = tuple(int(rng.integers(1, n + 1)) for n in x.shape)
    more = {"chunked": {"chunks": chunks}, "lzf": {"chunks": chunks, "compression": "lzf"},
            "deflated": {"chunks": chunks, "compression": "gzip", "shuffle": True}}.get(layout, {})
    if layout == "compact" and x.nbytes < 60000:  # HDF5 limits it to 64 KiB
        with h5py.File(folder / "a.h5", "w") as file:
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_layout(h5py.h5d.COMPACT)
            h5py.h5d.create(file.id, b"x", h5py.h5t.py_create(x.dtype), h5py.h5s.create_simple(x.shape), made)
            file["x"][...] = x
        return f"{folder}/a.h5:/x"
    write(folder / "a.h5", x, **more)
    if layout != "virtual":
        return f"{folder}/a.h5:/x"
    half = x.shape[0] // 2
    made = h5py.VirtualLayout(x.shape, x.dtype)
    for rows in (np.s_[:half], np.s_[half:]):
        made[rows] = h5py.VirtualSource("a.h5", "x", x.shape)[rows]
    with h5py.File(folder / "v.h5", "w") as file:
        file.create_virtual_dataset("x", made)
    return f"{folder}/v.h5:/x"


def some(folder, axis, n, rng):
    """Indices of an axis that is kept: what NumPy takes, and how the location states it."""
    kind = int(rng.integers(6))
    start = int(rng.integers(n))
    stop, step = int(rng.integers(start + 1, n + 1)), int(rng.integers(1, 5))
    if kind == 0:
        return np.arange(n), ":"
    if kind == 1:
        return np.arange(start, n), f"{start - n}:"
    if kind == 2:
        return np.arange(n)[start:stop:step], f"{start}:{stop}:{step}"
    if kind == 3:
        return np.arange(n)[::step], f"::{step}"
    if kind == 4:
        chosen = rng.random(n) < 0.5
        chosen[start] = True
        write(folder / "l.h5", chosen, f"l{axis}")
        return np.flatnonzero(chosen), f"@{folder}/l.h5:/l{axis}"
    chosen = rng.integers(-n, n, int(rng.integers(1, 2 * n)))
    chosen = np.sort(chosen) if rng.random() < 0.3 else chosen
    write(folder / "l.h5", chosen.astype(str(rng.choice(["i8", "i4", "i2"]))), f"l{axis}")
    return chosen, f"@{folder}/l.h5:/l{axis}"


def product(folder, damier, a, matrix, ranks, rng, *words):
    """The product of A, which is MATRIX, or of its transpose."""
    turned = rng.random() < 0.3
    left = (matrix.T if turned else matrix).astype("c16" if np.iscomplexobj(matrix) else "f8")
    right = rng.integers(-5, 5, (left.shape[1], 7)).astype(left.dtype)
    write(folder / "b.h5", right)
    run(damier, ranks, "multiply", a, folder / "b.h5", "-o", folder / "c.h5:/c", "--force", "-q", "--type",
        "c128" if np.iscomplexobj(matrix) else "f64", *(["--op-a", "t"] if turned else []), *words)
    with h5py.File(folder / "c.h5") as file:
        expect(np.array_equal(file["c"][()], left @ right), f"wrong: {a} {words}")


def at_random(folder, damier, seed):
    rng = np.random.default_rng(seed)
    for layout in LAYOUTS:
        count = 2 if layout == "virtual" else int(rng.integers(2, 5))
        shape = [int(rng.integers(3, 40 if count == 2 else 14)) for _ in range(count)]
        x = rng.integers(-9, 9, shape).astype(str(rng.choice(["f8", "f4", "i2", ">f8", "c16"])))
        place = folder / layout
        place.mkdir()
        at = store(place, x, layout, rng)
        kept = sorted(rng.choice(count, 2, replace=False))
        texts, matrix = [], x
        for axis in range(count):
            if axis in kept:
                taken, text = some(place, axis, shape[axis], rng)
                matrix = np.take(matrix, taken, kept.index(axis))
            else:
                one = int(rng.integers(-shape[axis], shape[axis]))
                matrix, text = np.take(matrix, one, sum(k < axis for k in kept)), str(one)
            texts.append(text)
        product(place, damier, f"{at}[{', '.join(texts)}]", matrix, int(rng.choice([1, 1, 2, 4])), rng,
                *(["--memory", "host=64MiB"] if seed % 2 else []))


def steps(folder, damier):
    """Rows that are apart in a file that could be multiplied where it is mapped."""
    rng = np.random.default_rng(9)
    x = rng.integers(-9, 9, (4, 3000, 40)).astype("f8")
    write(folder / "a.h5", x)
    for text, part in (("[3, 0:1000:2, :]", x[3, 0:1000:2]), ("[:, 7, :]", x[:, 7]), ("[1]", x[1]),
                       ("[2, 5:2000, :]", x[2, 5:2000]), ("[0, ::3, 4:20]", x[0, ::3, 4:20])):
        product(folder, damier, f"{folder}/a.h5:/x{text}", part, 1, rng)


def old_c(folder, damier):
    """A part of a dataset as the old C, and C verified against it."""
    rng = np.random.default_rng(4)
    a, b, c = (rng.integers(-5, 5, shape).astype("f8") for shape in ((30, 20), (20, 10), (3, 60, 20)))
    for name, x in (("a", a), ("b", b), ("c", c)):
        write(folder / f"{name}.h5", x)
    words = ("--beta", 2, "--c", f"{folder}/c.h5:/x[1, ::2, 10:]")
    inputs = (folder / "a.h5", folder / "b.h5")
    run(damier, 2, "multiply", *inputs, "-o", folder / "d.h5:/c", "-q", *words)
    with h5py.File(folder / "d.h5") as file:
        expect(np.array_equal(file["c"][()], a @ b + 2 * c[1, ::2, 10:]), "wrong with a part as the old C")
    run(damier, 1, "verify", *inputs, folder / "d.h5", "-q", *words)


def told(damier, location, text):
    """LOCATION is refused with a message that has TEXT."""
    done = ended([damier, "info", location])
    expect(done.returncode == 3 and text in done.stderr, f"{location}: {done.returncode} {done.stderr}")


def refusals(folder, damier):
    x = np.arange(60.0).reshape(3, 4, 5)
    write(folder / "t.h5", x)
    for name, entries, text in (("twice", [1, 1, -1, 1], None), ("late", [0, 2, 4], "entry 2 of"), ("early", [0, -5], "is -5, outside of 0 to 3")):
        write(folder / "l.h5", np.array(entries), name)
        if text is None:  # duplicates are allowed
            expect("4 x 5" in run(damier, 1, "info", f"{folder}/t.h5:/x[0, @{folder}/l.h5:/{name}, :]"), "no 4 rows")
        else:
            told(damier, f"{folder}/t.h5:/x[0, @{folder}/l.h5:/{name}, :]", text)
    with h5py.File(folder / "l.h5", "a") as file:
        file.create_dataset("long", (2**31 + 1,), "i1")[2**31] = 1  # a sparse file
    told(damier, f"{folder}/t.h5:/x[0, @{folder}/l.h5:/long, :]", "at most")
    write(folder / "t.h5", np.eye(5), "x[1]")
    write(folder / "t.h5", np.array([7]), "far")
    write(folder / "t.h5", np.arange(5.0), "v")
    for part in ("[9]", "[0:9]", "[-4]", "[::-1]", "[::0]", "[2:1]", "[a]", "[0,0,0,0]", "[0,0,0]", "[0,0]", "[]",
                 "[1:2:3:4]", f"[0, @{folder}/t.h5:/far]", f"[0, @{folder}/t.h5:/v]"):
        told(damier, f"{folder}/t.h5:/x{part}", "dimension" if part == "[0,0]" or part.endswith("/v]") else "3 x 4 x 5")
    out = run(damier, 1, "info", f"{folder}/t.h5:/x[1]")  # the name that exists
    expect("5 x 5" in out, out)
    out = run(damier, 1, "info", f"{folder}/t.h5:/x[-1, ..., 2:]")
    expect("4 x 3" in out, out)
    out = run(damier, 1, "info", f"{folder}/t.h5:/v[1:3]", "--as-column")
    expect("2 x 1" in out, out)
    run(damier, 1, "multiply", f"{folder}/t.h5:/x[1]", f"{folder}/t.h5:/x[1]", "-o", f"{folder}/c.h5:/c[0:2]", expect=2)
    expect(not (folder / "c.h5").exists(), "a refused output exists")


def list_changes(folder, damier):
    """A list that is not the same when it is read for B as it was for A: no product of two different matrices."""
    x = np.arange(60.0).reshape(6, 10)
    write(folder / "one.h5", x)
    write(folder / "two.h5", -x)
    names = [f"{folder}/{name}.h5:/x\n" for name in ("one", "two")] * 500
    path, other, c = folder / "list.txt", folder / "other.txt", folder / "g.h5"
    close_nowrite, libc = 0x10, ctypes.CDLL(None)
    for _ in range(20):  # until the list is replaced between both times, while its files are inspected
        path.write_text("".join(names))
        other.write_text("".join(reversed(names)))
        watch = libc.inotify_init()
        libc.inotify_add_watch(watch, str(path).encode(), close_nowrite)

        def replace():
            os.read(watch, 4096)
            os.replace(other, path)

        thread = threading.Thread(target=replace)
        thread.start()
        done = ended([damier, "gram", f"@{path}", "-o", c, "-q"], 60)
        thread.join()
        os.close(watch)
        if done.returncode != 0:
            break
        with h5py.File(c) as file:
            expect(np.all(np.diagonal(file["c"][()]) > 0), "the product of two different matrices")
        c.unlink()
    expect(done.returncode == 4 and "changed since it was inspected" in done.stderr, f"exit {done.returncode}: {done.stderr}")
    expect(not c.exists(), "something was written")


def lists_kept(folder, damier):
    """C does not replace a list that it is computed from, named by a location or in a list of locations."""
    write(folder / "x.h5", np.arange(20.0).reshape(5, 4))
    write(folder / "i.h5", np.array([3, 1, 1]), "i")
    part = f"{folder}/x.h5:/x[@{folder}/i.h5:/i]"
    (folder / "list.txt").write_text(part + "\n")
    kept = (folder / "i.h5").read_bytes()
    for location in (part, f"@{folder}/list.txt"):
        done = ended([damier, "gram", location, "-o", f"{folder}/i.h5:/i", "--force"])
        expect(done.returncode == 2 and "is a list of this command" in done.stderr, done.stderr)
        expect((folder / "i.h5").read_bytes() == kept, "the list was overwritten")
    run(damier, 1, "gram", part, "-o", f"{folder}/i.h5:/c", "--append", "-q")
    with h5py.File(folder / "i.h5") as file:
        expect(np.array_equal(file["i"][()], [3, 1, 1]) and file["c"].shape == (4, 4), "the list or C is wrong")


def stacks(folder, damier):
    rng = np.random.default_rng(5)
    parts = []
    for i in range(1, 121):  # r10 after r9
        x = rng.integers(-9, 9, (int(rng.integers(1, 5)), 20)).astype(("f8", "f4", "i2")[i % 3])
        write(folder / f"runs/r{i}.h5", x, **({"chunks": (1, 7), "compression": "gzip"} if i % 2 else {}))
        parts.append(x.astype("f8"))
    matrix = np.vstack(parts)
    for ranks in (1, 3):
        product(folder, damier, f"{folder}/runs/*.h5:/x", matrix, ranks, rng)
    product(folder, damier, f"{folder}/runs/r?.h5:/x[:, ::3]", np.vstack(parts[:9])[:, ::3], 2, rng)
    (folder / "list.txt").write_text(f"# two\n{folder}/runs/r7.h5:/x[0:1]\n\n{folder}/runs/r1?.h5:/x\n")
    product(folder, damier, f"@{folder}/list.txt", np.vstack([parts[6][:1], *parts[9:19]]), 2, rng)
    for i in range(3):
        write(folder / f"side{i}.h5", matrix[:9, i * 5:i * 5 + 5])
    product(folder, damier, f"{folder}/side?.h5", matrix[:9, :15], 1, rng, "--stack", "columns")
    location = f"{folder}/runs/*.h5:/x"
    run(damier, 1, "verify", location, folder / "b.h5", folder / "c.h5", expect=3)  # another product
    run(damier, 1, "multiply", location, location, "-o", folder / "runs/r5.h5", "--force", "--op-a", "t", expect=2)
    write(folder / "runs/r33.h5", np.zeros((2, 19)))
    told(damier, location, "r33.h5")
    (folder / "runs/r33.h5").write_text("nothing")
    told(damier, location, "r33.h5")
    run(damier, 1, "info", f"{folder}/none*.h5:/x", expect=4)
    done = ended([str(word) for word in (damier, "info", f"@{folder}/b.h5")])  # no list of locations
    expect(done.returncode == 3 and "b.h5: is not a text file" in done.stderr, done.stderr)
    texts = f"{location}\n{location}\0[0:2]\n".encode(), f"{location}\n".encode("utf-16")
    for text, line in zip(texts, (2, 1)):  # zero bytes end no line
        (folder / "zero.txt").write_bytes(text)
        done = ended([str(damier), "info", f"@{folder}/zero.txt"])
        expect(done.returncode == 3 and f"zero.txt: is not a text file: see line {line}" in done.stderr, done.stderr)
    os.mkfifo(folder / "pipe.txt")
    for list_of, what in ((folder / "pipe.txt", "a pipe"), ("/dev/zero", "a device")):  # are not waited for
        done = ended([str(damier), "info", f"@{list_of}"])
        expect(done.returncode == 3 and f"is {what}" in done.stderr, done.stderr)


def flattened(folder, damier, seed):
    """All or a part of a dataset whose first dimensions are the rows."""
    rng = np.random.default_rng(seed)
    for layout in ("contiguous", "chunked", "deflated", "lzf", "npy"):
        shape = [int(n) for n in rng.integers(2, 12, int(rng.integers(3, 5)))]
        x = rng.integers(-9, 9, shape).astype(str(rng.choice(["f8", "i2", ">f4"])))
        place = folder / layout
        place.mkdir()
        at = store(place, x, layout, rng)
        rows = int(rng.integers(1, len(shape) + 1))
        if rng.random() < 0.5:
            start, step = int(rng.integers(shape[0])), int(rng.integers(1, 3))
            at, x = f"{at}[{start}:, ..., ::{step}]", x[start:, ..., ::step]
        matrix = x.reshape(int(np.prod(x.shape[:rows])), -1)
        product(place, damier, at, matrix, int(rng.choice([1, 3])), rng, "--row-axes-a", rows)
        run(damier, 1, "multiply", place / "b.h5", at, "-o", place / "d.h5", "--row-axes-b", len(shape) + 1, expect=3)


def names_with_brackets(folder, damier):
    """A dataset whose name looks like a part, of any number of dimensions."""
    x = np.random.default_rng(5).integers(-9, 9, (4, 3, 6, 5)).astype("f8")
    write(folder / "a.h5", x, "x[0]")
    write(folder / "a.h5", x[0, 0, 0], "v[1:]")
    write(folder / "b.h5", np.eye(5))
    for words, want in (((), x), (("--row-axes-a", 3), x.reshape(-1, 5))):
        run(damier, 1, "multiply", f"{folder}/a.h5:/x[0]", folder / "b.h5", *words, "-o", folder / "c.h5", "-q", "--force")
        with h5py.File(folder / "c.h5") as file:
            expect(np.array_equal(file["c"][()], want), f"{words}: {file['c'].shape}")
    words = ("multiply", f"{folder}/a.h5:/v[1:]", folder / "b.h5", "-o", folder / "c.h5", "-q", "--force")
    for more, shape in (((), (5,)), (("--as-row",), (1, 5))):  # a vector as NumPy takes it, and as a matrix
        run(damier, 1, *words, *more)
        with h5py.File(folder / "c.h5") as file:
            expect(np.array_equal(file["c"][()], x[0, 0, 0].reshape(shape)), f"{more}: {file['c'].shape}")


def flattened_with_itself(folder, damier):
    """gram, cov and cor of a dataset of three dimensions; verification of a part of C."""
    x = np.random.default_rng(5).standard_normal((6, 5, 7))
    write(folder / "a.h5", x)
    for axes in (1, 2):
        m = x.reshape(int(np.prod(x.shape[:axes])), -1)
        for verb, want in (("gram", m.T @ m), ("cov", np.cov(m.T)), ("cor", np.corrcoef(m.T))):
            run(damier, axes, verb, folder / "a.h5", "--row-axes-a", axes, "-o", folder / "c.h5", "-q", "--force")
            with h5py.File(folder / "c.h5") as file:
                np.testing.assert_allclose(file["c"][()], want, rtol=1e-9, atol=1e-12)
            run(damier, 1, "verify", folder / "a.h5", folder / "a.h5", folder / "c.h5", "--row-axes-a", axes, "--row-axes-b", axes, "-q")
            run(damier, 1, "plan", verb, folder / "a.h5", "--row-axes-a", axes, "-q")
    run(damier, 1, "gram", folder / "a.h5", "--row-axes-b", 1, "-o", folder / "c.h5", expect=2)
    write(folder / "m.h5", x[0])
    write(folder / "b.h5", x[1].T.copy())
    run(damier, 1, "multiply", folder / "m.h5", folder / "b.h5", "-o", folder / "c.h5", "-q", "--force")
    run(damier, 2, "verify", f"{folder}/m.h5:/x[1:3]", folder / "b.h5", f"{folder}/c.h5:/c[1:3]", "-q")
    run(damier, 1, "verify", f"{folder}/m.h5:/x[2:4]", folder / "b.h5", f"{folder}/c.h5:/c[1:3]", "-q", expect=1)


def meaning(folder, damier):
    """Packed values of a part and of a stack, as of the whole."""
    stored = np.arange(-30, 30, dtype="i2").reshape(10, 6)
    for name in ("p1.h5", "p2.h5"):
        write(folder / name, stored)
        with h5py.File(folder / name, "a") as file:
            file["x"].attrs["scale_factor"] = np.float64(0.5)
            file["x"].attrs["_FillValue"] = np.int16(-30)
    rng = np.random.default_rng(0)
    product(folder, damier, f"{folder}/p1.h5:/x[1::2, ::2]", stored[1::2, ::2] * 0.5, 1, rng)
    product(folder, damier, f"{folder}/p?.h5:/x[1:]", np.vstack([stored[1:], stored[1:]]) * 0.5, 2, rng)
    write(folder / "b.h5", np.eye(6))
    run(damier, 1, "multiply", f"{folder}/p?.h5:/x", folder / "b.h5", "-o", folder / "d.h5", expect=3)


def main():
    chosen = options()
    work = [(case,) for case in (refusals, list_changes, lists_kept, stacks, meaning, steps, old_c, flattened_with_itself, names_with_brackets)]
    work += [(at_random, seed) for seed in range(how_many(chosen, 6, 10, 24))]
    work += [(flattened, seed) for seed in range(how_many(chosen, 4, 6, 16))]
    run_cases(chosen.damier, work)


main()
