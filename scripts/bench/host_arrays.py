#!/usr/bin/env python3
"""Products of NumPy arrays in host memory on GPUs: a context of one GPU and one of several, compared with torch, alternating.

host_arrays.py [--output FILE.jsonl] [--pairs N] [--gpus N] [--only TYPE:SIZE ...]: one line of JSON for each call, whose C is
an array that exists, verified; needs torch with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). torch copies
pageable arrays to one GPU, multiplies, and copies C back. Medians follow on stdout.
"""
import damier
import numpy as np
import torch

from measure import NUMPY_TYPES, append, median, now, options_of, timed, turns

CASES = ("f64:4096", "f64:16384", "f32:16384", "f64:32768")


def main():
    options = options_of(__doc__, "host_arrays.jsonl", ("--pairs", {"type": int, "default": 10}),
                         ("--gpus", {"type": int, "default": 2}), ("--only", {"nargs": "*", "default": CASES}))
    for case in options.only:
        name, n = case.split(":")[0], int(case.split(":")[1])
        rng = np.random.default_rng(n)
        a, b = (rng.random((n, n), dtype=NUMPY_TYPES[name]) for _ in range(2))
        out = np.zeros_like(a)
        into = torch.from_numpy(out)
        with damier.Context(gpus=1, backend="cuda") as one, damier.Context(gpus=options.gpus, backend="cuda") as several:
            contexts = {"one GPU": one, "several GPUs": several}
            calls = {"one GPU": lambda: one.matmul(a, b, out), "several GPUs": lambda: several.matmul(a, b, out),
                     "torch": lambda: into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda())}
            taken = {way: [] for way in calls}
            for pair, way in turns(options.pairs, calls):
                took, _, _ = timed(calls[way])
                if pair < 0:
                    continue
                taken[way].append(took)
                append(options.output, {
                    "verb": "arrays", "type": name, "size": n, "way": way, "gpus": options.gpus if way == "several GPUs" else 1,
                    "seconds": took, "machine": {"device": torch.cuda.get_device_name()}, "version": one.record["version"],
                    "git": one.record["git"], "date": now(), "times": contexts[way].record["times"] if way in contexts else None})
        for way, seconds in taken.items():
            print(f"{case:12} {way:13} {median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), "
                  f"of torch {median(seconds) / median(taken['torch']):.3f}", flush=True)


if __name__ == "__main__":
    main()
