#!/usr/bin/env python3
"""Faults injected by strace instead of our preloaded library: any of one rank's system calls, whoever makes them, fails
or is interrupted, at the Nth call of a thread or at every second one.

Skipped with the reason without strace or permission to trace. --long: at every place.
"""
import collections
import shutil
import sys

import faulty_runs
import running

STRACE = ("-f", "-qq", "--seccomp-bpf")  # other calls do not stop
RENAME = "rename,renameat,renameat2"
# (calls, error, exit codes), as in each_call.py: HDF5 can do without some of its reads.
CASES = [("pread64,preadv", "EIO", {0, 3, 4}), ("pread64,preadv", "EINTR", {0}),
         ("pwrite64,pwritev", "EIO", {4}), ("pwrite64,pwritev", "ENOSPC", {4, 5}),
         ("pwrite64,pwritev", "EINTR", {0}), ("fsync", "EIO", {4}), ("fdatasync", "EIO", {4}),
         (RENAME, "EIO", {4}), ("ftruncate", "EIO", {4}), ("fallocate", "ENOSPC", {5}),
         ("fallocate", "EINTR", {0}), ("fallocate", "EOPNOTSUPP", {0})]
ALL = ",".join(sorted({calls for calls, _, _ in CASES}))
ONE_RANK = 'at=$1; shift; if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = "$at" ]; then exec strace "$@"; fi; '
ONE_RANK += 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'


def why_not():
    """The reason why injection is not possible here, or None."""
    if not shutil.which("strace"):
        return "there is no strace"
    words = ["strace", *STRACE, "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=1", "true"]
    done = running.ended(words)
    return f"strace: {done.stderr.strip()}" if done.returncode else None


class Traced(faulty_runs.Output):
    """An output whose faulty runs, (rank, words of strace), run under strace on that rank."""

    wrapper = ()
    fired = False

    def command(self, ranks=None, extra=()):
        words = super().command(ranks, extra)
        at = words.index(self.bed.damier)
        return [*words[:at], *self.wrapper, *words[at:]]

    def run(self, fault=None, ranks=None, extra=()):
        if fault:
            rank, words = fault
            paths = [self.path(s) for s in ("", ".part", ".journal")]
            paths += [self.bed.folder / name for name in ("A.h5", "B.h5")]
            where = [word for path in paths for word in ("-P", path)]
            self.wrapper = ["sh", "-c", ONE_RANK, "sh", rank, *STRACE, *words, *where, "--"]
        try:
            return super().run(None, ranks, extra)
        finally:
            self.wrapper = ()

    def expect_fault(self, fault, codes):
        """Threads share calls dynamically: if no thread makes as many as in the counted run, nothing fails."""
        rank, words = fault
        log = self.path(".strace")
        try:
            super().expect_fault((rank, ["-o", str(log), *words]), codes)
            self.fired = "(INJECTED)" in log.read_text()
        except running.Failure:
            self.fired = "(INJECTED)" in log.read_text()
            if self.fired:
                raise
            self.expect_whole("nothing failed")


def calls_of(bed, ranks, rank):
    """{call: the largest number of such calls by one thread}"""
    log = bed.folder / f"calls{ranks}-{rank}"
    output = Traced(bed, f"counted{ranks}-{rank}", ranks)
    code, err, _ = output.run((str(rank), ["-o", str(log), "-e", f"trace={ALL}"]))
    running.expect(code == 0, f"undisturbed under strace: exit {code}\n{err}")
    seen = collections.Counter()
    for line in log.read_text().splitlines():
        thread, _, call = line.partition(" ")
        if "resumed>" not in call:
            seen[thread, call.strip().partition("(")[0]] += 1
    most = collections.Counter()
    for (_, call), count in seen.items():
        most[call] = max(most[call], count)
    return most


def cases_of(bed, ranks, most, struck):
    for rank in struck:
        seen = calls_of(bed, ranks, rank)
        for calls, error, codes in CASES:
            count = max(seen[call] for call in calls.split(","))
            step = max(1, count // most)
            places = list(range(max(1, step // 2), count + 1, step))
            if count and error == "EINTR":
                places.append("1+2")
            for place in places:
                words = ["-e", f"trace={calls}", "-e", f"inject={calls}:error={error}:when={place}"]
                yield bed, ranks, (str(rank), words), codes


def main():
    options = faulty_runs.options()
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    with faulty_runs.scratch() as folder:
        for name in ("whole", "tiles"):
            (folder / name).mkdir()
        limit = running.process_mib(options.damier) + 3
        words = ("--checkpoint-interval", "0")
        whole = faulty_runs.Bed(folder / "whole", options, words=words)
        tiles = faulty_runs.Bed(folder / "tiles", options, shape=(1100, 900, 1500),
                                words=(*words, "--memory", f"host={limit}MiB"))
        cases = []
        for bed in (whole, tiles):
            for ranks, most in ((1, 1000), (2, 1000), (4, 20)) if options.long else ((2, 1),):
                bed.undisturbed(ranks)
                struck = sorted({0, ranks - 1}) if options.long else [0 if bed is whole else ranks - 1]
                cases += cases_of(bed, ranks, most, struck)
        outputs, failures = faulty_runs.judged(cases, Traced)
        fired = sum(output.fired for output in outputs)
        if fired < len(cases) * 3 // 4:
            failures.append(f"only {fired} of {len(cases)} faults were met by a call")
    running.finish(failures, len(cases), f", {fired} faults met by a call")


main()
