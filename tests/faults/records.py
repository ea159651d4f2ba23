#!/usr/bin/env python3
"""Every rank records its own part of a tile. A rank that is killed before or after it wrote a record leaves tiles of
which only some parts are recorded: they are computed again, by any number of ranks, and C has the bits of an undisturbed
run. A journal of another version is refused, whatever it holds. The list of tiles in C is one that other readers load."""
import itertools
import os

import h5py

import faulty_runs
import running
from running import expect

MEMORY = 3  # MiB in addition to the process's own memory: several tiles


def incomplete(output):
    """Tiles in the journal of which parts are missing."""
    records, _ = faulty_runs.journal_records(output.path(".journal"))
    return len({(r["row"], r["col"]) for r in records}) - output.recorded()


def killed(bed, what, fault):
    output = faulty_runs.Output(bed, what, bed.ranks)
    code, err, _ = output.run({"FAULT_PATH": f"{output.name}.journal", **fault})
    expect(code in faulty_runs.KILLED and output.path(".journal").exists(), f"{what}: not killed: {code}\n{err}")
    return output


def resumes(output, tiles, ranks=None):
    code, err, _ = output.run(ranks=ranks)
    expect(code == 0, f"{output.name}: exit {code}\n{err}")
    expect(f"resuming: {tiles} of " in err if tiles else "resuming" not in err, f"{output.name}: {tiles} tiles\n{err}")
    expect(not output.left(), f"{output.name}: left {output.left()}")
    if ranks is None or ranks == output.ranks:
        output.expect_whole(output.name)
    else:
        running.run(output.bed.damier, 1, "verify", output.bed.folder / "A.h5", output.bed.folder / "B.h5", output.path(), "-q")


def between_records(bed, found):
    """A rank, in its Nth write of a record and in the sync that follows; then the same command once or twice."""
    for rank, call, number in itertools.product((0, 1) if bed.ranks == 2 else (1,), ("write", "fdatasync"), (1, 4)):
        # Rank 0 writes the header first, in two pieces.
        fault = f"{call}:{number + 2 if (rank, call) == (0, 'write') else number}:kill"
        output = killed(bed, f"{bed.ranks}-{rank}-{call}-{number}", {"FAULT": fault, "FAULT_RANK": str(rank)})
        found["incomplete"] += incomplete(output)
        found["complete"] += output.recorded()
        tiles = output.recorded()
        if call == "fdatasync" and number == 4 and tiles + 1 < bed.tiles[bed.ranks]:  # the run that resumes is killed, too
            code, err, _ = output.run(faulty_runs.once_recorded(tiles + 1, rank=str(rank)))
            expect(code in faulty_runs.KILLED, f"{output.name}: not killed again: {code}\n{err}")
            tiles = output.recorded()
        other = call == "write" and number == 4 and tiles > 0 and bed.ranks < 3  # with fewer ranks each has a larger part
        resumes(output, tiles, bed.ranks + 1 if other else None)


def lost_part(bed):
    """One rank's record of a tile is lost: no other is."""
    output = killed(bed, f"lost{bed.ranks}", faulty_runs.once_recorded(3))
    tiles = output.recorded()
    records, places = faulty_runs.journal_records(output.path(".journal"))
    last = max(place for r, place in zip(records, places) if r["part"] == bed.ranks - 1 and r["row"] == 0 and r["col"] == 0)
    with open(output.path(".journal"), "r+b") as file:
        file.seek(last)
        file.write(bytes(64))
    expect(output.recorded() == tiles - 1, "the part was not lost")
    resumes(output, tiles - 1)


def another_version(bed):
    output = killed(bed, f"version{bed.ranks}", faulty_runs.once_recorded(2))
    path, part = output.path(".journal"), output.path(".part")
    ours = path.read_bytes()
    for digit in b"1", b"9":
        path.write_bytes(ours[:7] + digit + ours[8:])
        before = path.read_bytes(), part.read_bytes()
        for words in (), ("--no-checkpoint",):
            code, err, _ = output.run(extra=words)
            expect(code == 4 and "cannot be resumed: another version of damier wrote its journal" in err
                   and "resume with that version, or start over with --force" in err, f"{words}: exit {code}\n{err}")
            expect(before == (path.read_bytes(), part.read_bytes()), f"{words}: files were touched")
    code, err, _ = output.run(extra=("--force",))
    expect(code == 0 and "resuming" not in err and not output.left(), f"--force: exit {code}\n{err}")
    output.expect_whole("--force")


def list_in_c(bed):
    """netCDF refuses a file with an attribute of two dimensions, h5netcdf one with a reference, Octave a group beside C;
    of a list of compounds none takes notice."""
    with h5py.File(bed.folder / f"undisturbed{bed.ranks}.h5", "r") as file:
        expect(list(file) == ["c"], f"other objects: {list(file)}")
        lists = [(name, value) for name, value in file["c"].attrs.items() if name.startswith("damier_tiles")
                 and getattr(value, "shape", ())]
        for name, value in lists:
            expect(len(value.shape) == 1 and value.dtype.names == ("row", "col", "rows", "cols", "checksum"),
                   f"{name}: {value.dtype} {value.shape}")
        expect(sum(len(value) for _, value in lists) == bed.tiles[bed.ranks], f"{lists}")
    said = running.run(bed.damier, 1, "info", bed.folder / f"undisturbed{bed.ranks}.h5")
    expect(f"checksums of {bed.tiles[bed.ranks]} tiles" in said, said)


def main():
    options = faulty_runs.options()
    found = {"incomplete": 0, "complete": 0}
    failures = []
    with faulty_runs.scratch() as folder:
        words = ("--memory", f"host={running.process_mib(options.damier) + MEMORY}MiB", "--checkpoint-interval", "0")
        for ranks in (2, 3):
            place = folder / str(ranks)
            os.mkdir(place)
            bed = faulty_runs.Bed(place, options, shape=(1100, 900, 300), words=words)
            bed.words, bed.ranks = bed.words[1:], ranks
            bed.undisturbed(ranks)
            expect(bed.tiles[ranks] > 5, f"{bed.tiles} tiles are too few")
            cases = (lambda b: between_records(b, found), lost_part, another_version, list_in_c)
            failures += running.each(lambda case: case(bed), cases, lambda case: case.__name__, workers=1)
    if not found["incomplete"] or not found["complete"]:
        failures.append(f"no kill left a tile incomplete, or none a complete one: {found}")
    running.finish(failures, len(failures))


main()
