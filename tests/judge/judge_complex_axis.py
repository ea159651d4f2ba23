"""complex_axis: real and imaginary parts along an axis of 2, as the file or the user says, in every layout; bit fields."""
import json

import h5py
import numpy as np

from running import ended, expect, options, run_cases

rng = np.random.default_rng(3)
LAYOUTS = {"contiguous": {}, "pairs": {"chunks": (7, 5, 2)}, "apart": {"chunks": (7, 5, 1)}, "wide": {"chunks": (7, 5, 2), "maxshape": (None, None, None)},
           "deflated": {"chunks": (6, 8, 2), "compression": 4, "shuffle": True, "fletcher32": True},
           "lzf apart": {"chunks": (30, 20, 1), "compression": "lzf"}}


def complex_of(shape, dtype="c16"):
    return (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)).astype(dtype)


def parts_of(z, axis=-1):
    return np.stack((z.real, z.imag), axis)


def write(path, numbers, name="x", marks=(), **create):
    with h5py.File(path, "a") as file:
        made = file.create_dataset(name, data=numbers, **create)
        for key, value in marks:
            made.attrs[key] = value


def attach(path, scale, name="x"):
    with h5py.File(path, "a") as file:
        file[scale] = np.zeros(2)
        file[scale].make_scale(scale)
        file[name].dims[file[name].ndim - 1].attach_scale(file[scale])


def product(folder, damier, a, b, *words, code=0):
    out = folder / "c.h5"
    out.unlink(missing_ok=True)
    done = ended([damier, "multiply", a, b, "-o", f"{out}:/c", "--json", folder / "r.json", *words])
    expect(done.returncode == code, f"{words}: {done.returncode} {done.stderr}")
    if code:
        return done.stderr
    with h5py.File(out) as file:
        return file["c"][()]


def same(got, wanted, what):
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"{what}: {got.shape} {got.dtype}")


def try_marks(folder, damier):
    """Each mark, and none; a part takes rows of the matrix, or, stating the last axis, numbers."""
    z, w = complex_of((12, 9)), complex_of((9, 4))
    write(folder / "w.h5", w)
    marks = {"triqs": [("__complex__", np.bytes_("1"))], "alps": [("__complex__", np.int8(1))], "petsc": [("complex", np.int32(1))]}
    for name, found in marks.items():
        write(folder / "z.h5", parts_of(z), name, found)
        same(product(folder, damier, f"{folder}/z.h5:/{name}", f"{folder}/w.h5"), z @ w, name)
    for scale in ("complex", "ri"):
        write(folder / f"{scale}.h5", parts_of(z))
        attach(folder / f"{scale}.h5", scale)
        same(product(folder, damier, f"{folder}/{scale}.h5:/x", f"{folder}/w.h5"), z @ w, scale)
    said = [json.loads(line)["warnings"] for line in (folder / "r.json").read_text().splitlines()[-1:]]
    expect("the last axis has real and imaginary parts" in said[0][0]["text"] and said[0][0]["kind"] == "applied", said)
    at, v = f"{folder}/z.h5:/triqs", parts_of(z)
    same(product(folder, damier, at + "[2:11:3]", f"{folder}/w.h5"), z[2:11:3] @ w, "rows")
    same(product(folder, damier, at + "[:, 1:5]", f"{folder}/w.h5:/x[0:4]"), z[:, 1:5] @ w[:4], "columns")
    write(folder / "r.h5", w.real)
    for part, taken in (("[:, :, 0]", v[..., 0]), ("[..., 1]", v[..., 1])):
        same(product(folder, damier, at + part, f"{folder}/r.h5"), taken @ w.real, part)
    for words in (("--complex-axis", "none"), ("--raw",)):
        told = product(folder, damier, at, f"{folder}/w.h5", *words, code=3)
        expect("108 x 2" in told and "real and" not in told, told)
    write(folder / "p.h5", v[0])
    same(product(folder, damier, f"{folder}/z.h5:/petsc[0]", f"{folder}/p.h5", "--complex-axis", "none", "--op-a", "t"), v[0].T @ v[0], "numbers")


def try_dangling(folder, damier):
    """A copy of a dataset without its scales is plain numbers."""
    x = rng.standard_normal((5, 3, 2))
    write(folder / "a.h5", x)
    attach(folder / "a.h5", "complex")
    with h5py.File(folder / "a.h5") as file, h5py.File(folder / "b.h5", "w") as copy:
        file.copy("x", copy, "x")
        del copy
    done = ended([damier, "info", folder / "b.h5"])
    expect(done.returncode == 0 and "f64" in done.stdout, done.stdout + done.stderr)


def try_layouts(folder, damier):
    """Both types and byte orders, every layout and op, chunks that hold one part alone; the first axis."""
    w = complex_of((20, 3))
    write(folder / "w.h5", w)
    write(folder / "w4.h5", w.astype("c8"))
    for number, (layout, create) in enumerate(LAYOUTS.items()):
        for dtype in ("f8", ">f8", "f4"):
            z = complex_of((30, 20))
            path = folder / f"{number}{dtype}.h5"
            write(path, parts_of(z).astype(dtype), marks=[("__complex__", 1)], **create)
            b = f"{folder}/w4.h5" if dtype == "f4" else f"{folder}/w.h5"
            what = f"{layout} {dtype}"
            same(product(folder, damier, path, b), (z @ w).astype("c8" if dtype == "f4" else "c16"), what)
            same(product(folder, damier, path, path, "--op-a", "c"), z.conj().T @ z, what + " c")
            same(product(folder, damier, f"{path}:/x[3:28:2, 1::3]", f"{path}:/x[3:28:2, ::4]", "--op-a", "c"),
                 z[3:28:2, 1::3].conj().T @ z[3:28:2, ::4], what + " parts")
            c = folder / "g.h5"
            c.unlink(missing_ok=True)
            done = ended([damier, "gram", path, "-o", c])
            expect(done.returncode == 0, done.stderr)
            with h5py.File(c) as file:
                same(file["c"][()], z.conj().T @ z, what + " gram")
    z = complex_of((30, 20))
    for number, create in enumerate(({}, {"chunks": (1, 7, 5)}, {"chunks": (2, 7, 5), "compression": 4, "shuffle": True})):
        path = folder / f"first{number}.h5"
        write(path, parts_of(z, 0), **create)
        same(product(folder, damier, path, f"{folder}/w.h5", "--complex-axis-a", "first"), z @ w, f"first {create}")
        same(product(folder, damier, f"{path}:/x[4:9, ::2]", f"{folder}/w.h5:/x[:10]", "--complex-axis-a", "first"),
             z[4:9, ::2] @ w[:10], f"part of first {create}")
    for axis, name in ((0, "first"), (-1, "last")):
        np.save(folder / "z.npy", parts_of(z, axis))
        same(product(folder, damier, folder / "z.npy", f"{folder}/w.h5", "--complex-axis-a", name), z @ w, f"npy {name}")


def try_shapes(folder, damier):
    """Batches, flattened dimensions, vectors, stacks; missing values; covariances of parts that are apart."""
    z, w = complex_of((4, 6, 5)), complex_of((5, 3))
    write(folder / "w.h5", w)
    mark = [("__complex__", 1)]
    for number, create in enumerate(({}, {"chunks": (2, 3, 2, 2)}, {"chunks": (2, 3, 2, 1)})):
        path = folder / f"{number}.h5"
        write(path, parts_of(z), marks=mark, **create)
        same(product(folder, damier, path, f"{folder}/w.h5"), z @ w, f"batch {create}")
        same(product(folder, damier, path, f"{folder}/w.h5", "--row-axes-a", "2"), z.reshape(24, 5) @ w, f"flattened {create}")
        same(product(folder, damier, path, path, "--row-axes-a", "1", "--row-axes-b", "1", "--op-a", "c"),
             z.reshape(4, 30).conj().T @ z.reshape(4, 30), f"one row axis {create}")
        same(product(folder, damier, f"{path}:/x[2]", f"{folder}/w.h5"), z[2] @ w, f"entry {create}")
    v = complex_of(5)
    for number, create in enumerate(({}, {"chunks": (3, 2)}, {"chunks": (3, 1)})):
        path = folder / f"v{number}.h5"
        write(path, parts_of(v), marks=mark, **create)
        same(product(folder, damier, path, f"{folder}/w.h5", "--as-row"), v[None] @ w, f"row {create}")
        same(product(folder, damier, path, path, "--as-column", "--op-b", "c"), np.outer(v, v.conj()), f"column {create}")
    x = complex_of((11, 5))
    for number, create in enumerate(({}, {"chunks": (4, 5, 2)}, {"chunks": (4, 2, 1)})):
        write(folder / f"s{number}.h5", parts_of(x), marks=mark, **create)
    same(product(folder, damier, f"{folder}/s*.h5:/x", f"{folder}/w.h5"), np.concatenate((x, x, x)) @ w, "stack")
    done = ended([damier, "verify", f"{folder}/s*.h5:/x", f"{folder}/w.h5", folder / "c.h5"])
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    for number in range(3):
        c = folder / f"cov{number}.h5"
        done = ended([damier, "cov", f"{folder}/s{number}.h5", "-o", c])
        expect(done.returncode == 0, done.stderr)
        with h5py.File(c) as file:
            d = x - x.mean(0)
            expect(np.allclose(file["c"][()], d.conj().T @ d / 10), f"cov {number}")


def try_refusals(folder, damier):
    z = complex_of((6, 4))
    write(folder / "i.h5", parts_of(z).astype("i4"), marks=[("__complex__", 1)])
    write(folder / "three.h5", rng.standard_normal((6, 4, 3)))
    write(folder / "two.h5", parts_of(z))
    write(folder / "c.h5", z)
    write(folder / "pair.h5", parts_of(z[:, 0]), marks=[("complex", 1)])
    with h5py.File(folder / "v.h5", "w", libver="v110") as file:
        layout = h5py.VirtualLayout((6, 2), "f8")
        layout[:] = h5py.VirtualSource("pair.h5", "x", (6, 2))
        file.create_virtual_dataset("x", layout)
    for name, words, told in (("i.h5", (), "but they are i32"), ("three.h5", ("--complex-axis", "last"), "no last axis of 2"),
                              ("two.h5", ("--complex-axis", "first"), "no first axis of 2"), ("c.h5", ("--complex-axis", "last"), "complex elements"),
                              ("v.h5", (), "virtual")):
        done = ended([damier, "gram", folder / name, "-o", folder / "out.h5", *words])
        expect(done.returncode == 3 and told in done.stderr, f"{name}: {done.returncode} {done.stderr}")
    done = ended([damier, "gram", folder / "two.h5", "-o", folder / "out.h5"])
    expect(done.returncode == 3 and "--complex-axis last" in done.stderr, done.stderr)
    done = ended([damier, "info", folder / "two.h5", "--complex-axis", "last"])
    expect("c128" in done.stdout and "6 x 4" in done.stdout, done.stdout + done.stderr)


def try_bits(folder, damier):
    """A bit field of 8 bits holds any byte; those of PyTables list rows as booleans do."""
    numbers = rng.integers(0, 256, (6, 5)).astype("u1")
    flags = np.array([1, 0, 0, 1, 1, 0], "u1")
    with h5py.File(folder / "b.h5", "w") as file:
        for name, data in (("x", numbers), ("flags", flags), ("none", numbers[:, 0])):
            made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_B8LE, h5py.h5s.create_simple(data.shape))
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data), h5py.h5t.STD_B8LE)
    got = product(folder, damier, f"{folder}/b.h5:/x", f"{folder}/b.h5:/x", "--op-b", "t", "--type", "f64")
    same(got, numbers.astype("f8") @ numbers.T.astype("f8"), "bytes")
    got = product(folder, damier, f"{folder}/b.h5:/x[@{folder}/b.h5:/flags, :]", f"{folder}/b.h5:/x", "--op-b", "t", "--type", "f64")
    same(got, numbers[flags == 1].astype("f8") @ numbers.T.astype("f8"), "listed")
    told = product(folder, damier, f"{folder}/b.h5:/x[@{folder}/b.h5:/none, :]", f"{folder}/b.h5:/x", "--type", "f64", code=3)
    expect("others than 0 and 1" in told, told)


run_cases(options().damier, [(work,) for work in (try_marks, try_dangling, try_layouts, try_shapes, try_refusals, try_bits)])
