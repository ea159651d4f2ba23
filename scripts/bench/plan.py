#!/usr/bin/env python3
"""What the planner predicts and chooses, against what is measured on this computer.

    scripts/bench/plan.py --damier build/release/damier [--output docs/results/plan.jsonl]
    scripts/bench/plan.py --ranks 1 2 4 --grids --links 1 2
    scripts/bench/plan.py --ranks --grids 2 --gpus 1 2 --output docs/results/plan_gpu.jsonl

`damier tune rates` for each number of ranks, in a cache of its own, and then products of four
shapes: planned freely, and with --grids N on N ranks also forced onto every grid that uses all of
them, alternating. With --gpus the same on as many ranks that have a GPU each, which holds their part.
With --links the same on four nodes, a rank on each, over links of so many Gbit/s (tests/cluster;
Linux, as root), and rates before each product. Every record holds forecast and measured times, and
the computer's load average before; on one that others use, --realtime is for short measurements on
one node. results.py makes the tables. Each command is run under the lock of --lock, if one is named.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

SHAPES = {"square": (2048, 2048, 2048), "largeK": (768, 768, 16384), "largeM": (16384, 768, 768),
          "flat": (4096, 4096, 512)}
SHAPES_LINKS = {"square": (2048, 2048, 2048), "larger": (4096, 4096, 4096), "largeK": (768, 768, 16384),
                "flat": (4096, 4096, 512)}
SHAPES_GPU = {"square": (16384, 16384, 16384), "larger": (32768, 32768, 32768), "largeK": (6000, 6000, 120000),
              "largeM": (120000, 6000, 6000), "flat": (30000, 30000, 5000)}
TYPES_GPU = [["--type", "bf16"], ["--type", "f32", "--compute", "tf32"]] # for square products
CORES = os.cpu_count()
NODES = 4
CLUSTER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "cluster" / "cluster"


def grids(ranks):
    """Every pm x pn x pk with this product."""
    return [(pm, pn, ranks // pm // pn) for pm in range(1, ranks + 1) if ranks % pm == 0
            for pn in range(1, ranks // pm + 1) if ranks // pm % pn == 0]


def launcher(ranks):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


def cluster_launcher():
    names = [n for n in ("XDG_CACHE_HOME", "OPENBLAS_CORETYPE") if n in os.environ or n[0] == "X"]
    return [str(CLUSTER), "run", "--map-by", "ppr:1:node", *(w for n in names for w in ("-x", n)), "--"]


def run(options, start, threads, words, environment):
    """START: the launcher's words."""
    lock = ["flock", options.lock] if options.lock else []
    on_nodes = start[0] == str(CLUSTER)  # realtime ranks would starve the nodes' network
    ahead = ["chrt", "--fifo", "5"] if options.realtime and not on_nodes else []
    command = [*lock, *start, *ahead, str(pathlib.Path(options.damier).resolve()), *words, "--threads",
               str(threads), "-q"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")


def bench(options, start, threads, words, records, environment, more):
    """One record, with what is not the program's own to know."""
    with tempfile.TemporaryDirectory(dir=records.parent) as scratch:
        path = pathlib.Path(scratch, "record.json")
        busy = os.getloadavg()[0]
        run(options, start, threads, ["bench", "multiply", *words, "--repetitions",
                                      str(options.repetitions), "--no-against-one", "--json", str(path)],
            environment)
        record = {"load_before": busy, "realtime": options.realtime, **more, **json.loads(path.read_text())}
    with open(records, "a", encoding="utf-8") as file:
        file.write(json.dumps(record, separators=(",", ":")) + "\n")


def product(shape):
    return [word for name, size in zip("mnk", shape) for word in ("--" + name, str(size))]


def measure(options, start, threads, own, shapes, forced, records, environment):
    """Rates, then each of SHAPES (name, sizes, types), and those that are FORCED on each of these grids."""
    run(options, start, threads, ["tune", "rates", *own[:2]], environment)
    for name, shape, types in shapes:
        words = [*own, *product(shape)]
        for chosen in types:
            bench(options, start, threads, words + chosen, records, environment, {})
        for grid in forced if name != "larger" else []:
            bench(options, start, threads, words + ["--grid", "x".join(map(str, grid))], records, environment, {})


def measure_cpus(options, ranks, records, environment):
    measure(options, launcher(ranks), max(1, CORES // ranks), [], [(*s, [[]]) for s in SHAPES.items()],
            grids(ranks) if ranks in options.grids else [], records, environment)


def measure_gpus(options, ranks, records, environment):
    """Matrices in the memory of the GPUs."""
    own = ["--backend", "cuda", "--require-gpu-per-rank", "--from", "device"]
    shapes = [(name, shape, [[]] + (TYPES_GPU if name in ("square", "larger") else []))
              for name, shape in SHAPES_GPU.items()]
    measure(options, launcher(ranks), CORES // ranks, own, shapes,
            grids(ranks) if ranks in options.grids and ranks > 1 else [], records, environment)


def measure_links(options, gigabits, records, environment):
    """Four nodes of this computer, a rank on each."""
    up = subprocess.run([CLUSTER, "up", "--nodes", str(NODES), "--rate", f"{round(1000 * gigabits)}mbit"],
                        check=False)
    if up.returncode:
        sys.exit(up.returncode)
    try:
        shared = subprocess.run([CLUSTER, "shared"], capture_output=True, text=True, check=True).stdout
        folder = pathlib.Path(tempfile.mkdtemp(dir=shared.strip()))  # each node has a separate /tmp
        mine = folder / "records.jsonl"
        for number, shape in enumerate(SHAPES_LINKS.values()):
            environment |= {"XDG_CACHE_HOME": str(folder / str(number))} # uses rates measured just now
            run(options, cluster_launcher(), 1, ["tune", "rates"], environment)
            bench(options, cluster_launcher(), 1, product(shape), mine, environment,
                  {"link_bits": gigabits * 1e9, "realtime": False})
        with open(records, "a", encoding="utf-8") as file:
            file.write(mine.read_text())
    finally:
        subprocess.run([CLUSTER, "down"], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damier", default="build/release/damier")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4, 6, 8])
    parser.add_argument("--grids", type=int, nargs="*", default=[6, 8])
    parser.add_argument("--links", type=float, nargs="*", default=[], metavar="GBIT")
    parser.add_argument("--gpus", type=int, nargs="*", default=[], metavar="RANKS")
    parser.add_argument("--realtime", action="store_true",
                        help="ranks go before everything else on this computer (chrt; as root); not with --links")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--lock", help="a file that is locked while a command runs")
    parser.add_argument("--output", type=pathlib.Path, default="docs/results/plan.jsonl")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the nodes are removed
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ, XDG_CACHE_HOME=scratch)
        if os.geteuid() == 0:  # Open MPI runs as root only if both variables are set
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        records = pathlib.Path(scratch, "records.jsonl")
        for ranks in options.ranks:
            measure_cpus(options, ranks, records, environment)
        for gpus in options.gpus:
            measure_gpus(options, gpus, records, environment)
        for gigabits in options.links:
            measure_links(options, gigabits, records, environment)
        options.output.write_text(records.read_text())
    print(f"{len(options.output.read_text().splitlines())} records in {options.output}")


if __name__ == "__main__":
    main()
