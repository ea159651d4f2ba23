#!/usr/bin/env python3
"""Measures again what records say, on this machine: again.py RECORDS.jsonl [OPTION ...]

    scripts/bench/again.py docs/results/gpu.jsonl             commands of damier bench, in the order of the records
    scripts/bench/again.py docs/results/scalapack.jsonl       the same product by damier and by another library (rivals.py), in turns
    scripts/bench/again.py docs/results/gram.jsonl            the scripts that made the records

A record names its command, so the records are the lists of what is measured: what alternated in them alternates again, as often. Another
library has the fastest of its settings unless --setting names one; --library is its file. The new records replace the old ones [or are
--output] when all are made. A kernel that fails its check is not timed; the others are, and the script fails at the end.
"""
import itertools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from measure import ROOT, Failed, code_of, compare, made_by, mpirun, options_of, run, start
from tables import command_of, gpus_of, grouped, median, read_records

HERE = pathlib.Path(__file__).resolve().parent


def words_of(options, command):
    """What starts a COMMAND here."""
    words, launcher = shlex.split(command), []
    if words[:2] == ["mpirun", "-n"]:
        launcher, words = mpirun(int(words[2])), words[3:]
        if not launcher:
            raise Failed(f"{command}: so many processes do not start here")
    if words[0] != "damier":
        return [*launcher, sys.executable, ROOT / words[0], *words[1:]]
    return [*launcher, options.damier, *words[1:], "-q"]


def beside(options, new, pair):
    """Products of a program of rivals.py, and of damier: the medians of some in each turn."""
    theirs, ours = sorted(pair, key=lambda r: r["way"] == "damier")
    program, count = theirs["way"], gpus_of(theirs)
    multiply = words_of(options, command_of(ours))
    repetitions = multiply[multiply.index("--repetitions") + 1]
    launcher = [] if program == "cublasxt" else mpirun(count) + ["--bind-to", "none"] * (program == "cublasmp")  # it starts threads
    rival = [*launcher, sys.executable, HERE / "rivals.py", program, ours["problem"]["work"], ours["problem"]["m"], "--library", options.library,
             "--gpus", count]
    rival += ["--setting", options.setting or run(rival).strip(), "--repetitions", repetitions]

    def once(way):
        record = json.loads(run(rival if way == program else [*multiply, "--json", "-"]))
        facts = record["bench"] | {"residual": record["residual"]} if way == program else {}
        return facts | {"seconds": median(record["repetitions"]["multiply_s"]), "command": record["command"], "machine": record["machine"],
                        "verdict": record["verification"]["verdict"]}

    compare(new, {"verb": ours["verb"], **made_by(code_of(options.damier))}, {"problem": ours["problem"]}, (program, "damier"), once,
            len(ours["turns"]), warm_up=0)


def again(options, new):
    records = read_records(options.records)
    if any(r["command"].startswith("scripts/") for r in records):
        commands = dict.fromkeys(map(command_of, records))
        return {subprocess.run([*words_of(options, command), "-o", new], check=False).returncode for command in commands}
    if all("way" in r for r in records):
        for pair in grouped(records, lambda r: (r["problem"]["shape"], r["problem"]["work"], gpus_of(r))).values():
            beside(options, new, pair)
        return {0}
    codes = set()
    for command, _ in itertools.groupby(map(command_of, records)):
        print(f"== {command}", flush=True)
        codes.add(subprocess.run([*words_of(options, command), "--json", new], check=False).returncode)
    return codes


def main():
    options = options_of(__doc__, None, ("records", {"metavar": "RECORDS.jsonl"}), damier="build/release/damier", library="", setting="")
    options.damier = os.path.abspath(options.damier)
    # If OpenBLAS does not know the CPU, damier selects its kernels: other programs must use the same ones.
    os.environ.update({name: value for name, value in json.loads(run([options.damier, "info", "-q", "--json", "-"])).get("environment", {}).items()
                       if name == "OPENBLAS_CORETYPE"})
    with tempfile.TemporaryDirectory() as folder:
        codes = again(options, f"{folder}/records.jsonl")
        if codes - {0, 1}:
            raise Failed("a benchmark ended early")
        shutil.copy(f"{folder}/records.jsonl", options.output or options.records)
    sys.exit("some failed their check; their records say how" if codes != {0} else 0)


if __name__ == "__main__":
    start(main)
