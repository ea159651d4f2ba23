#!/usr/bin/env python3
"""Each call that reads, writes, syncs, renames or allocates fails once, at every place; or the rank is killed instead.

One rank: at every place; 2 and 4 ranks: at some places (--long: all of rank 0 and of the last rank).
"""
import errno

import faulty_runs
import running

EIO, ENOSPC, EINTR, ENOMEM = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR, errno.ENOMEM))
IO, FIT, DONE, ANY = {4}, {5}, {0}, {0, 4}

# (call, kind, exit codes). If 0 is allowed, C must be complete: HDF5 can do without some of its reads. Allocations of
# the MPI library also fail: it may report its own error. A file that cannot be removed is only a leftover: the result
# counts.
CASES = [("read", EIO, ANY), ("read", EINTR, DONE), ("read", "short", DONE),
         ("write", EIO, IO), ("write", ENOSPC, {4, 5}), ("write", EINTR, ANY),
         ("write", "short", DONE), ("fsync", EIO, IO), ("fdatasync", EIO, IO),
         ("rename", EIO, IO), ("ftruncate", EIO, IO), ("fallocate", ENOSPC, FIT),
         ("fallocate", EINTR, DONE), ("fallocate", str(errno.EOPNOTSUPP), DONE),
         ("fallocate", EIO, IO), ("unlink", EIO, ANY), ("malloc", ENOMEM, {0, 3, 5})]
CASES += [(call, "kill", faulty_runs.KILLED) for call in
          ("write", "fsync", "fdatasync", "rename", "ftruncate", "fallocate", "unlink")]


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, words=("--checkpoint-interval", "0"))
        cases = [(bed, ranks, *fault)
                 for ranks, most in (((1, 1000), (2, 1000), (4, 20)) if options.long else ((1, 8), (2, 1), (4, 1)))
                 for fault in faulty_runs.faults(bed.undisturbed(ranks), ranks, CASES, most)]
        _, failures = faulty_runs.judged(cases)
    running.finish(failures, len(cases))


main()
