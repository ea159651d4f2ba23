#!/usr/bin/env python3
"""After a run was killed with a few tiles complete: the same command resumes it, even if tiles or the file's structure
were damaged in between; other commands, and a second run, are refused."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

import h5py

import faulty_runs
import running
from running import expect

AFTER_THREE = faulty_runs.once_recorded(3)
MEMORY = 3  # MiB in addition to the process's own memory: several tiles


def killed(bed, name, ranks=1, fault=None):
    """An output whose run was killed with at least three recorded tiles; or by FAULT."""
    output = faulty_runs.Output(bed, name, ranks)
    code, err, _ = output.run(fault or AFTER_THREE)
    expect(code in faulty_runs.KILLED and output.path(".journal").exists(), f"not killed: {code}\n{err}")
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
                         (("--compute", "f32"), "that run with --compute f64, or"),
                         (("--no-checkpoint",), "can be resumed")):
        refused(output, field, *words)
    stamp = (bed.folder / "B.h5").stat()
    os.utime(bed.folder / "B.h5")
    refused(output, "b_modified")
    os.utime(bed.folder / "B.h5", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    resumes(output, output.recorded())


def other_values(bed):
    """What attributes make of the numbers belongs to the inputs, also where a part of a dataset is read."""
    with h5py.File(bed.folder / "A.h5") as old, h5py.File(bed.folder / "P.h5", "w") as file:
        old.copy("a", file)
        file["a"].attrs["add_offset"] = 1.0
    for bed.a, field in (("P.h5", "a_dataset"), ("P.h5:/a[0:1100]", "a_dataset"), ("P*.h5:/a", "a_dataset")):
        output = killed(bed, "values")
        refused(output, field, "--raw")
        output.remove()
    bed.a = "A.h5"


def force(bed):
    output = killed(bed, "force")
    code, err, _ = output.run(extra=("--alpha", 2, "--force"))
    expect(code == 0 and "starting over: alpha" in err, f"--force: {code}\n{err}")
    expect(output.bits() != bed.wanted[1], "--force: alpha was not heard")


def damage(bed):
    output = killed(bed, "structure")
    change(output.path(".part"), 0, 700)
    resumes(output, output.recorded())
    output = killed(bed, "tile")
    change(output.path(".part"), 5000)  # an element of the first tile
    resumes(output, output.recorded() - 1, "tile 1, ", "differs from its checksum: computing it again")
    output = killed(bed, "record")
    tiles = output.recorded()
    change(output.path(".journal"), (1 << 16) + 64 + 5)  # of the second tile
    resumes(output, tiles - 1)
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
    """A tile in the middle is damaged, and the run that recomputes it is killed, too."""
    for ranks in (1, 2, 4):
        if ranks not in bed.wanted:
            bed.undisturbed(ranks)
        output = killed(bed, f"holes{ranks}", ranks)
        with h5py.File(bed.folder / f"undisturbed{ranks}.h5", "r") as file:
            row, col = (int(file["c"].attrs["damier_tiles"][1][name]) for name in ("row", "col"))
            place = file["c"].id.get_offset() + (row * file["c"].shape[1] + col) * 8
        tiles = bed.tiles[ranks]
        expect(tiles > 5, f"{tiles} tiles are too few")
        records = output.recorded()
        change(output.path(".part"), place)
        code, err, _ = output.run(faulty_runs.once_recorded(records + 1))
        expect(code in faulty_runs.KILLED and "tile 2, " in err
               and f"resuming: {records - 1} of {tiles}" in err, f"not killed: {code}\n{err}")
        change(output.path(".part"), place)  # the last record of a tile counts
        resumes(output, None, "tile 2, ", "resuming: ")


def second_run(bed):
    """The first run is stopped while the second one starts."""
    output = faulty_runs.Output(bed, "second", 1)
    first = subprocess.Popen(output.command(), env=running.environment(),
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


def input_rewritten(bed):
    """B is overwritten during the multiplication: C would match neither its old nor its new elements."""
    output = faulty_runs.Output(bed, "rewritten", 1)
    path, command = bed.folder / "again.h5", output.command()
    shutil.copy(bed.folder / "B.h5", path)
    command[command.index(f"{bed.folder}/B.h5")] = str(path)
    run = subprocess.Popen(command, env=running.environment(), stderr=subprocess.PIPE, text=True)
    journal = output.path(".journal")
    while run.poll() is None and not (journal.exists() and journal.stat().st_size > 1 << 16):
        time.sleep(0.001)  # until it computes tiles, with its inputs open
    run.send_signal(signal.SIGSTOP)
    expect(run.poll() is None, "the run was too fast")
    os.utime(path)  # as a write would; verification finds damage without the time stamp
    run.send_signal(signal.SIGCONT)
    err = run.communicate()[1]
    expect(run.returncode == 4 and "changed since it was inspected" in err, f"exit {run.returncode}\n{err}")
    expect(not output.path().exists(), "C was published")


def stopped_at_the_end(bed):
    """All tiles were computed: only verification and commit are left."""
    output = faulty_runs.Output(bed, "end", 1)
    code, _, _ = output.run({"FAULT": "rename:1:kill"})
    expect(code == -9, f"not killed: {code}")
    resumes(output, bed.tiles[1])


def in_place(bed):
    """C += A B: if the end of a run fails, the same command must not add A B again."""
    last = {"FAULT_PATH": str(bed.folder)}
    number, wanted = {}, None
    for words in ((), ("--no-checkpoint",)):
        for fault in ("", "fsync:{}:kill", "fsync:{}:5", "unlink:{}:kill", "unlink:{}:5"):
            output = faulty_runs.Output(bed, f"in_place{len(words)}{fault[:2]}{fault[-1:]}", 1)
            shutil.copy(bed.folder / "undisturbed1.h5", output.path())
            command = ("--c", f"{output.path()}:/c", "--beta", 1, "--force", *words)
            if not fault:
                count = bed.folder / f"calls{len(words)}"
                code, err, _ = output.run({"FAULT_COUNT": str(count), **last}, extra=command)
                expect(code == 0, f"undisturbed: {code}\n{err}")
                number, wanted = faulty_runs.counted(count), output.bits()
                continue
            fault = fault.format(number[0, fault.split(":")[0]])
            code, err, _ = output.run({"FAULT": fault, **last}, extra=command)
            expect(code in {4} | faulty_runs.KILLED, f"{words} {fault}: exit {code}\n{err}")
            expect(code != 4 or "is complete" in err, f"{words} {fault}: does not say that C is there\n{err}")
            expect(output.bits() == wanted, f"{words} {fault}: C is not there")
            code, err, _ = output.run(extra=command)
            expect(code == 0 and "is already the result of this command" in err, f"{words} {fault}: once more: {code}\n{err}")
            expect(output.bits() == wanted, f"{words} {fault}: A B was added twice")
            expect(not output.left(), f"{words} {fault}: left {output.left()}")
            code, err, _ = output.run(extra=command)
            expect(code == 0 and output.bits() != wanted, f"{words} {fault}: {code}, what was asked for again was not done")


def told_too_late(bed):
    """C += A B: the run is killed while it reports, when all is done but its end. A B is not added again."""
    output = faulty_runs.Output(bed, "told", 1)
    shutil.copy(bed.folder / "undisturbed1.h5", output.path())
    command = ("--c", f"{output.path()}:/c", "--beta", 1, "--force")
    before = output.path().stat().st_ino
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:  # the pipe is full: the report has to wait
        os.set_blocking(writer, True)
    with subprocess.Popen([str(word) for word in output.command(extra=command)], stdout=writer,
                          env=running.environment()) as process:
        while output.path().stat().st_ino == before:
            time.sleep(0.01)
        time.sleep(0.5)
        process.kill()
    os.close(reader)
    os.close(writer)
    wanted = output.bits()
    code, err, _ = output.run(extra=command)
    expect(code == 0 and "is already the result of this command" in err, f"once more: {code}\n{err}")
    expect(output.bits() == wanted and not output.left(), "A B was added twice")


def published(bed):
    """The run is killed between naming C and removing its journal. The tiles decide whether C is the result."""
    last = {"FAULT": "unlink:{}:kill", "FAULT_PATH": ".journal"}
    for words in ((), ("--chunk", "100x100"), ("--force",)):
        output = faulty_runs.Output(bed, f"published{len(words)}", 1)
        if words == ("--force",):
            shutil.copy(bed.folder / "undisturbed1.h5", output.path())
        code, err, _ = output.run({**last, "FAULT": last["FAULT"].format(1)}, extra=words)
        expect(code in faulty_runs.KILLED and output.path().exists() and output.left(".journal"), f"not killed: {code}\n{err}")
        journal = output.path(".journal").read_bytes()
        if words != ("--force",):
            code, err, _ = output.run(extra=(*words, "--alpha", 3))
            expect(code == 2 and "its run had other options: alpha was 1,0, not 3,0" in err, f"{words}: other options: {code}\n{err}")
        code, err, _ = output.run(extra=words)
        expect(code == 0 and "is already the result of this command" in err, f"{words}: once more: {code}\n{err}")
        expect(not output.left(), f"{words}: left {output.left()}")
        code, err, _ = output.run(extra=words)
        expect(code == (0 if words == ("--force",) else 2), f"{words}: without a journal: {code}\n{err}")
        with h5py.File(output.path(), "r+") as file:  # as damage, or the user, would
            file["c"][5, 7] = 3.0
        output.path(".journal").write_bytes(journal)
        if words != ("--force",):
            code, err, _ = output.run(extra=words)
            expect(code == 2 and "is not the result that its journal describes" in err, f"{words}: damaged: {code}\n{err}")
        resumes(output, None, extra=(*words, "--force"))
        expect("already the result" not in err, err)


def damaged_in_place(bed):
    """C += A B is not done again on what is left of its own result."""
    for words in ((), ("--no-checkpoint",)):
        output = faulty_runs.Output(bed, f"damaged{len(words)}", 1)
        shutil.copy(bed.folder / "undisturbed1.h5", output.path())
        command = ("--c", f"{output.path()}:/c", "--beta", 1, "--force", *words)
        code, err, _ = output.run({"FAULT": "unlink:1:kill", "FAULT_PATH": ".journal"}, extra=command)
        expect(code in faulty_runs.KILLED and output.left(".journal"), f"not killed: {code}\n{err}")
        change(output.path(), 8192)
        before = output.path().read_bytes()
        code, err, _ = output.run(extra=command)
        expect(code == 4 and "is not the result that its journal describes" in err and "remove " in err, f"{code}\n{err}")
        expect(output.path().read_bytes() == before, "C was touched")


def wrong_results(bed):
    """After a run that kept a wrong C, or whose part file lost its contents, the same command starts over by itself."""
    for what in ("stopped", "zeros", "empty"):
        output = faulty_runs.Output(bed, what, 1)
        code, err, _ = output.run({"FAULT": "write:2:kill"}, extra=("--no-checkpoint",))
        expect(code in faulty_runs.KILLED, f"{what}: not killed: {code}\n{err}")
        part = output.path(".part")
        if part.exists() and what != "stopped":
            length = part.stat().st_size if what == "zeros" else 0
            output.path(".damier-new").unlink()
            part.write_bytes(bytes(length))
        resumes(output, None)
        expect(not output.left(".part", ".journal", ".damier-new"), f"{what}: left {output.left()}")


def unreadable(bed):
    """An output that cannot be examined is an error of the disk, not of the user."""
    for name, words in (("read", ("--force",)), ("other", ("--append",)), ("npy", ("--force",))):
        output = faulty_runs.Output(bed, name, 1)
        output.name = name + (".npy" if name == "npy" else ".h5")
        dataset = {"other": ":/d", "npy": "", "read": ":/c"}[name]
        command = output.command(extra=words)
        command[command.index(f"{output.path()}:/c")] = f"{output.path()}{dataset}"
        made = [word.replace(":/d", ":/c") for word in command if word not in words]
        expect(running.ended(made).returncode == 0, "no output")
        before = output.path().read_bytes()
        for number in range(1, 9):
            done = running.ended(command, LD_PRELOAD=running.preloading(bed.shim), FAULT=f"read:{number}:5", FAULT_PATH=output.name,
                                 FAULT_RANK="0")
            expect(done.returncode in (0, 4), f"{words}, read {number}: exit {done.returncode}\n{done.stderr}")
            expect(done.returncode == 0 or output.path().read_bytes() == before, f"{words}, read {number}: touched")
            if done.returncode == 0:
                break
        expect(number > 1, f"{words}: no read failed")


def by_residues(options, folder, process):
    """A and B are read again before the remaining tiles, on any number of ranks: C has the same bits."""
    report = folder / "residues" / "report.json"
    report.parent.mkdir()
    words = ("--memory", f"host={process + 52}MiB", "--checkpoint-interval", "0", "--compute", "f64:int8", "--json", report)
    bed = faulty_runs.Bed(folder / "residues", options, shape=(700, 600, 3000), words=words)
    bed.words = bed.words[1:]
    bed.undisturbed(1)
    plan = running.records_of(report)[-1]["plan"]
    expect("file" in (plan["a_in"], plan["b_in"]) and plan["tiles"] > 2, f"not read tile by tile: {plan}")
    output = killed(bed, "alone", fault=faulty_runs.once_recorded(1))
    tiles = output.recorded()
    resumes(output, tiles)
    with h5py.File(output.path()) as file:
        expect(len(file["c"].attrs["damier_tiles"]) > tiles, "nothing was left to compute")
    output = killed(bed, "together", 2, faulty_runs.once_recorded(1))
    bed.wanted[2] = bed.wanted[1]
    resumes(output, output.recorded())


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        process = running.process_mib(options.damier)
        limit = process + MEMORY
        words = ("--memory", f"host={limit}MiB", "--checkpoint-interval", "0")
        bed = faulty_runs.Bed(folder, options, shape=(1100, 900, 300), words=words)
        bed.words = bed.words[1:]
        bed.undisturbed(1)
        cases = (other_commands, other_values, force, damage, holes, second_run, input_rewritten, stopped_at_the_end, in_place, told_too_late, published,
                 damaged_in_place, wrong_results, unreadable)
        failures = running.each(lambda case: case(bed), cases, lambda case: case.__name__, workers=1)
        failures += running.each(lambda bed: by_residues(options, bed, process), [pathlib.Path(folder)], workers=1)
    running.finish(failures, len(failures))


main()
