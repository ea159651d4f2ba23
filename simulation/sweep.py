#!/usr/bin/env python3
"""Scaling curves of simulated machines; simulation/simulate.sh builds what they need and starts this.

    simulation/simulate.sh --nodes 512                      everything to 4096 GPUs, in minutes
    simulation/simulate.sh --shapes square --types bf16 --scaling strong --nodes 512
    simulation/simulate.sh --validate                       the runs of docs/results/links.jsonl
"""
import argparse
import concurrent.futures
import copy
import itertools
import json
import math
import os
import pathlib
import sys

import platform_file
from running import ROOT, simulate

sys.path.append(str(ROOT / "scripts" / "report"))
from simulated_tables import course, curves_of  # pylint: disable=wrong-import-position

PROGRAM = ROOT / "build" / "release" / "damier_simulate"
STRONG = {"square": (100000, 100000, 100000), "largeK": (17408, 17408, 1000000),
          "largeM": (1000000, 17408, 17408), "flat": (200000, 200000, 5000)}
CASES = {"plain": ([], 1.0), "slow-down": (["--slow-down", "0.05"], 1.0), "slow-nic": ([], 0.5),
         "no-overlap": (["--no-overlap"], 1.0)}


def rounded(size):
    return max(512, round(size / 512) * 512)


def weak(shape, ranks):
    """As much memory of each GPU as on one node."""
    m, n, k = STRONG[shape]
    more, side = ranks / 8, math.sqrt(ranks / 8)
    if shape == "largeK":
        return m, n, rounded(k * more)
    if shape == "largeM":
        return rounded(m * more), n, k
    return rounded(m * side), rounded(n * side), k if shape == "flat" else rounded(k * side)


def measured_rates(results):
    """Operations per second of one GPU, and the size at which they were measured, by type (docs/results/gpu.jsonl)."""
    rates = {}
    for line in (results / "gpu.jsonl").read_text().splitlines():
        record = json.loads(line)
        kind = "tf32" if "tf32" in record["problem"]["types"] else record["problem"]["work"]
        rates.setdefault(kind, (record["rates"]["multiply_flops"], record["problem"]["m"]))
    return rates


def rate_words(rates, kind):
    rate, size = rates[kind]
    return ["--type", "f32" if kind == "tf32" else kind, "--rate", f"{rate:.6g}", "--rate-at", size]


def plan_words(plan, ranks):
    layers = {"2d": 1, "3d": 2 ** max(1, round(math.log2(ranks) / 3))}
    return ["--grid", f"0x0x{layers[plan]}"] if plan in layers else []


def sizes(shape):
    return [word for name, size in zip("mnk", shape) for word in ("--" + name, size)]


def tasks(o):
    """(machine, words, what the record says of the run) of each run, small machines first."""
    steps, rates = [n for n in (1, 8, 32, 128, 512) if n < o.nodes] + [o.nodes], measured_rates(o.results)
    for count, scaling, name, kind, plan, case in itertools.product([o.only] if o.only else steps, o.scaling, o.shapes,
                                                                    o.types, o.plans, o.cases):
        ranks, (words, slow_nic), machine = count * o.gpus, CASES[case], copy.copy(o)
        machine.nodes, machine.slow_nic = count, slow_nic
        shape = STRONG[name] if scaling == "strong" else weak(name, ranks)
        words = [*sizes(shape), *rate_words(rates, kind), *plan_words(plan, ranks), *words,
                 "--most-panels", o.most_panels]
        yield machine, words, {"scaling": scaling, "shape": name, "plan": plan,
                               "case": "files" if o.files and case == "plain" else case}


def validation(o):
    """The runs on several GPUs of one node that were measured (docs/results/links.jsonl), as they were planned, with the rates
    of one GPU."""
    file, rates = o.results / "links.jsonl", measured_rates(o.results)
    for line in file.read_text().splitlines() if file.exists() else ():
        r = json.loads(line)
        kind = "tf32" if "tf32" in r["problem"]["types"] else r["problem"]["work"]
        if r["machine"]["nodes"] > 1 or r["machine"]["ranks"] < 2 or r["bench"]["from"] != "device memory":
            continue
        machine = copy.copy(o)
        machine.nodes, machine.gpus, machine.slow_nic = 1, r["machine"]["ranks"], 1.0
        machine.files, machine.model = 0, r["machine"]["device"].split()[1].lower()
        p = r["problem"]
        words = [*sizes((p["m"], p["n"], p["k"])), *rate_words(rates, kind), "--grid",
                 r["plan"]["grid"], "--panel", r["plan"]["panel"]]
        yield machine, words, {"measured_s": r["times"]["multiply_median_s"],
                               "measured_git": r["git"], "measured_type": kind}


def run(program, task):
    machine, words, about = task
    record = simulate(program, machine, words)
    record["simulated"].update(about)
    return record


def say(record):
    s = record["simulated"]
    name = " ".join(str(s[key]) for key in ("scaling", "shape", "plan", "case") if key in s)
    error = f", {record['times']['multiply_s'] / s['measured_s'] - 1:+.1%} of measured" \
        if "measured_s" in s else ""
    print(f"{record['machine']['ranks']:5} GPUs {name} {record['problem']['work']}: "
          f"{record['plan']['grid']}, {record['times']['multiply_s']:.4g} s, "
          f"efficiency {record['rates']['of_library']:.3f}, {record['bound']['total']}{error} "
          f"[{s['real_s']:.0f} s]", flush=True)


def say_limits(records):
    """At which size which resource becomes the limit."""
    for name, mine in curves_of(records):
        if len(mine) > 1:
            print(f"{' '.join(name)}: limited by {course(mine)} GPUs", flush=True)


def choices(known):
    def read(text):
        words = text.split(",")
        if not set(words) <= set(known):
            raise argparse.ArgumentTypeError(f"of {', '.join(known)}, not {text}")
        return words
    return read


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    platform_file.add_options(parser)
    parser.set_defaults(network="ports")
    for name, known, default in (("shapes", STRONG, list(STRONG)), ("types", ("f64", "bf16", "tf32"), ["f64", "bf16"]),
                                 ("scaling", ("strong", "weak"), ["strong", "weak"]),
                                 ("plans", ("choice", "2d", "3d"), ["choice", "2d", "3d"]),
                                 ("cases", CASES, ["plain"])):
        parser.add_argument("--" + name, type=choices(known), default=default,
                            help=f"of {','.join(known)} ({','.join(default)})")
    parser.add_argument("--only", type=int, help="one number of nodes, in place of all up to --nodes")
    parser.add_argument("--most-panels", type=int, default=16,
                        help="of a layer (16, so that large machines take minutes)")
    parser.add_argument("--validate", action="store_true", help="beside measured runs")
    parser.add_argument("--json", type=pathlib.Path, help="append the records to this file")
    parser.add_argument("--program", type=pathlib.Path, default=PROGRAM)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs" / "results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    o = parser.parse_args()
    failed, records = [], []
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        waiting = [pool.submit(run, o.program, task) for task in (validation(o) if o.validate else tasks(o))]
        for future in waiting:
            try:
                record = future.result()
            except RuntimeError as error:
                failed.append(error)
                print(f"left out: {error.args[0]}", flush=True)
                continue
            say(record)
            records.append(record)
            if o.json:
                with o.json.open("a") as file:
                    file.write(json.dumps(record, separators=(",", ":")) + "\n")
    if not o.validate:
        say_limits(records)
    # A plan that somebody asked for may not fit.
    bugs = [error for error in failed if "needs" not in error.args[0]]
    for error in bugs:
        print(" ".join(error.args[1]), file=sys.stderr)
    sys.exit(len(bugs) > 0)


if __name__ == "__main__":
    main()
