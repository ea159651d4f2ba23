#!/usr/bin/env python3
"""Products of torch arrays in GPU memory that are not one native library call: modes, kernels, shapes, batches, Gram matrices of many
rows; and the same modes on two GPUs. Verified, and not, beside torch.matmul of the same arrays (f32 without TF32), in alternating turns
of one process.

    scripts/bench/gpu_modes.py -o docs/results/gpu_modes.jsonl [--only modes shapes]

On two GPUs each has rows of A, B and C; the other ways are B gathered by copies and torch.matmul, and one GPU that has all. A record of
each way, and of the errors of sums of 16-bit products.
"""
import damier
import torch

from job_ranks import TYPES, Job
from measure import append, code_of_package, made_by, options_of, start

SHORT = ("bf16", "f16")
MODES = (("f64", 8192, {}), ("f64", 8192, {"compute": "f64:int8"}), ("f64", 8192, {"compute": "fastest"}), ("f64", 8192, {"reproducible": True}),
         ("f64", 8192, {"compute": "f64:int8", "unlike": True}), ("f64", 8192, {"compute": "fastest", "unlike": True}),
         ("c128", 8192, {}), ("c128", 8192, {"compute": "f64:int8"}), ("c128", 8192, {"reproducible": True}), ("f32", 8192, {}), ("f32", 8192, {"compute": "fastest"}),
         ("f32", 8192, {"compute": "f32:f16"}), ("f32", 8192, {"compute": "tf32"}), ("bf16", 8192, {}), ("bf16", 8192, {"kernel": "wgmma"}),
         ("f64", 4096, {"kernel": "mma"}), ("f32", 4096, {"kernel": "warp_tile"}), ("f32", 4096, {"kernel": "vectorized"}))
SHAPES = ((0, 256, 256, 256, "f64"), (0, 1000000, 64, 64, "f64"), (0, 64, 64, 1000000, "f64"), (0, 128, 128, 1000000, "bf16"),
          (0, 65536, 256, 8192, "bf16"), (0, 4096, 4096, 4096, "bf16"), (4096, 32, 32, 32, "f32"), (1000, 64, 64, 64, "f64"),
          (64, 2048, 2048, 2048, "bf16"))
ON_TWO = (("f64", 8192, {}), ("f64", 16384, {}), ("bf16", 16384, {}), ("f64", 16384, {"compute": "f64:int8"}),
          ("c128", 8192, {"compute": "f64:int8"}), ("f32", 16384, {"compute": "tf32"}), ("f64", 8192, {"reproducible": True}))
GRAMS = ((1000000, 1000, "f32", {}), (1000000, 1000, "f32", {"compute": "fastest"}), (200000, 1000, "f64", {}), (1000000, 1000, "bf16", {}),
         (1000000, 1000, "f16", {}), (300000, 500, "f32", {}), (65536, 2048, "f32", {}), (50000, 2048, "f64", {}), (65536, 4096, "bf16", {}),
         (65536, 4096, "f16", {}), (100000, 1024, "c128", {}), (16384, 16384, "f32", {}), (16384, 16384, "f32", {"compute": "fastest"}),
         (8192, 8192, "f64", {"compute": "f64:int8"}), (8192, 8192, "c128", {"compute": "f64:int8"}), (16384, 16384, "bf16", {}))
GRAMS_ON_TWO = ((1000000, 1000, "f32"), (200000, 1000, "f64"), (1000000, 1000, "bf16"), (16384, 16384, "f64"), (8192, 8192, "c128"))


class Bench:
    """A job of one process, and what is asked."""

    def __init__(self, options):
        self.options, self.job = options, Job()
        self.library = {"backend": "cuda", "library": f"torch {torch.__version__}"}

    def normal(self, dtype, *shape):
        real = torch.float32 if dtype in SHORT else TYPES[dtype]
        return torch.randn(shape, device=self.job.device, dtype=real).to(TYPES[dtype])

    def empty(self, dtype, *shape):
        return torch.empty(shape, device=self.job.device, dtype=TYPES[dtype])

    def compare(self, verb, case, context, other, ours, **more):
        """The first product of CONTEXT is in the records, too."""
        ours()
        told = {"recipe": context.record["plan"]["recipe"], "verdict": context.record["verification"]["verdict"]}
        self.job.compare(self.options, verb, case | told, {"torch": other, "damier": ours, **more}, **self.library)


def modes(bench):
    for dtype, n, words in MODES:
        words = dict(words)
        unlike = words.pop("unlike", False)
        a, b, plain = *(bench.normal(dtype, n, n) for _ in range(2)), bench.empty(dtype, n, n)
        if unlike:
            a, b = (x * torch.exp(2 * torch.randn_like(x)) for x in (a, b))
        c = bench.empty("f32" if dtype in SHORT else dtype, n, n)
        with damier.Context(**words) as context, damier.Context(verify=False, **words) as quick:
            bench.compare("gpu modes", {"m": n, "n": n, "k": n, "type": dtype, "unlike": unlike, **words}, context,
                          lambda: torch.matmul(a, b, out=plain), lambda: context.matmul(a, b, c), unverified=lambda: quick.matmul(a, b, c))


def shapes(bench):
    for batch, m, n, k, dtype in SHAPES:
        lead = (batch,) if batch else ()
        a, b = bench.normal(dtype, *lead, m, k), bench.normal(dtype, *lead, k, n)
        c, other = (bench.empty(dtype, *lead, m, n) for _ in range(2))
        with damier.Context() as context, damier.Context(verify=False) as quick:
            bench.compare("gpu shapes", {"m": m, "n": n, "k": k, "batch": batch, "type": dtype}, context,
                          lambda: torch.matmul(a, b, out=other), lambda: context.matmul(a, b, c), unverified=lambda: quick.matmul(a, b, c))


def on_two(bench):
    if torch.cuda.device_count() < 2:
        return
    bench.job.devices, bench.library["gpus"] = [0, 1], 2
    for dtype, n, words in ON_TWO:
        whole = [bench.normal(dtype, n, n) for _ in range(3)]
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
            bench.compare("gpus modes", {"m": n, "n": n, "k": n, "type": dtype, **words}, context, gather,
                          lambda: context.matmul(a, b, c), one=lambda: one.matmul(*whole))


def grams(bench):
    for rows, cols, dtype, words in GRAMS:
        x = bench.normal(dtype, rows, cols)
        c, plain = bench.empty("f32" if dtype in SHORT else dtype, cols, cols), bench.empty(dtype, cols, cols)
        with damier.Context(**words) as context:
            context.gram(x, c)
            squares = (x.to(torch.complex128 if dtype == "c128" else torch.float64).abs() ** 2).sum(0)
            error = ((c.diagonal().real.double() - squares) / squares).mean().item()
            bench.compare("gpu grams", {"rows": rows, "columns": cols, "type": dtype, "diagonal_error": error, **words}, context,
                          lambda: torch.matmul(x.mH, x, out=plain) if dtype != "c128" else torch.matmul(x.mH, x), lambda: context.gram(x, c))


def grams_on_two(bench):
    """Rows of X and of C on each GPU; the other is all on one."""
    if torch.cuda.device_count() < 2:
        return
    bench.job.devices, bench.library["gpus"] = [0, 1], 2
    for rows, cols, dtype in GRAMS_ON_TWO:
        whole = bench.normal(dtype, rows, cols), bench.empty("f32" if dtype in SHORT else dtype, cols, cols)
        cut = [damier.Rows([x[: len(x) // 2].contiguous(), x[len(x) // 2 :].to("cuda:1").contiguous()]) for x in whole]
        plain = bench.empty(dtype, cols, cols)
        with damier.Context(gpus=2) as context, damier.Context() as one:
            bench.compare("gpus grams", {"rows": rows, "columns": cols, "type": dtype}, context,
                          lambda: torch.matmul(whole[0].mH, whole[0], out=plain) if dtype != "c128" else torch.matmul(whole[0].mH, whole[0]),
                          lambda: context.gram(*cut), one=lambda: one.gram(*whole))


def sums(bench):
    """Mean relative errors of products of 16-bit numbers of one sign."""
    for dtype in SHORT:
        for k in (16384, 65536):
            a, b = ((torch.rand(s, device=bench.job.device) + 0.5).to(TYPES[dtype]) for s in ((4096, k), (k, 4096)))
            c = bench.empty("f32", 4096, 4096)
            damier.matmul(a, b, c)
            wanted = a[:64].double() @ b.double()
            append(bench.options.output, {"verb": "gpu sums", **made_by(code_of_package(), bench.job.name, **bench.library), "m": 4096, "n": 4096,
                                          "k": k, "type": dtype, "error": ((c[:64].double() - wanted) / wanted).mean().item()})


PARTS = {"modes": modes, "shapes": shapes, "grams": grams, "sums": sums, "two": on_two, "grams on two": grams_on_two}


def main():
    options = options_of(__doc__, "gpu_modes.jsonl", pairs=10, only={"nargs": "*", "default": list(PARTS), "choices": list(PARTS)})
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = Bench(options)
    for name, part in PARTS.items():  # on two GPUs last
        if name in options.only:
            part(bench)


if __name__ == "__main__":
    start(main)
