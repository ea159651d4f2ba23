#!/usr/bin/env python3
"""Slow storage is not a hang: calls take their time, and the job succeeds. If storage does not answer, the job ends with
8. Piecewise syncs report a disk's errors, and fall back to whole files if the system does not offer them.

--long: a sync that never returns, which ends after ten minutes.
"""
import errno

import faulty_runs
import running
from running import expect

TIMEOUT = ("--hang-timeout", "3s")
WHOLE = (".h5", ())
PACKED = (".h5", ("--chunk", "32x32"))
NUMPY = (".npy", ())
# (fault, form of C, other words): longer than the timeout, each or in total.
SLOW = [
    ("fdatasync:1+:8000ms", WHOLE, ()),  # each rank syncs its part of C
    ("fsync:1+:5000ms", WHOLE, ()),  # creating the file and naming it
    ("rename:1:8000ms", WHOLE, ()),
    ("fdatasync:1+:5000ms", WHOLE, ("--checkpoint-interval", 0, "--panel", 64)),  # each record of the journal
    ("sync_file_range:1+:1500ms,write:1+:900ms", WHOLE, ("--checkpoint-interval", 0, "--panel", 64)),
    ("read:1+:900ms", WHOLE, ()),
    ("fsync:1+:5000ms", PACKED, ()),
    ("fsync:1+:5000ms", NUMPY, ()),
]


class Slow(faulty_runs.Output):
    def __init__(self, bed, name, ranks, form):
        super().__init__(bed, name, ranks)
        suffix, self.words = form
        self.name = f"{name}{suffix}"

    def command(self, ranks=None, extra=()):
        words = super().command(ranks, (*TIMEOUT, *self.words, *extra))
        return [word.removesuffix(":/c") if ".npy:" in word else word for word in words]


def ends(bed, number, ranks, fault, wanted):
    output = Slow(bed, f"pieces{number}of{ranks}C", ranks, WHOLE)
    code, err, _ = output.run({"FAULT": fault})
    expect(code == wanted, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")


def goes_on(bed, number, ranks, fault, form, more):
    output = Slow(bed, f"slow{number}of{ranks}C", ranks, form)
    code, err, _ = output.run({"FAULT": fault}, extra=more)
    expect(code == 0, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")


def is_ended(bed, number, ranks, fault, most):
    """Only rank 0 is slow."""
    output = Slow(bed, f"stuck{number}of{ranks}C", ranks, WHOLE)
    code, err, seconds = output.run({"FAULT": fault, "FAULT_RANK": "0", "FAULT_SIZE": "100000"})  # only C
    expect(code == 8, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")
    expect("no progress for" in err, err)
    expect(seconds < most, f"{ranks} ranks, {fault}: ended after {seconds:.0f} s")


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, shape=(130, 130, 80), words=("--io-threads", 1))
        cases = [(goes_on, bed, number, ranks, *slow) for number, slow in enumerate(SLOW) for ranks in (1, 2)]
        cases += [(is_ended, bed, ranks, ranks, "write:1:300000ms", 120) for ranks in (1, 2)]
        cases += [(ends, bed, number, ranks, f"sync_file_range:1+:{error}", code) for ranks in (1, 2)
                  for number, (error, code) in enumerate(((errno.EIO, 4), (errno.ENOSPC, 4), (errno.ENOSYS, 0)))]
        if options.long:
            cases += [(is_ended, bed, 2 + ranks, ranks, "fdatasync:1:3000000ms", 800) for ranks in (1, 2)]
        failures = running.each(lambda case: case[0](*case[1:]), cases, lambda case: str(case[2:]), workers=4)
    running.finish(failures, len(cases))


main()
