#!/usr/bin/env python3
"""A matrix in many files compared with the same matrix in one: as a virtual dataset, and as a stack of files.

    scripts/bench/sources.py --damier build/release/damier --folder /dev/shm -o docs/results/sources.jsonl

One file, the virtual dataset and the stack are multiplied by a thin matrix in turn, with `ulimit -n 256`, each time by a fresh
process; the files are in the page cache. One line of JSON for each set of files and way: medians, with the range that holds
them with 95 %, of the seconds of the whole command, of its processor time, and of both in relation to one file.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import subprocess
import tempfile
import time

import h5py
import numpy as np

COLS, THIN = 1000, 8
SETS = {"2000 x 160 kB": (2000, 20), "2000 x 1 MB": (2000, 128), "200 x 10 MB": (200, 1280), "1000 x 160 kB": (1000, 20)}
LAYOUTS = {"contiguous": {}, "deflate": {"chunks": True, "compression": 4, "shuffle": True}}
WAYS = {"one file": "one.h5:/x", "virtual": "virtual.h5:/x", "stack": "s*.h5:/x"}


def interval(values):
    """Median, and the range that holds it with 95 % (order statistics)."""
    ordered, n = sorted(values), len(values)
    low = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return [ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2, ordered[low], ordered[n - 1 - low]]


def make(folder, count, rows, layout):
    """One file, its parts, and a virtual dataset of the parts."""
    rng = np.random.default_rng(1)
    more = dict(LAYOUTS[layout])
    shape = (count * rows, COLS)
    virtual = h5py.VirtualLayout(shape, "f8")
    if more:
        more["chunks"] = (min(rows, 32), COLS)
    with h5py.File(folder / "one.h5", "w") as whole:
        x = whole.create_dataset("x", shape, "f8", **more)
        for i in range(count):
            part = rng.integers(-999, 999, (rows, COLS)) / 8
            x[i * rows:(i + 1) * rows] = part
            with h5py.File(folder / f"s{i:04}.h5", "w") as file:
                file.create_dataset("x", data=part, **more)
            virtual[i * rows:(i + 1) * rows] = h5py.VirtualSource(f"s{i:04}.h5", "x", (rows, COLS))
    with h5py.File(folder / "virtual.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("x", virtual)
    with h5py.File(folder / "B.h5", "w") as file:
        file["b"] = rng.standard_normal((COLS, THIN))


def run(damier, folder, way):
    """Seconds and processor time of one command."""
    words = [damier, "multiply", WAYS[way], "B.h5", "-o", "C.h5", "--force", "-q"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(damier, folder, pairs):
    taken = {way: ([], []) for way in WAYS}
    for pair in range(-1, pairs):  # the first round warms up
        for way in WAYS:
            found = run(damier, folder, way)
            for values, value in zip(taken[way], found):
                if pair >= 0:
                    values.append(value)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--damier", default="build/release/damier")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--output", "-o", default="sources.jsonl")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS), choices=list(LAYOUTS))
    options = parser.parse_args()
    damier = str(pathlib.Path(options.damier).resolve())
    version = subprocess.run([damier, "--version"], capture_output=True, text=True, check=True).stdout.split("\n", maxsplit=1)[0]
    with open(options.output, "w", encoding="utf-8") as lines:
        for name in options.only:
            for layout in options.layouts:
                with tempfile.TemporaryDirectory(dir=options.folder) as place:
                    folder = pathlib.Path(place)
                    make(folder, *SETS[name], layout)
                    taken = measure(damier, folder, options.pairs)
                one = taken["one file"]
                for way, (seconds, processor) in taken.items():
                    row = {"verb": "sources", "files": name, "layout": layout, "way": way, "pairs": options.pairs,
                           "seconds": interval(seconds), "processor_s": interval(processor),
                           "ratio": interval([ours / theirs for ours, theirs in zip(seconds, one[0])]),
                           "processor_ratio": interval([ours / theirs for ours, theirs in zip(processor, one[1])]),
                           "date": datetime.date.today().isoformat(), "version": version, "h5py": h5py.__version__,
                           "hdf5": h5py.version.hdf5_version,
                           "machine": {"device": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0))},
                           "load": os.getloadavg()[0], "command": "scripts/bench/sources.py"}
                    lines.write(json.dumps(row) + "\n")
                    lines.flush()
                    print(f"{name:14} {layout:11} {way:9} {row['seconds'][0]:.3f} s ({row['ratio'][0]:.2f}), processor "
                          f"{row['processor_s'][0]:.3f} s ({row['processor_ratio'][0]:.2f})", flush=True)


if __name__ == "__main__":
    main()
