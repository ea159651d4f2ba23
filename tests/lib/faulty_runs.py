"""faulty_runs: runs damier with a fault at one call and checks the outcome.

Whatever fails: all ranks stop within seconds, with a documented exit code; an existing C.h5 is complete; and repeating
the command gives a C with the bits of an undisturbed run.
"""
import os
import pathlib
import shutil
import time

import h5py
import numpy as np

import running
from running import expect

SECONDS = 60  # on a busy computer four ranks take seconds to start
KILLED = {-9, 137}  # directly, through a launcher
MEMORY, ROOM = "/dev/shm", 1 << 30


def counted(path):
    """Reads the file of FAULT_COUNT: {(rank, call): count}."""
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return {(int(rank), call): int(count) for rank, call, count in lines}


def places(count, most):
    """All numbers up to COUNT, or MOST of them spread over the range."""
    return sorted({1 + int((i + 0.5) * count / most) for i in range(most)}) if count > most else range(1, count + 1)


def faults(counts, ranks, cases, most):
    """(fault, exit codes) for every (call, kind, exit codes) on the first and the last rank, at up to MOST places."""
    for call, kind, codes in cases:
        for rank in sorted({0, ranks - 1}):
            for number in places(counts.get((rank, call), 0), most):
                yield {"FAULT": f"{call}:{number}:{kind}", "FAULT_RANK": str(rank)}, codes


class Bed:
    """A scratch folder with inputs, and the C of undisturbed runs."""

    def __init__(self, folder, options, shape=(90, 70, 80), words=()):
        self.folder, self.damier, self.shim = pathlib.Path(folder), options.damier, options.shim
        self.words = ["--quiet", "--read-by", "pread", *words]  # mapped pages have no calls that could fail
        if "--write-by" not in words:
            self.words += ["--write-by", "pwrite"]
        self.wanted, self.tiles, self.a = {}, {}, "A.h5"
        m, n, k = shape
        for name, rows, cols, seed in (("A", m, k, 1), ("B", k, n, 2)):
            running.run(self.damier, 1, "generate", f"{folder}/{name}.h5", "--rows", rows, "--cols",
                        cols, "--seed", seed, "-q")

    def undisturbed(self, ranks):
        """How many calls of each kind every rank makes, as {(rank, call): count}."""
        counts = self.folder / f"counts{ranks}"
        output = Output(self, f"undisturbed{ranks}", ranks)
        code, err, _ = output.run({"FAULT_COUNT": str(counts)})
        expect(code == 0, f"undisturbed: exit {code}\n{err}")
        self.wanted[ranks] = output.bits()
        with h5py.File(output.path()) as file:
            self.tiles[ranks] = len(file["c"].attrs.get("damier_tiles", ()))
        found = counted(counts)
        expect(found.get((0, "fsync")), f"the library of these tests saw none of the calls of {self.folder}")
        return found


RECORD = np.dtype([("row", "<i8"), ("col", "<i8"), ("rows", "<i8"), ("cols", "<i8"), ("checksum", "<u8"), ("run", "<i8"),
                   ("part", "<i4"), ("parts", "<i4"), ("own", "<u8")])
HEADER = 1 << 16  # bytes of a journal before its records


def journal_records(journal):
    """The records in a journal and the bytes at which they are, in the order of the file."""
    data = journal.read_bytes()[HEADER:] if journal.exists() else b""
    records = np.frombuffer(data[:len(data) // RECORD.itemsize * RECORD.itemsize], RECORD)
    places = np.flatnonzero(records["parts"] > 0)
    return records[places], HEADER + places * RECORD.itemsize


def recorded(journal):
    """The number of tiles of which one run recorded all parts."""
    tiles, found = set(), {}
    for r in journal_records(journal)[0]:
        parts = found.setdefault((r["row"], r["col"], r["run"], r["parts"]), set())
        parts.add(r["part"])
        if len(parts) == r["parts"]:
            tiles.add((r["row"], r["col"]))
    return len(tiles)


def once_recorded(tiles, journal=".journal", kind="kill", rank=None):
    """A fault when that many tiles are recorded: the number of syncs until then depends on the load. Of RANK alone it may never come:
    another rank may record the last part of each tile."""
    fault = {"FAULT": f"fdatasync:1:{kind}", "FAULT_PATH": journal, "FAULT_TILES": str(tiles)}
    return fault if rank is None else fault | {"FAULT_RANK": rank}


class Output:
    """One output file of a bed, and the command that writes it."""

    def __init__(self, bed, name, ranks):
        self.bed, self.name, self.ranks = bed, f"{name}.h5", ranks
        self.place = bed.folder

    def path(self, suffix=""):
        return self.place / f"{self.name}{suffix}"

    def command(self, ranks=None, extra=()):
        ranks, folder = ranks or self.ranks, self.bed.folder
        return running.command(ranks, self.bed.damier, "multiply", f"{folder}/{self.bed.a}", f"{folder}/B.h5", "-o",
                               f"{self.path()}:/c", *self.bed.words, *extra)

    def run(self, fault=None, ranks=None, extra=()):
        """Runs the command: exit code, stderr, seconds."""
        more = {} if fault is None else {"LD_PRELOAD": running.preloading(self.bed.shim), "FAULT_PATH": self.name, **fault}
        started = time.monotonic()
        done = running.ended(self.command(ranks, extra), **more)
        return self.code_of(done, fault, ranks), done.stderr, time.monotonic() - started

    def code_of(self, done, fault, ranks):
        """Of a killed job Hydra may report any rank's signal, or (seen in 4.2) 0."""
        killed = "kill" in (fault or {}).get("FAULT", "") and (ranks or self.ranks) > 1 and running.has_hydra()
        any_signal = done.returncode in (6, 9, 15) or (done.returncode == 0 and not self.path().exists())
        return 137 if killed and any_signal else done.returncode

    def bits(self):
        with h5py.File(self.path(), "r") as file:
            state = file["c"].attrs["damier_state"]
            expect(state in ("complete", b"complete"), f"C.h5 is {state}")
            return file["c"][()].tobytes()

    def expect_whole(self, what):
        expect(self.bits() == self.bed.wanted[self.ranks], f"{what}: C has other bits")

    def recorded(self):
        return recorded(self.path(".journal"))

    def left(self, *suffixes):
        return [s for s in (suffixes or (".part", ".journal")) if self.path(s).exists()]

    def remove(self):
        for suffix in ("", ".part", ".journal"):
            self.path(suffix).unlink(missing_ok=True)

    def expect_recovery(self, what):
        """Repeats the command: C is complete, and nothing else is left."""
        code, err, _ = self.run()
        expect(code == 0, f"{what}: once more: exit {code}\n{err[-1500:]}")
        self.expect_whole(what)
        expect(not self.left(), f"{what}: left {self.left()}")

    def expect_fault(self, fault, codes):
        """One run with FAULT, whose exit code must be in CODES, and one without."""
        what = f"{self.ranks} ranks, {fault}"
        code, err, seconds = self.run(fault)
        expect(code in codes, f"{what}: exit {code}, wanted {codes}\n{err[-1500:]}")
        expect(seconds <= SECONDS, f"{what}: took {seconds:.0f} s")
        expect(code != 4 or ("MPI_ABORT" not in err and err.count("damier: error") == 1),
               f"{what}: the ranks did not end together\n{err[-1500:]}")
        if code == 0 or self.path().exists():
            self.expect_whole(what)
        else:
            self.expect_recovery(what)
        self.remove()


def options():
    return running.options("--shim")


def scratch(memory=True):
    """In memory if there is room: a disk may stall for minutes after hundreds of syncs per second."""
    roomy = os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free >= ROOM
    place = os.environ.get("TMPDIR") or (MEMORY if memory and roomy else "/tmp")
    return running.scratch(place)


def judged(cases, kind=Output):
    """(outputs of that KIND, failures) of cases (bed, ranks, fault, exit codes)."""
    outputs = [kind(bed, f"out{number}C", ranks) for number, (bed, ranks, _, _) in enumerate(cases)]
    return outputs, running.each(lambda pair: pair[0].expect_fault(*pair[1][2:]), zip(outputs, cases),
                                 lambda pair: str(pair[0].bed.words))
