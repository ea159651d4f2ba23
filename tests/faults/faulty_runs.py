"""faulty_runs: runs damier with a fault at one call, and judges what is left by its rules.

Whatever fails: all ranks stop within seconds, with an exit code of the table; a C.h5 that exists is
whole; and the same command once more gives C with the bits of an undisturbed run.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "judge"))
import running  # noqa: E402

SECONDS = 60  # a busy computer needs seconds to start four ranks
MEMORY, ROOM = "/dev/shm", 1 << 30


def process_mib(options, folder):
    """What a rank of a job has before it asks for any memory; one that is linked with CUDA has more."""
    a, record = folder / "small.h5", folder / "small.json"
    running.run(options.damier, 1, "generate", a, "--size", 64, "-q")
    running.run(options.damier, 1, "multiply", a, a, "-o", folder / "product.h5", "--json", record, "-q")
    return json.loads(record.read_text())["memory"]["host_process_bytes"] >> 20


class Bed:
    """A scratch folder with inputs, and the C of undisturbed runs."""

    def __init__(self, folder, options, shape=(90, 70, 80), words=()):
        self.folder, self.damier, self.shim = pathlib.Path(folder), options.damier, options.shim
        self.words = ["--quiet", *words]
        if "--write-by" not in words:
            self.words += ["--write-by", "pwrite"]  # in memory it may be mapped pages, which have no calls to fail
        self.wanted = {}
        m, n, k = shape
        for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2)):
            running.run(self.damier, 1, "generate", f"{folder}/{name}.h5", "--rows", rows, "--cols",
                        cols, "--seed", seed, "-q")

    def undisturbed(self, ranks):
        """How many calls of each kind every rank makes, as {(rank, call): count}."""
        counts = self.folder / f"counts{ranks}"
        output = Output(self, f"undisturbed{ranks}", ranks)
        code, err, _ = output.run({"FAULT_COUNT": str(counts)})
        if code != 0:
            raise running.Failure(f"undisturbed: exit {code}\n{err}")
        self.wanted[ranks] = output.bits()
        lines = [line.split() for line in counts.read_text().splitlines()]
        counted = {(int(rank), call): int(count) for rank, call, count in lines}
        if not counted.get((0, "fsync")):
            raise running.Failure(f"the library of these tests saw none of the calls of {self.folder}")
        return counted


class Output:
    """One output file of a bed, and the runs that are to make it."""

    def __init__(self, bed, name, ranks):
        self.bed, self.name, self.ranks = bed, f"{name}.h5", ranks
        self.place = bed.folder

    def path(self, suffix=""):
        return self.place / f"{self.name}{suffix}"

    def command(self, ranks=None, extra=()):
        ranks, folder = ranks or self.ranks, self.bed.folder
        launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        return [*launcher, self.bed.damier, "multiply", f"{folder}/A.h5", f"{folder}/B.h5", "-o",
                f"{self.path()}:/c", *map(str, self.bed.words), *map(str, extra)]

    def run(self, fault=None, ranks=None, extra=()):
        """What a run does: exit code, stderr, seconds."""
        env = running.environment()
        if fault is not None:
            env.update({"LD_PRELOAD": str(self.bed.shim), "FAULT_PATH": self.name, **fault})
        started = time.monotonic()
        done = subprocess.run(self.command(ranks, extra), env=env, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr, time.monotonic() - started

    def bits(self):
        with h5py.File(self.path(), "r") as file:
            state = file["c"].attrs["damier_state"]
            if state not in ("complete", b"complete"):
                raise running.Failure(f"C.h5 is {state}")
            return file["c"][()].tobytes()

    def expect_whole(self, what):
        if self.bits() != self.bed.wanted[self.ranks]:
            raise running.Failure(f"{what}: C has other bits")

    def expect_recovery(self, what):
        """The same command once more makes C, and leaves nothing else."""
        code, err, _ = self.run()
        if code != 0:
            raise running.Failure(f"{what}: once more: exit {code}\n{err[-1500:]}")
        self.expect_whole(what)
        left = [s for s in (".part", ".journal") if self.path(s).exists()]
        if left:
            raise running.Failure(f"{what}: left {left}")

    def expect_fault(self, fault, codes):
        """One run with FAULT, whose exit code is one of CODES, and one without."""
        what = f"{self.ranks} ranks, {fault}"
        code, err, seconds = self.run(fault)
        if code not in codes:
            raise running.Failure(f"{what}: exit {code}, wanted {codes}\n{err[-1500:]}")
        if seconds > SECONDS:
            raise running.Failure(f"{what}: took {seconds:.0f} s")
        if code == 4 and ("MPI_ABORT" in err or err.count("damier: error") != 1):
            raise running.Failure(f"{what}: the ranks did not end together\n{err[-1500:]}")
        if code == 0 or self.path().exists():
            self.expect_whole(what)
        else:
            self.expect_recovery(what)
        for suffix in ("", ".part", ".journal"):
            self.path(suffix).unlink(missing_ok=True)


def options(parser):
    parser.add_argument("--damier", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--long", action="store_true")
    return parser.parse_args()


def scratch(memory=True):
    """In memory where there is room for it: a disk that is synced hundreds of times a second may stop for minutes."""
    roomy = os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free >= ROOM
    place = os.environ.get("TMPDIR") or (MEMORY if memory and roomy else "/tmp")
    return pathlib.Path(place) / f"damier-faults-{os.getpid()}"


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
