#!/usr/bin/env python3
"""What a run that was killed after a few tiles allows: to be resumed by the same command, also when
tiles or the file's structure were damaged since; what another command, or a second run, is told."""
import argparse
import os
import signal
import subprocess
import time

import h5py

import faulty_runs
import running

AFTER_THREE = {"FAULT": "fdatasync:3:kill", "FAULT_PATH": ".journal", "FAULT_RANK": "0"}
MEMORY = 3  # MiB above what the process takes: several tiles


def expect(condition, what):
    if not condition:
        raise running.Failure(what)


def killed(bed, name, ranks=1):
    """An output whose run was killed with three tiles recorded."""
    output = faulty_runs.Output(bed, name, ranks)
    code, err, _ = output.run(AFTER_THREE)
    expect(code in (-9, 137) and output.path(".journal").exists(), f"not killed: {code}\n{err}")
    return output


def resumes(output, tiles, *said, extra=()):
    code, err, _ = output.run(extra=extra)
    expect(code == 0, f"{output.name}: exit {code}\n{err}")
    wanted = (f"resuming: {tiles} of ",) if tiles is not None else ()
    for words in wanted + said:
        expect(words in err, f"{output.name}: '{words}' is not in\n{err}")
    output.expect_whole(output.name)


def refused(output, said, *extra):
    before = [output.path(s).read_bytes() for s in (".part", ".journal")]
    code, err, _ = output.run(extra=extra)
    expect(code == 4 and said in err, f"{extra}: exit {code}, '{said}' is not in\n{err}")
    after = [output.path(s).read_bytes() for s in (".part", ".journal")]
    expect(before == after, f"{extra}: files were touched")


def change(path, offset, count=1):
    with open(path, "r+b") as file:
        file.seek(offset)
        old = file.read(count)
        file.seek(offset)
        file.write(bytes(255 - b for b in old))


def other_commands(bed):
    output = killed(bed, "commands")
    for words, field in ((("--alpha", 2), "alpha"), (("--type-c", "f32"), "type_c"), (("--reproducible",), "reproducible"),
                         (("--kernel", "cblas"), "kernel"),
                         (("--no-checkpoint",), "can be resumed")):
        refused(output, field, *words)
    stamp = (bed.folder / "B.h5").stat()
    os.utime(bed.folder / "B.h5")
    refused(output, "b_modified")
    os.utime(bed.folder / "B.h5", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    resumes(output, 3)


def force(bed):
    output = killed(bed, "force")
    code, err, _ = output.run(extra=("--alpha", 2, "--force"))
    expect(code == 0 and "starting over: alpha" in err, f"--force: {code}\n{err}")
    expect(output.bits() != bed.wanted[1], "--force: alpha was not heard")


def damage(bed):
    output = killed(bed, "structure")
    change(output.path(".part"), 0, 700)
    resumes(output, 3)
    output = killed(bed, "tile")
    change(output.path(".part"), 5000)  # an element of the first tile
    resumes(output, 2, "tile 1, ", "is not what was recorded: it is computed again")
    output = killed(bed, "record")
    change(output.path(".journal"), (1 << 16) + 64 + 5)  # of the second tile
    resumes(output, 1)
    output = killed(bed, "torn")
    os.truncate(output.path(".journal"), (1 << 16) + 2 * 64 + 17)
    resumes(output, 2)
    output = killed(bed, "header")
    change(output.path(".journal"), 100)
    refused(output, "journal is damaged")
    resumes(output, None, extra=("--force",))
    output = killed(bed, "part")
    output.path(".part").unlink()
    resumes(output, None)


def holes(bed):
    """A tile in the middle was damaged, and the run that computes it again is killed, too."""
    for ranks in (1, 2, 4):
        if ranks not in bed.wanted:
            bed.undisturbed(ranks)
        output = killed(bed, f"holes{ranks}", ranks)
        with h5py.File(bed.folder / f"undisturbed{ranks}.h5", "r") as file:
            row, col = (int(file["/.damier/tiles"][1][name]) for name in ("row", "col"))
            tiles = len(file["/.damier/tiles"])
            place = file["c"].id.get_offset() + (row * file["c"].shape[1] + col) * 8
        expect(tiles > 5, f"{tiles} tiles are too few")
        records = (output.path(".journal").stat().st_size - (1 << 16)) // 64
        change(output.path(".part"), place)
        code, err, _ = output.run({**AFTER_THREE, "FAULT": "fdatasync:2:kill"})
        expect(code in (-9, 137) and "tile 2, " in err
               and f"resuming: {records - 1} of {tiles}" in err, f"not killed: {code}\n{err}")
        change(output.path(".part"), place)  # the last record of a tile holds
        resumes(output, None, "tile 2, ", "resuming: ")


def second_run(bed):
    """The first one stands still while the second is tried."""
    output = faulty_runs.Output(bed, "second", 1)
    first = subprocess.Popen(list(map(str, output.command())), env=running.environment(),
                             stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while first.poll() is None and not output.path(".part").exists():
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    expect(first.poll() is None, "the first run was too fast")
    try:
        for words in ((), ("--force",)):
            code, err, _ = output.run(extra=words)
            expect(code == 4 and "another run" in err, f"second: {code}\n{err}")
    finally:
        first.send_signal(signal.SIGCONT)
    expect(first.wait(60) == 0, "the first run was disturbed")
    output.expect_whole(output.name)


def stopped_at_the_end(bed):
    """Everything was computed: what is left is to verify and to commit."""
    output = faulty_runs.Output(bed, "end", 1)
    code, _, _ = output.run({"FAULT": "rename:1:kill"})
    expect(code == -9, f"not killed: {code}")
    resumes(output, bed.tiles)


def main():
    options = faulty_runs.options(argparse.ArgumentParser())
    folder = faulty_runs.scratch()
    folder.mkdir()
    try:
        limit = faulty_runs.process_mib(options, folder) + MEMORY
        words = ("--memory", f"host={limit}MiB", "--checkpoint-interval", "0")
        bed = faulty_runs.Bed(folder, options, shape=(1100, 900, 300), words=words)
        bed.words = bed.words[1:]
        bed.undisturbed(1)
        with h5py.File(bed.folder / "undisturbed1.h5", "r") as file:
            bed.tiles = len(file["/.damier/tiles"])
        failures = []
        for case in (other_commands, force, damage, holes, second_run, stopped_at_the_end):
            try:
                case(bed)
                failures.append(None)
            except (running.Failure, OSError, KeyError, subprocess.TimeoutExpired) as failure:
                failures.append(f"{case.__name__}: {failure}")
    finally:
        faulty_runs.remove(folder)
    running.finish(failures, len(failures))


if __name__ == "__main__":
    main()
