#!/usr/bin/env python3
"""What the planner predicts and chooses, against what is measured on this computer.

    scripts/bench_plan.py --damier build/release/damier [--output docs/results/plan.jsonl]

First `damier tune rates` for each number of ranks, in a cache of its own. Then products of four
shapes: planned freely, and with --grids N on N ranks also forced onto every grid that uses all of
them, turn about. Every record holds forecast and measured times; results.py makes the tables.
Each command is run under the lock of --lock, if one is named.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SHAPES = {"square": (2048, 2048, 2048), "largeK": (768, 768, 16384), "largeM": (16384, 768, 768),
          "flat": (4096, 4096, 512)}
CORES = os.cpu_count()


def grids(ranks):
    """Every pm x pn x pk with this product."""
    return [(pm, pn, ranks // pm // pn) for pm in range(1, ranks + 1) if ranks % pm == 0
            for pn in range(1, ranks // pm + 1) if ranks // pm % pn == 0]


def command(options, ranks, words):
    lock = ["flock", options.lock] if options.lock else []
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    threads = ["--threads", str(max(1, CORES // ranks))]
    return lock + launcher + [options.damier, *words, *threads, "-q"]


def run(options, ranks, words, environment):
    done = subprocess.run(command(options, ranks, words), env=environment, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} on {ranks} ranks: exit {done.returncode}\n{done.stderr}")


def measure(options, records, environment):
    for ranks in options.ranks:
        run(options, ranks, ["tune", "rates"], environment)
        for shape in SHAPES.values():
            product = [word for name, size in zip("mnk", shape) for word in ("--" + name, str(size))]
            words = ["bench", "multiply", *product, "--repetitions", str(options.repetitions),
                     "--json", str(records)]
            run(options, ranks, words, environment)
            for grid in grids(ranks) if ranks in options.grids else []:
                run(options, ranks, words + ["--grid", "x".join(map(str, grid))], environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", default="build/release/damier")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4, 6, 8])
    parser.add_argument("--grids", type=int, nargs="*", default=[6, 8])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--lock", help="a file that is locked while a command runs")
    parser.add_argument("--output", type=pathlib.Path, default="docs/results/plan.jsonl")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, XDG_CACHE_HOME=scratch)
        if os.geteuid() == 0:  # Open MPI does not start as root unless told twice
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        records = pathlib.Path(scratch, "records.jsonl")
        measure(options, records, environment)
        options.output.write_text(records.read_text())
    print(f"{len(options.output.read_text().splitlines())} records in {options.output}")


if __name__ == "__main__":
    main()
