"""codecs: chunks packed by filters of HDF5's registry, as hdf5plugin writes them, are read by threads or refused."""
import sys

import h5py
import numpy as np

from running import ended, expect, options, run, run_cases

try:
    import hdf5plugin
except ImportError:
    print("hdf5plugin is not installed: skipped")
    sys.exit(77)

RNG = np.random.default_rng(9)


def kinds(damier):
    """The codecs of this build, by name, with the arguments for h5py."""
    have = run(damier, 1, "--version")
    found = [("bitshuffle", dict(hdf5plugin.Bitshuffle(cname="none"))),
             ("bitshuffle in blocks", dict(hdf5plugin.Bitshuffle(nelems=64, cname="none")))]
    if "zstd" in have:
        found += [("zstd", dict(hdf5plugin.Zstd(clevel=3))), ("bitshuffle, zstd", dict(hdf5plugin.Bitshuffle(cname="zstd")))]
    if "lz4" in have:
        found += [("lz4", dict(hdf5plugin.LZ4())), ("lz4 in blocks", dict(hdf5plugin.LZ4(nbytes=1000))),
                  ("bitshuffle, lz4", dict(hdf5plugin.Bitshuffle(cname="lz4"))),
                  ("bitshuffle, lz4 in blocks", dict(hdf5plugin.Bitshuffle(nelems=128, cname="lz4")))]
    if "blosc" in have:
        found += [(f"blosc {name}", dict(hdf5plugin.Blosc(cname=name, shuffle=mode))) for name in ("lz4", "zstd", "zlib", "blosclz")
                  for mode in (0, 1, 2)]
    return found


def matrix(dtype, noise):
    values = RNG.standard_normal((211, 97)) * 100
    if np.dtype(dtype).kind == "i" or not noise:
        values = np.floor(values % 9)
    return values.astype(dtype)


def read(folder, damier):
    """All types, compressible or not, odd chunks, further filters; damaged streams are refused."""
    for name, codec in kinds(damier):
        for dtype in ("f8", "f4", "i1", "c16"):
            for noise in (False, True):
                a, more = matrix(dtype, noise), {"fletcher32": noise, "shuffle": dtype == "f4"}
                with h5py.File(folder / "a.h5", "w") as file:
                    file.create_dataset("a", data=a, chunks=(53, 41) if noise else (64, 97), **codec, **more)
                check(folder, damier, a, f"{name} {dtype} {more}")
        damaged(folder, damier, name, codec)


def check(folder, damier, a, what):
    b = np.eye(a.shape[1], dtype=a.dtype)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = b
    run(damier, 1, "multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q")
    with h5py.File(folder / "c.h5") as file:
        expect(np.array_equal(file["c"][()], a), f"not what hdf5plugin wrote: {what}")


def damaged(folder, damier, name, codec):
    a = matrix("f8", False)
    for case in range(12):
        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset("a", data=a, chunks=a.shape, **codec)
            place = file["a"].id.get_chunk_info(0)
        data = bytearray((folder / "a.h5").read_bytes())
        for _ in range(1 + case):
            at = int(RNG.integers(0, 24 if case % 2 else place.size))
            data[place.byte_offset + min(at, place.size - 1)] ^= int(RNG.integers(1, 256))
        (folder / "a.h5").write_bytes(data)
        words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force", "-q", "--no-verify")
        with h5py.File(folder / "b.h5", "w") as file:
            file["b"] = np.eye(a.shape[1])
        code = ended([damier, *map(str, words)]).returncode
        expect(code in (0, 3), f"exit {code} for a damaged chunk of {name}")  # not every codec has a checksum


def main():
    chosen = options()
    run_cases(chosen.damier, [(read,)])


main()
