#!/usr/bin/env python3
"""Reading inputs by threads and packing C into chunks with a fault at one call: what is interrupted or
short goes on, an error names the file and the byte, and what is left of C is whole or can be made again.
"""
import argparse
import errno
import subprocess

import h5py

import faulty_runs
import running

EIO, ENOSPC, EINTR = (str(e) for e in (errno.EIO, errno.ENOSPC, errno.EINTR))
ANY = {0, 4}
LAST = 40
# (files, call, kind, exit codes); A is in chunks, B is contiguous.  HDF5 can do without some of what
# it reads, and inspection calls an input that cannot be read no input.
CASES = [("A.h5", "read", EINTR, {0}), ("A.h5", "read", "short", {0}), ("A.h5", "read", EIO, {0, 3, 4}),
         ("B.h5", "read", EINTR, {0}), ("B.h5", "read", "short", {0}), ("B.h5", "read", EIO, {0, 3, 4}),
         ("C.h5", "read", EINTR, {0}), ("C.h5", "read", "short", {0}), ("C.h5", "read", EIO, ANY),
         ("C.h5", "write", EINTR, ANY), ("C.h5", "write", "short", {0}), ("C.h5", "write", EIO, {4}),
         ("C.h5", "write", ENOSPC, {4, 5}), ("C.h5", "fsync", EIO, {4}), ("C.h5", "rename", EIO, {4})]
WORDS = ("-q", "--force", "--chunk", "48x40", "--deflate", 2, "--shuffle", "--io-threads", 2,
         "--write-by", "pwrite")


class Bed:
    def __init__(self, folder, options):
        self.folder, self.damier, self.shim = folder, options.damier, options.shim
        for name, words in (("A", ("--chunk", "32x30", "--deflate", 1)), ("B", ("--seed", 2))):
            running.run(self.damier, 1, "generate", folder / f"{name}.h5", "--size", 150, "-q", *words)
        self.wanted = self.bits("C.h5") if self.run("C.h5", {})[0] == 0 else None

    def run(self, output, fault):
        env = running.environment()
        if fault:
            env.update(fault, LD_PRELOAD=str(self.shim))
        done = subprocess.run([self.damier, "multiply", self.folder / "A.h5", self.folder / "B.h5", "-o",
                               self.folder / output, *map(str, WORDS)], env=env, capture_output=True,
                              text=True, timeout=100, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr

    def bits(self, output):
        with h5py.File(self.folder / output) as file:
            return file["c"][()].tobytes(), file["c"].chunks, file["c"].attrs["damier_state"]

    def count(self, path, call):
        counts = self.folder / f"count-{path}"
        self.run("C.h5", {"FAULT_COUNT": str(counts), "FAULT_PATH": path})
        lines = [line.split() for line in counts.read_text().splitlines()]
        counts.unlink()
        return sum(int(number) for _, kind, number in lines if kind == call)

    def try_case(self, item):
        number, (path, fault, codes) = item
        output = f"out{number}C.h5"
        what = f"{path} {fault}"
        code, err = self.run(output, {"FAULT": fault, "FAULT_PATH": path})
        if code not in codes:
            return f"{what}: exit {code}, wanted {codes}\n{err[-900:]}"
        if code != 0 and (path not in err or err.count("damier: error") != 1):
            return f"{what}: not one error that names the file\n{err[-900:]}"
        if code != 0:
            code, err = self.run(output, {})
        if code != 0 or self.bits(output) != self.wanted:
            return f"{what}: C is not whole, or cannot be made again: {err[-900:]}"
        left = [p.name for p in self.folder.glob(f"{output}.*")]
        return f"{what}: left {left}" if left else None


def main():
    options = faulty_runs.options(argparse.ArgumentParser())
    folder = faulty_runs.scratch()
    folder.mkdir()
    try:
        bed = Bed(folder, options)
        counts = {(path, call): bed.count(path, call) for path, call, _, _ in CASES}
        most = 1000 if options.long else 6
        items = []
        for path, call, kind, codes in CASES:
            count = counts[path, call]
            step = max(1, count // most)
            numbers = set(range(1, count + 1, step))
            if (path, call, kind) == ("C.h5", "read", EIO):  # at last the chunks are read back
                numbers |= set(range(max(1, count - LAST), count + 1))
            items += [(path, f"{call}:{n}:{kind}", codes) for n in sorted(numbers)]
        failures = running.each(bed.try_case, list(enumerate(items)))
    finally:
        faulty_runs.remove(folder)
    running.finish(failures, len(items), f"; calls {sorted(counts.values())}")


if __name__ == "__main__":
    main()
