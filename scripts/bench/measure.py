"""What the benchmarks share: options, turns, times, medians with intervals, facts of a run, records."""
import argparse
import datetime
import functools
import json
import os
import pathlib
import platform
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "report"))  # before PyTables, which has this name too
from tables import interval, median  # noqa: E402  pylint: disable=wrong-import-position

MPIRUN = os.environ.get("MPIEXEC", "mpirun")
NUMPY_TYPES = {"f64": "f8", "f32": "f4"}


class Failed(Exception):
    """A command that did not do what it should."""


def start(main):
    try:
        main()
    except Failed as failure:
        sys.exit(f"error: {failure}")


def options_of(doc, output, *operands, **more):
    """Those of a benchmark: OPERANDS, each a name and what argparse wants of it; --output, and MORE, each with its default or
    what argparse wants of it."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", default=output, help="records are appended")
    for name, words in operands:
        parser.add_argument(name, **words)
    for name, words in more.items():
        words = words if isinstance(words, dict) else {"default": words, "type": type(words)}
        parser.add_argument("--" + name.replace("_", "-"), **words)
    return parser.parse_intermixed_args()


# ---- turns and times ----

def alternated(ways, turns, once, warm_up=1):
    """(way, once(way)) of each turn but those that warm up. Every other turn runs backwards: what one way leaves behind, such as a
    warm GPU, reaches the others alike."""
    for number in range(-warm_up, turns):
        for way in reversed(list(ways)) if number % 2 else ways:
            found = once(way)
            if number >= 0:
                yield way, found


def processor_seconds():
    """Of this process, its threads, and the processes that it has awaited."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def timed(call, settle=lambda: None, times=1):
    """{"seconds", "processor_s"} of CALL, the mean of TIMES, and what it returned; SETTLE ends what came before and what it began."""
    settle()
    busy, began, found = processor_seconds(), time.perf_counter(), None
    for _ in range(times):
        found = call()
    settle()
    return {"seconds": (time.perf_counter() - began) / times, "processor_s": (processor_seconds() - busy) / times}, found


def middle(values):
    """Median and its 95 % interval."""
    return [median(values), *interval(values)]


def ratios(name, turns, reference):
    """Median and interval of NAME in relation to the same turns of the REFERENCE."""
    values = [turn[name] / other[name] for turn, other in zip(turns, reference) if turn.get(name) and other.get(name)]
    return middle(values) if values else None


def summary(turns, reference):
    """Of the TURNS of a way: floats as median and interval, other facts as the last turn has them, and times relative to the REFERENCE."""
    there = [turn for turn in turns if "error" not in turn] or turns
    facts = {name: middle([turn[name] for turn in there if isinstance(turn.get(name), float)]) if isinstance(value, float) else value
             for name, value in there[-1].items()}  # some turns may lack a phase
    return facts | {
        "ratio": ratios("seconds", turns, reference), "processor_ratio": ratios("processor_s", turns, reference),
        "turns": [turn["seconds"] for turn in turns if "seconds" in turn]}


def compare(output, about, case, ways, once, turns, warm_up=1):
    """Calls ONCE(way) of all WAYS in turns; it returns "seconds" and other facts, or an "error". If there is an OUTPUT,
    prints times and appends a record of each way: ABOUT, CASE, and the summary relative to the first way. Returns the errors."""
    taken = {way: [] for way in ways}
    if output:
        print("==", *case.values(), flush=True)
    for way, found in alternated(ways, turns, once, warm_up):
        taken[way].append({"load": os.getloadavg()[0], **found})
    first, errors = next(iter(ways)), {}
    for way, mine in taken.items() if output else ():
        errors |= {way: turn["error"] for turn in mine if "error" in turn}
        found = summary(mine, taken[first])
        print(f"{way:28}", "{:9.4g} s [{:.4g}, {:.4g}]".format(*found["seconds"]) if "seconds" in found else errors[way],
              f"{found['ratio'][0]:.3f} of {first}" if found["ratio"] else "", found.get("verdict", ""), flush=True)
        append(output, about | case | {"way": way, **found})
    return errors


# ---- commands ----

def empty(keep=()):
    """Removes what is in the current folder, but for what KEEP has."""
    for path in set(pathlib.Path().iterdir()) - set(keep):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def run(words, **more):
    """What a command prints to standard output."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False, **more)
    if done.returncode != 0:
        said = re.split(r"^-{20,}$", done.stderr, maxsplit=1, flags=re.MULTILINE)[0].strip() or done.stderr  # before mpirun's words
        raise Failed(f"exit {done.returncode}: {' '.join(map(str, words))}\n{said[-900:]}")
    return done.stdout


def answer(words):
    """What a command prints; nothing where it fails or is not there."""
    try:
        return run(words, timeout=120).strip()
    except (Failed, OSError, subprocess.SubprocessError):
        return None


@functools.cache
def gpu_names():
    return (answer(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]) or "").splitlines()


def gpus():
    return len(gpu_names())


@functools.cache
def mpirun(ranks):
    """What starts so many processes, as briefly as it can be said here; nothing if they do not start."""
    commands = ([MPIRUN, "-n", str(ranks), *more] for more in ([], ["--oversubscribe"]))
    return next((words for words in commands if answer([*words, "true"]) is not None), None)


def multiply(words, c, record, **more):
    """What a command of damier took that makes the file C, which does not exist before: in all, and each phase; and its record."""
    for old in (c, record):
        pathlib.Path(old).unlink(missing_ok=True)
    took, _ = timed(lambda: run([*words, "-o", c, "--json", record], **more))
    found = json.loads(pathlib.Path(record).read_text(encoding="utf-8").splitlines()[-1])
    if found["verification"]["verdict"] != "PASS":
        raise Failed("damier's verification does not say PASS")
    return {**found["times"], **took}, found


def verified(line, launcher=(), facts=lambda record: {}):
    """A way: a command of damier that makes C.h5, with its phases, and FACTS of its record."""
    def call():
        took, record = multiply([*launcher, *shlex.split(line), "-q"], "C.h5", "record.json")
        return took | facts(record)
    return call


# ---- facts and records ----

def processor():
    models = re.findall(r"^model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return models[0] if models else platform.machine()


def cores():
    return len(os.sched_getaffinity(0))


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def code_of(damier):
    """Version and commit of a program."""
    found = re.match(r"damier (\S+)(?: \(git ([^)\s]+))?", run([damier, "--version"]))
    return {"version": found[1], "git": found[2]}


def code_of_package():
    import damier  # pylint: disable=import-outside-toplevel
    return {"version": damier.version(), "git": damier.info().get("git", "")}


def made_by(code, device=None, **machine):
    """What every record says: CODE, the script and its set, when and where."""
    words = [pathlib.Path(sys.argv[0]).name, *(word for word in sys.argv[1:2] if not word.startswith("-"))]
    return {**code, "date": now(), "command": f"scripts/bench/{' '.join(words)}",
            "machine": {"device": device or processor(), **machine}}


def append(path, record):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
