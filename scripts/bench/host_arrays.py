#!/usr/bin/env python3
"""Products of NumPy arrays in host memory, whose C is an array that exists, verified, alternating.

host_arrays.py [--output FILE.jsonl] [--pairs N] [--gpus N] [--only TYPE:SIZE ...]: one line of JSON for each call; needs the
damier package (PYTHONPATH, DAMIER_LIBRARY). With a GPU: a context of one GPU and one of several, compared with torch, which
copies pageable arrays to one GPU, multiplies, and copies C back. Without: damier.matmul compared with numpy.matmul; calls
shorter than 20 ms are repeated for that long. Medians follow on stdout.
"""
import contextlib

import damier
import numpy as np

from measure import NUMPY_TYPES, alternated, append, code_of_package, made_by, median, options_of, timed

try:
    import torch
    DEVICE = torch.cuda.get_device_name() if torch.cuda.is_available() else None
except ImportError:
    DEVICE = None
CASES = ("f64:4096", "f64:16384", "f32:16384", "f64:32768") if DEVICE else ("f64:8", "f64:64", "f64:256", "f64:2048", "f32:2048")


def ways_of(options, stack, a, b, out):
    """What is compared, the first as the reference: its call, and how many GPUs it uses."""
    if not DEVICE:
        return {"NumPy": (lambda: np.matmul(a, b, out), 0), "CPU": (lambda: damier.matmul(a, b, out), 0)}
    one, several = (stack.enter_context(damier.Context(gpus=gpus, backend="cuda")) for gpus in (1, options.gpus))
    into = torch.from_numpy(out)
    return {"torch": (lambda: into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()), 1),
            "one GPU": (lambda: one.matmul(a, b, out), 1), "several GPUs": (lambda: several.matmul(a, b, out), options.gpus)}


def seconds(call):
    """The mean of as many calls as take 20 ms."""
    return timed(call, times=1 if DEVICE else max(1, round(0.02 / timed(call)[0])))[0]


def measure(options, name, n):
    rng, taken = np.random.default_rng(n), {}
    a, b = (rng.random((n, n), dtype=NUMPY_TYPES[name]) for _ in range(2))
    about = {"verb": "arrays" if DEVICE else "arrays on CPUs", "type": name, "size": n, **made_by(code_of_package(), DEVICE)}
    with contextlib.ExitStack() as stack:
        ways = ways_of(options, stack, a, b, np.zeros_like(a))
        for way, took in alternated(ways, options.pairs, lambda way: seconds(ways[way][0])):
            taken.setdefault(way, []).append(took)
            append(options.output, about | {"way": way, "gpus": ways[way][1], "seconds": took})
    first = next(iter(taken))
    for way, times in taken.items():
        print(f"{name}:{n:<8} {way:13} {median(times):.3g} s ({min(times):.3g} to {max(times):.3g}), "
              f"of {first} {median(times) / median(taken[first]):.3f}", flush=True)


def main():
    options = options_of(__doc__, "host_arrays.jsonl", pairs=10, gpus=2, only={"nargs": "*", "default": CASES})
    for case in options.only:
        measure(options, case.split(":")[0], int(case.split(":")[1]))


if __name__ == "__main__":
    main()
