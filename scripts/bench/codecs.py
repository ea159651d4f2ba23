#!/usr/bin/env python3
"""Reads one matrix, packed in different ways and divided among many files, and multiplies it by one column: by damier, and by h5py
with hdf5plugin in one thread and NumPy, alternating; appends a record of each way to pack it and each reader.

    scripts/bench/codecs.py -o docs/results/codecs.jsonl        results.py makes a table of the records

The times are of opening the file, reading all of it (read_s), and the product, without the start of the processes. Needs h5py and
hdf5plugin, and twice --size in the folder.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import h5py
import hdf5plugin
import numpy as np

from measure import code_of, compare, cores, made_by, options_of, run, start, timed

COLS, CHUNK, LARGE = 8192, (256, 512), (1024, 7808)  # 1 MiB and 61 MiB
WAYS = {
    "contiguous": {},
    "zstd": {"chunks": CHUNK, **hdf5plugin.Zstd(clevel=3)},
    "shuffle, zstd": {"chunks": CHUNK, "shuffle": True, **hdf5plugin.Zstd(clevel=3)},
    "bitshuffle, lz4": {"chunks": CHUNK, **hdf5plugin.Bitshuffle(cname="lz4")},
    "bitshuffle, zstd": {"chunks": CHUNK, **hdf5plugin.Bitshuffle(cname="zstd")},
    "lz4": {"chunks": CHUNK, **hdf5plugin.LZ4()},
    "blosc: shuffle, zstd": {"chunks": CHUNK, **hdf5plugin.Blosc(cname="zstd", shuffle=1)},
    "shuffle, deflate": {"chunks": CHUNK, "shuffle": True, "compression": 4},
    "shuffle, deflate, chunks of 61 MiB": {"chunks": LARGE, "shuffle": True, "compression": 4},
    "shuffle, lzf": {"chunks": CHUNK, "shuffle": True, "compression": "lzf"},
}
if hasattr(hdf5plugin, "Blosc2"):  # not in Debian 12's
    WAYS["blosc2: shuffle, zstd"] = {"chunks": CHUNK, **hdf5plugin.Blosc2(cname="zstd", filters=1)}
FILES = "contiguous, in 1000 files"


def h5py_reads(folder):
    """Called in a process of its own."""
    names = sorted(folder.glob("A*.h5"))

    def read():
        with h5py.File(names[0]) as file:
            rows, cols = file["a"].shape
        whole = np.empty((rows * len(names), cols))
        for i, name in enumerate(names):
            with h5py.File(name) as file:
                file["a"].read_direct(whole, dest_sel=np.s_[i * rows:(i + 1) * rows])
        return whole

    with h5py.File(folder / "B.h5") as file:
        b = file["b"][()]
    took, whole = timed(read)
    product, _ = timed(lambda: whole @ b)
    print(json.dumps({name: took[name] + product[name] for name in took} | {"read_s": took["seconds"]}))


def by_h5py(folder, _):
    return json.loads(run([sys.executable, __file__, "--read", folder]))


def by_damier(folder, options):
    words = [options.damier, "multiply", f"{folder}/A*.h5:/a", folder / "B.h5", "-o", folder / "C.h5", "--force", "-q", "--no-verify",
             "--json", "-"]
    took, said = timed(lambda: run(words))
    times = json.loads(said.splitlines()[0])["times"]
    read = times["open_s"] + times["read_s"]
    return took | {"seconds": read + times["multiply_s"], "read_s": read}


READERS = {"h5py": by_h5py, "damier": by_damier}


def write(folder, way, a):
    """Returns the bytes of the files."""
    for old in folder.glob("A*.h5"):
        old.unlink()
    count = 1000 if way == FILES else 1
    for i, part in enumerate(np.array_split(a, count)):
        with h5py.File(folder / f"A{i:03}.h5", "w") as file:
            file.create_dataset("a", data=part, **WAYS.get(way, {}))
    return sum(file.stat().st_size for file in folder.glob("A*.h5"))


def main():
    options = options_of(__doc__, "codecs.jsonl", damier="build/release/damier", runs=5,
                         only={"nargs": "*", "default": [*WAYS, FILES], "help": "names of ways"},
                         size={"type": int, "default": 500, "help": "MiB of the matrix [500]"},
                         folder={"default": "/dev/shm", "help": "for the files [/dev/shm]"},
                         read={"type": pathlib.Path, "help": argparse.SUPPRESS})
    if options.read:
        h5py_reads(options.read)
        return
    rng = np.random.default_rng(1)
    rows = max(1, options.size * 2**20 // (8 * COLS) // 1000) * 1000  # divides into 1000 files
    a = np.round(rng.standard_normal((rows, COLS)), 3)
    about = {"verb": "codec", **made_by(code_of(options.damier), cores=cores()), "h5py": h5py.__version__,
             "hdf5plugin": hdf5plugin.version, "bytes": a.nbytes}
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-codecs-") as name:
        folder = pathlib.Path(name)
        with h5py.File(folder / "B.h5", "w") as file:
            file["b"] = rng.standard_normal((COLS, 1))
        for way in options.only:
            compare(options.output, about, {"packed": way, "stored_bytes": write(folder, way, a)}, READERS,
                    lambda by: READERS[by](folder, options), options.runs, warm_up=0)


if __name__ == "__main__":
    start(main)
