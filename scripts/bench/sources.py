#!/usr/bin/env python3
"""A matrix in many files compared with the same matrix in one: as a virtual dataset, and as a stack of files.

    scripts/bench/sources.py --damier build/release/damier --folder /dev/shm -o docs/results/sources.jsonl

One file, the virtual dataset and the stack are multiplied by a thin matrix in turn, with `ulimit -n 256`, each time by a fresh
process; the files are in the page cache. Less than a minute on two idle cores. One line of JSON for each set of files and way:
medians, with the range that holds them with 95 %, of the seconds of the whole command, of its processor time, and of both in
relation to one file.
"""
import os
import pathlib
import tempfile

import h5py
import numpy as np

from measure import alternated, append, code_of, collected, cores, made_by, middle, multiply, options_of, ratios, start

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
    about = {**made_by(code_of(damier), cores=cores()), "h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version}
    pathlib.Path(options.output).unlink(missing_ok=True)
    for name, layout in ((name, layout) for name in options.only for layout in options.layouts):
        with tempfile.TemporaryDirectory(dir=options.folder) as place:
            folder = pathlib.Path(place)
            make(folder, *SETS[name], layout)
            taken = collected(alternated(WAYS, options.pairs, lambda way: multiply(  # pylint: disable=cell-var-from-loop
                ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", damier, "multiply", WAYS[way], "B.h5", "-q"],
                folder / "C.h5", folder / "record.json", cwd=folder)))
        one = [[t[which] for t in taken["one file"]] for which in (0, 1)]
        for way, found in taken.items():
            seconds, busy = ([t[which] for t in found] for which in (0, 1))
            row = {"verb": "sources", "files": name, "layout": layout, "way": way, "pairs": options.pairs, "seconds": middle(seconds),
                   "processor_s": middle(busy), "ratio": middle(ratios(seconds, one[0])),
                   "processor_ratio": middle(ratios(busy, one[1])), "load": os.getloadavg()[0]}
            append(options.output, row | about)
            print(f"{name:14} {layout:11} {way:9} {row['seconds'][0]:.3f} s ({row['ratio'][0]:.2f}), processor "
                  f"{row['processor_s'][0]:.3f} s ({row['processor_ratio'][0]:.2f})", flush=True)


if __name__ == "__main__":
    start(main)
