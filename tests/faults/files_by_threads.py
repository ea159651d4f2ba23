#!/usr/bin/env python3
"""Faults at one call while threads read inputs and pack C into chunks: interrupted and short calls continue, an error
names the file and the byte, and C is complete or can be computed again.
"""
import errno

import h5py

import faulty_runs
import running
from running import expect

EIO, ENOSPC, EINTR = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR))
ANY = {0, 4}
LAST = 40
# (files, call, kind, exit codes); A is chunked, B is contiguous. HDF5 can do without some of its reads, and
# inspection reports an unreadable input as invalid.
CASES = [("A.h5", "read", EINTR, {0}), ("A.h5", "read", "short", {0}), ("A.h5", "read", EIO, {0, 3, 4}),
         ("B.h5", "read", EINTR, {0}), ("B.h5", "read", "short", {0}), ("B.h5", "read", EIO, {0, 3, 4}),
         ("C.h5", "read", EINTR, {0}), ("C.h5", "read", "short", {0}), ("C.h5", "read", EIO, ANY),
         ("C.h5", "write", EINTR, ANY), ("C.h5", "write", "short", {0}), ("C.h5", "write", EIO, {4}),
         ("C.h5", "write", ENOSPC, {4, 5}), ("C.h5", "fsync", EIO, {4}), ("C.h5", "rename", EIO, {4})]
WORDS = ("-q", "--force", "--chunk", "48x40", "--deflate", 2, "--shuffle", "--io-threads", 2,
         "--read-by", "pread", "--write-by", "pwrite")


class Bed:
    def __init__(self, folder, options):
        self.folder, self.damier, self.shim = folder, options.damier, options.shim
        for name, words in (("A", ("--chunk", "32x30", "--deflate", 1)), ("B", ("--seed", 2))):
            running.run(self.damier, 1, "generate", folder / f"{name}.h5", "--size", 150, "-q", *words)
        self.wanted = self.bits("C.h5") if self.run("C.h5", {})[0] == 0 else None

    def run(self, output, fault):
        more = {"LD_PRELOAD": self.shim, **fault} if fault else {}
        done = running.ended(running.command(1, self.damier, "multiply", self.folder / "A.h5", self.folder / "B.h5",
                                             "-o", self.folder / output, *WORDS), **more)
        return done.returncode, done.stderr

    def bits(self, output):
        with h5py.File(self.folder / output) as file:
            return file["c"][()].tobytes(), file["c"].chunks, file["c"].attrs["damier_state"]

    def count(self, path, call):
        counts = self.folder / f"count-{path}"
        self.run("C.h5", {"FAULT_COUNT": str(counts), "FAULT_PATH": path})
        found = faulty_runs.counted(counts)
        counts.unlink()
        return found.get((0, call), 0)

    def try_case(self, item):
        number, (path, fault, codes) = item
        output = f"out{number}C.h5"
        what = f"{path} {fault}"
        code, err = self.run(output, {"FAULT": fault, "FAULT_PATH": path})
        expect(code in codes, f"{what}: exit {code}, wanted {codes}\n{err[-900:]}")
        if code != 0:
            expect(path in err and err.count("damier: error") == 1,
                   f"{what}: not one error that names the file\n{err[-900:]}")
            code, err = self.run(output, {})
        expect(code == 0 and self.bits(output) == self.wanted,
               f"{what}: C is not whole, or cannot be made again: {err[-900:]}")
        left = [p.name for p in self.folder.glob(f"{output}.*")]
        expect(not left, f"{what}: left {left}")


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = Bed(folder, options)
        counts = {(path, call): bed.count(path, call) for path, call, _, _ in CASES}
        most = 1000 if options.long else 6
        items = []
        for path, call, kind, codes in CASES:
            count = counts[path, call]
            step = max(1, count // most)
            numbers = set(range(1, count + 1, step))
            if (path, call, kind) == ("C.h5", "read", EIO):  # at the end the chunks are read back
                numbers |= set(range(max(1, count - LAST), count + 1))
            items += [(path, f"{call}:{n}:{kind}", codes) for n in sorted(numbers)]
        failures = running.each(bed.try_case, list(enumerate(items)))
    running.finish(failures, len(items), f"; calls {sorted(counts.values())}")


main()
