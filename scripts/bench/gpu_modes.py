#!/usr/bin/env python3
"""Products of torch arrays in the memory of one GPU that are not one native library call: modes, kernels, Gram matrices of many rows.

Each is timed beside torch.matmul of the same arrays (f32 without TF32) in alternating turns of one process; damier verifies. One JSON
object for each case: medians, the ratio's median, smallest and largest, and the error. Usage: gpu_modes.py [OUT.jsonl]
"""
import json
import statistics
import sys
import time

import damier
import torch

TURNS = 10
TYPES = {"f8": torch.float64, "f4": torch.float32, "c16": torch.complex128, "bf": torch.bfloat16, "f2": torch.float16}
SHORT = ("bf", "f2")
MODES = (("f8", 8192, {}), ("f8", 8192, {"compute": "f64:int8"}), ("f8", 8192, {"compute": "fastest"}), ("f8", 8192, {"reproducible": True}),
         ("f8", 8192, {"compute": "f64:int8", "unlike": True}), ("f8", 8192, {"compute": "fastest", "unlike": True}),
         ("c16", 8192, {}), ("c16", 8192, {"compute": "f64:int8"}), ("f4", 8192, {}), ("f4", 8192, {"compute": "fastest"}),
         ("bf", 8192, {}), ("bf", 8192, {"kernel": "wgmma"}))
GRAMS = ((1000000, 1000, "f4", {}), (1000000, 1000, "f4", {"compute": "fastest"}), (200000, 1000, "f8", {}), (1000000, 1000, "bf", {}),
         (1000000, 1000, "f2", {}), (300000, 500, "f4", {}), (65536, 2048, "f4", {}), (50000, 2048, "f8", {}), (65536, 4096, "bf", {}),
         (65536, 4096, "f2", {}), (100000, 1024, "c16", {}), (16384, 16384, "f4", {}), (16384, 16384, "f4", {"compute": "fastest"}))


def seconds(call, count):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def normal(rows, cols, dtype):
    real = torch.float32 if dtype in SHORT else TYPES[dtype]
    return torch.randn((rows, cols), device="cuda", dtype=real).to(TYPES[dtype])


def beside(row, ours, other, out):
    """Adds the times of both to ROW."""
    for call in (other, ours, ours):
        call()
    count = max(1, min(20, round(0.02 / seconds(other, 1))))
    turns = [(seconds(ours, count), seconds(other, count)) for _ in range(TURNS)]
    ratios = sorted(a / b for a, b in turns)
    row |= {"turns": TURNS, "damier_ms": 1e3 * statistics.median(a for a, _ in turns), "torch_ms": 1e3 * statistics.median(b for _, b in turns),
            "ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
    print(json.dumps(row), file=out, flush=True)


def modes(common, out):
    for dtype, n, words in MODES:
        words = dict(words)
        unlike = words.pop("unlike", False)
        a, b = normal(n, n, dtype), normal(n, n, dtype)
        if unlike:
            a, b = (x * torch.exp(2 * torch.randn_like(x)) for x in (a, b))
        c = torch.empty((n, n), device="cuda", dtype=torch.float32 if dtype in SHORT else TYPES[dtype])
        plain = torch.empty((n, n), device="cuda", dtype=TYPES[dtype])
        with damier.Context(**words) as context:
            row = common | {"case": "product", "m": n, "n": n, "k": n, "type": dtype, "unlike": unlike, **words}
            context.matmul(a, b, c)
            row |= {"recipe": context.record["plan"]["recipe"], "verdict": context.record["verification"]["verdict"]}
            beside(row, lambda: context.matmul(a, b, c), lambda: torch.matmul(a, b, out=plain), out)


def grams(common, out):
    for rows, cols, dtype, words in GRAMS:
        x = normal(rows, cols, dtype)
        c = torch.empty((cols, cols), device="cuda", dtype=torch.float32 if dtype in SHORT else TYPES[dtype])
        plain = torch.empty((cols, cols), device="cuda", dtype=TYPES[dtype])
        with damier.Context(**words) as context:
            context.gram(x, c)
            row = common | {"case": "gram", "rows": rows, "columns": cols, "type": dtype, **words,
                            "verdict": context.record["verification"]["verdict"]}
            wide = x.to(torch.complex128 if dtype == "c16" else torch.float64)
            squares = (wide.abs() ** 2).sum(0)
            row["diagonal_error"] = ((c.diagonal().real.double() - squares) / squares).mean().item()
            del wide
            beside(row, lambda: context.gram(x, c), lambda: torch.matmul(x.mH, x, out=plain) if dtype != "c16" else torch.matmul(x.mH, x), out)


def sums(common, out):
    """Mean relative errors of products of 16-bit numbers of one sign."""
    for dtype in SHORT:
        for k in (16384, 65536):
            a, b = ((torch.rand(s, device="cuda") + 0.5).to(TYPES[dtype]) for s in ((4096, k), (k, 4096)))
            c = torch.empty((4096, 4096), device="cuda", dtype=torch.float32)
            damier.matmul(a, b, c)
            wanted = a[:64].double() @ b.double()
            error = ((c[:64].double() - wanted) / wanted).mean().item()
            print(json.dumps(common | {"case": "sums", "m": 4096, "n": 4096, "k": k, "type": dtype, "error": error}), file=out, flush=True)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    common = {"gpu": torch.cuda.get_device_name(), "damier": damier.__version__, "torch": torch.__version__, "date": time.strftime("%Y-%m-%d")}
    with open(sys.argv[1], "w") if len(sys.argv) > 1 else sys.stdout as out:
        for part in (modes, grams, sums):
            part(common, out)


if __name__ == "__main__":
    main()
