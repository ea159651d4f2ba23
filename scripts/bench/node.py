#!/usr/bin/env python3
"""Whole commands on a node with several GPUs: one GPU, several in one process, and ranks of MPI.

    scripts/bench/node.py --damier build/release/damier --folder /dev/shm -o node.jsonl     10 pairs of each product
    scripts/bench/node.py ... --only f64:16384 --pairs 3                                    a quick look

Ways alternate from run to run, after a pause in which all GPUs become idle. Each run is a fresh process,
from files to a file that did not exist, with verification; seconds are those of the whole command. One line of JSON for each
run: product, way, seconds, ranks, and the record's times and forecast. Medians follow on stdout. A and B are removed at the end.
"""
import json
import pathlib
import subprocess
import tempfile
import time

from measure import append, median, options_of, run, turns

PAUSE = 1.5  # seconds: a GPU that was used within the last one starts 0.1 s sooner than an idle one
PRODUCTS = {  # name: (m, k, n, type)
    "f64:4096": (4096, 4096, 4096, "f64"),
    "f64:16384": (16384, 16384, 16384, "f64"),
    "f64:16384x65536": (16384, 65536, 16384, "f64"),
    "f64:32768": (32768, 32768, 32768, "f64"),
    "bf16:16384x262144": (16384, 262144, 16384, "bf16"),
}


def ways(gpus):
    return {"--gpus 1": ([], ["--gpus", "1"]), "default": ([], []), f"--gpus {gpus}": ([], ["--gpus", gpus]),
            f"mpirun -n {gpus}": (["mpirun", "-n", gpus], [])}


def multiply(damier, folder, launcher, words):
    """One command: its seconds and record; None if it fails."""
    record, output = folder / "record.json", folder / "C.h5"
    for old in (record, output):
        old.unlink(missing_ok=True)
    time.sleep(PAUSE)
    command = [*launcher, damier, "multiply", folder / "A.h5", folder / "B.h5", "-o", output, "-q", "--json", record, *words]
    began = time.monotonic()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        print(f"exit {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}", flush=True)
        return None
    if done.stderr.strip():
        print(done.stderr.strip(), flush=True)
    return seconds, json.loads(record.read_text())


def measure(options, folder, product):
    m, k, n, dtype = PRODUCTS[product]
    damier = pathlib.Path(options.damier).resolve()
    for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2)):
        run([damier, "generate", folder / f"{name}.h5", "--rows", rows, "--cols", cols, "--type", dtype, "--seed", seed, "--force", "-q"])
    all_ways = {way: words for way, words in ways(options.gpus).items() if not (options.no_mpi and way.startswith("mpirun"))}
    taken, ranks = {way: [] for way in all_ways}, {}
    for pair, way in turns(options.pairs, all_ways):
        found = multiply(damier, folder, *all_ways[way])
        if found is None or pair < 0:
            continue
        seconds, record = found
        taken[way].append(seconds)
        ranks[way] = record["machine"]["ranks"]
        append(options.output, {
            "verb": "node", "gpus": options.gpus, "product": product, "way": way, "seconds": seconds, "ranks": ranks[way],
            "device": record["machine"]["device"], "machine": {}, "date": record["date"], "version": record["version"],
            "git": record.get("git"), "times": record["times"], "forecast": record.get("forecast")})
    base = median(taken["--gpus 1"]) if taken["--gpus 1"] else float("nan")
    for way, seconds in taken.items():
        if seconds:
            print(f"{product:20} {way:14} ranks {ranks[way]}  {median(seconds):.3f} s  {median(seconds) / base:.3f} of one GPU  "
                  f"({min(seconds):.3f} to {max(seconds):.3f}, {len(seconds)} runs)", flush=True)


def main():
    options = options_of(__doc__, "node.jsonl", ("--damier", {"default": "damier"}), ("--folder", {"default": "/dev/shm"}),
                         ("--gpus", {"type": int, "default": 2}), ("--pairs", {"type": int, "default": 10}),
                         ("--only", {"nargs": "*", "default": list(PRODUCTS), "choices": list(PRODUCTS)}),
                         ("--no-mpi", {"action": "store_true", "help": "without mpirun"}))
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        for product in options.only:
            measure(options, pathlib.Path(place), product)


if __name__ == "__main__":
    main()
