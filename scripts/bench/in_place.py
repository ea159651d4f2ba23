#!/usr/bin/env python3
"""Products of arrays in GPU memory: damier.matmul compared with torch.matmul, alternating, with random data.

in_place.py [--output FILE.jsonl] [--pairs N] [--only TYPE:SIZE ...]: one line of JSON for each type, size and kind of
verification; needs torch with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). Times are those of the calls as a
program sees them, the result complete on the GPU.

    mpirun -n 2 scripts/bench/in_place.py --output in_place_ranks.jsonl

multiplies matrices whose rows are divided among the ranks, each with a GPU; needs mpi4py. Beside it torch gathers all rows
of B by NCCL and multiplies. Times are the slowest rank's.

    mpirun -n 2 scripts/bench/in_place.py --divisions --output in_place_divisions.jsonl

multiplies matrices in other divisions, and some in pinned host memory, compared with the same product of rows, both by damier.
"""
import argparse
import datetime
import json
import os
import platform
import time

import damier
import torch

CASES = [("f64", torch.float64, (256, 2048, 8192, 16384)), ("f32", torch.float32, (256, 2048, 8192, 16384)),
         ("bf16", torch.bfloat16, (2048, 8192, 16384)), ("c128", torch.complex128, (2048,))]
CASES_OF_RANKS = [("f64", torch.float64, (2048, 8192, 16384, 32768)), ("f32", torch.float32, (8192, 16384)),
                  ("bf16", torch.bfloat16, (8192, 16384, 32768))]


# What A, B and C are: rows, columns, blocks of N rows or columns dealt cyclically, all on rank 0, or rows in host memory.
DIVISIONS = ("columns columns columns", "rows256 rows256 rows256", "rows64 rows64 rows64", "columns64 columns64 columns64",
             "rows rows one", "one one one", "rows all rows", "host host rows", "rows rows host")
CASES_OF_DIVISIONS = [("f64", torch.float64, (8192, 16384)), ("bf16", torch.bfloat16, (16384,))]


class Alone:
    """One process."""

    ranks = 1

    def meet(self):
        torch.cuda.synchronize()

    def slowest(self, value):
        return value

    def calls(self, name, dtype, size, verify):
        """What torch does, what damier does, their results, and what to close."""
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        out, other = torch.empty_like(a), torch.empty_like(a)
        return (lambda: torch.matmul(a, b, out=other),
                lambda: damier.matmul(a, b, out, type_c=name, verify=verify)), (out, other), lambda: None


class Ranks:
    """The processes of an MPI job, each with some rows of A, B and C."""

    def __init__(self):
        from mpi4py import MPI  # pylint: disable=import-outside-toplevel
        self.world, self.most = MPI.COMM_WORLD, MPI.MAX
        self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
        hosts = self.world.allgather(platform.node())
        device = torch.device("cuda", hosts[:self.rank].count(platform.node()) % torch.cuda.device_count())
        torch.cuda.set_device(device)
        os.environ.setdefault("MASTER_ADDR", hosts[0])
        os.environ.setdefault("MASTER_PORT", "29533")
        torch.distributed.init_process_group("nccl", rank=self.rank, world_size=self.ranks, device_id=device)
        self.device = device

    def meet(self):
        torch.cuda.synchronize()
        self.world.Barrier()

    def slowest(self, value):
        return self.world.allreduce(value, self.most)

    def calls(self, name, dtype, size, verify):
        own = size // self.ranks
        a, b = (torch.randn(own, size, device=self.device).to(dtype) for _ in range(2))
        out, other = torch.empty_like(a), torch.empty_like(a)
        whole = torch.empty(size, size, dtype=dtype, device=self.device)
        context = damier.Context(self.world, type_c=name, verify=verify)

        def gathered():
            torch.distributed.all_gather_into_tensor(whole, b)
            torch.matmul(a, whole, out=other)

        return (gathered, lambda: context.matmul(a, b, out)), (out, other), context.close


class Divisions(Ranks):
    """Matrices in other divisions than rows."""

    def stated(self, how, full):
        """The rank's part of a square matrix, and how the library is told."""
        size, own = full.shape[0], full.shape[0] // self.ranks
        if how == "all":
            return full, damier.Replicated(full)
        if how == "one":
            return full, damier.OnOne(full if self.rank == 0 else None, 0)
        if how in ("rows", "host"):
            part = full[own * self.rank:own * (self.rank + 1)].clone()
            part = part.cpu().pin_memory() if how == "host" else part
            return part, part
        block = int("".join(filter(str.isdigit, how)) or own)
        if how.startswith("rows"):
            part = full.view(size // block, block, size)[self.rank::self.ranks].reshape(own, size).contiguous()
            return part, damier.BlockCyclic(part, (size, size), (block, size), (self.ranks, 1))
        part = full.view(size, size // block, block)[:, self.rank::self.ranks].reshape(size, own).contiguous()
        return part, damier.BlockCyclic(part, (size, size), (size, block), (1, self.ranks))

    def calls(self, name, dtype, size, verify):
        name, self.division = name.split(maxsplit=1)
        torch.manual_seed(1)
        full = [torch.randn(size, size, device=self.device).to(dtype) for _ in range(2)]
        full.append(torch.empty_like(full[0]))
        contexts = [damier.Context(self.world, type_c=name, verify=verify) for _ in range(2)]
        rows = [self.stated("rows", x)[1] for x in full]
        parts = [self.stated(how, x) for how, x in zip(self.division.split(), full)]
        out = parts[2][0] if parts[2][0] is not full[2] or self.rank == 0 else None
        there = None if out is None else self.stated(self.division.split()[2], (full[0] @ full[1]).to(dtype))[0]

        def close():
            self.recipe = contexts[1].record["plan"]["recipe"]
            for context in contexts:
                context.close()

        both = (lambda: contexts[0].matmul(*rows), lambda: contexts[1].matmul(*(part for _, part in parts)))
        return both, (out, there), close


def seconds(job, call, repeats):
    job.meet()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    torch.cuda.synchronize()
    return job.slowest((time.perf_counter() - start) / repeats)


def interval(values):
    """Median, and the range that holds it with 95 % (order statistics)."""
    ordered, n = sorted(values), len(values)
    low = max(0, int(n / 2 - 0.98 * n ** 0.5))
    return [ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2, ordered[low], ordered[n - 1 - low]]


def measure(job, name, dtype, size, verify, pairs):
    calls, (out, other), close = job.calls(name, dtype, size, verify)
    for call in calls * 2:
        call()
    once = max(seconds(job, call, 1) for call in calls)
    repeats = max(1, min(100, int(0.02 / once)))
    times = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 else (1, 0):
            times[which].append(seconds(job, calls[which], repeats))
    compared = dtype != torch.complex128 and out is not None
    wrong = job.slowest((out.double() - other.double()).abs().max().item() if compared else 0.0)
    close()
    del calls, out, other, close
    torch.cuda.empty_cache()
    ratios = [ours / theirs for theirs, ours in zip(*times)]
    return {"type": name.split()[0], "size": size, "verify": verify, "pairs": pairs, "repeats": repeats,
            "torch_s": interval(times[0]), "damier_s": interval(times[1]), "ratio": interval(ratios), "differ": wrong}


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--output", default="in_place.jsonl")
    words.add_argument("--pairs", type=int, default=10)
    words.add_argument("--only", nargs="*", help="TYPE:SIZE, as f64:8192")
    words.add_argument("--divisions", action="store_true")
    chosen = words.parse_args()
    several = Divisions if chosen.divisions else Ranks
    job = several() if int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("PMI_SIZE", "1"))) > 1 else Alone()
    about = damier.info()
    common = {"schema": "damier/1", "verb": "in place", "version": damier.version(), "git": about.get("git", ""),
              "date": datetime.date.today().isoformat(),
              "command": "scripts/bench/in_place.py" + (" --divisions" if chosen.divisions else ""),
              "machine": {"device": torch.cuda.get_device_name(torch.cuda.current_device()), "backend": "cuda", "ranks": job.ranks,
                          "library": f"torch {torch.__version__}"}}
    speaks = job.ranks == 1 or job.rank == 0
    cases = [(*case, "") for case in (CASES if job.ranks == 1 else CASES_OF_RANKS)]
    if chosen.divisions:
        cases = [(*case, division) for case in CASES_OF_DIVISIONS for division in DIVISIONS
                 if case[0] == "f64" or "host" not in division]
    with open(chosen.output if speaks else os.devnull, "w") as file:
        for name, dtype, sizes, division in cases:
            for size in sizes:
                if chosen.only and f"{name}:{size}" not in chosen.only:
                    continue
                for verify in (False, True):
                    row = common | measure(job, f"{name} {division}".strip(), dtype, size, verify, chosen.pairs)
                    if division:
                        row |= {"division": division, "recipe": job.recipe}
                    print(json.dumps(row), file=file, flush=True)
                    if speaks:
                        print(f"{name} {size} {division} verify={verify}: {1e3 * row['torch_s'][0]:.3f} ms, damier "
                              f"{1e3 * row['damier_s'][0]:.3f} ms, ratio {row['ratio'][0]:.3f}", flush=True)
    if job.ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
