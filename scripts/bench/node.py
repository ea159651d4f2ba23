#!/usr/bin/env python3
"""Whole commands on a node with several GPUs: one GPU, several in one process, and ranks of MPI.

    scripts/bench/node.py --damier build/release/damier --folder /dev/shm -o node.jsonl     10 pairs of each product
    scripts/bench/node.py ... --only f64:16384 --pairs 3                                    a quick look

Ways alternate from run to run, every other turn backwards, after a pause in which all GPUs become idle. Each run is a fresh
process, from files to a file that did not exist, with verification; seconds are those of the whole command. One line of JSON for each
run: product, way, seconds, ranks, and the record's times and forecast. Medians follow on stdout. A and B are removed at the end.
"""
import pathlib
import tempfile
import time

from measure import Failed, alternated, append, made_by, median, multiply, options_of, run, start

PAUSE = 1.5  # seconds: a GPU that was used within the last one starts 0.1 s sooner than an idle one
PRODUCTS = {  # name: (m, k, n, type)
    "f64:4096": (4096, 4096, 4096, "f64"),
    "f64:16384": (16384, 16384, 16384, "f64"),
    "f64:16384x65536": (16384, 65536, 16384, "f64"),
    "f64:32768": (32768, 32768, 32768, "f64"),
    "bf16:16384x262144": (16384, 262144, 16384, "bf16"),
}


def measure(options, folder, product):
    m, k, n, dtype = PRODUCTS[product]
    damier = pathlib.Path(options.damier).resolve()
    ways = {"--gpus 1": [], "default": [], f"--gpus {options.gpus}": []}
    ways |= {} if options.no_mpi else {f"mpirun -n {options.gpus}": []}
    for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2)):
        run([damier, "generate", folder / f"{name}.h5", "--rows", rows, "--cols", cols, "--type", dtype, "--seed", seed, "--force", "-q"])

    def once(way):
        launcher, words = (way.split(), []) if way.startswith("mpirun") else ([], way.split() * way.startswith("--"))
        time.sleep(PAUSE)
        try:
            return multiply([*launcher, damier, "multiply", folder / "A.h5", folder / "B.h5", "-q", *words], folder / "C.h5",
                            folder / "record.json")
        except Failed as failure:
            print(failure, flush=True)
            return None

    for way, found in alternated(ways, options.pairs, once, swap=True):  # a run after mpirun's is slower
        if found:
            seconds, _, record = found
            ways[way].append(seconds)
            append(options.output, {
                **made_by({"version": record["version"], "git": record["git"]}, record["machine"]["device"]), "verb": "node",
                "gpus": options.gpus, "product": product, "way": way, "seconds": seconds, "ranks": record["machine"]["ranks"],
                "times": record["times"], "forecast": record.get("forecast")})
    base = median(ways["--gpus 1"] or [float("nan")])
    for way, seconds in ways.items():
        if seconds:
            print(f"{product:20} {way:14} {median(seconds):.3f} s  {median(seconds) / base:.3f} of one GPU  "
                  f"({min(seconds):.3f} to {max(seconds):.3f}, {len(seconds)} runs)", flush=True)


def main():
    options = options_of(__doc__, "node.jsonl", damier="damier", folder="/dev/shm", gpus=2, pairs=10,
                         only={"nargs": "*", "default": list(PRODUCTS), "choices": list(PRODUCTS)},
                         no_mpi={"action": "store_true", "help": "without mpirun"})
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        for product in options.only:
            measure(options, pathlib.Path(place), product)


if __name__ == "__main__":
    start(main)
