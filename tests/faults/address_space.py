#!/usr/bin/env python3
"""A limit on address space (ulimit -v) that leaves none for OpenBLAS's buffers: the program must refuse the product
with 5, where OpenBLAS would retry forever."""
import resource
import subprocess
from functools import partial

import running
from running import expect

STEP = 48  # MiB; OpenBLAS needs 128


def limit(mib):
    resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))


def refused(damier, folder):
    for name, seed in (("A.h5", 1), ("B.h5", 2)):
        running.run(damier, 1, "generate", folder / name, "--size", 150, "--seed", seed, "-q")
    words = [damier, "multiply", folder / "A.h5", folder / "B.h5", "-o", folder / "C.h5", "--threads", "1",
             "--io-threads", "0"]
    code, most = 0, 1024
    while code == 0 and most > STEP:
        most -= STEP
        done = subprocess.run(list(map(str, words)), preexec_fn=partial(limit, most), capture_output=True,
                              text=True, env=running.environment(), check=False, timeout=60)
        code = done.returncode
        (folder / "C.h5").unlink(missing_ok=code != 0)
    expect(code == 5 and "OpenBLAS" in done.stderr, f"with {most} MiB: exit {code}\n{done.stderr[-600:]}")


running.run_checks(refused)
