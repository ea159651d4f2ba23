#!/usr/bin/env python3
"""Every call that reads, writes, syncs, names or allocates fails once, at every place; or the rank is
killed in its stead.

Alone at every place; on 2 and 4 ranks at some of them (--long: at every one of rank 0 and the last).
"""
import argparse
import errno
import subprocess

import faulty_runs
import running

EIO, ENOSPC, EINTR, ENOMEM = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR, errno.ENOMEM))
IO, FIT, DONE, ANY = {4}, {5}, {0}, {0, 4}

# (call, kind, exit codes).  Where 0 is allowed C must be whole: HDF5 can do without some of what it
# reads of its own file.  The MPI library is told of no memory too: it may call that an error of
# its own.  A file that cannot be removed is a leftover and no reason to refuse a result.
CASES = [("read", EIO, ANY), ("read", EINTR, DONE), ("read", "short", DONE),
         ("write", EIO, IO), ("write", ENOSPC, {4, 5}), ("write", EINTR, ANY),
         ("write", "short", DONE), ("fsync", EIO, IO), ("fdatasync", EIO, IO),
         ("rename", EIO, IO), ("ftruncate", EIO, IO), ("fallocate", ENOSPC, FIT),
         ("fallocate", EINTR, DONE), ("fallocate", str(errno.EOPNOTSUPP), DONE),
         ("fallocate", EIO, IO), ("unlink", EIO, ANY), ("malloc", ENOMEM, {0, 3, 5})]
CASES += [(call, "kill", {-9, 137}) for call in
          ("write", "fsync", "fdatasync", "rename", "ftruncate", "fallocate", "unlink")]


def places(count, most):
    """All numbers up to COUNT, or MOST of them spread over the range."""
    if count <= most:
        return range(1, count + 1)
    return sorted({1 + int((i + 0.5) * count / most) for i in range(most)})


def faults(counts, ranks, most):
    for call, kind, codes in CASES:
        for rank in sorted({0, ranks - 1}):
            for number in places(counts.get((rank, call), 0), most):
                yield ranks, {"FAULT": f"{call}:{number}:{kind}", "FAULT_RANK": str(rank)}, codes


def main():
    options = faulty_runs.options(argparse.ArgumentParser())
    folder = faulty_runs.scratch()
    folder.mkdir()
    try:
        bed = faulty_runs.Bed(folder, options, words=("--checkpoint-interval", "0"))
        cases = []
        for ranks, most in ((1, 1000), (2, 1000), (4, 20)) if options.long else ((1, 8), (2, 1), (4, 1)):
            cases += faults(bed.undisturbed(ranks), ranks, most)

        def one(numbered):
            number, (ranks, fault, codes) = numbered
            try:
                faulty_runs.Output(bed, f"C{number}", ranks).expect_fault(fault, codes)
            except (running.Failure, subprocess.TimeoutExpired, OSError, KeyError) as failure:
                return str(failure)
            return None

        failures = running.each(one, enumerate(cases))
    finally:
        faulty_runs.remove(folder)
    running.finish(failures, len(cases))


if __name__ == "__main__":
    main()
