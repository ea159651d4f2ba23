#!/usr/bin/env python3
"""Products of arrays in GPU memory: damier.matmul beside torch.matmul, alternating, with random data.

in_place.py [--output FILE.jsonl] [--pairs N] [--only TYPE:SIZE ...]: one line of JSON for each type, size and kind of
verification; needs torch with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). Times are those of the calls as a
program sees them, the result complete on the GPU.

    mpirun -n 2 scripts/bench/in_place.py --output in_place_ranks.jsonl

multiplies matrices whose rows are divided among the ranks, each with a GPU; needs mpi4py. Beside it torch gathers all rows
of B by NCCL and multiplies. Times are the slowest rank's.
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
    wrong = job.slowest((out.double() - other.double()).abs().max().item()) if dtype != torch.complex128 else 0.0
    close()
    del calls, out, other, close
    torch.cuda.empty_cache()
    ratios = [ours / theirs for theirs, ours in zip(*times)]
    return {"type": name, "size": size, "verify": verify, "pairs": pairs, "repeats": repeats,
            "torch_s": interval(times[0]), "damier_s": interval(times[1]), "ratio": interval(ratios), "differ": wrong}


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--output", default="in_place.jsonl")
    words.add_argument("--pairs", type=int, default=10)
    words.add_argument("--only", nargs="*", help="TYPE:SIZE, as f64:8192")
    chosen = words.parse_args()
    job = Ranks() if int(os.environ.get("OMPI_COMM_WORLD_SIZE", os.environ.get("PMI_SIZE", "1"))) > 1 else Alone()
    about = damier.info()
    common = {"schema": "damier/1", "verb": "in place", "version": damier.version(), "git": about.get("git", ""),
              "date": datetime.date.today().isoformat(), "command": "scripts/bench/in_place.py",
              "machine": {"device": torch.cuda.get_device_name(torch.cuda.current_device()), "backend": "cuda", "ranks": job.ranks,
                          "library": f"torch {torch.__version__}"}}
    speaks = job.ranks == 1 or job.rank == 0
    with open(chosen.output if speaks else os.devnull, "w") as file:
        for name, dtype, sizes in CASES if job.ranks == 1 else CASES_OF_RANKS:
            for size in sizes:
                if chosen.only and f"{name}:{size}" not in chosen.only:
                    continue
                for verify in (False, True):
                    row = common | measure(job, name, dtype, size, verify, chosen.pairs)
                    print(json.dumps(row), file=file, flush=True)
                    if speaks:
                        print(f"{name} {size} verify={verify}: torch {1e3 * row['torch_s'][0]:.3f} ms, damier "
                              f"{1e3 * row['damier_s'][0]:.3f} ms, ratio {row['ratio'][0]:.3f}", flush=True)
    if job.ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
