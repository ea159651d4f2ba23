"""codecs: chunks packed by filters of HDF5's registry, as hdf5plugin writes them, are read by threads; damaged ones are refused."""
import sys

import h5py
import numpy as np

from running import ended, expect, options, run, run_cases

try:
    import hdf5plugin
except ImportError:
    print("hdf5plugin is not installed: skipped")
    sys.exit(77)

ROWS, COLS = 211, 97
TYPES = ("<f8", "<f4", ">f8", "<i2", ">u4", "|i1", "<c16")
CHUNKS = ((53, 41), (64, 97), (1, 97), (211, 5), (211, 97))


def kinds(damier):
    """The codecs of this build, by name, with the arguments for h5py."""
    have, p = run(damier, 1, "--version").split("codecs: ")[1], hdf5plugin
    found = [("bitshuffle", p.Bitshuffle(cname="none")), ("bitshuffle in blocks", p.Bitshuffle(nelems=64, cname="none")),
             ("deflate", {"compression": 1}), ("deflate 9, shuffle", {"compression": 9, "shuffle": True}),
             ("lzf", {"compression": "lzf", "shuffle": True})]
    if "zstd" in have:
        found += [(f"zstd {level}", p.Zstd(clevel=level)) for level in (1, 3, 22)]
        found += [("bitshuffle, zstd", p.Bitshuffle(cname="zstd")),
                  ("bitshuffle, zstd in blocks", p.Bitshuffle(nelems=8, cname="zstd", clevel=9))]
    if "lz4" in have:
        found += [("lz4", p.LZ4()), ("lz4 in blocks", p.LZ4(nbytes=1000)), ("bitshuffle, lz4", p.Bitshuffle(cname="lz4")),
                  ("bitshuffle, lz4 in blocks", p.Bitshuffle(nelems=128, cname="lz4"))]
    if "blosc" in have.replace("blosc2", ""):
        found += [(f"blosc {name} {level} {mode}", p.Blosc(cname=name, clevel=level, shuffle=mode)) for name, level, mode in (
            ("lz4", 5, 0), ("lz4", 1, 1), ("lz4hc", 9, 2), ("zstd", 5, 1), ("zstd", 9, 2), ("zlib", 4, 1), ("blosclz", 5, 2),
            ("blosclz", 0, 1))]
    if "blosc2" in have and hasattr(p, "Blosc2"):
        found += [(f"blosc2 {name} {level} {mode}", p.Blosc2(cname=name, clevel=level, filters=mode)) for name, level, mode in (
            ("lz4", 5, 0), ("lz4", 1, 1), ("lz4hc", 9, 2), ("zstd", 5, 1), ("zstd", 9, 2), ("zlib", 4, 1), ("blosclz", 5, 2),
            ("blosclz", 0, 1), ("zstd", 3, 3))]
    return [(name, codec) for name, codec in found if can_write(codec)]


def can_write(codec):
    """Packages of hdf5plugin do not have all plug-ins."""
    known = isinstance(codec.get("compression"), (int, str)) and codec.get("compression") in (1, 9, "lzf")
    return known or h5py.h5z.filter_avail(codec["compression"])


def matrix(dtype, noise):
    rng = np.random.default_rng(9)
    values = rng.standard_normal((ROWS, COLS)) * 100
    if not noise or np.dtype(dtype).kind in "iu":
        values = np.floor(values % (101 if noise else 9))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    return values.astype(dtype)


def further(number):
    """Filters of HDF5 around the codec: shuffle before it, a checksum before or after it."""
    return {"fletcher32": number % 3 == 1, "shuffle": number % 4 == 2}


def pipelines(damier):
    """Filters in unusual orders, for h5py's lower interface: (what, function of the property list)."""
    def checksum_first(p):
        p.set_fletcher32()
        p.set_deflate(3)

    def shuffle_last(p):
        p.set_deflate(1)
        p.set_shuffle()

    def two_codecs(p):
        p.set_shuffle()
        p.set_filter(32015, 0, (5,))
        p.set_deflate(1)
        p.set_fletcher32()

    def checksum_between(p):
        p.set_fletcher32()
        p.set_filter(32004, 0, (500,))
        p.set_shuffle()
        p.set_deflate(1)

    have = run(damier, 1, "--version")
    found = [checksum_first, shuffle_last, two_codecs, checksum_between]
    needs = {two_codecs: ("zstd", 32015), checksum_between: ("lz4", 32004)}
    return [f for f in found if f not in needs or needs[f][0] in have and h5py.h5z.filter_avail(needs[f][1])]


def write_pipeline(file, name, data, fill):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((50, 40))
    fill(plist)
    space = h5py.h5s.create_simple(data.shape)
    h5py.Dataset(h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype), space, plist))[...] = data


def read(folder, damier, dtype):
    """All codecs in one stack: compressible or not, odd chunks, further filters, orders, a page of a cube."""
    names = []
    with h5py.File(folder / "a.h5", "w") as file:
        for number, (name, codec) in enumerate(kinds(damier)):
            for noise in (False, True):
                more = dict(codec) | (further(number + noise) if "shuffle" not in codec else {})
                chunks = CHUNKS[(2 * number + noise) % len(CHUNKS)]
                file.create_dataset(f"{len(names)}", data=matrix(dtype, noise), chunks=chunks, **more)
                names.append((f"/{len(names)}", f"{name} {chunks} {more}"))
            if number % 5 == 0:
                cube = np.stack([matrix(dtype, True)] * 3)
                file.create_dataset(f"{len(names)}", data=cube, chunks=(2, 64, 50), **codec)
                names.append((f"/{len(names)}[1]", f"{name} in a cube"))
        for fill in pipelines(damier):
            write_pipeline(file, f"{len(names)}", matrix(dtype, True), fill)
            names.append((f"/{len(names)}", fill.__name__))
        want = [file[place.split("[")[0]][...] for place, _ in names]
    (folder / "list.txt").write_text("".join(f"{folder}/a.h5:{place}\n" for place, _ in names))
    work = "c128" if np.dtype(dtype).kind == "c" else "f64"
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(COLS, dtype="c16" if work == "c128" else "f8")
    run(damier, 1, "multiply", f"@{folder}/list.txt", folder / "b.h5", "--type", work, "-o", folder / "c.h5", "-q")
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][()]
    for i, (_, what) in enumerate(names):
        wanted = want[i][1] if want[i].ndim == 3 else want[i]
        expect(np.array_equal(got[i * ROWS:(i + 1) * ROWS], wanted), f"not what hdf5plugin wrote: {dtype} {what}")


def damaged(folder, damier, name, codec):
    """A chunk that was cut off or changed: refused, with its place; without a checksum a change may pass as data."""
    rng = np.random.default_rng(len(name))
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(COLS)
    for case in range(8):
        checked = case % 2 == 1
        with h5py.File(folder / "a.h5", "w") as file:
            a = file.create_dataset("a", data=matrix("f8", False), chunks=(64, 50), fletcher32=checked, **codec)
            mask, data = a.id.read_direct_chunk((64, 50))
            data = bytearray(data)
            if case < 4:
                data = data[:int(rng.integers(1, len(data)))]
            else:
                data[int(rng.integers(0, 24 if case % 4 < 2 else len(data)))] ^= int(rng.integers(1, 256))
            a.id.write_direct_chunk((64, 50), bytes(data), mask)
        words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
        done = ended([damier, *map(str, words)])
        if case < 4 or checked or done.returncode:
            expect(done.returncode == 3, f"exit {done.returncode} for a damaged chunk of {name}, case {case}\n{done.stderr}")
            expect("a.h5:/a: the chunk at (64, 50) is damaged: it " in done.stderr, f"{name}, case {case}: {done.stderr}")


def main():
    damier = options().damier
    found = {name.split(" ")[0] + ("" if "bitshuffle" not in name else name): (name, codec) for name, codec in kinds(damier)}
    run_cases(damier, [(read, dtype) for dtype in TYPES] + [(damaged, *kind) for kind in found.values()])


main()
