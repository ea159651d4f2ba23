#!/usr/bin/env python3
"""Products of matrices in the host memory of several ranks, on their GPUs, beside what limits them.

mpirun -n 2 scripts/bench/host_operands.py [--output FILE.jsonl] [--repeats N] [--only MxNxK:MEMORY:C ...]

f64, rows of each matrix on each rank; MEMORY of A and B: pinned or pageable; C: gpu, or host, in the same memory. One line of
JSON for each case: seconds of the product, verified; of the copies between host and GPUs alone; and of the product of
matrices that are in GPU memory. The goal is 1.15 times the larger of these two. Needs mpi4py, torch and the damier package.
"""
import damier
import torch

from gpus import Job
from measure import Failed, alternated, append, code_of_package, collected, made_by, median, options_of, start

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
    m, n, k = (int(size) for size in shape.split("x"))
    a, b, *back = (random_rows(rows // job.ranks, cols, memory == "pinned")
                   for rows, cols in [(m, k), (k, n)] + [(m, n)] * (place == "host"))
    out = torch.empty(m // job.ranks, n, dtype=torch.float64, device="cuda")
    pairs = [(torch.empty_like(x, device="cuda"), x) for x in (a, b)] + [(c, out) for c in back]

    def seconds(calls):
        return collected(alternated(calls, repeats, lambda name: job.seconds(calls[name])))

    with damier.Context(job.world) as context:
        taken = seconds({"copies": lambda: [there.copy_(here, non_blocking=True) for there, here in pairs],
                         "products": lambda: context.matmul(pairs[0][0], pairs[1][0], out)})
    wanted = out[:64].cpu()
    pairs.clear()
    if back:
        del out
    torch.cuda.empty_cache()
    with damier.Context(job.world) as context:
        taken |= seconds({"multiply": lambda: context.matmul(a, b, back[0] if back else out)})
        recipe = context.record["plan"]["recipe"]
    if not torch.allclose((back[0] if back else out)[:64].cpu(), wanted):
        raise Failed(f"{case}: another C")
    return taken, recipe


def main():
    options = options_of(__doc__, "host_operands.jsonl", repeats=3, only={"nargs": "*", "default": CASES})
    job = Job()
    for case in options.only:
        taken, recipe = measure(job, case, options.repeats)
        if job.rank > 0:
            continue
        middle = {what: median(times) for what, times in taken.items()}
        ratio = middle["multiply"] / max(middle["copies"], middle["products"])
        append(options.output, {"verb": "host operands", **made_by(code_of_package(), job.name, ranks=job.ranks), "case": case,
                                "seconds": taken, "ratio": ratio, "recipe": recipe})
        print(f"{case}: {middle['multiply']:.3f} s, {ratio:.2f} of the larger of copies {middle['copies']:.3f} and "
              f"products {middle['products']:.3f}; {recipe}", flush=True)


if __name__ == "__main__":
    start(main)
