#!/usr/bin/env python3
"""Products of arrays in GPU memory: damier.matmul compared with torch.matmul, alternating, with random data.

in_place.py [--output FILE.jsonl] [--pairs N] [--only TYPE:SIZE ...]: a record for each type, size, kind of verification and
way; needs torch with a GPU and the damier package (PYTHONPATH, DAMIER_LIBRARY). Times are those of the calls as a
program sees them, the result complete on the GPU.

    mpirun -n 2 scripts/bench/in_place.py --output in_place_ranks.jsonl

multiplies matrices whose rows are divided among the ranks, each with a GPU; needs mpi4py. Beside it torch gathers all rows
of B by NCCL and multiplies. Times are the slowest rank's.

    mpirun -n 2 scripts/bench/in_place.py --divisions --output in_place_divisions.jsonl

multiplies matrices in other divisions, and some in pinned host memory, compared with the same product of rows, both by damier.
"""
import contextlib
import os
import pathlib

import damier
import torch

from measure import options_of
from job_ranks import Job

ALONE = {"f64": (256, 2048, 8192, 16384), "f32": (256, 2048, 8192, 16384), "bf16": (2048, 8192, 16384), "c128": (2048,)}
OF_RANKS = {"f64": (2048, 8192, 16384, 32768), "f32": (8192, 16384), "bf16": (8192, 16384, 32768)}
OF_DIVISIONS = {"f64": (8192, 16384), "bf16": (16384,)}
# What A, B and C are: rows, columns, blocks of N rows or columns dealt cyclically, all on rank 0, or rows in host memory.
DIVISIONS = ("columns columns columns", "rows256 rows256 rows256", "rows64 rows64 rows64", "columns64 columns64 columns64",
             "rows rows one", "one one one", "rows all rows", "host host rows", "rows rows host")


# Each returns what torch does, what damier does, and their results.

def of_rows(job, stack, name, size, verify):
    a, b, out, other = (job.random(name, size // job.ranks, size) for _ in range(4))
    if not job.world:
        return (lambda: torch.matmul(a, b, out=other)), (lambda: damier.matmul(a, b, out, type_c=name, verify=verify)), out, other
    whole = torch.empty(size, size, dtype=a.dtype, device=job.device)
    context = stack.enter_context(damier.Context(job.world, type_c=name, verify=verify))

    def gathered():
        torch.distributed.all_gather_into_tensor(whole, b)
        torch.matmul(a, whole, out=other)

    return gathered, lambda: context.matmul(a, b, out), out, other


def stated(job, how, full):
    """The rank's part of a square matrix, and how the library is told."""
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


def divided(job, stack, name, size, verify, division):
    """Rows take the place of torch."""
    torch.manual_seed(1)
    full = [job.random(name, size, size) for _ in range(2)]
    full.append(torch.empty_like(full[0]))
    first, second = (stack.enter_context(damier.Context(job.world, type_c=name, verify=verify)) for _ in range(2))
    rows = [stated(job, "rows", x)[1] for x in full]
    parts = [stated(job, how, x) for how, x in zip(division.split(), full)]
    out = parts[2][0] if parts[2][0] is not full[2] or job.rank == 0 else None
    there = None if out is None else stated(job, division.split()[2], full[0] @ full[1])[0]
    return lambda: first.matmul(*rows), lambda: second.matmul(*(part for _, part in parts)), out, there


def measure(options, job, name, size, verify, *division):
    """With how much the results differ."""
    case = {"type": name, "size": size, "verify": verify} | ({"division": division[0]} if division else {})
    with contextlib.ExitStack() as stack:
        theirs, ours, out, other = (divided if division else of_rows)(job, stack, name, size, verify, *division)
        theirs()
        ours()
        compared = out is not None and not out.is_complex()
        case["differ"] = job.slowest((out.double() - other.double()).abs().max().item() if compared else 0.0)
        verb = "in place" + (" divisions" if division else " ranks" * (job.ranks > 1))
        job.compare(options, verb, case, {"rows" if division else "torch": theirs, "damier": ours}, backend="cuda",
                    library=f"torch {torch.__version__}")
    torch.cuda.empty_cache()


def cases(job, divisions):
    """Type, size, verified or not, and the division."""
    for name, sizes in (OF_DIVISIONS if divisions else OF_RANKS if job.world else ALONE).items():
        for division in [[d] for d in DIVISIONS if name == "f64" or "host" not in d] if divisions else [[]]:
            yield from ((name, size, verify, *division) for size in sizes for verify in (False, True))


def main():
    options = options_of(__doc__, "in_place.jsonl", pairs=10, only={"nargs": "*", "help": "TYPE:SIZE, as f64:8192"},
                         divisions={"action": "store_true"})
    job = Job()
    if job.ranks > 1:
        os.environ.setdefault("MASTER_ADDR", job.hosts[0])
        os.environ.setdefault("MASTER_PORT", "29533")
        torch.distributed.init_process_group("nccl", rank=job.rank, world_size=job.ranks, device_id=job.device)
    if job.rank == 0:
        pathlib.Path(options.output).unlink(missing_ok=True)
    for case in cases(job, options.divisions):
        if not options.only or f"{case[0]}:{case[1]}" in options.only:
            measure(options, job, *case)
    if job.ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
