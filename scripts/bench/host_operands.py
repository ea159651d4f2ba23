#!/usr/bin/env python3
"""Products of matrices in the host memory of several ranks, on their GPUs, beside what limits them.

mpirun -n 2 scripts/bench/host_operands.py [--output FILE.jsonl] [--repeats N] [--only MxNxK:MEMORY:C ...]

f64, rows of each matrix on each rank; MEMORY of A and B: pinned or pageable; C: gpu, or host, in the same memory. One line of
JSON for each case: seconds of the product, verified; of the copies between host and GPUs alone; and of the product of
matrices that are in GPU memory. The goal is 1.15 times the larger of these two. Needs mpi4py, torch and the damier package.
"""
import argparse
import datetime
import json
import statistics
import time

import damier
import torch
from mpi4py import MPI

CASES = ("16384x16384x16384:pageable:host", "16384x16384x16384:pinned:host", "65536x65536x32768:pageable:gpu",
         "65536x65536x32768:pinned:gpu")
WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.Get_rank(), WORLD.Get_size()


def seconds(call):
    """Of the slowest rank."""
    torch.cuda.synchronize()
    WORLD.Barrier()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return WORLD.allreduce(time.perf_counter() - began, MPI.MAX)


def random_rows(rows, cols, pinned):
    """In host memory, where touching pages takes long enough: few rows are random, the others repeat them."""
    part = torch.empty(rows, cols, dtype=torch.float64, pin_memory=pinned)
    few = torch.randn(64, cols, dtype=torch.float64)
    for at in range(0, rows, 64):
        part[at:at + 64] = few[:min(64, rows - at)]
    return part


def measure(case, repeats):
    """{what: seconds of each repetition}, and the product's record."""
    shape, memory, place = case.split(":")
    m, n, k = map(int, shape.split("x"))
    pinned = memory == "pinned"
    a, b = random_rows(m // RANKS, k, pinned), random_rows(k // RANKS, n, pinned)
    out = torch.empty(m // RANKS, n, dtype=torch.float64, device="cuda")
    taken = {"copies": [], "products": [], "multiply": []}
    at_gpu = [torch.empty_like(x, device="cuda") for x in (a, b)]
    back = random_rows(m // RANKS, n, pinned) if place == "host" else None

    def copies():
        for there, here in zip(at_gpu, (a, b)):
            there.copy_(here, non_blocking=True)
        if back is not None:
            back.copy_(out, non_blocking=True)

    with damier.Context(WORLD) as context:
        for _ in range(repeats + 1):
            taken["copies"].append(seconds(copies))
            taken["products"].append(seconds(lambda: context.matmul(*at_gpu, out)))
    del at_gpu
    if back is not None:
        wanted = out[:64].cpu()
        del out
    torch.cuda.empty_cache()
    with damier.Context(WORLD) as context:
        for _ in range(repeats + 1):
            taken["multiply"].append(seconds(lambda: context.matmul(a, b, out if back is None else back)))
        record = context.record
    if back is not None and not torch.allclose(back[:64], wanted):
        raise SystemExit(f"{case}: another C")
    return {what: times[1:] for what, times in taken.items()}, record  # the first opens and warms up


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", default="host_operands.jsonl")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=CASES)
    options = parser.parse_args()
    torch.cuda.set_device(RANK % torch.cuda.device_count())
    for case in options.only:
        taken, record = measure(case, options.repeats)
        if RANK > 0:
            continue
        medians = {what: statistics.median(times) for what, times in taken.items()}
        ratio = medians["multiply"] / max(medians["copies"], medians["products"])
        line = {"verb": "host operands", "case": case, "ranks": RANKS, "seconds": taken, "ratio": ratio,
                "recipe": record["plan"]["recipe"], "machine": {"device": torch.cuda.get_device_name()}, "git": record["git"],
                "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
        with open(options.output, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
        print(f"{case}: {medians['multiply']:.3f} s, {ratio:.2f} of the larger of copies {medians['copies']:.3f} and "
              f"products {medians['products']:.3f}; {record['plan']['recipe']}", flush=True)


if __name__ == "__main__":
    main()
