#!/usr/bin/env python3
"""C in tiles, and one rank's file fails in between: all ranks end together, by agreement and not through the launcher,
with one message that names rank, file and tile; the same command resumes after the complete tiles.
"""
import copy
import errno
import re

import faulty_runs
import running
from running import expect

EIO, ENOSPC = str(errno.EIO), str(errno.ENOSPC)
ABORTED = ("MPI_ABORT", "MPI_Abort")
# (file, call, kind, whether the message names a tile): a sync or record may cover several.
CASES = [("A.h5", "read", EIO, True), ("B.h5", "read", EIO, True), ("C.h5.part", "write", EIO, True),
         ("C.h5.part", "write", ENOSPC, True), ("C.h5.part", "fdatasync", EIO, False),
         ("C.h5.journal", "fdatasync", EIO, False), ("C.h5.journal", "write", EIO, False)]
SHAPE = (1100, 900, 1500)  # A and B stay in their files


def counts_of(bed, ranks, file):
    """The calls for the file in an undisturbed run: {(rank, call): count}."""
    output = faulty_runs.Output(bed, f"counted{ranks}{file.replace('.', '')}C", ranks)
    counts = bed.folder / f"counts-{output.name}"
    code, err, _ = output.run({"FAULT_COUNT": str(counts), "FAULT_PATH": file.replace("C.h5", output.name)})
    expect(code == 0, f"{file}, {ranks} ranks, undisturbed: exit {code}\n{err}")
    output.path().unlink()
    return faulty_runs.counted(counts)


class Case:
    def __init__(self, bed, ranks, at, counts, file, call, kind, names_tile):
        self.bed, self.ranks, self.at, self.count = bed, ranks, at, counts[file].get((at, call), 0)
        self.file, self.call, self.kind, self.names_tile, self.kept = file, call, kind, names_tile, 0

    def __str__(self):
        return f"{self.ranks} ranks, rank {self.at}: {self.call} of {self.file} with {self.kind}"

    def path(self, output):
        return self.file.replace("C.h5", output.name)

    def judge(self, code, err, seconds, output):
        """One message for all ranks, and none from the launcher."""
        what = f"{self}\n{err[-1500:]}"
        expect(code == 4, f"exit {code}: {what}")
        expect(seconds < faulty_runs.SECONDS, f"{seconds:.0f} s: {what}")
        expect(err.count("damier: error") == 1, f"not one message: {what}")
        expect(not any(word in err for word in ABORTED), f"the launcher ended it: {what}")
        message = err[err.index("damier: error"):].splitlines()
        expect(self.path(output).removesuffix(".part") in message[0], f"no file: {what}")
        if self.ranks > 1:
            expect(f"where: rank {self.at} of {self.ranks}" in message[1], f"no rank: {what}")
        named = re.search(r"error: tile (\d+) of (\d+): ", message[0])
        expect(named or not self.names_tile, f"no tile: {what}")
        kept = re.search(r"hint: (\d+) of \d+ tiles are kept", err)
        return int(kept[1]) if kept else 0

    def run(self, number):
        output = faulty_runs.Output(self.bed, f"out{number}C", self.ranks)
        if self.count == 0:  # this rank has no part of it
            return
        place = 1 + int(self.count * 0.8)  # behind the samples of A and B, in the tiles
        fault = {"FAULT": f"{self.call}:{place}:{self.kind}", "FAULT_RANK": str(self.at),
                 "FAULT_PATH": self.path(output)}
        kept = self.judge(*output.run(fault), output)
        code, err, _ = output.run()
        expect(code == 0, f"{self}: once more: exit {code}\n{err[-1500:]}")
        there = re.search(r"resuming: (\d+) of", err)  # a record whose sync failed may still exist
        expect(not kept or (there and int(there[1]) >= kept), f"{self}: {kept} tiles were kept\n{err}")
        output.expect_whole(str(self))
        self.kept = kept


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        cases = []
        limit = running.process_mib(options.damier) + 3
        bed = faulty_runs.Bed(folder, options, shape=SHAPE,
                              words=("--memory", f"host={limit}MiB", "--checkpoint-interval", "0"))
        words = bed.words[1:]
        for ranks, grid in ((1, "1x1x1"), (2, "1x2x1"), (4, "2x2x1")):
            bed = copy.copy(bed)
            bed.words = [*words, "--grid", grid]  # ranks read and write many short runs
            bed.undisturbed(ranks)
            expect(bed.tiles[ranks] > 2, "not in tiles")
            places = {0, ranks - 1} if options.endurance or ranks < 4 else {ranks - 1}
            counts = {file: counts_of(bed, ranks, file) for file in dict.fromkeys(case[0] for case in CASES)}
            cases += [Case(bed, ranks, at, counts, *words) for at in places for words in CASES]
        failures = running.each(lambda item: item[1].run(item[0]), enumerate(cases), lambda item: str(item[1]))
    kept = sum(case.kept > 0 for case in cases)
    if kept < len(cases) // 2:
        failures.append(f"tiles were kept in {kept} of {len(cases)} cases only")
    running.finish(failures, len(cases), f"; in {kept} of them tiles were kept")


main()
