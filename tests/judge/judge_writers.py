"""writers: arrays of Zarr, tables, flat and packed matrices, and genotypes that other programs write, each with its own, equal what they
were given. Programs and packages that are not installed are named and left out."""
import importlib
import importlib.metadata
import itertools
import shutil
import subprocess

import h5py
import numpy as np

from running import Failure, LeftOut, expect, options, run, run_cases

COUNTED = {}  # files that were right, by format and writer
ROWS, COLS = 37, 23


def package(name):
    """The module; the case is left out where it is absent."""
    try:
        return importlib.import_module(name)
    except Exception as why:  # not only ImportError: some are installed beside a NumPy that they do not know
        raise LeftOut(f"{name} cannot be imported ({type(why).__name__})") from why


def told(name):
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


def matrix(dtype="f8", shape=(ROWS, COLS), seed=3):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2 if dtype == "b1" else 100, shape).astype(dtype)


def right(folder, damier, what, name, wanted, *more):
    """NAME, multiplied by the identity, is WANTED; counted for WHAT, (format, writer)."""
    with h5py.File(folder / "identity.h5", "w") as file:
        file["b"] = np.eye(wanted.shape[1])
    kind = "c128" if np.iscomplexobj(wanted) else "f64"
    c = folder / "product.npy"
    run(damier, 1, "multiply", name, folder / "identity.h5", "--type", kind, "-o", c, "--force", "-q", *more,
        *(["--allow-rounding"] if wanted.dtype == "i8" else []))
    expect(np.array_equal(np.load(c), wanted.astype(kind.replace("f64", "f8").replace("c128", "c16"))), f"{what}: {name}")
    COUNTED[what] = COUNTED.get(what, 0) + 1


# ---- Zarr ----

def zarr_python(folder, damier):
    zarr, numcodecs = package("zarr"), package("numcodecs")
    what = ("zarr", told("zarr"))
    second = {"none": None, "zlib": numcodecs.Zlib(6), "gzip": numcodecs.GZip(1), "zstd": numcodecs.Zstd(3), "lz4": numcodecs.LZ4(),
              "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE), "bits": numcodecs.Blosc("zstd", 5, numcodecs.Blosc.BITSHUFFLE)}
    new = int(zarr.__version__.split(".", maxsplit=1)[0]) >= 3
    for number, (codec, order) in enumerate(itertools.product(second, "CF")):
        a = matrix(("f8", "f4", "i2", "u1", ">i4", "b1", "c16")[number % 7])
        store = folder / f"v2_{number}.zarr"
        more = {"chunk_key_encoding": {"name": "v2", "separator": "/."[number % 2]}} if new else {"dimension_separator": "/."[number % 2]}
        if new:
            file = zarr.create_array(store, shape=a.shape, dtype=a.dtype, chunks=(10, 8), zarr_format=2, order=order,
                                     compressors=second[codec], filters=None, **more)
        else:
            file = zarr.open(str(store), mode="w", shape=a.shape, dtype=a.dtype, chunks=(10, 8), order=order, compressor=second[codec],
                             **more)
        file[:] = a
        right(folder, damier, what, store, a)
    if not new:
        return
    codecs = zarr.codecs
    third = {"none": None, "zstd": codecs.ZstdCodec(level=3), "zstd, sum": codecs.ZstdCodec(checksum=True), "gzip": codecs.GzipCodec(),
             "blosc": codecs.BloscCodec(cname="lz4", shuffle="shuffle"), "bits": codecs.BloscCodec(cname="zstd", shuffle="bitshuffle"),
             "zlib": codecs.BloscCodec(cname="zlib"), "sums": [codecs.ZstdCodec(), codecs.Crc32cCodec()]}
    for number, (codec, shards) in enumerate(itertools.product(third, (None, (20, 16)))):
        a = matrix(("f8", "f4", "i2", "u1", "i8", "b1", "c8", "f2")[number % 8])
        store = folder / f"v3_{number}.zarr"
        file = zarr.create_array(store, shape=a.shape, dtype=a.dtype, chunks=(10, 8), shards=shards, compressors=third[codec])
        file[:] = a
        right(folder, damier, what, store, a)
    group = zarr.open_group(folder / "group.zarr", mode="w")
    for name in ("one", "deep/two"):
        group.create_array(name, data=matrix())
        right(folder, damier, what, f"{folder / 'group.zarr'}:/{name}", matrix())
    file = zarr.create_array(folder / "sparse.zarr", shape=(ROWS, COLS), dtype="f8", chunks=(10, 8), fill_value=4.0)
    file[12:18, 3:6] = 7
    right(folder, damier, what, folder / "sparse.zarr", file[:], "--allow-no-data")


def tensorstore(folder, damier):
    ts = package("tensorstore")
    what = ("zarr", told("tensorstore"))
    inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
    packs = ([], [{"name": "gzip", "configuration": {"level": 2}}], [{"name": "zstd", "configuration": {"level": 1}}],
             [{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 8, "blocksize": 0}}],
             [{"name": "crc32c"}])
    big = [{"name": "bytes", "configuration": {"endian": "big"}}]
    turned = [{"name": "transpose", "configuration": {"order": [1, 0]}}]
    chains = [[*order, *bytes_, *pack] for order in ([], turned) for bytes_ in (inner, big) for pack in packs]
    sharded = [[{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [10, 8], "codecs": [*inner, *pack], "index_location": place,
        "index_codecs": [*inner, {"name": "crc32c"}]}}] for pack in packs for place in ("start", "end")]
    for number, chain in enumerate([*chains, *sharded]):
        store = folder / f"t{number}.zarr"
        a = matrix("f8" if "blosc" in str(chain) else ("f8", "f4", "i4", "u2")[number % 4])
        grid = {"name": "regular", "configuration": {"chunk_shape": [20, 16] if number >= len(chains) else [10, 8]}}
        ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(store)},
                 "metadata": {"codecs": chain, "chunk_grid": grid}}, create=True, dtype=a.dtype, shape=a.shape).result().write(a).result()
        right(folder, damier, what, store, a)
    for number, (compressor, order) in enumerate(itertools.product((None, {"id": "zlib", "level": 3}, {"id": "zstd", "level": 1}), "CF")):
        store = folder / f"u{number}.zarr"
        a = matrix(("f8", "i2", "u1")[number % 3])
        ts.open({"driver": "zarr", "kvstore": {"driver": "file", "path": str(store)},
                 "metadata": {"compressor": compressor, "order": order, "chunks": [9, 9]}},
                create=True, dtype=a.dtype, shape=a.shape).result().write(a).result()
        right(folder, damier, what, store, a)


def xarray(folder, damier):
    library = package("xarray")
    package("zarr")
    what = ("zarr", told("xarray"))
    values = np.round(np.random.default_rng(1).uniform(-9, 9, (ROWS, COLS)), 2)
    encodings = ({}, {"dtype": "f4"}, {"chunks": (9, 9)}, {"scale_factor": 0.5, "add_offset": 3.0, "dtype": "i2", "_FillValue": -32768})
    for number, (encoding, version) in enumerate(itertools.product(encodings, (2, 3))):
        store = folder / f"x{number}.zarr"
        try:
            library.Dataset({"v": (("y", "x"), values)}).to_zarr(store, zarr_format=version, encoding={"v": encoding})
        except TypeError as why:
            raise LeftOut(f"xarray {library.__version__} does not know zarr_format") from why
        right(folder, damier, what, f"{store}:/v", np.asarray(library.open_zarr(store)["v"].values, "f8"))


def anndata(folder, damier):
    library = package("anndata")
    what = ("zarr", told("anndata"))
    for number, dtype in enumerate(("f4", "f8", "i4")):
        x = matrix(dtype)
        data = library.AnnData(x, layers={"raw": x + 1}, obsm={"pca": x[:, :5]})
        data.write_zarr(folder / f"d{number}.zarr")
        data.write_h5ad(folder / f"d{number}.h5ad")
        for ending in ("zarr", "h5ad"):
            file = folder / f"d{number}.{ending}"
            for name, wanted in (("X", x), ("layers/raw", x + 1), ("obsm/pca", x[:, :5])):
                right(folder, damier, what if ending == "zarr" else ("hdf5", what[1]), f"{file}:/{name}", wanted)


def dask(folder, damier):
    array = package("dask.array")
    zarr = package("zarr")
    if int(zarr.__version__.split(".", maxsplit=1)[0]) < 3:
        raise LeftOut("dask beside zarr 2")
    for number, dtype in enumerate(("f8", "f4", "i2")):
        array.from_array(matrix(dtype), chunks=(10, 10)).to_zarr(str(folder / f"k{number}.zarr"))
        right(folder, damier, ("zarr", told("dask")), folder / f"k{number}.zarr", matrix(dtype))


# ---- HDF5 ----

def pandas(folder, damier):
    library = package("pandas")
    package("tables")
    what = ("hdf5", told("pandas"))
    for number, (dtype, options_) in enumerate(itertools.product(("f8", "f4", "i8", "i2"), ({}, {"complevel": 5, "complib": "zlib"}))):
        frame = library.DataFrame(matrix(dtype), columns=[f"c{i}" for i in range(COLS)])
        for form, member in (("table", "df/table.values_block_0"), ("fixed", "df/block0_values")):
            file = folder / f"p{number}_{form}.h5"
            frame.to_hdf(file, key="df", format=form, **options_)
            right(folder, damier, what, f"{file}:/{member}", frame.to_numpy())
    frame = library.DataFrame({"a": matrix()[:, 0], "b": matrix()[:, 1]})
    frame.to_hdf(folder / "columns.h5", key="df", format="table", data_columns=True)
    right(folder, damier, what, f"{folder}/columns.h5:/df/table.a", frame[["a"]].to_numpy(), "--as-column")


def pytables(folder, damier):
    tables = package("tables")
    what = ("hdf5", told("tables"))
    for number, (dtype, packer) in enumerate(itertools.product(("f8", "f4", "i4", "u1", "c16"), ("zlib", "lzo", None))):
        if packer and not tables.which_lib_version(packer):
            continue
        a = matrix(dtype)
        filters = tables.Filters(5, packer, shuffle=True) if packer == "zlib" else None
        with tables.open_file(str(folder / f"t{number}.h5"), "w") as file:
            file.create_carray("/", "c", obj=a, filters=filters)
            file.create_earray("/", "e", obj=a, filters=filters)
            file.create_array("/", "a", obj=a)
            record = np.zeros(ROWS, [("n", "S5"), ("v", dtype, (COLS,)), ("t", "f8")])
            record["v"] = a
            file.create_table("/", "r", obj=record, filters=filters)
        for name in ("c", "e", "a", "r.v"):
            right(folder, damier, what, f"{folder}/t{number}.h5:/{name}", a)


def by_h5py(folder, damier):
    what = ("hdf5", told("h5py"))
    side = 24
    s = matrix(shape=(side, side))
    s = s + s.T
    for number, (dtype, layout) in enumerate(itertools.product(
            ("<f8", ">f8", "<f4", "<i2", "|u1"), ({}, {"chunks": (50,), "compression": 4, "shuffle": True}, {"chunks": (7,)}))):
        a, t = matrix(dtype), s.astype(dtype)
        one = {**layout, "chunks": layout["chunks"]} if layout else {}
        record = np.zeros(ROWS, np.dtype([("n", "<i8"), ("v", dtype, (COLS,)), ("k", "<i2")], align=bool(number % 2)))
        record["v"] = a
        columns = np.zeros(ROWS, [(f"c{i}", dtype) for i in range(COLS)])
        for i in range(COLS):
            columns[f"c{i}"] = a[:, i]
        path = folder / f"h{number}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("rows", data=a.ravel(), **one)
            file.create_dataset("columns", data=a.ravel("F"), **one)
            file.create_dataset("lower", data=t[np.tril_indices(side)], **one)
            file.create_dataset("upper", data=t[np.triu_indices(side)], **one)
            file.create_dataset("table", data=record, **({"chunks": (5,), "compression": 1} if layout else {}))
            file.create_dataset("numbers", data=columns)
        right(folder, damier, what, f"{path}:/rows", a, "--shape-a", f"{ROWS}x{COLS}")
        right(folder, damier, what, f"{path}:/columns", a, "--shape-a", f"{ROWS}x{COLS},columns")
        right(folder, damier, what, f"{path}:/lower", t, "--packed-a", "lower")
        right(folder, damier, what, f"{path}:/upper", t, "--packed-a", "upper")
        right(folder, damier, what, f"{path}:/table.v", a)
        right(folder, damier, what, f"{path}:/numbers", a)


def netcdf(folder, damier):
    library = package("netCDF4")
    what = ("hdf5", told("netCDF4"))
    for number, (dtype, packs) in enumerate(itertools.product(("f8", "f4", "i4"), (False, True))):
        a = matrix(dtype)
        path = folder / f"n{number}.nc"
        record = np.dtype([("t", "f8"), ("v", dtype, (COLS,))], align=True)
        with library.Dataset(path, "w") as file:
            file.createDimension("y", ROWS)
            file.createDimension("x", COLS)
            file.createVariable("v", dtype, ("y", "x"), zlib=packs)[:] = a
            kind = file.createCompoundType(record, "record")
            rows = np.zeros(ROWS, record)
            rows["v"] = a
            file.createVariable("r", kind, ("y",))[:] = rows
        right(folder, damier, what, f"{path}:/v", a)
        right(folder, damier, what, f"{path}:/r.v", a)


# ---- genotypes ----

def unpacked(path):
    """Variants x samples of a .bed file with variants one after another, missing ones as 0."""
    count = [len(path.with_suffix(ending).read_text().splitlines()) for ending in (".bim", ".fam")]
    data = np.frombuffer(path.read_bytes(), "u1")
    expect(bytes(data[:3]) == b"\x6c\x1b\x01", f"{path} is no .bed by variants")
    codes = data[3:].reshape(count[0], -1)[..., None] >> np.array([0, 2, 4, 6], "u1") & 3
    return np.array([2, 0, 1, 0])[codes.reshape(count[0], -1)[:, :count[1]]]


def genotypes(folder, damier, writer, path):
    right(folder, damier, ("bed", writer), path, unpacked(path), "--missing", "zero")


def bed_reader(folder, damier):
    library = package("bed_reader")
    rng = np.random.default_rng(4)
    for number, (samples, variants) in enumerate(itertools.product((1, 2, 3, 4, 5, 63, 130), (1, 2, 9, 64))):
        x = rng.choice([0.0, 1.0, 2.0, np.nan], (samples, variants))
        path = folder / f"b{number}.bed"
        library.to_bed(path, x if number % 2 else np.nan_to_num(x, nan=-127).astype("i1"))
        genotypes(folder, damier, told("bed-reader"), path)


def pysnptools(folder, damier):
    package("pysnptools")
    snpreader = package("pysnptools.snpreader")
    rng = np.random.default_rng(5)
    for number, (samples, variants) in enumerate(((1, 1), (3, 7), (50, 20), (127, 33))):
        names = np.array([[f"F{i}", f"S{i}"] for i in range(samples)])
        values = rng.choice([0.0, 1, 2, np.nan], (samples, variants))
        data = snpreader.SnpData(iid=names, sid=[f"v{i}" for i in range(variants)], val=values)
        snpreader.Bed.write(str(folder / f"s{number}.bed"), data)
        genotypes(folder, damier, told("pysnptools"), folder / f"s{number}.bed")


def plink(folder, damier, program):
    if not shutil.which(program):
        raise LeftOut(f"{program} is not installed")

    def made(name, *words):
        done = subprocess.run([program, *map(str, words), "--make-bed", "--out", folder / name], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Failure(f"{program} {words}: {done.stdout[-500:]}{done.stderr[-500:]}")
        genotypes(folder, damier, program, folder / f"{name}.bed")
        return folder / name

    for samples, variants, missing in itertools.product((2, 3, 5, 66), (1, 8, 40), (0, 0.2)):
        made(f"d{samples}_{variants}_{missing}", "--dummy", samples, variants, missing)
    of = made("whole", "--dummy", 40, 60, 0.1)
    parts = (("--maf", 0.1), ("--geno", 0.12), ("--chr", 1), ("--thin", 0.5), ("--from-bp", 10, "--to-bp", 40, "--chr", 1))
    for number, words in enumerate(parts):
        made(f"part{number}", "--bfile", of, "--seed", 3, *words)


def counts():
    totals = {}
    for (kind, _), count in COUNTED.items():
        totals[kind] = totals.get(kind, 0) + count
    writers = ", ".join(f"{count} {writer}" for (_, writer), count in COUNTED.items())
    return f"; right: {', '.join(f'{count} {kind}' for kind, count in totals.items())} ({writers})"


def main():
    args = options()
    alone = (zarr_python, tensorstore, xarray, anndata, dask, pandas, pytables, by_h5py, netcdf, bed_reader, pysnptools)
    return run_cases(args.damier, [*((work,) for work in alone), (plink, "plink1.9"), (plink, "plink2")], counts)


if __name__ == "__main__":
    raise SystemExit(main())
