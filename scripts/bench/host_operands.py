#!/usr/bin/env python3
"""Products of matrices in the host memory of several ranks, on their GPUs, beside what limits them.

mpirun -n 2 scripts/bench/host_operands.py [--output FILE.jsonl] [--repeats N] [--only MxNxK:MEMORY:C ...]

f64, rows of each matrix on each rank; MEMORY of A and B: pinned or pageable; C: gpu, or host, in the same memory. One line of
JSON for each case: seconds of the product, verified; of the copies between host and GPUs alone; and of the product of
matrices that are in GPU memory. The goal is 1.15 times the larger of these two. Needs mpi4py, torch and the damier package.
"""
import damier
import torch

from measure import Job, append, median, now, options_of

CASES = ("16384x16384x16384:pageable:host", "16384x16384x16384:pinned:host", "65536x65536x32768:pageable:gpu",
         "65536x65536x32768:pinned:gpu")


def random_rows(rows, cols, pinned):
    """In host memory, where touching pages takes long enough: few rows are random, the others repeat them."""
    part = torch.empty(rows, cols, dtype=torch.float64, pin_memory=pinned)
    few = torch.randn(64, cols, dtype=torch.float64)
    for at in range(0, rows, 64):
        part[at:at + 64] = few[:min(64, rows - at)]
    return part


def measure(job, case, repeats):
    """{what: seconds of each repetition}, and the product's record."""
    shape, memory, place = case.split(":")
    m, n, k = map(int, shape.split("x"))
    pinned = memory == "pinned"
    a, b = random_rows(m // job.ranks, k, pinned), random_rows(k // job.ranks, n, pinned)
    out = torch.empty(m // job.ranks, n, dtype=torch.float64, device="cuda")
    taken = {"copies": [], "products": [], "multiply": []}
    at_gpu = [torch.empty_like(x, device="cuda") for x in (a, b)]
    back = random_rows(m // job.ranks, n, pinned) if place == "host" else None

    def copies():
        for there, here in zip(at_gpu, (a, b)):
            there.copy_(here, non_blocking=True)
        if back is not None:
            back.copy_(out, non_blocking=True)

    with damier.Context(job.world) as context:
        for _ in range(repeats + 1):
            taken["copies"].append(job.seconds(copies))
            taken["products"].append(job.seconds(lambda: context.matmul(*at_gpu, out)))
    del at_gpu
    if back is not None:
        wanted = out[:64].cpu()
        del out
    torch.cuda.empty_cache()
    with damier.Context(job.world) as context:
        for _ in range(repeats + 1):
            taken["multiply"].append(job.seconds(lambda: context.matmul(a, b, out if back is None else back)))
        record = context.record
    if back is not None and not torch.allclose(back[:64], wanted):
        raise SystemExit(f"{case}: another C")
    return {what: times[1:] for what, times in taken.items()}, record  # the first opens and warms up


def main():
    options = options_of(__doc__, "host_operands.jsonl", ("--repeats", {"type": int, "default": 3}),
                         ("--only", {"nargs": "*", "default": CASES}))
    job = Job()
    for case in options.only:
        taken, record = measure(job, case, options.repeats)
        if job.rank > 0:
            continue
        middle = {what: median(times) for what, times in taken.items()}
        ratio = middle["multiply"] / max(middle["copies"], middle["products"])
        append(options.output, {"verb": "host operands", "command": "scripts/bench/host_operands.py", "case": case,
                                "seconds": taken, "ratio": ratio, "recipe": record["plan"]["recipe"],
                                "machine": {"device": torch.cuda.get_device_name(), "ranks": job.ranks},
                                "version": damier.version(), "git": record["git"], "date": now()})
        print(f"{case}: {middle['multiply']:.3f} s, {ratio:.2f} of the larger of copies {middle['copies']:.3f} and "
              f"products {middle['products']:.3f}; {record['plan']['recipe']}", flush=True)


if __name__ == "__main__":
    main()
