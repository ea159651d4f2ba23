"""running: starts damier, several runs at a time, and reports failures."""
import argparse
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKERS = 2  # leaves room for other tests; most of a run's time is the start of MPI
EMULATED = "EMULATED" in os.environ  # as scripts/aarch64.sh says: slow, and limits of memory hold the emulator's own, too
EACH = int(os.environ.get("EACH", 0))  # cases of each kind; 0: all


class Failure(Exception):
    pass


class LeftOut(Exception):
    """A case says so where it can tell nothing, and why."""


# Failures of a case; any other exception is an error in the test.
PROBLEMS = (Failure, AssertionError, subprocess.TimeoutExpired, ValueError, OSError, KeyError, IndexError)


def expect(condition, what):
    if not condition:
        raise Failure(what)


def environment():
    """The environment of every run: MPI's launcher settings, without damier's variables of the caller."""
    lines = (ROOT / "tests" / "lib" / "mpi.env").read_text().splitlines()
    mine = {k: v for k, v in os.environ.items() if not k.startswith("DAMIER_")}
    return mine | dict(line.split("=", 1) for line in lines)


def command(ranks, *words):
    """WORDS on RANKS ranks; with THREADS in the environment products have threads, each with an emulated GPU."""
    if ranks > 1 and "THREADS" in os.environ and words[1] in ("multiply", "gram"):
        return [*map(str, words), "--gpus", str(ranks)]
    launcher = [os.environ.get("MPIEXEC", "mpirun"), "-n", str(ranks)] if ranks > 1 else []
    return [*launcher, *map(str, words)]


@functools.cache
def has_hydra():
    """Whether MPICH's launcher starts jobs."""
    words = [os.environ.get("MPIEXEC", "mpirun"), "--version"]
    return "HYDRA" in subprocess.run(words, capture_output=True, text=True, check=False).stdout


def told_by(path):
    """The text of a file in /proc; none if the process has ended."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def ranks_of(launcher):
    """The processes of a job: children of its launcher, or of a proxy between them."""
    tasks = pathlib.Path(f"/proc/{launcher}/task").glob("*/children")
    children = [int(child) for task in tasks for child in told_by(task).split()]
    names = {child: told_by(pathlib.Path(f"/proc/{child}/comm")) for child in children}
    return [rank for child in children
            for rank in ([child] if names[child].startswith("damier") else ranks_of(child))]


def await_killed(job):
    """Waits for a job whose ranks were killed: Open MPI's launcher can wait for ever if one dies while others start."""
    try:
        job.wait(20)
    except subprocess.TimeoutExpired:
        job.kill()


def preloading(library):
    """LD_PRELOAD for this LIBRARY and what all runs preload (sleep_to_yield)."""
    return ":".join(filter(None, (library, os.environ.get("LD_PRELOAD"))))


def ended(words, timeout=600, inherits=(), **more):
    """Result of the command WORDS, with the open files INHERITS, and MORE added to its environment."""
    return subprocess.run(words, env=environment() | more, capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, check=False, pass_fds=inherits)


def run(damier, ranks, *words, expect=0, timeout=600):  # pylint: disable=redefined-outer-name
    """The program's output; raises Failure if the exit code is not EXPECT."""
    words = command(ranks, damier, *words)
    done = ended(words, timeout * (20 if EMULATED else 1))
    if EMULATED and expect == 0 and done.returncode == 5 and "--memory" in words:
        raise LeftOut("the limit of memory does not hold the emulator's own")
    if done.returncode != expect:
        said = done.stderr  # of a launcher the first lines say why
        shown = said if len(said) < 2400 else f"{said[:1200]}\n[...]\n{said[-1200:]}"
        raise Failure(f"exit {done.returncode}, wanted {expect}: {' '.join(words)}\n{shown}")
    return done.stdout


def peak_mib(words):
    """The most memory that a command held. Address space has a limit, however large: then nothing is kept that the system may take."""
    needs_own_memory()
    code = ("import resource, subprocess, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 42, 1 << 42));"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], check=True, capture_output=True, text=True)
    return int(done.stdout) >> 10


def needs_own_memory():
    """For cases that measure memory: an emulator has some in the process, too, which grows with what it translates."""
    if EMULATED:
        raise LeftOut("it measures memory, which would be the emulator's, too")


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@functools.cache
def process_mib(damier, ranks=1):
    """Memory of a rank before it allocates any; programs linked with CUDA need more."""
    with scratch() as folder:
        a, record = folder / "a.h5", folder / "record.json"
        run(damier, 1, "generate", a, "--size", 64, "-q")
        run(damier, ranks, "multiply", a, a, "-o", folder / "c.h5", "--json", record, "-q")
        return records_of(record)[-1]["memory"]["host_process_bytes"] >> 20


def options(*more):
    """--damier, --long, --endurance, and MORE, which are required."""
    parser = argparse.ArgumentParser()
    for name in ("--damier", *more):
        parser.add_argument(name, required=True, type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("--long", action="store_true", help="more cases, at random")
    parser.add_argument("--endurance", action="store_true", help="all of these cases, not a part")
    chosen = parser.parse_args()
    chosen.long |= chosen.endurance
    return chosen


def how_many(chosen, few, more, most):
    """A number of cases at random: FEW, MORE with --long, MOST with --endurance."""
    return most if chosen.endurance else more if chosen.long else few


def thinned(cases, chosen, part=0.4):
    """This PART of the cases, the same ones in each run; with --endurance all."""
    pick = random.Random(len(cases))
    return [case for case in cases if chosen.endurance or pick.random() < part]


def evict(*paths):
    """Drops files on disks from the page cache; those on a tmpfs stay."""
    for path in paths:
        file = os.open(path, os.O_RDWR)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


@contextlib.contextmanager
def scratch(place=None):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="damier-test-", dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a launcher may still clean up in it


def each(work, items, called=str, workers=WORKERS):
    """WORK of every item, or why the one CALLED so failed; several in parallel, results in order."""
    def guarded(item):
        try:
            return work(item)
        except PROBLEMS as reason:
            return f"{called(item)}\n    {type(reason).__name__}: {reason}"

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(guarded, items))


def finish(failures, count, note=""):
    """The exit code for FAILURES, whose None entries are successes."""
    for failure in filter(None, failures):
        print("FAIL", failure)
    failed = sum(1 for f in failures if f)
    print(f"{count} cases, {failed} failed{note}")
    sys.exit(1 if failed or not count else 0)


def at_most(cases, count):
    """COUNT of each kind of case, spread over all of them."""
    kinds = {}
    for case in cases:
        kinds.setdefault(case[0], []).append(case)
    return [case for kind in kinds.values() for case in kind[::-(-len(kind) // count)]]


def run_cases(damier, cases, note=str):
    """Runs cases (WORK, *arguments): WORK(folder, DAMIER, *arguments), each in its own folder."""
    left_out = []

    def one(case):
        with scratch() as folder:
            try:
                case[0](folder, damier, *case[1:])
            except LeftOut as why:
                left_out.append(f"left out: {case[0].__name__}: {why}")

    cases = at_most(cases, EACH) if EACH else cases
    failures = each(one, cases, lambda case: f"{case[0].__name__}{case[1:]}")
    for line in left_out:
        print(line)
    finish(failures, len(cases), note() + (f"; {len(left_out)} left out" if left_out else ""))


def run_checks(*checks):
    """Runs each CHECK(damier, folder), one after the other in the same folder."""
    damier = options().damier
    with scratch() as folder:
        for check in checks:
            check(damier, folder)
            print("passed ", check.__name__, flush=True)
