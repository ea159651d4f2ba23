#!/usr/bin/env python3
"""A fault at the writes of C past the page cache, and into mapped pages: each way is in use, what fails
ends the run with its code, and the same command once more gives the same bits."""
import argparse
import errno
import pathlib
import shutil
import subprocess

import faulty_runs
import running

SHAPE = (1100, 1101, 60)  # rows that do not end with a block
EIO, ENOSPC, EINTR, EINVAL = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR, errno.EINVAL))
# What refuses a block may have it by pwrite.
DIRECT = [("write", EIO, {4}), ("write", ENOSPC, {4, 5}), ("write", EINTR, {0, 4}), ("write", "short", {0}),
          ("write", EINVAL, {0, 4}), ("write", "kill", {-9, 137}), ("fdatasync", EIO, {4})]
MAPPED = [("fdatasync", EIO, {4}), ("write", EIO, {4})]


def places(count, most):
    return sorted({1 + int((i + 0.5) * count / most) for i in range(min(count, most))})


def cases_of(bed, ranks, faults, most):
    counts = bed.undisturbed(ranks)
    for call, kind, codes in faults:
        for rank in sorted({0, ranks - 1}):
            for number in places(counts.get((rank, call), 0), most):
                fault = {"FAULT": f"{call}:{number}:{kind}", "FAULT_RANK": str(rank)}
                yield bed, ranks, fault, codes


def attempt(numbered):
    number, (bed, ranks, fault, codes) = numbered
    try:
        faulty_runs.Output(bed, f"out{number}C", ranks).expect_fault(fault, codes)
    except (running.Failure, subprocess.TimeoutExpired, OSError, KeyError) as failure:
        return f"{bed.words} {failure}"
    return None


def refused_pages(bed):
    """The system has no page when it is asked for: an error, and no signal."""
    output = faulty_runs.Output(bed, "pagesC", 1)
    probe = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=madvise", "-e"]
    codes, failures = set(), []
    for number in range(1, 14):
        command = [*probe, f"inject=madvise:error=EFAULT:when={number}", *output.command()]
        done = subprocess.run(command, env=running.environment(), capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)
        if done.returncode not in (0, 2, 4):  # 2: where it is tried whether pages can be asked for
            failures.append(f"page {number}: exit {done.returncode}\n{done.stderr[-900:]}")
        codes.add(done.returncode)
        for suffix in ("", ".part", ".journal"):
            output.path(suffix).unlink(missing_ok=True)
    return failures if 4 in codes else [*failures, f"no page was refused: {codes}"]


def main():
    options = faulty_runs.options(argparse.ArgumentParser())
    folder = faulty_runs.scratch(memory=False)  # there may be no way past the cache of memory
    folder.mkdir()
    try:
        cases, beds = [], {}
        for way, faults in (("direct", DIRECT), ("mapped", MAPPED)):
            words = ("--write-by", way, "--io-threads", 2, "--checkpoint-interval", 0)
            (folder / way).mkdir()
            beds[way] = faulty_runs.Bed(folder / way, options, shape=SHAPE, words=words)
            for ranks in (1, 2, 4) if options.long else (1, 2):
                cases += cases_of(beds[way], ranks, faults, 1000 if options.long else 3)
        failures = running.each(attempt, enumerate(cases))
        if shutil.which("strace"):
            failures += refused_pages(beds["mapped"])
    finally:
        faulty_runs.remove(pathlib.Path(folder))
    running.finish(failures, len(cases))


if __name__ == "__main__":
    main()
