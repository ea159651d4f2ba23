#!/usr/bin/env python3
"""Whole commands on a node with several GPUs: one GPU, several in one process, and ranks of MPI.

    scripts/bench/node.py --damier build/release/damier --folder /dev/shm -o node.jsonl     10 pairs of each product
    scripts/bench/node.py ... --only f64:16384 --pairs 3                                    a quick look

Ways alternate from run to run, every other turn backwards, after a pause in which all GPUs become idle. Each run is a fresh
process, from files to a file that did not exist, with verification; seconds are those of the whole command. A record for each way,
also of the phases and of the GPUs that it used. A and B are removed at the end.
"""
import pathlib
import tempfile
import time

from measure import Failed, code_of, compare, gpu_names, made_by, multiply, options_of, run, start

PAUSE = 1.5  # seconds: a GPU that was used within the last one starts 0.1 s sooner than an idle one
PRODUCTS = {  # name: (m, k, n, type)
    "f64:4096": (4096, 4096, 4096, "f64"),
    "f64:16384": (16384, 16384, 16384, "f64"),
    "f64:16384x65536": (16384, 65536, 16384, "f64"),
    "f64:32768": (32768, 32768, 32768, "f64"),
    "bf16:16384x262144": (16384, 262144, 16384, "bf16"),
}


def measure(options, damier, folder, product):
    m, k, n, dtype = PRODUCTS[product]
    for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2)):
        run([damier, "generate", folder / f"{name}.h5", "--rows", rows, "--cols", cols, "--type", dtype, "--seed", seed, "--force", "-q"])
    ways = {"--gpus 1": ([], ["--gpus", "1"]), "default": ([], []), f"--gpus {options.gpus}": ([], ["--gpus", options.gpus])}
    if not options.no_mpi:
        launched = f"mpirun -n {options.gpus}"
        ways[launched] = (launched.split(), [])

    def once(way):
        launcher, words = ways[way]
        time.sleep(PAUSE)
        try:
            took, record = multiply([*launcher, damier, "multiply", folder / "A.h5", folder / "B.h5", "-q", *words], folder / "C.h5",
                                    folder / "record.json")
        except Failed as failure:
            return {"error": str(failure)}
        return took | {"ranks": record["machine"]["ranks"], "forecast": record.get("forecast")}

    about = {"verb": "node", **made_by(code_of(damier), next(iter(gpu_names()), None)), "gpus": options.gpus}
    compare(options.output, about, {"product": product}, ways, once, options.pairs)


def main():
    options = options_of(__doc__, "node.jsonl", damier="damier", folder="/dev/shm", gpus=2, pairs=10,
                         only={"nargs": "*", "default": list(PRODUCTS), "choices": list(PRODUCTS)},
                         no_mpi={"action": "store_true", "help": "without mpirun"})
    damier = pathlib.Path(options.damier).resolve()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        for product in options.only:
            measure(options, damier, pathlib.Path(place), product)


if __name__ == "__main__":
    start(main)
