"""zarr: arrays of Zarr, written by hand in all that is read of versions 2 and 3, equal NumPy's; what is not read is refused."""
import base64
import json
import struct

import h5py
import numpy as np

import zarr_stores as zs
from running import ended, expect, options, run, run_cases

ROWS, COLS = 61, 47
TYPES = ("f8", "f4", "f2", "i1", "i2", "i4", "u1", "u2", "u4", "b1", "c8", "c16")


def matrix(dtype, shape=(ROWS, COLS), seed=7):
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 2 if dtype == "b1" else 9, shape)
    return (whole + 1j * whole[::-1] if dtype[0] == "c" else whole).astype(dtype)


def work_of(dtype):
    return {"f2": "f16", "f4": "f32", "c8": "c64", "c16": "c128"}.get(dtype, "f64")


def identity(folder, size, dtype="f8"):
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(size, dtype=dtype)
    return folder / "b.h5"


def read(folder, damier, a, *more, size=COLS, dtype="f8", ranks=1):
    """The elements of A, as a product with the identity; in the type of the product."""
    b = identity(folder, size, {"f2": "f2", "f4": "f4", "c8": "c8", "c16": "c16"}.get(dtype, "f8"))
    run(damier, ranks, "multiply", a, b, "-o", folder / "c.h5", "--type", work_of(dtype), "--force", "-q", *more)
    with h5py.File(folder / "c.h5") as file:
        return next(iter(file.values()))[()]


def check(got, wanted, what):
    expect(np.array_equal(got, wanted.astype(got.dtype)), f"not what was written: {what}")


def third(folder, damier, dtype, codec):
    """Version 3: byte orders, names of chunks, orders of axes, shards, checksums; absent chunks."""
    a = matrix(dtype)
    sparse = a.copy()
    sparse[16:40] = 1
    for number, how in enumerate((
            {}, {"big": True, "chunks": (20, 64)}, {"separator": ".", "order": [1, 0]}, {"plain": True, "codecs": (codec, "crc32c")},
            {"plain": True, "separator": "/", "chunks": (61, 47)}, {"shards": (32, 48)}, {"shards": (16, 64), "index": "start"},
            {"shards": (64, 16), "order": [1, 0], "big": True, "index_sum": False, "shuffled": True})):
        store = zs.write(folder / f"a{number}.zarr", a, **{"codecs": (codec,), **how})
        check(read(folder, damier, store, dtype=dtype), a, f"{dtype} {codec} {how}")
    for number, how in enumerate(({}, {"shards": (32, 48)}, {"chunks": (8, 47), "shards": (16, 47)})):
        store = zs.write(folder / f"s{number}.zarr", sparse, fill=[1, 0] if dtype[0] == "c" else 1, sparse=True, codecs=(codec,), **how) \
            if dtype[0] != "c" else None
        if store:
            check(read(folder, damier, store, "--allow-no-data", dtype=dtype), sparse, f"absent chunks of {dtype} {how}")


def second(folder, damier, dtype, codec):
    """Version 2: compressors, orders, names of chunks."""
    a = matrix(dtype)
    for number, how in enumerate(({}, {"order": (1, 0), "separator": "/"}, {"big": True, "chunks": (70, 5)})):
        store = zs.write(folder / f"a{number}.zarr", a, version=2, **{"codecs": (codec,), **how})
        check(read(folder, damier, store, dtype=dtype), a, f"version 2, {dtype} {codec} {how}")


def axes(folder, damier):
    """More dimensions, pages, slices, stacks, ranks; orders of three and four axes."""
    cube, four = matrix("f8", (5, 12, 9)), matrix("i2", (3, 4, 5, 6))
    for order in ([2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1]):
        store = zs.write(folder / f"cube{order[0]}{order[1]}.zarr", cube, chunks=(2, 5, 4), order=order)
        check(read(folder, damier, store, "--row-axes-a", 2, size=9), cube.reshape(60, 9), f"order {order}")
        check(read(folder, damier, f"{store}[1]", size=9), cube[1], f"a page in order {order}")
    store = zs.write(folder / "four.zarr", four, chunks=(2, 2, 3, 4), shards=(2, 4, 3, 8), order=[3, 1, 0, 2])
    check(read(folder, damier, store, "--row-axes-a", 1, size=120), four.reshape(3, 120), "four axes")
    a = matrix("f8")
    store = zs.write(folder / "a.zarr", a, shards=(32, 32))
    check(read(folder, damier, f"{store}[3:50:4, ::2]", size=24), a[3:50:4, ::2], "a slice")
    check(read(folder, damier, store, "--op-a", "t", size=ROWS), a.T, "transposed")
    check(read(folder, damier, store, ranks=3), a, "three ranks")
    stack = [zs.write(folder / f"stack{i}.zarr", matrix("f8", seed=i), chunks=(10, 50)) for i in range(5)]
    check(read(folder, damier, folder / "stack*.zarr"), np.vstack([matrix("f8", seed=i) for i in range(5)]), "a stack")
    expect(stack, "five")


def groups(folder, damier):
    """A group with one matrix needs no name; others do, and are hinted at; the array's folder itself."""
    for version in (3, 2):
        store = zs.group(folder / f"g{version}.zarr", version, {"title": "x"})
        zs.group(store / "in", version)
        a = matrix("f8")
        zs.write(store / "in" / "x", a, version=version)
        zs.write(store / "line", a[0], version=version, chunks=(16,))
        names = zs.Store(store / "names", a[:3].astype("u1"), version=version)
        names.write()
        path = names.folder / ("zarr.json" if version == 3 else ".zarray")
        path.write_text(json.dumps(names.metadata() | ({"data_type": "string", "fill_value": ""} if version == 3 else {"dtype": "|O"})))
        for name in (store, f"{store}:/in/x", store / "in" / "x", store / "in"):
            check(read(folder, damier, name), a, f"{name}")
        told = ended([damier, "info", f"{store}:/in/X"])
        expect(told.returncode == 3 and "did you mean '/in/x'" in told.stderr, told.stderr)
        zs.write(store / "y", a, version=version)
        told = ended([damier, "info", str(store)])
        expect("/in/x" in told.stdout + told.stderr and "/y" in told.stdout + told.stderr, told.stdout + told.stderr)


def verbs(folder, damier, ranks, how):
    """X of every verb: statistics, components, distances, and what is kept of C, computed by NumPy's plain definitions."""
    x = np.random.default_rng(9).normal(size=(ROWS, COLS)) @ np.diag(np.linspace(3, 1, COLS))
    store = zs.write(folder / "x.zarr", x, **how)
    middle = x - x.mean(0)
    distances = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2))
    far = distances + np.diag(np.full(ROWS, np.inf))
    strong = np.where((np.abs(np.corrcoef(x.T)) > 0.2) & ~np.eye(COLS, dtype=bool), np.corrcoef(x.T), 0)
    for verb, words, wanted in (
            ("cov", (), {"c": np.cov(x.T)}), ("cor", ("--of", "rows"), {"c": np.corrcoef(x)}), ("gram", (), {"c": x.T @ x}),
            ("pca", ("--rank", 4), {"pca/singular_values": np.linalg.svd(middle)[1][:4]}),
            ("svd", ("--rank", 4, "--method", "passes", "--tolerance", 1e-9), {"svd/singular_values": np.linalg.svd(x)[1][:4]}),
            ("gram", ("--of", "rows", "--metric", "euclidean"), {"c": distances}),
            ("gram", ("--of", "rows", "--metric", "euclidean", "--top", 3, "--no-self"),
             {"c/values": np.sort(far, 1)[:, :3], "c/indices": np.argsort(far, 1)[:, :3]}),
            ("cor", ("--reduce", "max,argmin"), {"c/max/max": np.corrcoef(x.T).max(1), "c/argmin/argmin": np.corrcoef(x.T).argmin(1)}),
            ("cor", ("--above", 0.2, "--by", "abs", "--no-self"), {"c/data": strong[strong != 0]})):
        run(damier, ranks, verb, store, *words, "-o", folder / f"{verb}.h5", "--force", "-q")
        with h5py.File(folder / f"{verb}.h5") as file:
            for name, array in wanted.items():
                got = file[name][()]
                expect(got.shape == array.shape and np.allclose(got, array, rtol=1e-9, atol=1e-9), f"{verb} {words} {name}: {got.shape}")
        (folder / f"{verb}.h5").unlink()
    run(damier, ranks, "gram", store, "--of", "rows", "--metric", "euclidean", "-o", folder / "d.zarr", "-q")
    check(read(folder, damier, folder / "d.zarr", size=ROWS).round(9), distances.round(9), "distances written as Zarr")


def packed(value):
    return base64.b64encode(struct.pack("<d", value)).decode()


def meanings(folder, damier):
    """xarray's attributes, by the table of conventions; masks beside the values, and those that cannot be read."""
    a = matrix("i2")
    attributes = {"scale_factor": 0.5, "add_offset": 10.0, "_FillValue": 8}
    wanted = np.where(a == 8, 0, a * 0.5 + 10)
    for version in (3, 2):
        store = zs.write(folder / f"packed{version}.zarr", a, version=version, attributes=attributes)
        check(read(folder, damier, store, "--missing", "zero"), wanted, f"packed, version {version}")
        check(read(folder, damier, store, "--raw"), a, "--raw")
        told = ended([damier, *map(str, ("multiply", store, identity(folder, COLS), "-o", folder / "d.h5", "-q"))])
        expect(told.returncode == 3 and "missing" in told.stderr, told.stderr)
    x = matrix("f8")
    x[3, 4] = -999.5
    store = zs.write(folder / "float.zarr", x, attributes={"_FillValue": packed(-999.5), "_ARRAY_DIMENSIONS": ["y", "x"]})
    check(read(folder, damier, store, "--missing", "zero"), np.where(x == -999.5, 0, x), "a fill value in base64")
    # version 2: what xarray has written is missing where it is the fill value; others' arrays have numbers there
    plain = zs.write(folder / "plain.zarr", x, version=2, fill=-999.5)
    check(read(folder, damier, plain), x, "a fill value that is a number")
    theirs = zs.write(folder / "theirs.zarr", x, version=2, fill=-999.5, attributes={"_ARRAY_DIMENSIONS": ["y", "x"]})
    check(read(folder, damier, theirs, "--missing", "zero"), np.where(x == -999.5, 0, x), "xarray's fill value of version 2")
    nullable = zs.group(folder / "nullable.zarr", 3, {"encoding-type": "nullable-integer"})
    mask = matrix("b1", seed=3)
    zs.write(nullable / "values", a)
    zs.write(nullable / "mask", mask, sparse=True)
    check(read(folder, damier, f"{nullable}:/values", "--missing", "zero"), np.where(mask, 0, a), "a mask beside it")
    check(read(folder, damier, nullable / "values", "--missing", "zero"), np.where(mask, 0, a), "a mask beside the folder")
    damaged = json.loads((nullable / "mask" / "zarr.json").read_text())
    damaged["codecs"].append({"name": "unknown"})
    (nullable / "mask" / "zarr.json").write_text(json.dumps(damaged))
    told = ended([damier, "info", f"{nullable}:/values"])
    expect(told.returncode and "mask" in told.stderr, f"a mask that cannot be read: {told.stdout}{told.stderr}")


def unwritten(folder, damier):
    """Chunks that are not there are refused, unless the user takes their fill value."""
    a = np.zeros((ROWS, COLS))
    a[:20] = 3
    for how in ({}, {"shards": (32, 48)}, {"version": 2}):
        store = zs.write(folder / f"{len(how)}{how.get('version', 3)}.zarr", a, sparse=True, **how)
        told = ended([damier, "info", str(store)])
        expect(told.returncode == 3 and "has no data in 6 of its 12 chunks" in told.stderr and "--allow-no-data" in told.stderr, told.stderr)
        check(read(folder, damier, store, "--allow-no-data"), a, f"absent chunks {how}")


def damaged(folder, damier):
    """Chunks that are cut off, changed, or not of this array: never numbers."""
    a = matrix("f8")
    for name, how in (("plain", {"codecs": ()}), ("zstd", {}), ("gzip", {"codecs": ("gzip",)}), ("crc", {"codecs": ("crc32c",)}),
                      ("blosc", {"codecs": ("blosc",)}), ("lz4", {"codecs": ("lz4",), "version": 2})):
        store = zs.write(folder / f"{name}.zarr", a, **how)
        chunk = store / ("1.1" if "version" in how else "c/1/1")
        whole = chunk.read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        for data in (whole[:-1], whole[:8], whole * 2, *([bytes(changed)] if name == "crc" else [])):
            chunk.write_bytes(data)
            words = ("multiply", store, identity(folder, COLS), "-o", folder / "c.h5", "--force", "-q")
            told = ended([damier, *map(str, words)])
            if name in ("gzip", "blosc", "zstd") and data == whole * 2 and told.returncode == 0:
                continue  # what follows is ignored
            expect(told.returncode == 3, f"{name}: exit {told.returncode} for {len(data)} of {len(whole)} bytes: {told.stderr}")
    store = zs.write(folder / "shards.zarr", a, shards=(32, 48))
    shard = store / "c/0/0"
    whole = bytearray(shard.read_bytes())
    whole[-30] ^= 1
    shard.write_bytes(bytes(whole))
    told = ended([damier, "info", str(store)])
    expect(told.returncode == 3 and "index that does not match its checksum" in told.stderr, told.stderr)


def decoded(store):
    """A C of damier's, decoded from its files by the specification alone."""
    about = json.loads((store / "zarr.json").read_text(encoding="utf-8"))
    shape, chunk = about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
    expect([codec["name"] for codec in about["codecs"]] == ["bytes", "zstd", "crc32c"], about["codecs"])
    grid = [-(-extent // size) for extent, size in zip(shape, chunk)]
    whole = np.zeros([count * size for count, size in zip(grid, chunk)], about["data_type"])
    for index in np.ndindex(*grid):
        data = (store / "c" / "/".join(map(str, index))).read_bytes()
        expect(data[-4:] == zs.crc32c(data[:-4]), f"the checksum of chunk {index}")
        part = np.frombuffer(zs.unzstd(data[:-4], int(np.prod(chunk)) * whole.itemsize), whole.dtype).reshape(chunk)
        whole[tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, chunk))] = part
    kept = sorted(path.name for path in store.iterdir())
    expect(kept == ["c", "zarr.json"], kept)
    return whole[tuple(slice(extent) for extent in shape)], about["attributes"]


def written(folder, damier, dtype, ranks):
    """C as Zarr: all types of products, stacks and vectors, chunks, on several ranks; verified, and read again."""
    a, b = matrix(dtype), matrix(dtype, (COLS, 35), 8)
    with h5py.File(folder / "x.h5", "w") as file:
        file.update({"a": a, "b": b, "v": b[:, 0], "s": np.stack([a, a + a])})
    store = folder / "c.zarr"
    cases = (("a", "b", a @ b, ()), ("a", "b", a @ b, ("--chunk", "20x9", "--zstd", "5")), ("a", "v", a @ b[:, 0], ("--chunk", "7x1")),
             ("s", "b", np.stack([a @ b, (a + a) @ b]), ("--chunk", "50x50")))
    for left, right, wanted, more in cases:
        names = [f"{folder}/x.h5:/{name}" for name in (left, right)]
        run(damier, ranks, "multiply", *names, "-o", store, "--force", "-q", *more)
        got, attributes = decoded(store)
        expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"{left} by {right} {more}: {got.shape}")
        expect(attributes["damier_state"] == "complete" and attributes["software"] == "damier", str(attributes))
        run(damier, 1, "verify", *names, store, "-q")
        run(damier, 1, "verify", store, "-q")
        if got.ndim == 2:
            check(read(folder, damier, store, size=got.shape[1], dtype=dtype), wanted, f"{left} by {right}, read again")
    expect(sorted(path.name for path in folder.iterdir() if "c.zarr" in path.name) == ["c.zarr"], "files are left")


def replaced(folder, damier):
    """Only an array of damier's is replaced, and never one that is an input; damaged results are found."""
    def tries(code, *words):
        told = ended([damier, *map(str, words)])
        expect(told.returncode == code, f"exit {told.returncode}, wanted {code}: {words} {told.stderr}")
    run(damier, 1, "generate", folder / "a.h5", "--size", 40)
    a, store = folder / "a.h5", folder / "c.zarr"
    tries(0, "multiply", a, a, "-o", store, "-q")
    before = (store / "zarr.json").read_bytes()
    tries(2, "multiply", a, a, "-o", store, "-q")
    tries(2, "multiply", a, store, "-o", store, "-q", "--force")
    (store / "c" / "notes").write_text("mine", encoding="utf-8")
    tries(2, "multiply", a, a, "-o", store, "-q", "--force")
    (store / "c" / "notes").unlink()
    for words in (("--deflate", 3), ("--append",)):
        tries(2, "multiply", a, a, "-o", store, "-q", "--force", *words)
    tries(2, "multiply", a, a, "-o", f"{store}:/x", "-q", "--force")
    tries(2, "pca", a, "--rank", 2, "-o", folder / "p.zarr")
    expect((store / "zarr.json").read_bytes() == before, "it was touched")
    tries(0, "multiply", a, a, "-o", store, "-q", "--force")
    chunk = store / "c" / "0" / "0"
    data = bytearray(chunk.read_bytes())
    data[100] ^= 1
    chunk.write_bytes(bytes(data))
    tries(3, "verify", store, "-q")
    foreign = zs.write(folder / "f.zarr", matrix("f8"))
    tries(2, "multiply", a, a, "-o", foreign, "-q", "--force")
    (folder / "d.zarr.damier-new" / "c").mkdir(parents=True)  # of a run that was killed
    tries(0, "multiply", a, a, "-o", folder / "d.zarr", "-q")
    expect(not (folder / "d.zarr.damier-new").exists(), "a leftover was left")


def main():
    args = options()
    have = run(args.damier, 1, "--version").split("codecs: ")[1]
    codecs = [""] + ["gzip"] + [name for name in ("zstd", "blosc") if name in have.replace("blosc2", "") and zs.library(name)]
    older = [""] + ["zlib", "gzip"] + [name for name in ("zstd", "blosc", "lz4") if name in have.replace("blosc2", "") and zs.library(name)]
    cases = [(third, dtype, codecs[i % len(codecs)]) for i, dtype in enumerate(TYPES)]
    cases += [(third, "f8", codec) for codec in codecs]
    cases += [(second, dtype, older[i % len(older)]) for i, dtype in enumerate(TYPES)]
    cases += [(axes,), (groups,), (meanings,), (unwritten,), (damaged,)]
    cases += [(verbs, 1, {"version": 2}), (verbs, 3, {"shards": (32, 48)})]
    if "zstd" in codecs:
        cases += [(written, "f8", 1), (written, "f4", 3), (written, "c16", 1), (replaced,)]
    return run_cases(args.damier, cases)


if __name__ == "__main__":
    raise SystemExit(main())
