#!/usr/bin/env python3
"""Products of matrices in the host memory of several ranks, on their GPUs, beside what limits them.

mpirun -n 2 scripts/bench/host_operands.py [--output FILE.jsonl] [--pairs N] [--only MxNxK:MEMORY:C ...]

f64, rows of each matrix on each rank; MEMORY of A and B: pinned or pageable; C: gpu, or host, in the same memory. A record for
each way: the product, verified; the copies between host and GPUs alone; and the product of matrices that are in GPU memory. The
goal is 1.15 times the larger of the latter two. Needs mpi4py, torch and the damier package.
"""
import damier
import torch

from measure import Failed, options_of, start
from job_ranks import Job

CASES = ("16384x16384x16384:pageable:host", "16384x16384x16384:pinned:host", "65536x65536x32768:pageable:gpu",
         "65536x65536x32768:pinned:gpu")


def random_rows(rows, cols, pinned):
    """In host memory, where touching pages takes long enough: few rows are random, the others repeat them."""
    part = torch.empty(rows, cols, dtype=torch.float64, pin_memory=pinned)
    few = torch.randn(64, cols, dtype=torch.float64)
    for at in range(0, rows, 64):
        part[at:at + 64] = few[:min(64, rows - at)]
    return part


def measure(options, job, case):
    shape, memory, place = case.split(":")
    m, n, k = (int(size) for size in shape.split("x"))
    a, b, *back = (random_rows(rows // job.ranks, cols, memory == "pinned")
                   for rows, cols in [(m, k), (k, n)] + [(m, n)] * (place == "host"))
    on_gpu = [torch.empty_like(x, device=job.device) for x in (a, b)]
    out = torch.empty(m // job.ranks, n, dtype=torch.float64, device=job.device)
    c, pairs = back[0] if back else out, [*zip(on_gpu, (a, b)), *((c, out) for c in back)]
    with damier.Context(job.world) as device, damier.Context(job.world) as host:
        job.compare(options, "host operands", {"case": case}, {
            "copies": lambda: [there.copy_(here, non_blocking=True) for there, here in pairs],
            "products": lambda: device.matmul(*on_gpu, out), "multiply": lambda: host.matmul(a, b, c)})
        device.matmul(*on_gpu, out)
        wanted = out[:64].cpu()
        host.matmul(a, b, c)
    if not torch.allclose(c[:64].cpu(), wanted):
        raise Failed(f"{case}: another C")


def main():
    options = options_of(__doc__, "host_operands.jsonl", pairs=3, only={"nargs": "*", "default": CASES})
    job = Job()
    for case in options.only:
        measure(options, job, case)


if __name__ == "__main__":
    start(main)
