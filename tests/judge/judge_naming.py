"""naming: matrices inside of tables, arrays and lines of numbers, in virtual datasets of many dimensions, in patterns of
datasets; each compared with NumPy in all layouts, by one to three ranks."""
import itertools

import h5py
import numpy as np

from running import command, ended, expect, how_many, options, run, run_cases

ALL = h5py.h5s.ALL
LAYOUTS = ({}, {"chunks": (7,)}, {"chunks": (11,), "compression": "gzip", "shuffle": True})


def right(folder, damier, name, want, *words, ranks=1, tolerance=1e-9):
    """The Gram matrix of NAME is that of WANT, and verify agrees."""
    location = f"{folder}/{name}"
    run(damier, ranks, "gram", location, "-o", folder / "c.h5", "-q", "--force", *words)
    want = np.asarray(want, "c16" if np.iscomplexobj(want) else "f8")
    product = want.conj().T @ want
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][()]
    if got.dtype.names:
        got = got[got.dtype.names[0]] + 1j * got[got.dtype.names[1]]
    expect(np.allclose(got, product, tolerance, tolerance * max(1, abs(product).max())),
           f"wrong product of {name} {words}, {ranks} ranks")


def refused(folder, damier, name, fragment, *words, code=3):
    done = ended(command(1, damier, "gram", f"{folder}/{name}", "-o", folder / "c.h5", "-q", "--force", *words))
    expect(done.returncode == code and fragment in done.stderr, f"{name} {words}: exit {done.returncode}, {done.stderr}")


def compounds(folder, damier, seed):
    """Members of tables, whose sizes divide nothing, tables of numbers, and arrays."""
    rng = np.random.default_rng(seed)
    rows, wide = int(rng.integers(20, 400)), int(rng.integers(2, 40))
    order = rng.choice(["<", ">"])
    fields = [("index", "<i8"), ("v", order + "f8", (wide,)), ("s", f"S{int(rng.integers(1, 9))}"),
              ("m", order + "f4", (3, 4)), ("w", "<i2", (5,)), ("t", "<f8")]
    fields = [fields[i] for i in rng.permutation(len(fields))]
    table = np.zeros(rows, np.dtype(fields, align=bool(rng.integers(2))))
    numbers = np.zeros(rows, [("a", "<f8"), ("b", order + "i2"), ("c", "<f4"), ("d", order + "f8"), ("e", "<i4")])
    table["v"], table["m"] = rng.standard_normal((rows, wide)), rng.standard_normal((rows, 3, 4))
    table["w"] = rng.integers(-99, 99, (rows, 5))
    for name in numbers.dtype.names:
        numbers[name] = rng.integers(-99, 99, rows)
    kind = h5py.h5t.array_create(h5py.h5t.py_create(np.dtype(order + "f8")), (wide,))
    x = table["v"].astype("f8")
    for layout in LAYOUTS:
        with h5py.File(folder / "t.h5", "w") as file:
            file.create_dataset("d", data=table, **layout)
            file.create_dataset("n", data=numbers, **layout)
            file.create_dataset("with.dot", data=x)
            space = h5py.h5s.create_simple((rows,))
            h5py.h5d.create(file.id, b"r", kind, space).write(ALL, ALL, np.ascontiguousarray(table["v"]), kind)
        ranks = int(rng.integers(1, 4))
        right(folder, damier, "t.h5:/d.v", x, ranks=ranks)
        right(folder, damier, "t.h5:/d.v[3:17:2, 1:]", x[3:17:2, 1:])
        right(folder, damier, "t.h5:/d.v[:, ::2]", x[:, ::2], "--of", "columns")
        right(folder, damier, "t.h5:/d.m", table["m"].reshape(rows, 12), "--row-axes-a", 1, ranks=ranks, tolerance=1e-4)
        right(folder, damier, "t.h5:/d.m[:, 1]", table["m"][:, 1], tolerance=1e-4)
        right(folder, damier, "t.h5:/d.w", table["w"], "--type", "f64")
        right(folder, damier, "t.h5:/n", np.stack([numbers[n].astype("f8") for n in numbers.dtype.names], 1), ranks=ranks)
        right(folder, damier, "t.h5:/n.d", numbers["d"][:, None], "--as-column")
        right(folder, damier, "t.h5:/with.dot", x)
        right(folder, damier, "t.h5:/r", x)
        right(folder, damier, "t.h5:/r[5:, 1]", x[5:, 1:2], "--as-column")
    refused(folder, damier, "t.h5:/d", "not all of whose members are single numbers")
    refused(folder, damier, "t.h5:/d.q", "no member 'q'")
    refused(folder, damier, "t.h5:/d.s", "strings")
    refused(folder, damier, "t.h5:/d/v", "follows a dot")
    numbers = np.zeros(9, [("a", "<f8"), ("b", "<i8")])
    numbers["b"] = 2**53 + 1
    with h5py.File(folder / "t.h5", "w") as file:
        file["n"] = numbers
    refused(folder, damier, "t.h5:/n", "beyond 2^53")


def texts(folder, damier, seed):
    """Members beside strings of any length and other elements that have other sizes in memory than in the file."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(9, 60))
    fields = [("s", h5py.string_dtype()), ("x", "<f8", (3,)), ("v", h5py.vlen_dtype("f8")), ("y", ">f4", (2,)), ("o", h5py.ref_dtype),
              ("p", h5py.string_dtype(), (2,)), ("i", "<i2", (4,)), ("q", np.dtype([("t", h5py.string_dtype()), ("z", "<f8", (5,))]))]
    fields = [fields[i] for i in rng.permutation(len(fields))]
    table = np.zeros(rows, np.dtype(fields))
    table["o"] = None
    for i in range(rows):
        table["s"][i], table["v"][i], table["p"][i], table["q"]["t"][i] = "a" * i, np.zeros(i % 4), "b", f"{i}"
    members = {"x": table["x"], "y": table["y"], "i": table["i"], "q.z": table["q"]["z"]}
    for values in members.values():
        values[:] = rng.integers(-99, 99, values.shape)
    for layout in LAYOUTS:
        with h5py.File(folder / "t.h5", "w") as file:
            file.create_dataset("d", data=table, **layout)
        for name, values in members.items():
            right(folder, damier, f"t.h5:/d.{name}", values.astype("f8"), "--type", "f64", ranks=int(rng.integers(1, 4)))
    with h5py.File(folder / "t.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        kind = h5py.h5t.py_create(table[:3].dtype, logical=True)
        h5py.h5d.create(file.id, b"d", kind, h5py.h5s.create_simple((3,)), plist)
        file["d"][...] = table[:3]
    refused(folder, damier, "t.h5:/d.x", "strings of any length")


def complex_numbers(folder, damier):
    """Of halves, of integers, of members with any names and at any place."""
    rng = np.random.default_rng(1)
    parts = rng.integers(-60, 60, (2, 30, 20))
    want = parts[0] + 1j * parts[1]
    kinds = [("f2", "ri"), (">f2", "ri"), ("i2", "ri"), (">i2", ("real", "imag")), ("u1", "ri"), ("i4", "ri"),
             ("f4", ("Re", "Im")), ("f4", ("re_", "im_")), ("f8", ("x", "y")), (">f8", ("real", "imaginary"))]
    for (kind, names), layout in itertools.product(kinds, ({}, {"chunks": (7, 6), "compression": "gzip"})):
        values = abs(parts) if kind == "u1" else parts
        raw = np.zeros((30, 20), np.dtype([("r", kind), ("i", kind)]))
        raw["r"], raw["i"] = values
        size = raw.dtype["r"].itemsize
        stored = h5py.h5t.create(h5py.h5t.COMPOUND, 2 * size)
        for i, name in enumerate(names):
            stored.insert(name.encode(), i * size, h5py.h5t.py_create(raw.dtype["r"]))
        with h5py.File(folder / "z.h5", "w") as file:
            space, plist = h5py.h5s.create_simple(raw.shape), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if layout:
                plist.set_chunk(layout["chunks"])
                plist.set_deflate(4)
            h5py.h5d.create(file.id, b"z", stored, space, plist).write(ALL, ALL, raw, stored)
        right(folder, damier, "z.h5", values[0] + 1j * values[1], "--type", "c64", tolerance=1e-5)
        right(folder, damier, "z.h5:/z[3:20, ::3]", (values[0] + 1j * values[1])[3:20, ::3], tolerance=1e-5)
    for names, offsets, size in ((("real", "imag"), (0, 8), 16), (("i", "r"), (0, 4), 8)):
        kind = np.dtype({"names": names, "formats": ["<f4"] * 2, "offsets": offsets, "itemsize": size})
        raw = np.zeros((30, 20), kind)
        raw[names[0]], raw[names[1]] = parts if names[0] == "real" else parts[::-1]
        with h5py.File(folder / "z.h5", "w") as file:
            file["z"] = raw
        right(folder, damier, "z.h5", want, tolerance=1e-5)


def names_of_c(folder, damier):
    """C has the names of the members of A, or of B."""
    rng = np.random.default_rng(2)
    for names, other, chunk in itertools.product((("real", "imag"), ("re", "im"), ("r", "i")), (False, True), ((), ("--deflate", 1))):
        z = np.zeros((7, 7), [(names[0], "f8"), (names[1], "f8")])
        z[names[0]], z[names[1]] = rng.standard_normal((2, 7, 7))
        want = z[names[0]] + 1j * z[names[1]]
        with h5py.File(folder / "z.h5", "w") as file:
            file["z"] = want if names == ("r", "i") else z
        with h5py.File(folder / "p.h5", "w") as file:
            file["p"] = np.eye(7)
        a, b = ("p.h5", "z.h5") if other else ("z.h5:/z[:]", "z.h5")
        run(damier, 1, "multiply", f"{folder}/{a}", folder / b, "-o", folder / "c.h5", "-q", "--force", "--type", "c128", *chunk)
        with h5py.File(folder / "c.h5") as file:
            kind = file["c"].id.get_type()
            found = tuple(kind.get_member_name(i).decode() for i in range(2))
            got = file["c"][()]
        expect(found == names, f"{names} became {found}")
        if names != ("r", "i"):
            got = got[names[0]] + 1j * got[names[1]]
        expect(np.allclose(got, want if other else want @ want), f"wrong product, {names}")


def folded_lines(folder, damier, rng):
    """Lines in chunks that end anywhere in a row: centered, with missing numbers, on many ranks, of many rows."""
    rows, cols = int(rng.integers(3, 90)), int(rng.integers(2, 40))
    x = rng.standard_normal((rows, cols))
    chunk = int(rng.integers(1, x.size + 1))
    with h5py.File(folder / "f3.h5", "w") as file:
        for name, data in (("r", x), ("c", x.T)):
            file.create_dataset(name, data=data.ravel(), chunks=(chunk,))
        holes = np.where(rng.random(x.shape) < 0.2, np.nan, x)
        file.create_dataset("h", data=holes.ravel(), chunks=(chunk,))
        file.create_dataset("hc", data=holes.T.ravel(), chunks=(chunk,))
        many = rng.integers(-9, 9, (1 << 20) + 5).astype("i1")
        file.create_dataset("many", data=many, chunks=(65536,))
        file.create_dataset("side", data=x.reshape(-1, 1), chunks=(min(5, x.size), 1))
    for name, way in (("r", ""), ("c", ",columns"), ("side", "")):
        shape, ranks = f"{rows}x{cols}{way}", int(rng.integers(1, 6))
        right(folder, damier, f"f3.h5:/{name}", x, "--shape-a", shape, ranks=ranks, tolerance=1e-9)
        run(damier, ranks, "cov", f"{folder}/f3.h5:/{name}", "--shape-a", shape, "-o", folder / "c.h5", "-q", "--force")
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], np.cov(x.T)), f"wrong covariance of {name}")
    for name, way in (("h", ""), ("hc", ",columns")):
        run(damier, 2, "gram", f"{folder}/f3.h5:/{name}", "--shape-a", f"{rows}x{cols}{way}", "--missing", "zero", "-o",
            folder / "c.h5", "-q", "--force")
        filled = np.nan_to_num(holes)
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], filled.T @ filled), f"wrong product of {name}, with missing numbers")
    run(damier, 1, "gram", f"{folder}/f3.h5:/many", "--shape-a", f"{many.size}x1", "-o", folder / "c.h5", "-q", "--force")
    with h5py.File(folder / "c.h5") as file:
        expect(int(file["c"][0, 0]) == int((many.astype("i8") ** 2).sum()), "wrong product of many short rows")


def lines(folder, damier, seed):
    """Flat matrices and packed triangles."""
    rng = np.random.default_rng(seed)
    rows, cols, n = (int(k) for k in rng.integers(2, 60, 3))
    kind = rng.choice(["<f8", ">f8", "<f4"])
    x, s = rng.standard_normal((rows, cols)).astype(kind), rng.standard_normal((n, n))
    s = (s + s.T).astype(kind)
    near = 1e-4 if kind == "<f4" else 1e-9
    for layout in LAYOUTS:
        with h5py.File(folder / "f.h5", "w") as file:
            for name, data in (("r", x.ravel()), ("c", x.T.ravel()), ("l", s[np.tril_indices(n)]), ("u", s[np.triu_indices(n)])):
                chunk = {"chunks": (min(layout["chunks"][0], data.size),)} if layout else {}
                file.create_dataset(name, data=data, **{**layout, **chunk})
            file["n"] = x.reshape(-1, 1)
        ranks = int(rng.integers(1, 4))
        shape = f"{rows}x{cols}"
        right(folder, damier, "f.h5:/r", x, "--shape-a", shape, ranks=ranks, tolerance=near)
        right(folder, damier, "f.h5:/c", x, "--shape-a", f"{shape},columns", ranks=ranks, tolerance=near)
        right(folder, damier, "f.h5:/n", x, "--shape-a", shape, tolerance=near)
        right(folder, damier, f"f.h5:/r[{cols}:]", x[1:], "--shape-a", f"{rows - 1}x{cols}", tolerance=near)
        right(folder, damier, "f.h5:/l", s, "--packed-a", "lower", ranks=ranks, tolerance=near)
        right(folder, damier, "f.h5:/u", s, "--packed-a", "upper", ranks=ranks, tolerance=near)
        run(damier, 1, "multiply", f"{folder}/f.h5:/r", f"{folder}/f.h5:/c", "--shape-a", shape, "--shape-b",
            f"{shape},columns", "--op-b", "t", "-o", folder / "c.h5", "-q", "--force")
        with h5py.File(folder / "c.h5") as file:
            expect(np.allclose(file["c"][()], x.astype("f8") @ x.T.astype("f8"), near, near * 50), "wrong product of two lines")
    folded_lines(folder, damier, rng)
    refused(folder, damier, "f.h5:/r", f"{rows + 1} x {cols} are", "--shape-a", f"{rows + 1}x{cols}")
    refused(folder, damier, "f.h5:/l", "cannot be combined", "--shape-a", f"{n}x{n}", "--packed-a", "lower", code=2)
    with h5py.File(folder / "f.h5", "w") as file:
        file["q"], file["t"], file["z"], file["m"] = np.zeros(49), np.zeros(15), np.zeros(15, "c16"), np.zeros((4, 5))
    refused(folder, damier, "f.h5:/q", "--shape-a 7x7")
    refused(folder, damier, "f.h5:/t", "--packed-a lower or upper")
    refused(folder, damier, "f.h5:/z", "conjugate", "--packed-a", "lower")
    refused(folder, damier, "f.h5:/m", "no line of numbers", "--shape-a", "4x5")


def frames(folder, damier, seed):
    """Virtual datasets of three and four dimensions: whole, parts of each axis, batches."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(k) for k in rng.integers(2, 9, 4))
    x = rng.standard_normal(shape)
    many = itertools.count()

    def source(data, **more):
        name = f"s{next(many)}.h5"
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("d", data=data, **more)
        return h5py.VirtualSource(name, "d", data.shape)

    chunked = {"chunks": tuple(int(rng.integers(1, k + 1)) for k in shape), "compression": "gzip"} if rng.integers(2) else {}
    whole, step = source(x, **chunked), int(rng.integers(1, 4))
    four = h5py.VirtualLayout(shape, "f8")
    for i in range(min(step, shape[0])):
        data = x[i::step]
        four[i::step] = source(data, **({"chunks": tuple(min(a, b) for a, b in zip(chunked["chunks"], data.shape))} if chunked else {}))
    three, side = h5py.VirtualLayout((shape[0],) + shape[2:], "f8"), h5py.VirtualLayout((shape[0], shape[2], 2 * shape[3]), "f8")
    two = h5py.VirtualLayout((shape[0], shape[2] * shape[3]), "f8")
    for i in range(shape[0]):
        three[i] = source(x[i, 1])
        side[i, :, :shape[3]] = whole[i, 0]
        side[i, :, shape[3]:] = whole[i, 1]
        two[i] = whole[i, 1]
    with h5py.File(folder / "v.h5", "w", libver="v110") as file:
        for name, layout in (("four", four), ("three", three), ("side", side), ("two", two)):
            file.create_virtual_dataset(name, layout)
    y, both = x[:, 1], np.concatenate([x[:, 0], x[:, 1]], 2)
    for axes in (1, 2, 3):
        right(folder, damier, "v.h5:/four", x.reshape(int(np.prod(shape[:axes])), -1), "--row-axes-a", axes, ranks=axes)
    right(folder, damier, "v.h5:/four[1, 0]", x[1, 0])
    right(folder, damier, "v.h5:/four[:, 1, 0]", x[:, 1, 0])
    right(folder, damier, "v.h5:/four[:, :, 1, 1]", x[:, :, 1, 1], ranks=2)
    right(folder, damier, "v.h5:/four[1:, 1, :, 0]", x[1:, 1, :, 0])
    right(folder, damier, "v.h5:/four[::2, [1, 0]]", x[::2][:, [1, 0]].reshape(len(x[::2]), -1), "--row-axes-a", 1)
    for name, data in (("three", y), ("side", both)):
        right(folder, damier, f"v.h5:/{name}", data.reshape(len(data), -1), "--row-axes-a", 1, ranks=2)
        right(folder, damier, f"v.h5:/{name}[1]", data[1])
        right(folder, damier, f"v.h5:/{name}[:, 1]", data[:, 1])
        right(folder, damier, f"v.h5:/{name}[:, :, 1]", data[:, :, 1])
    right(folder, damier, "v.h5:/two", y.reshape(len(y), -1))
    run(damier, 1, "multiply", f"{folder}/v.h5:/three", f"{folder}/v.h5:/three", "--op-b", "t", "-o", folder / "c.h5", "-q", "--force")
    with h5py.File(folder / "c.h5") as file:
        expect(np.allclose(file["c"][()], y @ y.transpose(0, 2, 1)), "wrong batch of frames")


def patterns(folder, damier):
    """Stars in names of datasets; lists of columns in place; one number for all elements."""
    rng = np.random.default_rng(4)
    parts = [rng.standard_normal((3 + i, 5)) for i in range(12)]
    for k in (1, 2):
        with h5py.File(folder / f"p{k}.h5", "w") as file:
            for i, part in enumerate(parts):
                file[f"s/u{i}/x"], file[f"s/u{i}/y"] = k * part, part[0]
            file["z*q"], file["zzq"] = parts[3], parts[2]
            group = file.create_group("E/x")
            group.attrs["value"], group.attrs["shape"] = 2.5, np.array([6, 7], "u8")
    whole = np.concatenate(parts)
    right(folder, damier, "p1.h5:/s/*/x", whole, ranks=2)
    right(folder, damier, "p?.h5:/s/*/x", np.concatenate([whole, 2 * whole]))
    right(folder, damier, "p1.h5:/s/u?/x[1:]", np.concatenate([p[1:] for p in parts[:10]]))
    right(folder, damier, "p1.h5:/s/*/y", np.stack([p[0] for p in parts]), "--as-row")
    right(folder, damier, "p1.h5:/z*q", parts[3])
    refused(folder, damier, "p1.h5:/t/*", "no dataset has such a name")
    right(folder, damier, "p1.h5:/E/x", np.full((6, 7), 2.5))
    right(folder, damier, "p1.h5:/E/x[1:4]", np.full((3, 7), 2.5))
    x = whole[:, :5]
    for words, columns in (("1,3,4", [1, 3, 4]), ("[1,3,4]", [1, 3, 4]), ("[4, 0:2, -2]", [4, 0, 1, 3])):
        with h5py.File(folder / "l.h5", "w") as file:
            file["x"] = x
        right(folder, damier, f"l.h5:/x[:, {words}]", x[:, columns])
        right(folder, damier, f"l.h5:/x[[7, 2], {words if words[0] == '[' else '[' + words + ']'}]", x[np.ix_([7, 2], columns)])
    refused(folder, damier, "l.h5:/x[:, [1, 9]]", "does not have all of 9")


def main():
    chosen = options()
    work = [(case,) for case in (complex_numbers, names_of_c, patterns)]
    for case in (compounds, texts, lines, frames):
        work += [(case, seed) for seed in range(how_many(chosen, 2, 2, 20))]
    run_cases(chosen.damier, work)


main()
