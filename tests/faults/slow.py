#!/usr/bin/env python3
"""A signal ends every command within 10 s, whatever the storage is doing. Slow storage is not a hang: calls take their time, and the job succeeds. If storage does not answer, the job ends with
8. Piecewise syncs report a disk's errors, and fall back to whole files if the system does not offer them.

--long: a sync that never returns, which ends after ten minutes.
"""
import errno
import os
import signal
import subprocess
import time

import faulty_runs
import running
from running import expect

TIMEOUT = ("--hang-timeout", "3s")
WHOLE = (".h5", ())
PACKED = (".h5", ("--chunk", "32x32"))
NUMPY = (".npy", ())
# (fault, form of C, other words): longer than the timeout, each or in total.
SLOW = [
    ("fdatasync:1+:8000ms", WHOLE, ()),  # each rank syncs its part of C
    ("fsync:1+:5000ms", WHOLE, ()),  # creating the file and naming it
    ("rename:1:8000ms", WHOLE, ()),
    ("fdatasync:1+:5000ms", WHOLE, ("--checkpoint-interval", 0, "--panel", 64)),  # each record of the journal
    ("sync_file_range:1+:1500ms,write:1+:900ms", WHOLE, ("--checkpoint-interval", 0, "--panel", 64)),
    ("read:1+:900ms", WHOLE, ()),
    ("fsync:1+:5000ms", PACKED, ()),
    ("fsync:1+:5000ms", NUMPY, ()),
]


# Phase, command, fault: every read or write takes 300 ms, from the first one or that number on.
A, B, C = "A.h5", "B.h5", "C.h5"
PHASES = [
    ("inspection", ("multiply", A, B, "-o", "{}.h5"), "read:1+"),
    ("inspection", ("verify", A, B, C), "read:1+"),
    ("opening", ("multiply", A, B, "-o", "{}.h5"), "read:30+"),
    ("opening", ("verify", A, B, C), "read:30+"),
    ("reading", ("verify", A, B, C, "--io-threads", 0), "read:120+"),
    ("verifying files", ("multiply", A, B, "-o", "{}.h5", "--verify-files"), "read:180+"),
    ("full verification", ("verify", A, B, C, "--full"), "read:60+"),
    ("checksums", ("verify", C), "read:10+"),
    ("writing", ("multiply", A, B, "-o", "{}.h5", "--chunk", "8x500", "--io-threads", 1), "write:1+"),
    ("writing", ("multiply", A, B, "-o", "{}.npy", "--io-threads", 1), "write:1+"),
    ("writing", ("generate", "{}.h5", "--size", 500, "--chunk", "8x500", "--io-threads", 1), "write:1+"),
    ("info", ("info", A), "read:1+"),
    ("plan", ("plan", A, B), "read:1+"),
]
MOST = 10  # seconds


class Slow(faulty_runs.Output):
    def __init__(self, bed, name, ranks, form):
        super().__init__(bed, name, ranks)
        suffix, self.words = form
        self.name = f"{name}{suffix}"

    def command(self, ranks=None, extra=()):
        words = super().command(ranks, (*TIMEOUT, *self.words, *extra))
        return [word.removesuffix(":/c") if ".npy:" in word else word for word in words]


def ends(bed, number, ranks, fault, wanted):
    output = Slow(bed, f"pieces{number}of{ranks}C", ranks, WHOLE)
    code, err, _ = output.run({"FAULT": fault})
    expect(code == wanted, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")


def goes_on(bed, number, ranks, fault, form, more):
    output = Slow(bed, f"slow{number}of{ranks}C", ranks, form)
    code, err, _ = output.run({"FAULT": fault}, extra=more)
    expect(code == 0, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")


def is_ended(bed, number, ranks, fault, most):
    """Only rank 0 is slow."""
    output = Slow(bed, f"stuck{number}of{ranks}C", ranks, WHOLE)
    code, err, seconds = output.run({"FAULT": fault, "FAULT_RANK": "0", "FAULT_SIZE": "100000"})  # only C
    expect(code == 8, f"{ranks} ranks, {fault}: exit {code}\n{err[-1500:]}")
    expect("no progress for" in err, err)
    expect(seconds < most, f"{ranks} ranks, {fault}: ended after {seconds:.0f} s")


def make_chunked(bed):
    for name, seed in ((A, 1), (B, 2)):
        running.run(bed.damier, 1, "generate", bed.folder / "chunked" / name, "--size", 500, "--chunk", "8x500", "--seed",
                    seed, "-q")
    words = ("multiply", A, B, "-o", C, "--chunk", "8x500", "-q")
    subprocess.run([bed.damier, *words], cwd=bed.folder / "chunked", check=True, capture_output=True)


def is_interrupted(bed, number, name, words, fault, number_of_signal):
    """Ends within MOST seconds of a signal, with 75; commands that keep nothing may end by the signal itself, and a C that
    was complete may be published."""
    words = [str(word).format(f"signal{number}") for word in words]
    env = running.environment() | {"LD_PRELOAD": bed.shim, "FAULT": f"{fault}:300ms", "FAULT_PATH": str(bed.folder)}
    with subprocess.Popen([bed.damier, *words, "-q"], cwd=bed.folder / "chunked", env=env, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        time.sleep(2)
        asked = time.monotonic()
        run.send_signal(number_of_signal)
        try:
            _, err = run.communicate(timeout=3 * MOST)
        except subprocess.TimeoutExpired:
            run.kill()
            raise running.Failure(f"{name}, {words}: goes on after {signal.Signals(number_of_signal).name}") from None
        seconds = time.monotonic() - asked
    codes = {75, -number_of_signal} if words[0] in ("info", "plan") else {75, 0} if name == "writing" else {75}
    expect(run.returncode in codes and seconds < MOST, f"{name}, {words}: exit {run.returncode} after {seconds:.1f} s\n{err}")


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        bed = faulty_runs.Bed(folder, options, shape=(130, 130, 80), words=("--io-threads", 1))
        cases = [(goes_on, bed, number, ranks, *slow) for number, slow in enumerate(SLOW) for ranks in (1, 2)]
        os.mkdir(bed.folder / "chunked")
        make_chunked(bed)
        cases += [(is_interrupted, bed, number, *phase, signal.SIGTERM) for number, phase in enumerate(PHASES)]
        cases += [(is_interrupted, bed, len(PHASES) + number, *phase, signal.SIGINT)
                  for number, phase in enumerate(PHASES[::4])]
        cases += [(is_ended, bed, ranks, ranks, "write:1:300000ms", 120) for ranks in (1, 2)]
        cases += [(ends, bed, number, ranks, f"sync_file_range:1+:{error}", code) for ranks in (1, 2)
                  for number, (error, code) in enumerate(((errno.EIO, 4), (errno.ENOSPC, 4), (errno.ENOSYS, 0)))]
        if options.long:
            cases += [(is_ended, bed, 2 + ranks, ranks, "fdatasync:1:3000000ms", 800) for ranks in (1, 2)]
        failures = running.each(lambda case: case[0](*case[1:]), cases, lambda case: str(case[2:]), workers=4)
    running.finish(failures, len(cases))


main()
