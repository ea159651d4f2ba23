#!/usr/bin/env python3
"""Products of torch arrays in GPU memory that are not one native library call: modes, kernels, shapes, batches, Gram matrices of many
rows; and the same modes on two GPUs.

Each is timed beside torch.matmul of the same arrays (f32 without TF32) in alternating turns of one process; damier verifies. On two
GPUs each has rows of A, B and C; the other is B gathered by copies, and torch.matmul. A record of each case: medians, the ratio's
median, smallest and largest, and errors. Usage: gpu_modes.py [OUT.jsonl]
"""
import json
import statistics
import sys
import time

import damier
import torch

TURNS = 10
TYPES = {"f64": torch.float64, "f32": torch.float32, "c128": torch.complex128, "bf16": torch.bfloat16, "f16": torch.float16}
SHORT = ("bf16", "f16")
MODES = (("f64", 8192, {}), ("f64", 8192, {"compute": "f64:int8"}), ("f64", 8192, {"compute": "fastest"}), ("f64", 8192, {"reproducible": True}),
         ("f64", 8192, {"compute": "f64:int8", "unlike": True}), ("f64", 8192, {"compute": "fastest", "unlike": True}),
         ("c128", 8192, {}), ("c128", 8192, {"compute": "f64:int8"}), ("f32", 8192, {}), ("f32", 8192, {"compute": "fastest"}),
         ("f32", 8192, {"compute": "f32:f16"}), ("f32", 8192, {"compute": "tf32"}), ("bf16", 8192, {}), ("bf16", 8192, {"kernel": "wgmma"}),
         ("f64", 4096, {"kernel": "mma"}), ("f32", 4096, {"kernel": "warp_tile"}), ("f32", 4096, {"kernel": "vectorized"}))
SHAPES = ((0, 256, 256, 256, "f64"), (0, 1000000, 64, 64, "f64"), (0, 64, 64, 1000000, "f64"), (0, 128, 128, 1000000, "bf16"),
          (0, 65536, 256, 8192, "bf16"), (0, 4096, 4096, 4096, "bf16"), (4096, 32, 32, 32, "f32"), (1000, 64, 64, 64, "f64"),
          (64, 2048, 2048, 2048, "bf16"))
ON_TWO = (("f64", 8192, {}), ("f64", 16384, {}), ("bf16", 16384, {}), ("f64", 16384, {"compute": "f64:int8"}),
          ("c128", 8192, {"compute": "f64:int8"}), ("f32", 16384, {"compute": "tf32"}), ("f64", 8192, {"reproducible": True}))
GRAMS = ((1000000, 1000, "f32", {}), (1000000, 1000, "f32", {"compute": "fastest"}), (200000, 1000, "f64", {}), (1000000, 1000, "bf16", {}),
         (1000000, 1000, "f16", {}), (300000, 500, "f32", {}), (65536, 2048, "f32", {}), (50000, 2048, "f64", {}), (65536, 4096, "bf16", {}),
         (65536, 4096, "f16", {}), (100000, 1024, "c128", {}), (16384, 16384, "f32", {}), (16384, 16384, "f32", {"compute": "fastest"}))


def synchronize():
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.synchronize(gpu)


def seconds(call, count):
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronize()
    return (time.perf_counter() - start) / count


def normal(rows, cols, dtype):
    real = torch.float32 if dtype in SHORT else TYPES[dtype]
    return torch.randn((rows, cols), device="cuda", dtype=real).to(TYPES[dtype])


def beside(row, ours, other, out, plain=None):
    """Adds the times of these to ROW; PLAIN: ours without verification."""
    calls = [ours, other] + [plain] * (plain is not None)
    for call in calls + calls:
        call()
    counts = [max(1, min(200, round(0.02 / seconds(call, 2)))) for call in calls]
    turns = [[seconds(call, count) for call, count in zip(calls, counts)] for _ in range(TURNS)]
    ratios = sorted(a / b for a, b, *_ in turns)
    times = [1e3 * statistics.median(turn[i] for turn in turns) for i in range(len(calls))]
    row |= {"turns": TURNS, "damier_ms": times[0], "torch_ms": times[1], "ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
    if plain:
        row |= {"plain_ms": times[2], "plain_ratio": statistics.median(turn[2] / turn[1] for turn in turns)}
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
        with damier.Context(**words) as context, damier.Context(verify=False, **words) as quick:
            row = common | {"verb": "gpu modes", "m": n, "n": n, "k": n, "type": dtype, "unlike": unlike, **words}
            context.matmul(a, b, c)
            row |= {"recipe": context.record["plan"]["recipe"], "verdict": context.record["verification"]["verdict"]}
            beside(row, lambda: context.matmul(a, b, c), lambda: torch.matmul(a, b, out=plain), out, lambda: quick.matmul(a, b, c))


def shapes(common, out):
    for batch, m, n, k, dtype in SHAPES:
        lead = (batch,) if batch else ()
        real = torch.float32 if dtype in SHORT else TYPES[dtype]
        a, b = (torch.randn((*lead, *size), device="cuda", dtype=real).to(TYPES[dtype]) for size in ((m, k), (k, n)))
        c, other = (torch.empty((*lead, m, n), device="cuda", dtype=TYPES[dtype]) for _ in range(2))
        with damier.Context() as context, damier.Context(verify=False) as quick:
            context.matmul(a, b, c)
            row = common | {"verb": "gpu shapes", "m": m, "n": n, "k": k, "batch": batch, "type": dtype,
                            "verdict": context.record["verification"]["verdict"]}
            beside(row, lambda: context.matmul(a, b, c), lambda: torch.matmul(a, b, out=other), out, lambda: quick.matmul(a, b, c))


def on_two(common, out):
    if torch.cuda.device_count() < 2:
        return
    for dtype, n, words in ON_TWO:
        whole = [normal(n, n, dtype) for _ in range(3)]
        cut = [[x[: n // 2].contiguous(), x[n // 2 :].to("cuda:1").contiguous()] for x in whole]
        gathered = [torch.empty((n, n), device=f"cuda:{gpu}", dtype=TYPES[dtype]) for gpu in (0, 1)]
        results = [torch.empty_like(x) for x in cut[2]]

        def gather():
            for to in gathered:
                for rows, part in zip((slice(n // 2), slice(n // 2, n)), cut[1]):
                    to[rows].copy_(part, non_blocking=True)
            for a, b, c in zip(cut[0], gathered, results):
                torch.matmul(a, b, out=c)

        with damier.Context(gpus=2, **words) as context, damier.Context(**words) as one:
            a, b, c = (damier.Rows(parts) for parts in cut)
            context.matmul(a, b, c)
            row = common | {"verb": "gpus modes", "m": n, "n": n, "k": n, "type": dtype, **words, "recipe": context.record["plan"]["recipe"],
                            "verdict": context.record["verification"]["verdict"]}
            row["machine"] = row["machine"] | {"ranks": 2}
            beside(row, lambda: context.matmul(a, b, c), gather, out, lambda: one.matmul(*whole))


def grams(common, out):
    for rows, cols, dtype, words in GRAMS:
        x = normal(rows, cols, dtype)
        c = torch.empty((cols, cols), device="cuda", dtype=torch.float32 if dtype in SHORT else TYPES[dtype])
        plain = torch.empty((cols, cols), device="cuda", dtype=TYPES[dtype])
        with damier.Context(**words) as context:
            context.gram(x, c)
            row = common | {"verb": "gpu grams", "rows": rows, "columns": cols, "type": dtype, **words,
                            "verdict": context.record["verification"]["verdict"]}
            wide = x.to(torch.complex128 if dtype == "c128" else torch.float64)
            squares = (wide.abs() ** 2).sum(0)
            row["diagonal_error"] = ((c.diagonal().real.double() - squares) / squares).mean().item()
            del wide
            beside(row, lambda: context.gram(x, c), lambda: torch.matmul(x.mH, x, out=plain) if dtype != "c128" else torch.matmul(x.mH, x), out)


def sums(common, out):
    """Mean relative errors of products of 16-bit numbers of one sign."""
    for dtype in SHORT:
        for k in (16384, 65536):
            a, b = ((torch.rand(s, device="cuda") + 0.5).to(TYPES[dtype]) for s in ((4096, k), (k, 4096)))
            c = torch.empty((4096, 4096), device="cuda", dtype=torch.float32)
            damier.matmul(a, b, c)
            wanted = a[:64].double() @ b.double()
            error = ((c[:64].double() - wanted) / wanted).mean().item()
            print(json.dumps(common | {"verb": "gpu sums", "m": 4096, "n": 4096, "k": k, "type": dtype, "error": error}), file=out, flush=True)


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    with damier.Context() as context:
        x = normal(64, 64, "f64")
        context.matmul(x, x, torch.empty_like(x))
        common = {key: context.record.get(key) for key in ("version", "git")}
    common |= {"date": time.strftime("%Y-%m-%d"), "command": "scripts/bench/gpu_modes.py",
               "machine": {"device": torch.cuda.get_device_name(), "backend": "cuda", "ranks": 1, "library": f"torch {torch.__version__}"}}
    with open(sys.argv[1], "w") if len(sys.argv) > 1 else sys.stdout as out:
        for part in (modes, shapes, on_two, grams, sums):
            part(common, out)


if __name__ == "__main__":
    main()
