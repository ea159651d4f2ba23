"""A matrix in 1000 files: in one file, as a virtual dataset, and as a stack of files, with `ulimit -n 256`."""
import itertools

import h5py
import numpy as np

from measure import verified

RUNS, COUNT, COLUMNS = 3, 1000, 1000
LAYOUTS = {"contiguous": {}, "deflate": {"chunks": True, "compression": 4, "shuffle": True}}


def write(rows, more):
    """One file, its parts of ROWS, a virtual dataset of the parts, and B."""
    rng, shape = np.random.default_rng(1), (COUNT * rows, COLUMNS)
    virtual = h5py.VirtualLayout(shape, "f8")
    more = more | ({"chunks": (min(rows, 32), COLUMNS)} if more else {})
    with h5py.File("one.h5", "w") as whole:
        x = whole.create_dataset("x", shape, "f8", **more)
        for i in range(COUNT):
            part = rng.integers(-999, 999, (rows, COLUMNS), np.int16) / 8
            with h5py.File(f"s{i:04}.h5", "w") as file:
                y = file.create_dataset("x", data=part, **more)
                if not more:
                    x[i * rows:(i + 1) * rows] = part
                for row in range(0, rows if more else 0, more.get("chunks", (1,))[0]):  # packed once
                    skipped, chunk = y.id.read_direct_chunk((row, 0))
                    x.id.write_direct_chunk((i * rows + row, 0), chunk, skipped)
            virtual[i * rows:(i + 1) * rows] = h5py.VirtualSource(f"s{i:04}.h5", "x", (rows, COLUMNS))
    with h5py.File("virtual.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("x", virtual)
    with h5py.File("B.h5", "w") as file:
        file["b"] = rng.standard_normal((COLUMNS, 8))


def cases(bench, files="160 kB,512 kB"):
    bench.about |= {"h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version}
    for size, layout in itertools.product(files.split(","), LAYOUTS):
        write(int(size.split()[0]) // 8, LAYOUTS[layout])
        yield {"files": f"1000 x {size}", "layout": layout}, {
            way: verified(f"damier multiply {name}:/x B.h5", ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"])
            for way, name in (("one file", "one.h5"), ("virtual", "virtual.h5"), ("stack", "'s*.h5'"))}
