"""One matrix of SIZE MiB in each codec, times one column, by h5py with hdf5plugin in one thread and NumPy; the times are of opening, reading
and the product, without the start of the processes."""
import glob
import json
import pathlib
import time

import h5py
import numpy as np

from measure import processor_seconds, run, timed

RUNS, WARM_UP, VERB = 5, 0, "codec"


def read():
    """Each file of A as h5py reads it, and A B."""
    with h5py.File("B.h5") as file:
        b = file["b"][:]
    before, began, names = processor_seconds(), time.perf_counter(), sorted(glob.glob("A*.h5"))
    with h5py.File(names[0]) as file:
        rows, cols = file["a"].shape
    whole = np.empty((rows * len(names), cols))
    for i, name in enumerate(names):
        with h5py.File(name) as file:
            file["a"].read_direct(whole, dest_sel=np.s_[i * rows:(i + 1) * rows])
    taken = time.perf_counter() - began
    whole @ b  # pylint: disable=expression-not-assigned
    print(json.dumps({"seconds": time.perf_counter() - began, "processor_s": processor_seconds() - before, "read_s": taken}))


def codec_stores(hdf5plugin):
    chunk, large = (256, 512), (1024, 7808)  # 1 MiB and 61 MiB
    packed = {"shuffle": True, "compression": 4}
    stores = {
        "contiguous": {},
        "zstd": {"chunks": chunk, **hdf5plugin.Zstd(clevel=3)},
        "shuffle, zstd": {"chunks": chunk, "shuffle": True, **hdf5plugin.Zstd(clevel=3)},
        "bitshuffle, lz4": {"chunks": chunk, **hdf5plugin.Bitshuffle(cname="lz4")},
        "bitshuffle, zstd": {"chunks": chunk, **hdf5plugin.Bitshuffle(cname="zstd")},
        "lz4": {"chunks": chunk, **hdf5plugin.LZ4()},
        "blosc: shuffle, zstd": {"chunks": chunk, **hdf5plugin.Blosc(cname="zstd", shuffle=1)},
        "shuffle, deflate": {"chunks": chunk, **packed},
        "shuffle, deflate, chunks of 61 MiB": {"chunks": large, **packed},
        "shuffle, lzf": {"chunks": chunk, "shuffle": True, "compression": "lzf"},
    }
    if hasattr(hdf5plugin, "Blosc2"):  # not in Debian 12's
        stores["blosc2: shuffle, zstd"] = {"chunks": chunk, **hdf5plugin.Blosc2(cname="zstd", filters=1)}
    return stores | {"contiguous, in 1000 files": {}}


def by_damier():
    took, said = timed(lambda: run("damier multiply A*.h5:/a B.h5 -o C.h5 -q --no-verify --json -".split()))
    times = json.loads(said.splitlines()[0])["times"]
    taken = times["open_s"] + times["read_s"]
    return took | {"seconds": taken + times["multiply_s"], "read_s": taken}


def cases(bench, size=500, only=""):
    import hdf5plugin  # pylint: disable=import-outside-toplevel
    cols, rng = 8192, np.random.default_rng(1)
    rows = max(1, size * 2**20 // (8 * cols) // 1000) * 1000  # divides into 1000 files
    a = np.round(rng.standard_normal((rows, cols)), 3)
    bench.about |= {"h5py": h5py.__version__, "hdf5plugin": hdf5plugin.version, "bytes": a.nbytes}
    with h5py.File("B.h5", "w") as file:
        file["b"] = rng.standard_normal((cols, 1))
    for name, store in codec_stores(hdf5plugin).items():
        if name not in (only.split(";") if only else [name]):
            continue
        for old in pathlib.Path().glob("A*.h5"):
            old.unlink()
        for i, part in enumerate(np.array_split(a, 1000 if name.endswith("1000 files") else 1)):
            with h5py.File(f"A{i:03}.h5", "w") as file:
                file.create_dataset("a", data=part, **store)
        yield ({"packed": name, "stored_bytes": sum(file.stat().st_size for file in pathlib.Path().glob("A*.h5"))},
               {"h5py": lambda: json.loads(run(bench.other("read"))), "damier": by_damier})
