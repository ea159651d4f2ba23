#!/usr/bin/env python3
"""A matrix in many files compared with the same matrix in one: as a virtual dataset, and as a stack of files.

    scripts/bench/sources.py --damier build/release/damier --folder /dev/shm -o docs/results/sources.jsonl

One file, the virtual dataset and the stack are multiplied by a thin matrix in turn, with `ulimit -n 256`, each time by a fresh
process; the files are in the page cache. Less than a minute on two idle cores. A record for each set of files and way: the whole
command and its processor time, also relative to one file.
"""
import itertools
import pathlib
import tempfile

import h5py
import numpy as np

from measure import code_of, compare, cores, made_by, multiply, options_of, start

COLS, THIN = 1000, 8
SETS = {"1000 x 160 kB": (1000, 20), "1000 x 512 kB": (1000, 64)}
LAYOUTS = {"contiguous": {}, "deflate": {"chunks": True, "compression": 4, "shuffle": True}}
WAYS = {"one file": "one.h5:/x", "virtual": "virtual.h5:/x", "stack": "s*.h5:/x"}


def make(folder, count, rows, layout):
    """One file, its parts, and a virtual dataset of the parts."""
    rng, shape = np.random.default_rng(1), (count * rows, COLS)
    virtual, more = h5py.VirtualLayout(shape, "f8"), dict(LAYOUTS[layout])
    if more:
        more["chunks"] = (min(rows, 32), COLS)
    with h5py.File(folder / "one.h5", "w") as whole:
        x = whole.create_dataset("x", shape, "f8", **more)
        for i in range(count):
            part = rng.integers(-999, 999, (rows, COLS), np.int16) / 8
            with h5py.File(folder / f"s{i:04}.h5", "w") as file:
                y = file.create_dataset("x", data=part, **more)
                if not more:
                    x[i * rows:(i + 1) * rows] = part
                for row in range(0, rows if more else 0, more.get("chunks", (1,))[0]):  # packed once
                    skipped, chunk = y.id.read_direct_chunk((row, 0))
                    x.id.write_direct_chunk((i * rows + row, 0), chunk, skipped)
            virtual[i * rows:(i + 1) * rows] = h5py.VirtualSource(f"s{i:04}.h5", "x", (rows, COLS))
    with h5py.File(folder / "virtual.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("x", virtual)
    with h5py.File(folder / "B.h5", "w") as file:
        file["b"] = rng.standard_normal((COLS, THIN))


def main():
    options = options_of(__doc__, "sources.jsonl", damier="build/release/damier", folder="/dev/shm", pairs=3,
                         only={"nargs": "*", "default": list(SETS), "choices": list(SETS)},
                         layouts={"nargs": "*", "default": list(LAYOUTS), "choices": list(LAYOUTS)})
    damier = pathlib.Path(options.damier).resolve()
    about = {"verb": "sources", **made_by(code_of(damier), cores=cores()), "h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version}
    pathlib.Path(options.output).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = pathlib.Path(place)
        for name, layout in itertools.product(options.only, options.layouts):
            make(folder, *SETS[name], layout)
            compare(options.output, about, {"files": name, "layout": layout}, WAYS, lambda way: multiply(
                ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", damier, "multiply", WAYS[way], "B.h5", "-q"],
                folder / "C.h5", folder / "record.json", cwd=folder)[0], options.pairs)


if __name__ == "__main__":
    start(main)
