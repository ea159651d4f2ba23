#!/usr/bin/env python3
"""Whole commands, from their start to a file, in turns with programs that do the same: commands.py SET [NAME=VALUE ...]

    scripts/bench/commands.py user -o docs/results/user.jsonl              results.py makes tables of the records
    scripts/bench/commands.py jobs scale=0.25 only=gram,small --runs 1     a quick look

{sets}

Each set is a file of sets/, with the other programs in it. Each run is a fresh process, from files to a file that did not exist, in the
folder of the set's files, which are removed at the end. Ways alternate, every other turn backwards; --ways takes those whose whole name an
expression matches. A record of each case and way is appended: seconds of the whole command and of processors, also relative to the first
way. A way that fails is not run again (exit 1). --python names the Pythons that have the other programs' packages, the first that has one
is taken; this one has h5py and NumPy.
"""
import importlib
import inspect
import json
import os
import pathlib
import re
import shlex
import sys
import tempfile

from measure import Failed, code_of, compare, cores, empty, made_by, options_of, run, start, timed

HERE = pathlib.Path(__file__).resolve().parent
SETS = sorted(path.stem for path in (HERE / "sets").glob("*.py"))
# What a set may say besides `cases`, a function that yields facts and ways of a case when its files are there.
USUAL = {"RUNS": 10, "WARM_UP": 1, "VERB": None, "FOLDER": "/dev/shm", "PACKAGES": ()}  # of the other programs, whose versions are recorded
CALL = "import importlib, sys\ngetattr(importlib.import_module(sys.argv[1]), sys.argv[2])(*sys.argv[3:])"
VERSIONS = """import importlib.metadata, json, sys
there = {found.metadata["Name"]: found.version for found in importlib.metadata.distributions()}
print(json.dumps({name: there[name] for name in sys.argv[1:] if name in there}))
"""


class Bench:
    """A set in its folder, which is the current one."""

    def __init__(self, options, kind):
        self.options, self.kind, self.python, self.errors = options, kind, options.python.split()[0], {}
        self.about = {"verb": self.of_set("VERB") or options.set, **made_by(code_of("damier"), cores=cores())}
        if self.of_set("PACKAGES"):
            self.about |= json.loads(run([self.python, "-c", VERSIONS, *self.of_set("PACKAGES")]))

    def of_set(self, name):
        return getattr(self.kind, name, USUAL[name])

    def generate(self, name, rows, cols, dtype="f64", *more):
        run(["damier", "generate", name, "--rows", rows, "--cols", cols, "--type", dtype, "-q", *more])

    def other(self, name, *words):
        """The command that calls a function of the set in the other programs' Python."""
        return [self.python, "-c", CALL, self.kind.__name__, name.replace("-", "_"), *words]

    def others(self, *names):
        return {name: self.other(name) for name in names}

    def turn(self, way):
        """What it took: a command, or a function; with facts before it, perhaps."""
        facts, call = way if isinstance(way, tuple) else ({}, way)
        try:
            words = shlex.split(call) if isinstance(call, str) else call
            return facts | (call() if callable(call) else timed(lambda: run(words))[0])
        except (Failed, OSError, ValueError, KeyError) as failure:
            return facts | {"error": str(failure)}

    def compare(self, facts, ways):
        inputs, failed = set(pathlib.Path().iterdir()), {}
        ways = {name: way for name, way in ways.items() if re.fullmatch(self.options.ways, name)}

        def once(name):
            empty(keep=inputs)
            found = failed.get(name) or self.turn(ways[name])
            if "error" in found:
                failed[name] = found
            return found

        if ways:
            turns = self.options.runs or self.of_set("RUNS")
            self.errors |= compare(self.options.output, self.about, facts, ways, once, turns, self.of_set("WARM_UP"))
            empty(keep=inputs)


def set_of(name):
    """Its module, and the options of its cases with their defaults."""
    kind = importlib.import_module(f"sets.{name}")
    return kind, {p.name: p.default for p in inspect.signature(kind.cases).parameters.values() if p.default is not p.empty}


def described(name):
    kind, defaults = set_of(name)
    return f"  {name:12}{' '.join(kind.__doc__.split())} [{' '.join(f'{option}={value}' for option, value in defaults.items())}]"


def main():
    options = options_of(__doc__.format(sets="\n".join(map(described, SETS))), None, ("set", {"choices": SETS}),
                         ("words", {"nargs": "*", "metavar": "NAME=VALUE"}), damier="build/release/damier", runs=0, ways=".*",
                         python=f"{sys.executable} /usr/bin/python3", folder={"help": "for the files"})
    program, (kind, defaults) = pathlib.Path(options.damier).resolve(), set_of(options.set)
    if program.name != "damier" or not os.access(program, os.X_OK):
        raise Failed(f"{program} is no program damier")
    given = dict(word.split("=", 1) for word in options.words)
    if set(given) - set(defaults):
        raise Failed(f"{', '.join(set(given) - set(defaults))}: the set has {', '.join(defaults) or 'no options'}")
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"  # commands stand here as users type them
    os.environ["PYTHONPATH"] = f"{HERE}:{os.environ.get('PYTHONPATH', '')}"
    options.output = pathlib.Path(options.output or f"{options.set}.jsonl").resolve()
    usual = getattr(kind, "FOLDER", USUAL["FOLDER"])
    folder = options.folder or (usual if usual and os.access(usual, os.W_OK) else None)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"damier-{options.set}-") as name:
        here = os.getcwd()
        os.chdir(name)
        bench = Bench(options, kind)
        for facts, ways in kind.cases(bench, **{name: type(defaults[name])(value) for name, value in given.items()}):
            bench.compare(facts, ways)
        os.chdir(here)
    sys.exit(bool(bench.errors))


if __name__ == "__main__":
    start(main)
