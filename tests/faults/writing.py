#!/usr/bin/env python3
"""Faults at writes of C into mapped pages: they are really used, failures end the run with the right code, and the same
command then gives the same bits."""
import errno
import shutil

import faulty_runs
import running

SHAPE = (1100, 1101, 60)  # rows that do not end at a block boundary
EIO = str(errno.EIO)
FAULTS = [("fdatasync", EIO, {4}), ("write", EIO, {4})]


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


def lost(bed):
    """Another file gets the name of the part file while that is read again: it is not called the result."""
    output = faulty_runs.Output(bed, "lost", 1)
    code, err, _ = output.run({"FAULT": "read:1:lose", "FAULT_PATH": ".part"})
    running.expect(code == 4 and "is not the file" in err and "complete result" not in err, f"exit {code}\n{err[-900:]}")
    output.expect_recovery("another part file")
    output.remove()


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as memory:
        words = ("--write-by", "mapped", "--io-threads", 2, "--checkpoint-interval", 0)
        bed, cases = faulty_runs.Bed(memory, options, shape=SHAPE, words=words), []
        for ranks in (1, 2, 4) if options.long else (1, 2):
            cases += [(bed, ranks, *fault) for fault in
                      faulty_runs.faults(bed.undisturbed(ranks), ranks, FAULTS, 1000 if options.long else 3)]
        _, failures = faulty_runs.judged(cases)
        failures += running.each(lost, [bed])
        if shutil.which("strace"):
            failures += refused_pages(bed)
    running.finish(failures, len(cases))


main()
