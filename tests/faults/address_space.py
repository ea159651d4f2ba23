#!/usr/bin/env python3
"""Limits on address space and data (ulimit -v, -d): every command ends within seconds, done (0) or refused with 5 and the
limit, where OpenBLAS would retry forever and HDF5 crash; below all that, the loader's own error (127).

--long: all limits, in small steps.
"""
import resource
import subprocess

import running
from running import expect

KINDS = {"v": resource.RLIMIT_AS, "d": resource.RLIMIT_DATA}
# MiB: where OpenBLAS's threads, HDF5, threads for files, the first product and the commit of C lacked room.
LIMITS = {"v": (40, 68, 80, 92, 110, 150, 200, 215, 230, 330, 425, 435, 440, 460, 800),
          "d": (1, 6, 10, 18, 30, 130, 200, 282, 298, 306, 330, 600)}
SECONDS = 20  # on a busy computer


def commands(damier, folder, place):
    a, b, c, out, made = (folder / name for name in ("A.h5", "B.h5", "C.h5", f"{place}.h5", f"{place}g.h5"))
    yield damier, "--version"
    yield damier, "info", a
    yield damier, "plan", a, b
    yield damier, "verify", a, b, c
    yield damier, "generate", made, "--size", 150, "--force"
    yield damier, "multiply", a, b, "-o", out, "--force"


def limited(kind, mib, words, codes):
    def limit():
        resource.setrlimit(KINDS[kind], (mib << 20, mib << 20))

    where = f"ulimit -{kind} of {mib} MiB: {' '.join(map(str, words))}"
    try:
        done = subprocess.run(list(map(str, words)), preexec_fn=limit, capture_output=True, text=True, timeout=SECONDS,
                              env=running.environment(), check=False)
    except subprocess.TimeoutExpired:
        raise running.Failure(f"{where}: runs for ever") from None
    expect(done.returncode in codes, f"{where}: exit {done.returncode}\n{done.stderr[-600:]}")
    if done.returncode == 5:
        expect(f" -{kind}" in done.stderr, f"{where}: the limit is not named\n{done.stderr[-600:]}")
    return done.returncode


def sweep(damier, folder, kind, mib):
    for words in commands(damier, folder, f"{kind}{mib}"):
        limited(kind, mib, words, {0, 5, 127})
    if mib % 3 == 0:  # a launcher has limits of its own
        limited(kind, mib, running.command(2, damier, "multiply", folder / "A.h5", folder / "B.h5", "-o",
                                           folder / f"{kind}{mib}r.h5", "--force", "-q"), set(range(256)))


def main():
    options = running.options()
    with running.scratch() as folder:
        for name, seed in (("A.h5", 1), ("B.h5", 2)):
            running.run(options.damier, 1, "generate", folder / name, "--size", 150, "--seed", seed, "-q")
        running.run(options.damier, 1, "multiply", folder / "A.h5", folder / "B.h5", "-o", folder / "C.h5", "-q")
        limits = {"v": range(50, 1100, 4), "d": range(1, 700, 3)} if options.long else LIMITS
        cases = [(kind, mib) for kind, all_limits in limits.items() for mib in all_limits]
        failures = running.each(lambda case: sweep(options.damier, folder, *case), cases, str, workers=2)
        plenty = limited("v", 4096, [options.damier, "multiply", folder / "A.h5", folder / "B.h5", "-o",
                                     folder / "D.h5", "--threads", 2], {0, 5})
        expect(plenty == 0, "4 GiB do not suffice")
    running.finish(failures, len(cases))


main()
