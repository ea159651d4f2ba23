"""What the benchmarks share: turns, times, medians with intervals, facts of a run, records; and the GPUs of a job."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "report"))  # before PyTables, which has this name too
from tables import interval, median, ratios  # pylint: disable=wrong-import-position

NUMPY_TYPES = {"f64": "f8", "f32": "f4"}


def options_of(doc, output, *more):
    """A parser: --output, --pairs and MORE, each a name and what argparse wants of it."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", default=output, help="records are appended")
    for name, words in more:
        parser.add_argument(name, **words)
    return parser.parse_args()


def turns(pairs, names, swap=False):
    """(number, name) of alternating runs. Number -1 warms up and does not count. SWAP: every other turn runs backwards."""
    for number in range(-1, pairs):
        for name in reversed(list(names)) if swap and number % 2 else names:
            yield number, name


def processor_seconds():
    """Of this process, its threads, and the processes that it has awaited."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def timed(call, settle=lambda: None):
    """Seconds of CALL, those of processors, and what it returned; SETTLE ends what came before, and what it began."""
    settle()
    busy, began = processor_seconds(), time.perf_counter()
    found = call()
    settle()
    return time.perf_counter() - began, processor_seconds() - busy, found


def middle(values):
    """Median and its 95 % interval."""
    return [median(values), *interval(values)]


def alternate(calls, pairs, settle=lambda: None):
    """{name: seconds of each turn} of CALLS, and the same of processors."""
    seconds, processors = ({name: [] for name in calls} for _ in range(2))
    for number, name in turns(pairs, calls):
        took, busy, _ = timed(calls[name], settle)
        if number >= 0:
            seconds[name].append(took)
            processors[name].append(busy)
    return seconds, processors


def run(words, **more):
    """What a command prints to standard output; a failure ends the benchmark with what it says."""
    done = subprocess.run([str(word) for word in words], text=True, capture_output=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}: {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def version_of(damier):
    return run([damier, "--version"]).splitlines()[0]


def processor():
    models = [line for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
    return models[0].split(": ", 1)[1] if models else platform.machine()


def cores():
    return len(os.sched_getaffinity(0))


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def append(path, record):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


class Job:
    """The processes of an MPI job, or this one alone, each with a GPU of its computer."""

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        self.torch, self.world, self.rank, self.ranks, here = torch, None, 0, 1, 0
        if {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & set(os.environ):
            from mpi4py import MPI  # pylint: disable=import-outside-toplevel
            self.world, self.most = MPI.COMM_WORLD, MPI.MAX
            self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
            self.hosts = self.world.allgather(platform.node())
            here = self.hosts[:self.rank].count(platform.node())
        self.device = torch.device("cuda", here % torch.cuda.device_count())
        torch.cuda.set_device(self.device)

    def type_of(self, name):
        return {"f64": self.torch.float64, "f32": self.torch.float32, "bf16": self.torch.bfloat16, "c128": self.torch.complex128}[name]

    def random(self, name, rows, cols):
        return self.torch.randn(rows, cols, device=self.device).to(self.type_of(name))

    def meet(self):
        self.torch.cuda.synchronize()
        if self.world:
            self.world.Barrier()

    def slowest(self, value):
        return self.world.allreduce(value, self.most) if self.world else value

    def seconds(self, call, repeats=1):
        """Of the slowest rank, the mean of REPEATS."""
        self.meet()
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        self.torch.cuda.synchronize()
        return self.slowest((time.perf_counter() - began) / repeats)
