#!/usr/bin/env python3
"""Calls of the Python package on arrays in memory, in turns with what else computes the same: array_calls.py SET [--only FACT=VALUE ...]

  host_arrays      NumPy arrays: torch, which copies to one GPU and back, one GPU and --gpus; without a GPU numpy.matmul
  host_operands    rows in the host memory of ranks, on their GPUs: the copies alone, the products alone
  in_place         arrays in GPU memory; with ranks rows of each, beside which torch gathers B by NCCL: torch.matmul
  in_place_divisions    the same in other divisions, some in pinned host memory: damier of rows
  gram_memory, cov_memory    NumPy arrays: numpy.matmul (dsyrk for x.T @ x), cblas_dsyrk of --blas; numpy.cov
  gram_gpu, cov_gpu          torch arrays: torch.matmul, cublasDsyrk of --cublas; torch.cov
  gram_gpus, gram_ranks      rows of X and C in the GPU or host memory of each rank: damier.matmul, ScaLAPACK's pdsyrk (--library)
  modes, shapes, grams       GPU memory, what is not one native library call: torch.matmul (f32 without TF32)
  modes_on_two, grams_on_two rows of A, B and C on each of two GPUs: B gathered and torch.matmul, one GPU that has all
  sums             errors of sums of 16-bit products

Takes the damier package (PYTHONPATH, DAMIER_LIBRARY), torch for GPUs, and mpi4py for ranks (mpirun -n 2 array_calls.py ...; gram_ranks with
OPENBLAS_NUM_THREADS=1). Times are of the calls as a program sees them, the result complete, on the slowest rank; C exists before, and is
verified. A record of each case and way is appended; --size has other sizes than the set's.
"""
import contextlib
import ctypes
import dataclasses
import itertools
import os

import damier
import numpy as np

from job_ranks import HAS_GPU, TYPES, Job, torch
from measure import NUMPY_TYPES, Failed, append, code_of_package, made_by, options_of, start

REAL = {"f64": ctypes.c_double, "f32": ctypes.c_float}
SHORT = ("bf16", "f16")


class Bench:
    """The ranks of a set, and what its cases need."""

    def __init__(self, options, gpus, devices):
        self.options, self.job, self.stack, self.told = options, Job(gpus=gpus), None, {}
        self.machine = {"ranks": self.job.ranks} | ({"backend": "cuda", "library": f"torch {torch.__version__}"} if gpus else {})
        if devices > 1:
            self.job.devices, self.machine["gpus"] = list(range(devices)), devices

    def context(self, *job, **words):
        return self.stack.enter_context(damier.Context(*job, **words))

    def normal(self, dtype, *shape):
        real = torch.float32 if dtype in SHORT else TYPES[dtype]
        return torch.randn(shape, device=self.job.device, dtype=real).to(TYPES[dtype])

    def empty(self, dtype, *shape):
        return torch.empty(shape, device=self.job.device, dtype=TYPES[dtype])

    def sums(self, dtype, *shape):
        """C of DTYPE's products."""
        return self.empty("f32" if dtype in SHORT else dtype, *shape)

    def first(self, context, call):
        """The first product of CONTEXT is in the records, too."""
        call()
        self.told |= {"recipe": context.record["plan"]["recipe"], "verdict": context.record["verification"]["verdict"]}
        return call

    def measure(self, kind, facts, words):
        """What no turns are taken of is all in TOLD."""
        with contextlib.ExitStack() as self.stack:
            self.told = {}
            calls = kind.ways(self, *facts.values(), **words)
            verb = kind.verb(self.job) if callable(kind.verb) else kind.verb
            about, case = {"verb": verb, **made_by(code_of_package(), self.job.name, **self.machine)}, facts | words | self.told
            if calls:
                self.job.compare(self.options, about, case, calls)
            else:
                append(self.options.output, about | case)
        if self.job.device:
            torch.cuda.empty_cache()


# ---- each returns the ways of a case: {name: call}, the reference first ----

def host_arrays(bench, dtype, n):
    rng = np.random.default_rng(n)
    a, b = (rng.random((n, n), dtype=NUMPY_TYPES[dtype]) for _ in range(2))
    out = np.zeros_like(a)
    if not HAS_GPU:
        return {"NumPy": lambda: np.matmul(a, b, out), "CPU": lambda: damier.matmul(a, b, out)}
    one, several = (bench.context(gpus=gpus, backend="cuda") for gpus in (1, bench.options.gpus))
    into = torch.from_numpy(out)
    return {"torch": lambda: into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()),
            "one GPU": lambda: one.matmul(a, b, out), "several GPUs": lambda: several.matmul(a, b, out)}


def random_rows(rows, cols, pinned):
    """In host memory, where touching pages takes long enough: few rows are random, the others repeat them."""
    part = torch.empty(rows, cols, dtype=torch.float64, pin_memory=pinned)
    few = torch.randn(64, cols, dtype=torch.float64)
    for at in range(0, rows, 64):
        part[at:at + 64] = few[:min(64, rows - at)]
    return part


def host_operands(bench, case):
    """The goal is 1.15 times the longer of copies and products."""
    job, (shape, memory, place) = bench.job, case.split(":")
    m, n, k = (int(size) for size in shape.split("x"))
    a, b, *back = (random_rows(rows // job.ranks, cols, memory == "pinned")
                   for rows, cols in [(m, k), (k, n)] + [(m, n)] * (place == "host"))
    on_gpu = [torch.empty_like(x, device=job.device) for x in (a, b)]
    out = bench.empty("f64", m // job.ranks, n)
    c, pairs = back[0] if back else out, [*zip(on_gpu, (a, b)), *((c, out) for c in back)]
    device, host = (bench.context(job.world) for _ in range(2))
    for there, here in pairs[:2]:
        there.copy_(here)
    device.matmul(*on_gpu, out)
    wanted = out[:64].cpu()
    host.matmul(a, b, c)
    if not torch.allclose(c[:64].cpu(), wanted):
        raise Failed(f"{case}: another C")
    return {"copies": lambda: [there.copy_(here, non_blocking=True) for there, here in pairs],
            "products": lambda: device.matmul(*on_gpu, out), "multiply": lambda: host.matmul(a, b, c)}


def compared(bench, theirs, ours, out, other, reference="torch"):
    """With how much the results differ."""
    theirs()
    ours()
    there = out is not None and not out.is_complex()
    bench.told["differ"] = bench.job.slowest((out.double() - other.double()).abs().max().item() if there else 0.0)
    return {reference: theirs, "damier": ours}


def in_place(bench, dtype, size, verify):
    job = bench.job
    a, b, out, other = (job.random(dtype, size // job.ranks, size) for _ in range(4))
    if not job.world:
        return compared(bench, lambda: torch.matmul(a, b, out=other), lambda: damier.matmul(a, b, out, type_c=dtype, verify=verify), out, other)
    if not torch.distributed.is_initialized():
        os.environ.setdefault("MASTER_ADDR", job.hosts[0])
        os.environ.setdefault("MASTER_PORT", "29533")
        torch.distributed.init_process_group("nccl", rank=job.rank, world_size=job.ranks, device_id=job.device)
    whole = torch.empty(size, size, dtype=a.dtype, device=job.device)
    context = bench.context(job.world, type_c=dtype, verify=verify)

    def gathered():
        torch.distributed.all_gather_into_tensor(whole, b)
        torch.matmul(a, whole, out=other)

    return compared(bench, gathered, lambda: context.matmul(a, b, out), out, other)


def stated(job, how, full):
    """The rank's part of a square matrix, and how the library is told: rows, columns, blocks of N rows or columns dealt cyclically,
    all on one rank or on each, or rows in host memory."""
    size, own = full.shape[0], full.shape[0] // job.ranks
    if how == "all":
        return full, damier.Replicated(full)
    if how == "one":
        return full, damier.OnOne(full if job.rank == 0 else None, 0)
    if how in ("rows", "host"):
        part = full[own * job.rank:own * (job.rank + 1)].clone()
        part = part.cpu().pin_memory() if how == "host" else part
        return part, part
    columns, block = how.startswith("columns"), int("".join(filter(str.isdigit, how)) or own)
    part = (full.T if columns else full).reshape(size // block, block, size)[job.rank::job.ranks].reshape(own, size)
    part = (part.T if columns else part).contiguous()
    return part, damier.BlockCyclic(part, (size, size), (size, block) if columns else (block, size),
                                    (1, job.ranks) if columns else (job.ranks, 1))


def in_place_divisions(bench, dtype, size, verify, division):
    """Rows take the place of torch."""
    torch.manual_seed(1)
    job = bench.job
    full = [job.random(dtype, size, size) for _ in range(2)]
    full.append(torch.empty_like(full[0]))
    first, second = (bench.context(job.world, type_c=dtype, verify=verify) for _ in range(2))
    rows = [stated(job, "rows", x)[1] for x in full]
    parts = [stated(job, how, x) for how, x in zip(division.split(), full)]
    out = parts[2][0] if parts[2][0] is not full[2] or job.rank == 0 else None
    there = None if out is None else stated(job, division.split()[2], full[0] @ full[1])[0]
    return compared(bench, lambda: first.matmul(*rows), lambda: second.matmul(*(part for _, part in parts)), out, there, "rows")


def gram_memory(bench, _, dtype, size):
    x = np.random.default_rng(1).normal(size=(size, size)).astype(NUMPY_TYPES[dtype])
    y, out = x.copy(), np.empty_like(x)
    calls = {"gram": lambda: damier.gram(x, out), "matmul": lambda: damier.matmul(x.T, y, out), "numpy": lambda: x.T @ x,
             "numpy_general": lambda: x.T @ y}
    if bench.options.blas:
        syrk, real = getattr(ctypes.CDLL(bench.options.blas), {"f64": "cblas_dsyrk", "f32": "cblas_ssyrk"}[dtype]), REAL[dtype]
        row_major, lower, transposed = 101, 122, 112
        calls["syrk"] = lambda: syrk(row_major, lower, transposed, size, size, real(1), ctypes.c_void_p(x.ctypes.data), size, real(0),
                                     ctypes.c_void_p(out.ctypes.data), size)
    return calls


def cov_memory(_, __, dtype, size):
    x = np.random.default_rng(1).normal(size=(10 * size, size)).astype(NUMPY_TYPES[dtype])
    return {"cov": lambda: damier.cov(x), "gram": lambda: damier.gram(x), "numpy_cov": lambda: np.cov(x, rowvar=False, dtype=x.dtype)}


def cov_gpu(bench, _, dtype, size):
    x, out = bench.job.random(dtype, 1000 * size, size), bench.job.random(dtype, size, size)
    return {"cov": lambda: damier.cov(x, out=out), "gram": lambda: damier.gram(x, out), "torch_cov": lambda: torch.cov(x.T)}


def gram_gpu(bench, _, dtype, size):
    x, out = (bench.job.random(dtype, size, size) for _ in range(2))
    y = x.clone()
    calls = {"gram": lambda: damier.gram(x, out, type_c=dtype), "matmul": lambda: damier.matmul(x.T, y, out, type_c=dtype),
             "gram_unverified": lambda: damier.gram(x, out, type_c=dtype, verify=False), "torch": lambda: torch.matmul(x.T, y)}
    if bench.options.cublas and dtype != "bf16":
        library, handle = ctypes.CDLL(bench.options.cublas), ctypes.c_void_p()
        library.cublasCreate_v2(ctypes.byref(handle))
        syrk = library.cublasDsyrk_v2 if dtype == "f64" else library.cublasSsyrk_v2
        one, zero = REAL[dtype](1), REAL[dtype](0)
        calls["syrk"] = lambda: syrk(handle, 0, 0, size, size, ctypes.byref(one), ctypes.c_void_p(x.data_ptr()), size,
                                     ctypes.byref(zero), ctypes.c_void_p(out.data_ptr()), size)
    return calls


def gram_of_ranks(bench, of, dtype, size):
    x, y, out = (bench.job.random(dtype, size // bench.job.ranks, size) for _ in range(3))
    half, full, of_rows, full_of_rows = (bench.context(bench.job.world, type_c=dtype, **op) for op in ({}, {"op_a": "t"}, {}, {"op_b": "t"}))
    calls = {"gram": lambda: half.gram(x, out), "matmul": lambda: full.matmul(x, y, out),
             "gram_of_rows": lambda: of_rows.gram(x, out, of="rows"), "matmul_of_rows": lambda: full_of_rows.matmul(x, y, out)}
    if of == "ranks":
        from rivals import Pdgemm  # pylint: disable=import-outside-toplevel
        rival = Pdgemm(dtype, size, bench.options)
        rival.open(rival.quickest(rival.syrk))
        calls["syrk"] = rival.syrk
    return calls


def products(bench, a, b, c, plain, **words):
    context, quick = bench.context(**words), bench.context(verify=False, **words)
    return {"torch": lambda: torch.matmul(a, b, out=plain), "damier": bench.first(context, lambda: context.matmul(a, b, c)),
            "unverified": lambda: quick.matmul(a, b, c)}


def modes(bench, n, _, __, dtype, unlike, **words):
    a, b, plain = *(bench.normal(dtype, n, n) for _ in range(2)), bench.empty(dtype, n, n)
    if unlike:
        a, b = (x * torch.exp(2 * torch.randn_like(x)) for x in (a, b))
    return products(bench, a, b, bench.sums(dtype, n, n), plain, **words)


def shapes(bench, m, n, k, batch, dtype):
    lead = (batch,) if batch else ()
    a, b = bench.normal(dtype, *lead, m, k), bench.normal(dtype, *lead, k, n)
    return products(bench, a, b, *(bench.empty(dtype, *lead, m, n) for _ in range(2)))


def cut(x):
    """Rows of X on each of two GPUs."""
    return [x[:len(x) // 2].contiguous(), x[len(x) // 2:].to("cuda:1").contiguous()]


def modes_on_two(bench, n, _, __, dtype, **words):
    whole = [bench.normal(dtype, n, n) for _ in range(3)]
    parts = [cut(x) for x in whole]
    gathered = [torch.empty((n, n), device=f"cuda:{gpu}", dtype=TYPES[dtype]) for gpu in (0, 1)]
    results = [torch.empty_like(x) for x in parts[2]]

    def gather():
        for to in gathered:
            for rows, part in zip((slice(n // 2), slice(n // 2, n)), parts[1]):
                to[rows].copy_(part, non_blocking=True)
        for a, b, c in zip(parts[0], gathered, results):
            torch.matmul(a, b, out=c)

    context, one = bench.context(gpus=2, **words), bench.context(**words)
    on_two = [damier.Rows(x) for x in parts]
    return {"torch": gather, "damier": bench.first(context, lambda: context.matmul(*on_two)), "one": lambda: one.matmul(*whole)}


def by_torch(x):
    """X^H X by torch.matmul."""
    if x.is_complex():
        return lambda: torch.matmul(x.mH, x)
    plain = torch.empty(x.shape[1], x.shape[1], device=x.device, dtype=x.dtype)
    return lambda: torch.matmul(x.mH, x, out=plain)


def grams(bench, rows, cols, dtype, **words):
    x, c, context = bench.normal(dtype, rows, cols), bench.sums(dtype, cols, cols), bench.context(**words)
    context.gram(x, c)
    squares = (x.to(torch.complex128 if dtype == "c128" else torch.float64).abs() ** 2).sum(0)
    bench.told["diagonal_error"] = ((c.diagonal().real.double() - squares) / squares).mean().item()
    return {"torch": by_torch(x), "damier": bench.first(context, lambda: context.gram(x, c))}


def grams_on_two(bench, rows, cols, dtype):
    whole = bench.normal(dtype, rows, cols), bench.sums(dtype, cols, cols)
    on_two, context, one = [damier.Rows(cut(x)) for x in whole], bench.context(gpus=2), bench.context()
    return {"torch": by_torch(whole[0]), "damier": bench.first(context, lambda: context.gram(*on_two)), "one": lambda: one.gram(*whole)}


def sums(bench, m, n, k, dtype):
    """Mean relative errors of products of numbers of one sign."""
    a, b = ((torch.rand(s, device=bench.job.device) + 0.5).to(TYPES[dtype]) for s in ((m, k), (k, n)))
    c = bench.empty("f32", m, n)
    damier.matmul(a, b, c)
    wanted = a[:64].double() @ b.double()
    bench.told["error"] = ((c[:64].double() - wanted) / wanted).mean().item()


# ---- sets: their cases are (facts, which are the arguments of the ways, other words) ----

def cases(names, *rows):
    """Of facts NAMES; a dict at a row's end has other words."""
    return [(dict(zip(names.split(), row)), row[-1] if isinstance(row[-1], dict) else {}) for row in rows]


def sizes(*pairs, **more):
    """Of each type and size, and all combinations of what else varies."""
    return [({"type": kind, "size": size} | dict(zip(more, values)), {})
            for kind, each in pairs for values in itertools.product(*more.values()) for size in each]


def squares(*rows):
    return cases("m n k type unlike", *((n, n, n, kind, words.pop("unlike", False), words) for kind, n, words in rows))


def gram_cases(of, *kinds):
    return [({"of": of, "type": kind, "size": 8192}, {}) for kind in kinds]


@dataclasses.dataclass
class Set:
    verb: object  # of its records, or a function of the Job
    ways: object
    cases: list
    pairs: int = 10
    gpus: bool = True
    devices: int = 1  # of this process


VERIFY = (False, True)
DIVISIONS = ("columns columns columns", "rows256 rows256 rows256", "rows64 rows64 rows64", "columns64 columns64 columns64",
             "rows rows one", "one one one", "rows all rows", "host host rows", "rows rows host")  # of A, B and C
ALONE = sizes(("f64", (256, 2048, 8192, 16384)), ("f32", (256, 2048, 8192, 16384)), ("bf16", (2048, 8192, 16384)), ("c128", (2048,)), verify=VERIFY)
OF_RANKS = sizes(("f64", (2048, 8192, 16384, 32768)), ("f32", (8192, 16384)), ("bf16", (8192, 16384, 32768)), verify=VERIFY)
SETS = {
    "host_arrays": Set("arrays" if HAS_GPU else "arrays on CPUs", host_arrays, sizes(
        ("f64", (4096, 16384)), ("f32", (16384,)), ("f64", (32768,))) if HAS_GPU else sizes(("f64", (8, 64, 256, 2048)), ("f32", (2048,))),
        gpus=HAS_GPU),
    "host_operands": Set("host operands", host_operands, cases("case", *((name,) for name in (
        "16384x16384x16384:pageable:host", "16384x16384x16384:pinned:host", "65536x65536x32768:pageable:gpu", "65536x65536x32768:pinned:gpu"))),
        pairs=3),
    "in_place": Set(lambda job: "in place" + " ranks" * (job.ranks > 1), in_place, lambda job: OF_RANKS if job.world else ALONE),
    "in_place_divisions": Set("in place divisions", in_place_divisions, [case for case in sizes(
        ("f64", (8192, 16384)), ("bf16", (16384,)), verify=VERIFY, division=DIVISIONS)
        if case[0]["type"] == "f64" or "host" not in case[0]["division"]]),
    "gram_memory": Set("gram bench", gram_memory, gram_cases("memory", "f64", "f32"), 5, False),
    "cov_memory": Set("gram bench", cov_memory, gram_cases("cov", "f64", "f32"), 5, False),
    "gram_gpu": Set("gram bench", gram_gpu, gram_cases("gpu", "f64", "f32", "bf16"), 5),
    "cov_gpu": Set("gram bench", cov_gpu, gram_cases("gpu_cov", "f64", "f32"), 5),
    "gram_gpus": Set("gram bench", gram_of_ranks, gram_cases("gpus", "f64", "f32", "bf16"), 5),
    "gram_ranks": Set("gram bench", gram_of_ranks, gram_cases("ranks", "f64"), 5, False),
    "modes": Set("gpu modes", modes, squares(
        ("f64", 8192, {}), ("f64", 8192, {"compute": "f64:int8"}), ("f64", 8192, {"compute": "fastest"}), ("f64", 8192, {"reproducible": True}),
        ("f64", 8192, {"compute": "f64:int8", "unlike": True}), ("f64", 8192, {"compute": "fastest", "unlike": True}), ("c128", 8192, {}),
        ("c128", 8192, {"compute": "f64:int8"}), ("c128", 8192, {"reproducible": True}), ("f32", 8192, {}), ("f32", 8192, {"compute": "fastest"}),
        ("f32", 8192, {"compute": "f32:f16"}), ("f32", 8192, {"compute": "tf32"}), ("bf16", 8192, {}), ("bf16", 8192, {"kernel": "wgmma"}),
        ("f64", 4096, {"kernel": "mma"}), ("f32", 4096, {"kernel": "warp_tile"}), ("f32", 4096, {"kernel": "vectorized"}))),
    "shapes": Set("gpu shapes", shapes, cases(
        "m n k batch type", (256, 256, 256, 0, "f64"), (1000000, 64, 64, 0, "f64"), (64, 64, 1000000, 0, "f64"), (128, 128, 1000000, 0, "bf16"),
        (65536, 256, 8192, 0, "bf16"), (4096, 4096, 4096, 0, "bf16"), (32, 32, 32, 4096, "f32"), (64, 64, 64, 1000, "f64"),
        (2048, 2048, 2048, 64, "bf16"))),
    "grams": Set("gpu grams", grams, cases(
        "rows columns type", (1000000, 1000, "f32"), (1000000, 1000, "f32", {"compute": "fastest"}), (200000, 1000, "f64"),
        (1000000, 1000, "bf16"), (1000000, 1000, "f16"), (300000, 500, "f32"), (65536, 2048, "f32"), (50000, 2048, "f64"), (65536, 4096, "bf16"),
        (65536, 4096, "f16"), (100000, 1024, "c128"), (16384, 16384, "f32"), (16384, 16384, "f32", {"compute": "fastest"}),
        (8192, 8192, "f64", {"compute": "f64:int8"}), (8192, 8192, "c128", {"compute": "f64:int8"}), (16384, 16384, "bf16"))),
    "modes_on_two": Set("gpus modes", modes_on_two, cases("m n k type", *((n, n, n, kind, words) for kind, n, words in (
        ("f64", 8192, {}), ("f64", 16384, {}), ("bf16", 16384, {}), ("f64", 16384, {"compute": "f64:int8"}),
        ("c128", 8192, {"compute": "f64:int8"}), ("f32", 16384, {"compute": "tf32"}), ("f64", 8192, {"reproducible": True})))), devices=2),
    "grams_on_two": Set("gpus grams", grams_on_two, cases(
        "rows columns type", (1000000, 1000, "f32"), (200000, 1000, "f64"), (1000000, 1000, "bf16"), (16384, 16384, "f64"), (8192, 8192, "c128")),
        devices=2),
    "sums": Set("gpu sums", sums, cases("m n k type", *((4096, 4096, k, kind) for kind in SHORT for k in (16384, 65536)))),
}


def chosen(options, job, kind):
    """The cases with the sizes and facts that were asked for."""
    mine = kind.cases(job) if callable(kind.cases) else kind.cases
    if options.size and "size" not in mine[0][0]:
        raise Failed(f"{options.set} has no sizes to replace")
    if options.size:
        mine = [*{repr(facts | {"size": size}): (facts | {"size": size}, words) for facts, words in mine for size in options.size}.values()]
    asked = [word.split("=") for word in options.only]
    return [case for case in mine if all(str((case[0] | case[1]).get(fact)) == value for fact, value in asked)]


def main():
    options = options_of(__doc__, "", ("set", {"choices": SETS}), pairs=0, gpus=2, only={"nargs": "*", "default": (), "help": "FACT=VALUE"},
                         size={"type": int, "nargs": "*"}, blas="", cublas="", library="")
    kind = SETS[options.set]
    options.output, options.pairs = options.output or f"{options.set}.jsonl", options.pairs or kind.pairs
    if kind.gpus and (not HAS_GPU or torch.cuda.device_count() < kind.devices):
        raise Failed(f"{options.set} takes torch with {kind.devices} GPU{'s' * (kind.devices > 1)}")
    bench = Bench(options, kind.gpus, kind.devices)
    for case in chosen(options, bench.job, kind):
        bench.measure(kind, *case)
    if torch and torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    start(main)
