#!/usr/bin/env python3
"""A bit flips between memory and file: while C is written, while C is read back for packing, while A is read. C is not
renamed to its final name, the message names tile and file, and the same command then completes C. 'damier verify' finds
a flipped bit of a finished C by the checksums of its tiles, with or without A and B.
"""
import h5py
import numpy as np

import faulty_runs
import running
from running import expect

SHAPE = (150, 140, 130)
TILES = ("--checkpoint-interval", "0")
PACKED = ("--chunk", "48x40", "--deflate", "2")
STOP = ("--on-corruption", "stop")
ALWAYS = ("--verify-written", "always")
# (ranks, words, call, suffix of the file, exit code, message)
CASES = [
    (1, (), "write", ".part", 4, "is not what was written"),
    (2, (), "write", ".part", 4, "is not what was written"),
    (1, ALWAYS, "write", ".part", 4, "is not what was written"),
    (2, (*ALWAYS, *TILES), "write", ".part", 4, "is not what was written"),
    (2, (*ALWAYS, "--no-checkpoint"), "write", ".part", 4, "is not what was written"),
    (1, PACKED, "write", ".part", 4, "is not what was written"),
    (1, PACKED, "read", ".part", 4, "is not what was written"),
    (2, (*PACKED, *TILES), "read", ".part", 4, "is not what was written"),
    (1, PACKED, "read", ".damier-new", 4, ""),
    (1, (*STOP, "--verify-files"), "read", "A.h5", 1, "failed its verification"),
    (2, (*STOP, "--verify-files"), "read", "A.h5", 1, "failed its verification"),
    (2, (*STOP, "--verify-files"), "write", ".part", 1, "failed its verification"),
    (1, ("--verify-files",), "read", "A.h5", 0, "wrong and computed again"),
    (2, ("--verify-files",), "write", ".part", 0, "wrong and computed again"),
]


def counts_of(bed, number, ranks, words, suffix):
    counts = bed.folder / f"counts{number}"
    output = faulty_runs.Output(bed, f"counted{number}", ranks)
    code, err, _ = output.run({"FAULT_COUNT": str(counts), "FAULT_PATH": suffix}, extra=words)
    expect(code == 0, f"undisturbed: {code}\n{err}")
    return faulty_runs.counted(counts)


def expect_right(output, what):
    """Recomputed tiles may differ in their last bits."""
    wanted = np.frombuffer(output.bed.wanted[output.ranks])
    got = np.frombuffer(output.bits())
    expect(np.allclose(got, wanted, rtol=1e-12, atol=1e-12), f"{what}: C is wrong")


def flip(case):
    number, bed, most, ranks, words, call, suffix, wanted, message = case
    what = f"{ranks} ranks, {words}, {call} of {suffix}"
    counts = counts_of(bed, number, ranks, words, suffix)
    hits = 0
    rank = 0 if suffix == ".part" and call == "read" or suffix == ".damier-new" else ranks - 1
    count = counts[(rank, call)]
    late = range(max(1, count - 4), count + 1)  # A is inspected before it is read
    for place in late if suffix == "A.h5" else faulty_runs.places(count, most):
        output = faulty_runs.Output(bed, f"C{number}_{place}_", ranks)
        code, err, _ = output.run({"FAULT": f"{call}:{place}:flip", "FAULT_PATH": suffix,
                                   "FAULT_RANK": str(rank)}, extra=words)
        if code == 0:  # the flip hit metadata, or data that were written again
            expect_right(output, f"{what}, place {place}")
            hits += wanted == 0 and message in err
            continue
        expect(code in (wanted, 3, 4), f"{what}, place {place}: exit {code}\n{err[-900:]}")
        if code != wanted or message not in err:
            continue
        hits += 1
        expect(not output.path().exists(), f"{what}: there is a C.h5")
        code, err, _ = output.run(extra=(*words, "--force"))
        expect(code == 0, f"{what}, place {place}: once more: {code}\n{err[-900:]}")
        expect_right(output, what)
    expect(hits, f"{what}: none of {counts} was noticed as it should be")


def finished(case):
    """A flip of one of the last bits of an element: within all bounds, but the checksum detects it."""
    bed, words = case
    output = faulty_runs.Output(bed, f"finished{len(words)}", 2)
    code, err, _ = output.run(extra=words)
    expect(code == 0, err)
    inputs = [bed.folder / "A.h5", bed.folder / "B.h5"]
    for ranks in (1, 2):
        running.run(bed.damier, ranks, "verify", *inputs, output.path(), "-q")
        running.run(bed.damier, ranks, "verify", output.path(), "-q")
    with h5py.File(output.path(), "r+") as file:
        bits = file["c"][97, 89:90].view("u8") ^ 1
        file["c"][97, 89:90] = bits.view("f8")
    for ranks in (1, 2):
        for operands in ((*inputs, output.path()), (output.path(),)):
            done = running.ended(running.command(ranks, bed.damier, "verify", *operands, "-q"))
            expect(done.returncode == 1 and "was changed: its tile" in done.stderr,
                   f"{ranks} ranks, {words}: {done.returncode}\n{done.stderr}")
    with h5py.File(output.path(), "r+") as file:
        del file["c"].attrs["damier_tiles_hash"]
    done = running.ended(running.command(1, bed.damier, "verify", output.path(), "-q"))
    expect(done.returncode == 3 and "no checksums" in done.stderr, f"{done.returncode}\n{done.stderr}")


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, shape=SHAPE, words=("--threads", "1"))
        for ranks in (1, 2):
            bed.undisturbed(ranks)
        most = 8 if options.long else 3  # places per case
        cases = [(number, bed, most, *case) for number, case in enumerate(CASES)]
        failures = running.each(flip, cases, lambda case: str(case[3:]))
        ends = [(bed, ()), (bed, PACKED), (bed, (*TILES, "--shuffle", *PACKED))]
        failures += running.each(finished, ends, lambda case: str(case[1]))
    running.finish(failures, len(cases) + len(ends))


main()
