#!/usr/bin/env python3
"""Products of NumPy arrays in host memory, whose C is an array that exists, verified, alternating.

host_arrays.py [--output FILE.jsonl] [--pairs N] [--gpus N] [--only TYPE:SIZE ...]: a record for each way; needs the
damier package (PYTHONPATH, DAMIER_LIBRARY). With a GPU: a context of one GPU and one of several, compared with torch, which
copies pageable arrays to one GPU, multiplies, and copies C back. Without: damier.matmul compared with numpy.matmul.
"""
import contextlib

import damier
import numpy as np

from measure import NUMPY_TYPES, options_of
from job_ranks import HAS_GPU, Job

CASES = ("f64:4096", "f64:16384", "f32:16384", "f64:32768") if HAS_GPU else ("f64:8", "f64:64", "f64:256", "f64:2048", "f32:2048")


def ways_of(options, stack, a, b, out):
    if not HAS_GPU:
        return {"NumPy": lambda: np.matmul(a, b, out), "CPU": lambda: damier.matmul(a, b, out)}
    import torch  # pylint: disable=import-outside-toplevel
    one, several = (stack.enter_context(damier.Context(gpus=gpus, backend="cuda")) for gpus in (1, options.gpus))
    into = torch.from_numpy(out)
    return {"torch": lambda: into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()),
            "one GPU": lambda: one.matmul(a, b, out), "several GPUs": lambda: several.matmul(a, b, out)}


def main():
    options = options_of(__doc__, "host_arrays.jsonl", pairs=10, gpus=2, only={"nargs": "*", "default": CASES})
    job = Job()
    for name, n in (case.split(":") for case in options.only):
        n, rng = int(n), np.random.default_rng(int(n))
        a, b = (rng.random((n, n), dtype=NUMPY_TYPES[name]) for _ in range(2))
        with contextlib.ExitStack() as stack:
            job.compare(options, "arrays" if HAS_GPU else "arrays on CPUs", {"type": name, "size": n},
                        ways_of(options, stack, a, b, np.zeros_like(a)))


if __name__ == "__main__":
    main()
