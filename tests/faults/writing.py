#!/usr/bin/env python3
"""Faults at writes of C that bypass the page cache, and at writes into mapped pages: each way is really used, failures
end the run with the right code, and the same command then gives the same bits."""
import errno
import shutil

import faulty_runs
import running

SHAPE = (1100, 1101, 60)  # rows that do not end at a block boundary
EIO, ENOSPC, EINTR, EINVAL = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR, errno.EINVAL))
# After a refused direct write pwrite may succeed.
DIRECT = [("write", EIO, {4}), ("write", ENOSPC, {4, 5}), ("write", EINTR, {0, 4}), ("write", "short", {0}),
          ("write", EINVAL, {0, 4}), ("write", "kill", faulty_runs.KILLED), ("fdatasync", EIO, {4})]
MAPPED = [("fdatasync", EIO, {4}), ("write", EIO, {4})]


def refused_pages(bed):
    """The system has no page to fault in: an error, not a signal."""
    output = faulty_runs.Output(bed, "pagesC", 1)
    probe = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=madvise", "-e"]
    codes, failures = set(), []
    for number in range(1, 14):
        done = running.ended([*probe, f"inject=madvise:error=EFAULT:when={number}", *output.command()])
        if done.returncode not in (0, 2, 4):  # 2: the probe for mapped pages fails
            failures.append(f"page {number}: exit {done.returncode}\n{done.stderr[-900:]}")
        codes.add(done.returncode)
        output.remove()
    return failures if 4 in codes else [*failures, f"no page was refused: {codes}"]


def main():
    options = faulty_runs.options()
    # File systems in memory may not support direct I/O; pages are mapped there by default.
    with faulty_runs.scratch(memory=False) as disk, faulty_runs.scratch() as memory:
        cases, beds = [], {}
        for way, folder, faults in (("direct", disk, DIRECT), ("mapped", memory, MAPPED)):
            words = ("--write-by", way, "--io-threads", 2, "--checkpoint-interval", 0)
            beds[way] = bed = faulty_runs.Bed(folder, options, shape=SHAPE, words=words)
            for ranks in (1, 2, 4) if options.long else (1, 2):
                cases += [(bed, ranks, *fault) for fault in
                          faulty_runs.faults(bed.undisturbed(ranks), ranks, faults, 1000 if options.long else 3)]
        _, failures = faulty_runs.judged(cases)
        if shutil.which("strace"):
            failures += refused_pages(beds["mapped"])
    running.finish(failures, len(cases))


main()
