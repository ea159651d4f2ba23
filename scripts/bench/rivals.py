#!/usr/bin/env python3
"""Times another library's product of two random matrices, and checks it by a random vector; again.py alternates it with damier.

    rivals.py cublasxt f64 16384 --gpus 2 [--setting 4096]          pinned host memory, C too; the setting is the width of blocks
    mpirun -n 2 rivals.py cublasmp f64 16384 [--setting all-gather] GPU memory; the setting is a layout; C of bf16 is f32
    mpirun -n 2 rivals.py pdgemm f64 4096 [--setting 2x1:256]       ScaLAPACK; the setting is a grid of ranks and a block

Without --setting it prints the fastest one; with it one line of JSON. Needs mpi4py for several ranks, and torch with a GPU for
cublasxt and cublasmp. --library is the file of cuBLASMp, 0.8 or newer, such as nvidia/cublasmp/cu13/lib/libcublasmp.so.0 of pip's
nvidia-cublasmp-cu13, or of ScaLAPACK, if the loader does not find it. cuBLASMp 0.8 to 0.10 need NCCL 2.29, which LD_PRELOAD puts before
torch's.
"""
import importlib
import json
import sys

import numpy as np

from foreign import SIZES
from measure import options_of


def residual(rival, kind):
    """The largest |C w - A (B w)| for random signs w (Freivalds 1979), in units of 8 u |A| (|B| 1). Rounding of random elements
    stays far below 1, and a C without one panel of k is far above."""
    w = np.random.default_rng(3).choice([-1.0, 1.0], rival.n)
    difference = abs(rival.apply("c", w) - rival.apply("a", rival.apply("b", w)))
    return float(np.max(difference / (8 * SIZES[kind][1] * rival.apply("a", rival.apply("b", np.ones(rival.n), True), True))))


def fastest(rival, kind):
    """The setting of the shortest second product that is right."""
    times = {}
    for setting in rival.settings():
        rival.open(setting)
        rival.multiply()  # warms up
        took = rival.multiply()
        wrong = residual(rival, kind) if np.isfinite(took) else np.inf
        if rival.rank == 0:
            print(f"{setting}: {took:.4f} s, residual {wrong:.3g}", file=sys.stderr)
        if wrong < 1:
            times[setting] = took
    return min(times, key=times.get, default=None)


def main():
    options = options_of(__doc__, None, ("program", {"choices": ("cublasxt", "cublasmp", "pdgemm")}), ("type", {"choices": SIZES}),
                         ("n", {"type": int}), setting="", gpus=1, repetitions=1, library="")
    n, rival = options.n, importlib.import_module(f"libraries.{options.program}").Rival(options.type, options.n, options)
    setting = options.setting or fastest(rival, options.type)
    if not options.setting or not setting:
        if rival.rank == 0 and setting:
            print(setting)
        sys.exit(0 if setting else 1)
    about = rival.open(setting)
    rival.multiply()  # warms up
    seconds = [rival.multiply() for _ in range(options.repetitions)]
    wrong = residual(rival, options.type)
    machine = {"backend": "cuda", "device": rival.device, "gpus": rival.gpus} if rival.device else {"threads": 1}
    command = ["rivals.py", options.program, options.type, n, *(["--gpus", rival.gpus] if options.program == "cublasxt" else []),
               "--setting", setting, "--repetitions", options.repetitions]
    if rival.rank == 0:
        print(json.dumps({"command": " ".join(map(str, command)), "machine": {"library": rival.name, "ranks": rival.ranks, **machine},
                          "bench": about, "repetitions": {"multiply_s": seconds}, "residual": wrong,
                          "verification": {"verdict": "PASS" if wrong < 1 else "FAIL"}}))
    sys.exit(0 if wrong < 1 else 1)


if __name__ == "__main__":
    main()
