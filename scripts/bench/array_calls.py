#!/usr/bin/env python3
"""Calls of the Python package on arrays in memory, in turns with what else computes the same: array_calls.py SET [FACT=VALUE ...]

  host_arrays      NumPy arrays: torch, which copies to one GPU and back, one GPU and --gpus; without a GPU numpy.matmul
  host_operands    rows in the host memory of ranks, on their GPUs: the copies alone, the products alone
  in_place         arrays in GPU memory; with ranks rows of each, beside which torch gathers B by NCCL: torch.matmul
  in_place_divisions    the same in other divisions, some in pinned host memory: damier of rows
  gram_memory, gram_gpu      NumPy or torch arrays: damier.matmul; dsyrk of --blas, or of cuBLAS
  gram_gpus, gram_ranks      rows of X and C in the GPU or host memory of each rank: damier.matmul; ScaLAPACK's pdsyrk (--library)
  cov_memory, cov_gpu        NumPy or torch arrays: damier.gram, numpy.cov or torch.cov
  modes, shapes, grams       GPU memory, what is not one native library call: torch.matmul (f32 without TF32)
  modes_on_two, grams_on_two rows of A, B and C on each of two GPUs: B gathered and torch.matmul, one GPU that has all
  sums             errors of sums of 16-bit products

The cases are those of the records in docs/results, with other values of the facts that are named; --only takes those that have them.
Takes the damier package (PYTHONPATH, DAMIER_LIBRARY), torch for GPUs, and mpi4py for ranks (mpirun -n 2 array_calls.py ...; gram_ranks with
OPENBLAS_NUM_THREADS=1). Times are of the calls as a program sees them, the result complete, on the slowest rank; C exists before, and is
verified. A record of each case and way is appended.
"""
import ast
import contextlib
import ctypes
import dataclasses
import os

import damier
import numpy as np

from foreign import cublas, handle_of
from job_ranks import HAS_GPU, TYPES, Job, torch
from measure import NUMPY_TYPES, ROOT, Failed, append, code_of_package, made_by, options_of, start
from tables import read_records

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


def syrk_of(bench, x, out, dtype):
    """The call of a library that computes one triangle of X^T X, where there is one."""
    job, size = bench.job, len(out)
    if dtype not in REAL or (job.world and job.device):
        return {}
    if job.world:
        from libraries.pdgemm import Rival  # pylint: disable=import-outside-toplevel
        rival = Rival(dtype, size * job.ranks, bench.options)
        rival.open(rival.quickest(rival.syrk))
        return {"syrk": rival.syrk}
    one, zero, letter = REAL[dtype](1), REAL[dtype](0), {"f64": "d", "f32": "s"}[dtype]
    if job.device:
        library = cublas()
        call, handle = getattr(library, f"cublas{letter.upper()}syrk_v2"), handle_of(library.cublasCreate_v2)
        return {"syrk": lambda: call(handle, 0, 0, size, size, ctypes.byref(one), ctypes.c_void_p(x.data_ptr()), size, ctypes.byref(zero),
                                     ctypes.c_void_p(out.data_ptr()), size)}
    if not bench.options.blas:
        return {}
    call, row_major, lower, transposed = getattr(ctypes.CDLL(bench.options.blas), f"cblas_{letter}syrk"), 101, 122, 112
    return {"syrk": lambda: call(row_major, lower, transposed, size, size, one, ctypes.c_void_p(x.ctypes.data), size, zero,
                                 ctypes.c_void_p(out.ctypes.data), size)}


def gram(bench, _, dtype, size):
    """X^T X, and the product of X and another matrix; with ranks, which have rows of each, also of rows."""
    x, y, out = (bench.job.random(dtype, size // bench.job.ranks, size) for _ in range(3))
    half, full, full_of_rows = (bench.context(bench.job.world, type_c=dtype, **op) for op in ({}, {"op_a": "t"}, {"op_b": "t"}))
    of_rows = {"gram_of_rows": lambda: half.gram(x, out, of="rows"), "matmul_of_rows": lambda: full_of_rows.matmul(x, y, out)}
    return {"gram": lambda: half.gram(x, out), "matmul": lambda: full.matmul(x, y, out)} | (
        of_rows if bench.job.world else {}) | syrk_of(bench, x, out, dtype)


def cov(bench, _, dtype, size):
    on_gpu = bench.job.device is not None
    x, out = bench.job.random(dtype, (1000 if on_gpu else 10) * size, size), bench.job.random(dtype, size, size)
    return {"cov": lambda: damier.cov(x, out=out), "gram": lambda: damier.gram(x, out)} | (
        {"torch_cov": lambda: torch.cov(x.T)} if on_gpu else {"numpy_cov": lambda: np.cov(x, rowvar=False, dtype=x.dtype)})


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


@dataclasses.dataclass
class Set:
    verb: object  # of its records, or a function of the Job
    ways: object
    facts: str  # of a case in its records, the arguments of the ways; what OPTIONS name follows as words
    pairs: int = 10
    gpus: bool = True
    devices: int = 1  # of this process
    of: object = None  # tells sets with the same verb apart


OPTIONS = ("compute", "kernel", "reproducible")
SQUARES = "m n k type"
SETS = {
    "host_arrays": Set("arrays" if HAS_GPU else "arrays on CPUs", host_arrays, "type size", gpus=HAS_GPU),
    "host_operands": Set("host operands", host_operands, "case", 3),
    "in_place": Set(lambda job: "in place" + " ranks" * (job.ranks > 1), in_place, "type size verify"),
    "in_place_divisions": Set("in place divisions", in_place_divisions, "type size verify division"),
    "gram_memory": Set("gram bench", gram, "of type size", 5, False, of="memory"), "gram_gpu": Set("gram bench", gram, "of type size", 5, of="gpu"),
    "gram_ranks": Set("gram bench", gram, "of type size", 5, False, of="ranks"), "gram_gpus": Set("gram bench", gram, "of type size", 5, of="gpus"),
    "cov_memory": Set("gram bench", cov, "of type size", 5, False, of="cov"), "cov_gpu": Set("gram bench", cov, "of type size", 5, of="gpu_cov"),
    "modes": Set("gpu modes", modes, SQUARES + " unlike"), "shapes": Set("gpu shapes", shapes, "m n k batch type"),
    "grams": Set("gpu grams", grams, "rows columns type"), "sums": Set("gpu sums", sums, SQUARES),
    "modes_on_two": Set("gpus modes", modes_on_two, SQUARES, devices=2),
    "grams_on_two": Set("gpus grams", grams_on_two, "rows columns type", devices=2)}


def cases(options, kind, verb):
    """(facts, words) of the project's records, changed as was asked for."""
    words = [word.split("=") for word in options.words]
    asked = {fact: ast.literal_eval(value) if value[:1].isdigit() or value in ("True", "False") else value for fact, value in words}
    found = {}
    for path in sorted((ROOT / "docs/results").glob("*.jsonl")):
        for r in read_records(path):
            if r["verb"] == verb and kind.of in (None, r.get("of")):
                case = {fact: r[fact] for fact in kind.facts.split()} | asked
                found[repr(case), *map(r.get, OPTIONS)] = case, {word: r[word] for word in OPTIONS if word in r}
    wanted = [word.split("=") for word in options.only]
    return [case for case in found.values() if all(str((case[0] | case[1]).get(fact)) == value for fact, value in wanted)]


def main():
    options = options_of(__doc__, "", ("set", {"choices": SETS}), ("words", {"nargs": "*", "metavar": "FACT=VALUE"}), pairs=0, gpus=2,
                         only={"nargs": "*", "default": (), "metavar": "FACT=VALUE"}, blas="", library="")
    kind = SETS[options.set]
    options.output, options.pairs = options.output or f"{options.set}.jsonl", options.pairs or kind.pairs
    if kind.gpus and (not HAS_GPU or torch.cuda.device_count() < kind.devices):
        raise Failed(f"{options.set} takes torch with {kind.devices} GPU{'s' * (kind.devices > 1)}")
    bench = Bench(options, kind.gpus, kind.devices)
    for case in cases(options, kind, kind.verb(bench.job) if callable(kind.verb) else kind.verb):
        bench.measure(kind, *case)
    if torch and torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    start(main)
