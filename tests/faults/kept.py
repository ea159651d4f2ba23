#!/usr/bin/env python3
"""The state of a reduction: a run that is killed while it writes, syncs or renames it, or is stopped, goes on with the same
command, on any number of ranks, to the bits of an undisturbed run. A state of other inputs, of another command, or that was
changed or cut off is not taken. Without room for it the run goes on."""
import os

import h5py
import numpy as np

import faulty_runs
import running
from running import expect

STATE = ".damier-kept"


class Bed:
    def __init__(self, folder, options):
        self.folder, self.damier, self.shim = folder, options.damier, options.shim
        x = np.random.default_rng(0).integers(-3, 4, (2000, 20)).astype("f4")
        np.save(folder / "x.npy", x)
        memory = f"host={running.process_mib(options.damier) + 10}MiB"
        self.words = ["--of", "rows", "--top", "5", "--above", "80", "--reduce", "max,sum", "--no-self", "--memory", memory,
                      "--checkpoint-interval", "0", "--read-by", "pread"]
        self.run("whole", 1)
        self.wanted = self.read("whole")

    def run(self, name, ranks, fault=None, x="x", more=(), codes=(0,)):
        words = running.command(ranks, self.damier, "gram", self.folder / f"{x}.npy", "-o", self.folder / f"{name}.h5", *self.words, *more)
        environment = {} if fault is None else {"LD_PRELOAD": running.preloading(self.shim), "FAULT_PATH": STATE, **fault}
        done = running.ended(words, **environment)
        expect(done.returncode in codes, f"{name}: exit {done.returncode}\n{done.stderr}")
        return done.stderr

    def read(self, name):
        with h5py.File(self.folder / f"{name}.h5") as file:
            return {f"{group}/{array}": file["c"][group][array][:] for group in file["c"] for array in file["c"][group]}

    def state(self, name):
        return self.folder / f"{name}.h5{STATE}"

    def expect_whole(self, name):
        got = self.read(name)
        for key, array in self.wanted.items():
            expect(np.array_equal(array, got[key]), f"{name}: another {key}")
        left = [file for file in os.listdir(self.folder) if STATE in file]
        expect(not left, f"{name}: left {left}")


def killed(bed):
    for i, (fault, ranks, then) in enumerate((("write:25:kill", 1, 1), ("fsync:3:kill", 2, 2), ("rename:2:kill", 1, 2),
                                              ("rename:3:kill", 3, 1), ("unlink:1:kill", 1, 1))):
        name = f"killed{i}"
        bed.run(name, ranks, {"FAULT": fault, "FAULT_RANK": "0"}, codes=faulty_runs.KILLED)
        expect(bed.state(name).exists(), f"{fault}: no state")
        said = bed.run(name, then, more=["--force"])
        expect("resuming: " in said, f"{fault}: {said}")
        bed.expect_whole(name)


def stopped(bed):
    """A signal between two tiles: what is merged is written whatever the interval."""
    interval, counts = ["--checkpoint-interval", "1h"], bed.folder / "counts"
    bed.run("counted", 1, {"FAULT_COUNT": str(counts), "FAULT_PATH": "x.npy"})
    number = faulty_runs.counted(counts)[0, "read"] - 3  # samples of the inputs are read before
    said = bed.run("stopped", 1, {"FAULT": f"read:{number}:term", "FAULT_PATH": "x.npy"}, more=interval, codes=(75,))
    expect("the same command goes on" in said, said)
    expect(bed.state("stopped").exists(), f"no state\n{number} {said}")
    again = bed.run("stopped", 2)
    expect("resuming: " in again, f"not resumed\n{said}\n{again}")
    bed.expect_whole("stopped")


def not_taken(bed):
    x = np.load(bed.folder / "x.npy")
    for name, change in (("other", lambda path: None), ("cut", lambda path: os.truncate(path, 1000)),
                         ("flipped", lambda path: flip(path)), ("command", lambda path: None)):
        bed.run(name, 1, {"FAULT": "rename:4:kill"}, codes=faulty_runs.KILLED)
        change(bed.state(name))
        if name == "other":  # inputs: the same again, but later
            np.save(bed.folder / "x.npy", x)
        said = bed.run(name, 1, more=["--no-self", "--by", "abs"] if name == "command" else [])
        expect("all begins again" in said and "resuming" not in said, f"{name}: {said}")
        if name != "command":
            bed.expect_whole(name)


def flip(path):
    with open(path, "r+b") as file:
        file.seek(3000)
        byte = file.read(1)[0]
        file.seek(3000)
        file.write(bytes([byte ^ 4]))


def no_room(bed):
    """Only the recording ends."""
    said = bed.run("full", 1, {"FAULT": "write:9:28"})
    expect("not recorded any more" in said, said)
    bed.expect_whole("full")


def stored_whole(bed):
    """Distances that are stored whole: tiles that are on the disk are not computed again, if their file is there."""
    memory = f"host={running.process_mib(bed.damier, 3) + 10}MiB"
    words = ["--of", "rows", "--metric", "euclidean", "--memory", memory, "--checkpoint-interval", "0", "--read-by", "pread"]

    def distances(name, ranks, fault=None, more=(), codes=(0,)):
        command = running.command(ranks, bed.damier, "gram", bed.folder / "x.npy", "-o", bed.folder / f"{name}.h5", *words, *more)
        environment = {} if fault is None else {"LD_PRELOAD": running.preloading(bed.shim), "FAULT_PATH": STATE, "FAULT_RANK": "0", **fault}
        done = running.ended(command, **environment)
        expect(done.returncode in codes, f"{name}: exit {done.returncode}\n{done.stderr}")
        return done.stderr

    def read(name):
        with h5py.File(bed.folder / f"{name}.h5") as file:
            return file["c"][:]

    distances("all", 1)
    wanted = read("all")
    for i, (fault, ranks, then, more) in enumerate((("rename:3:kill", 1, 2, ("--deflate", "1")), ("fsync:2:kill", 3, 1, ()),
                                                    ("unlink:1:kill", 1, 1, ("--force",)), ("rename:4:kill", 2, 3, ("gone",)))):
        name, gone = f"stored{i}", "gone" in more
        more = [word for word in more if word != "gone"]
        distances(name, ranks, {"FAULT": fault}, more, faulty_runs.KILLED)
        expect(bed.state(name).exists(), f"{fault}: no state")
        if gone:
            for ending in ("part", "damier-new"):
                (bed.folder / f"{name}.h5.{ending}").unlink(missing_ok=True)
        said = distances(name, then, more=more)
        again = gone or "unlink" in fault
        expect(("all begins again" if again else "resuming: ") in said and not (again and "resuming: " in said), f"{fault}: {said}")
        expect(np.allclose(read(name), wanted, rtol=1e-12, atol=0), f"{fault}: other distances")
    counts = bed.folder / "counts_whole"
    distances("counted_whole", 1, {"FAULT_COUNT": str(counts), "FAULT_PATH": "x.npy"})
    number = faulty_runs.counted(counts)[0, "read"] - 6
    said = distances("signal", 1, {"FAULT": f"read:{number}:term", "FAULT_PATH": "x.npy"}, ["--checkpoint-interval", "1h"], (75,))
    expect("the same command goes on" in said and (bed.folder / "signal.h5.part").exists(), said)
    expect("resuming: " in distances("signal", 2), "not resumed")
    expect(np.allclose(read("signal"), wanted, rtol=1e-12, atol=0), "other distances after a signal")
    left = [file for file in os.listdir(bed.folder) if STATE in file or ".part" in file]
    expect(not left, f"left {left}")


def searches(bed):
    """Principal components: a search that is killed between or in passes goes on there, to the bits of an undisturbed run."""
    rng = np.random.default_rng(3)
    np.save(bed.folder / "p.npy", rng.standard_normal((20000, 50)) * 1.2**-np.arange(50) + 5)

    def search(name, method, ranks, fault=None, more=(), codes=(0,), path=STATE, counts=None):
        memory = f"host={running.process_mib(bed.damier, ranks) + 40}MiB"
        words = running.command(ranks, bed.damier, "pca", bed.folder / "p.npy", "--rank", 4, "--method", method, "-o", bed.folder / f"{name}.h5",
                                "--memory", memory, "--checkpoint-interval", "0", "--tolerance", "1e-9", "--read-by", "pread", *more)
        environment = {"LD_PRELOAD": running.preloading(bed.shim), "FAULT_PATH": path} if fault or counts else {}
        environment |= {"FAULT_RANK": "0", "FAULT": fault} if fault else {"FAULT_COUNT": str(counts)} if counts else {}
        done = running.ended(words, **environment)
        expect(done.returncode in codes, f"{name}: exit {done.returncode}\n{done.stderr}")
        return done.stderr

    def read(name):
        with h5py.File(bed.folder / f"{name}.h5") as file:
            return {key: file["pca"][key][:] for key in file["pca"]}

    for method, faults in (("passes", ("rename:5:kill", "write:24:kill")), ("gram", ("rename:2:kill", "unlink:1:kill"))):
        search(f"whole_{method}", method, 1)
        wanted = read(f"whole_{method}")
        for i, fault in enumerate(faults):
            name, ranks = f"{method}{i}", 1 + i % 2
            search(name, method, ranks, fault, codes=faulty_runs.KILLED)
            expect(bed.state(name).exists(), f"{method} {fault}: no state")
            said = search(name, method, 1, more=["--force"])
            expect("resuming: " in said, f"{method} {fault}: {said}")
            for key, array in read(name).items():
                same = np.array_equal(array, wanted[key]) if ranks == 1 else np.allclose(array, wanted[key], rtol=1e-6, atol=1e-9)
                expect(same, f"{method} {fault}: another {key}")
    pairs(bed)
    for name, more, other in (("seed", ["--seed", "5"], True), ("passes", ["--passes", "9"], False)):
        search(name, "passes", 1, "rename:4:kill", codes=faulty_runs.KILLED)
        said = search(name, "passes", 1, more=more)
        expect(("all begins again" in said) == other != ("resuming: " in said), f"{name}: {said}")
    counts = bed.folder / "counts_of_passes"
    search("counted_pca", "passes", 1, None, path="p.npy", counts=counts)
    number = int(faulty_runs.counted(counts)[0, "read"] * 0.8)  # samples of the inputs are read before
    said = search("signal_pca", "passes", 1, f"read:{number}:term", ["--checkpoint-interval", "1h"], (75,), "p.npy")
    expect("the same command goes on" in said, said)
    expect("resuming: " in search("signal_pca", "passes", 2), "not resumed")
    left = [file for file in os.listdir(bed.folder) if STATE in file]
    expect(not left, f"left {left}")


def pairs(bed):
    """Products of all pairs of columns are recorded part by part, before the first pass."""
    x = np.random.default_rng(4).integers(-9, 10, (2500000, 20)).astype("i1")
    x[:, 3] *= 9
    np.save(bed.folder / "long.npy", x)

    def search(name, ranks, more=(), codes=(0,), **environment):
        memory = f"host={running.process_mib(bed.damier, ranks) + 20}MiB"
        done = running.ended(running.command(ranks, bed.damier, "pca", bed.folder / "long.npy", "--rank", 3, "--method", "gram", "-o",
                                             bed.folder / f"{name}.h5", "--memory", memory, "--checkpoint-interval", "0", *more), **environment)
        expect(done.returncode in codes, f"{name}: exit {done.returncode}\n{done.stderr}")
        return done.stderr

    def values(name):
        with h5py.File(bed.folder / f"{name}.h5") as file:
            return file["pca/singular_values"][:]

    shim = {"LD_PRELOAD": running.preloading(bed.shim), "FAULT_PATH": STATE, "FAULT_RANK": "0"}
    search("pairs", 1)
    x = x - x.mean(0)
    expect(np.allclose(values("pairs") ** 2, np.linalg.eigvalsh(x.T @ x)[:-4:-1], rtol=1e-10), "other values")
    for i, (fault, ranks, then) in enumerate((("rename:1:kill", 1, 1), ("rename:2:kill", 2, 1), ("write:6:kill", 1, 3))):
        search(f"pairs{i}", ranks, codes=faulty_runs.KILLED, FAULT=fault, **shim)
        said = search(f"pairs{i}", then)
        begins = fault == "rename:1:kill"
        expect(("resuming: products of all pairs in " in said) != begins, f"{fault}: {said}")
        same = np.array_equal if then == ranks == 1 else np.allclose
        expect(same(values(f"pairs{i}"), values("pairs")), f"{fault}: other values")


def archives(bed):
    """An archive of NumPy has its name only when it is whole: killed at any write, it is made by the same command."""
    words = [bed.damier, "gram", bed.folder / "x.npy", "-o", bed.folder / "r.npz", "--of", "rows", "--above", "60", "-q"]
    for fault in ("write:1:kill", "write:4:kill", "fsync:1:kill", "rename:1:kill", "rename:2:kill"):
        done = running.ended([*map(str, words)], LD_PRELOAD=running.preloading(bed.shim), FAULT=fault, FAULT_PATH="r.npz")
        if done.returncode == 0:  # it has no such call
            continue
        expect(done.returncode in faulty_runs.KILLED and not (bed.folder / "r.npz").exists(), f"{fault}: exit {done.returncode}")
        done = running.ended([*map(str, words)])
        expect(done.returncode == 0, f"after {fault}: {done.stderr}")
        with np.load(bed.folder / "r.npz") as file:
            expect(file["indptr"][-1] == len(file["data"]) > 0, f"after {fault}: not whole")
        expect([file for file in os.listdir(bed.folder) if file.startswith("r.")] == ["r.npz"], f"after {fault}: something is left")
        (bed.folder / "r.npz").unlink()


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = Bed(folder, options)
        cases = (killed, stopped, not_taken, no_room, stored_whole, searches, archives)
        failures = running.each(lambda case: case(bed), cases, lambda case: case.__name__, workers=1)
    running.finish(failures, len(cases))


main()
