#!/usr/bin/env python3
"""Products of NumPy arrays in host memory on GPUs: a context of one GPU and one of several, compared with torch, alternating.

host_arrays.py [--output FILE.jsonl] [--pairs N] [--gpus N] [--only TYPE:SIZE ...]: one line of JSON for each call, whose C is
an array that exists, verified; needs torch with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). torch copies
pageable arrays to one GPU, multiplies, and copies C back. Medians follow on stdout.
"""
import argparse
import datetime
import json
import statistics
import time

import damier
import numpy as np
import torch

CASES = ("f64:4096", "f64:16384", "f32:16384", "f64:32768")


def ways(gpus, out):
    """{way: (function of A and B, context)}."""
    one, several = (damier.Context(gpus=n, backend="cuda") for n in (1, gpus))
    into = torch.from_numpy(out)

    def by_torch(a, b):
        into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda())

    return {"one GPU": (lambda a, b: one.matmul(a, b, out), one), "several GPUs": (lambda a, b: several.matmul(a, b, out), several),
            "torch": (by_torch, None)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", default="host_arrays.jsonl")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=CASES)
    options = parser.parse_args()
    with open(options.output, "a", encoding="utf-8") as lines:
        for case in options.only:
            name, size = case.split(":")
            n, dtype = int(size), {"f64": "f8", "f32": "f4"}[name]
            rng = np.random.default_rng(n)
            a, b = (rng.random((n, n), dtype=dtype) for _ in range(2))
            out = np.zeros((n, n), dtype)
            opened, taken = ways(options.gpus, out), {}
            for pair in range(-1, options.pairs):  # the first round warms up
                for way, (multiply, context) in opened.items():
                    began = time.perf_counter()
                    multiply(a, b)
                    took = time.perf_counter() - began
                    if pair < 0:
                        continue
                    taken.setdefault(way, []).append(took)
                    line = {"verb": "arrays", "type": name, "size": n, "way": way, "gpus": options.gpus if way == "several GPUs" else 1,
                            "seconds": took, "machine": {"device": torch.cuda.get_device_name()},
                            "version": opened["one GPU"][1].record["version"], "git": opened["one GPU"][1].record["git"],
                            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                            "times": context.record["times"] if context else None}
                    lines.write(json.dumps(line) + "\n")
                    lines.flush()
            for way, seconds in taken.items():
                print(f"{case:12} {way:13} {statistics.median(seconds):.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), "
                      f"of torch {statistics.median(seconds) / statistics.median(taken['torch']):.3f}", flush=True)
            for _, context in opened.values():
                if context:
                    context.close()


if __name__ == "__main__":
    main()
