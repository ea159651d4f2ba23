#!/usr/bin/env python3
"""Products of arrays in the memory of one GPU: damier.matmul beside torch.matmul, alternating, with random data.

in_place.py [--output FILE.jsonl] [--pairs N]: one line of JSON for each type, size and kind of verification; needs torch
with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). Times are those of the calls as a program sees them, the
result complete on the GPU.
"""
import argparse
import datetime
import json
import time

import damier
import torch

CASES = [("f64", torch.float64, (256, 2048, 8192, 16384)), ("f32", torch.float32, (256, 2048, 8192, 16384)),
         ("bf16", torch.bfloat16, (2048, 8192, 16384)), ("c128", torch.complex128, (2048,))]


def seconds(call, repeats):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats


def interval(values):
    """Median, and the range that holds it with 95 % (order statistics)."""
    ordered, n = sorted(values), len(values)
    low = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return [ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2, ordered[low], ordered[n - 1 - low]]


def measure(name, dtype, size, verify, pairs):
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    out, other = torch.empty_like(a), torch.empty_like(a)
    calls = (lambda: torch.matmul(a, b, out=other), lambda: damier.matmul(a, b, out, type_c=name, verify=verify))
    for call in calls * 2:
        call()
    once = max(seconds(call, 1) for call in calls)
    repeats = max(1, min(100, int(0.02 / once)))
    times = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 else (1, 0):
            times[which].append(seconds(calls[which], repeats))
    wrong = (out.double() - other.double()).abs().max().item() if dtype != torch.complex128 else 0.0
    torch.cuda.empty_cache()
    ratios = [ours / theirs for theirs, ours in zip(*times)]
    return {"type": name, "size": size, "verify": verify, "pairs": pairs, "repeats": repeats,
            "torch_s": interval(times[0]), "damier_s": interval(times[1]), "ratio": interval(ratios), "differ": wrong}


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--output", default="in_place.jsonl")
    words.add_argument("--pairs", type=int, default=10)
    chosen = words.parse_args()
    about = damier.info()
    common = {"schema": "damier/1", "verb": "in place", "version": damier.version(), "git": about.get("git", ""),
              "date": datetime.date.today().isoformat(), "command": "scripts/bench/in_place.py",
              "machine": {"device": torch.cuda.get_device_name(), "backend": "cuda", "ranks": 1,
                          "library": f"torch {torch.__version__}"}}
    with open(chosen.output, "w") as file:
        for name, dtype, sizes in CASES:
            for size in sizes:
                for verify in (False, True):
                    row = common | measure(name, dtype, size, verify, chosen.pairs)
                    print(json.dumps(row), file=file, flush=True)
                    print(f"{name} {size} verify={verify}: torch {1e3 * row['torch_s'][0]:.3f} ms, damier "
                          f"{1e3 * row['damier_s'][0]:.3f} ms, ratio {row['ratio'][0]:.3f}", flush=True)


if __name__ == "__main__":
    main()
