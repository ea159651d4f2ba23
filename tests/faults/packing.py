#!/usr/bin/env python3
"""C in chunks: the run is killed, or a file fails, during packing. The same command resumes from the existing tiles,
without --force, and leaves nothing besides C.
"""
import errno

import h5py

import faulty_runs
import running
from running import expect

CHUNKS = ("--chunk", "48x40", "--deflate", "2", "--shuffle")
KILLED = faulty_runs.KILLED
# (call, kind, exit codes) of C.h5.damier-new; the last place of a write is in the middle of the chunks
CASES = [("write", "kill", KILLED), ("write", str(errno.EIO), {4}), ("write", str(errno.ENOSPC), {4, 5}),
         ("fsync", "kill", KILLED), ("fsync", str(errno.EIO), {4}), ("rename", "kill", KILLED),
         ("rename", str(errno.EIO), {4}), ("read", "kill", KILLED)]


class PackedBed(faulty_runs.Bed):
    def counts_of_packing(self):
        counts = self.folder / "packing"
        output = faulty_runs.Output(self, "counted", 1)
        code, err, _ = output.run({"FAULT_COUNT": str(counts), "FAULT_PATH": ".damier-new"})
        expect(code == 0, err)
        return {call: count for (_, call), count in faulty_runs.counted(counts).items()}


def left_of(output):
    return output.left(".part", ".journal", ".damier-new")


def once_more(output, what):
    code, err, _ = output.run()
    expect(code == 0, f"{what}: once more: exit {code}\n{err[-900:]}")
    output.expect_whole(what)
    with h5py.File(output.path()) as file:
        expect(file["c"].chunks == (48, 40), f"{what}: not in chunks")
    expect(not left_of(output), f"{what}: left {left_of(output)}")
    return err


def one(case):
    number, bed, ranks, fault, kind, codes = case
    what = f"{ranks} ranks, {bed.words}, {fault}"
    output = faulty_runs.Output(bed, f"C{number}", ranks)
    code, err, _ = output.run({"FAULT": fault, "FAULT_PATH": f"{output.name}.damier-new"})
    expect(code in codes, f"{what}: exit {code}\n{err[-900:]}")
    expect(not output.path().exists(), f"{what}: there is a C.h5")
    if kind != "kill":
        expect("the same command resumes" in err, f"{what}: not said how to go on\n{err[-900:]}")
        expect(".damier-new" not in left_of(output), f"{what}: left the file being packed")
    err = once_more(output, what)
    if kind != "kill" or bed.records:  # computed tiles are not computed again
        expect("resuming: " in err, f"{what}: started over\n{err}")


def without_records(bed):
    """Without a journal the run starts over, also without --force; what is left is known by its names."""
    output = faulty_runs.Output(bed, "none", 1)
    fault = {"FAULT": "write:2:kill", "FAULT_PATH": ".damier-new"}
    code, err, _ = output.run(fault, extra=("--no-checkpoint",))
    expect(code in KILLED and output.left(".damier-new"), f"not killed: {code}\n{err}")
    code, err, _ = output.run()
    expect(code == 0 and not left_of(output), f"once more: {code}\n{err}")


def main():
    options = faulty_runs.options()
    cases = []
    with faulty_runs.scratch() as folder:
        for name, interval in (("records", "0"), ("plain", "60s")):
            (folder / name).mkdir(parents=True)
            bed = PackedBed(folder / name, options, shape=(150, 150, 60),
                            words=(*CHUNKS, "--checkpoint-interval", interval))
            bed.words, bed.records = bed.words[1:], interval == "0"
            for ranks in (1, 2):
                bed.undisturbed(ranks)
            counts = bed.counts_of_packing()
            for call, kind, codes in CASES:
                last = counts[call]
                for ranks, place in ((1, 1), (1, max(1, last // 2)), (2, last)):
                    fault = f"{call}:{place}:{kind}"
                    cases.append((len(cases), bed, ranks, fault, kind, codes))
        failures = running.each(one, cases)
        failures += running.each(without_records, [bed])
    running.finish(failures, len(cases) + 1)


main()
