#!/usr/bin/env python3
"""Runs that are killed at random times and started again: C has the bits of an undisturbed run.

SIGKILL of one rank, of all, or SIGUSR1; some runs several times. They resume on the same number of ranks, and on
others: then C has the same bits with --reproducible, and passes its verification without. --long: 200 and 50 cases.
"""
import copy
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import faulty_runs
import running
from running import expect

SEED = 20261121
SHAPE = (1100, 900, 1500)
ALONE, LONGEST = 60, 300  # seconds
LITTLE, MORE, MUCH = 3, 21, 90  # MiB in addition to the process's own memory


def words(limit, *more):
    """Options for several tiles, each recorded as soon as it is complete."""
    return ("--memory", f"host={limit}MiB", "--checkpoint-interval", "0", *more)


def processes(root, ranks):
    """The ranks, or the program itself."""
    return [root] if ranks == 1 else running.ranks_of(root)


def kill(process, ranks, how, rng):
    """Whether there was a process to kill."""
    try:
        if how == "stop":
            process.send_signal(signal.SIGUSR1)
        elif how == "one":
            os.kill(rng.choice(processes(process.pid, ranks)), signal.SIGKILL)
        else:
            for pid in [process.pid, *processes(process.pid, ranks)]:
                os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, FileNotFoundError, IndexError):
        return False
    return True


def wait_for(process, output, moment):
    """Waits until MOMENT: seconds, or a number of tiles in the journal; False if the run ended first."""
    started, kind, amount = time.monotonic(), *moment
    while process.poll() is None and time.monotonic() - started < 60:
        if kind == "seconds" and time.monotonic() - started >= amount:
            return True
        if kind == "tiles" and output.path(".journal").exists() and output.recorded() >= amount:
            return True
        time.sleep(0.002)
    return False


def lives(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end_of(process, ranks):
    """Returns stderr, and whether the launcher had to be killed. If a rank ends while others still start, mpirun of
    Open MPI 4.1 may outlive all of them, waiting for a lock of its own (in PMIx_server_finalize): a minute without
    any rank, also of those that started later. If Hydra gets a signal then, all may wait in MPI_Init."""
    since, alone = time.monotonic(), 0
    while True:
        try:
            return process.communicate(timeout=5)[1], False
        except subprocess.TimeoutExpired:
            now = running.ranks_of(process.pid)
            alone = alone + 5 if ranks and process.pid not in ranks and not any(map(lives, {*ranks, *now})) else 0
            waited = time.monotonic() - since
            if alone < ALONE and waited < (30 if running.has_hydra() else LONGEST):
                continue
            if alone < ALONE and not running.has_hydra():
                raise
        for rank in now:
            os.kill(rank, signal.SIGKILL)
        process.kill()
        return process.communicate()[1], True


def disturbed(output, ranks, moment, how, rng):
    """Runs until MOMENT and is killed; None if it was done before."""
    process = subprocess.Popen(output.command(ranks), env=running.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               stdin=subprocess.DEVNULL)
    pids = []
    if wait_for(process, output, moment):
        pids = processes(process.pid, ranks)
        kill(process, ranks, how, rng)
    err, hung = end_of(process, pids)
    deadline = time.monotonic() + 20  # the last process holds the lock until it exits
    while any(map(lives, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if process.returncode == 0:
        return None
    expect(how != "stop" or process.returncode in (75, 138, -10) or hung or running.has_hydra(),
           f"stopped: exit {process.returncode}\n{err[-900:]}")
    return process.returncode


def one_case(bed, number, others):
    """Records in the bed whether the last start found tiles."""
    rng = random.Random(SEED + number)
    ranks = rng.choice((1, 2, 3) if others else (1, 2, 3, 4))  # on four there may be one tile
    output = faulty_runs.Output(bed, f"{'others' if others else 'kill'}{number}", ranks)
    what = f"case {number} on {ranks} ranks"
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            how = rng.choice(("one", "all", "stop"))
            moment = rng.choice((("seconds", rng.uniform(0.1, 1.0) * bed.seconds[ranks]),
                                 ("tiles", rng.randrange(0, bed.tiles[ranks]))))
            if others:
                moment = ("tiles", rng.randrange(1, bed.tiles[ranks]))
            what += f", {how} after {moment[1]:.2f} {moment[0]}"
            ended = disturbed(output, ranks, moment, how, rng)
            if ended is None or output.path().exists():  # too late: C has its final name
                break
        if others:
            ranks = rng.choice([r for r in (1, 2, 3, 4) if r != ranks])
            what += f", then {ranks} ranks"
            bed = bed.with_memory(bed.process + MUCH)  # with fewer ranks each has a larger part of a tile
            output.bed = bed
        late = output.path().exists()  # C already has its final name; the journal may still exist
        code, err, _ = output.run(ranks=ranks, extra=["--force"] if late else [])
        expect(code == 0, f"resumed: exit {code}\n{err[-1500:]}")
        if not others or "--reproducible" in bed.words:
            output.expect_whole(what)
        else:
            running.run(bed.damier, 1, "verify", bed.folder / "A.h5", bed.folder / "B.h5",
                        f"{output.path()}:/c", "-q")
        expect(not output.left(), f"left {output.left()}")
        if re.search(r"resuming: [1-9]\d* of ", err):
            bed.resumed.append(number)
    except running.PROBLEMS as failure:
        raise running.Failure(f"{what}: {failure}") from failure


class TileBed(faulty_runs.Bed):
    def with_memory(self, limit):
        other = copy.copy(self)
        other.words = [f"host={limit}MiB" if w.startswith("host=") else w for w in self.words]
        return other


def series(options, folder, count, process, chosen, others):
    folder.mkdir(parents=True)
    bed = TileBed(folder, options, shape=SHAPE, words=chosen)
    bed.words = bed.words[1:]  # without --quiet: reports how much was resumed
    bed.seconds, bed.process, bed.resumed = {}, process, []
    for ranks in (1, 2, 3, 4):
        started = time.monotonic()
        bed.undisturbed(ranks)
        bed.seconds[ranks] = time.monotonic() - started
    failures = running.each(lambda i: one_case(bed, i, others), range(count))
    resumed = len(bed.resumed)
    print(f"{' '.join(chosen)}{', other ranks' if others else ''}: {count} cases, {resumed} of them "
          f"resumed with tiles that were there; {bed.tiles} tiles")
    if resumed < max(1, count // 10):  # the moments vary on a busy computer
        failures.append(f"only {resumed} of {count} cases had anything to resume")
    return failures


def main():
    options = faulty_runs.options()
    same, other = (200, 50) if options.long else (20, 5)
    with faulty_runs.scratch() as folder:
        process = running.process_mib(options.damier)
        little, more = words(process + LITTLE), words(process + MORE, "--reproducible")
        failures = series(options, folder / "same", same, process, little, False)
        failures += series(options, folder / "other", other, process, little, True)
        failures += series(options, folder / "bits", other, process, more, True)
    running.finish(failures, same + 2 * other)


main()
