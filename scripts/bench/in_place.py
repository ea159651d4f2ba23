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
import datetime
import os
import pathlib

import damier
import torch

from measure import Job, append, middle, options_of, ratios, turns

CASES = {"f64": (256, 2048, 8192, 16384), "f32": (256, 2048, 8192, 16384), "bf16": (2048, 8192, 16384), "c128": (2048,)}
CASES_OF_RANKS = {"f64": (2048, 8192, 16384, 32768), "f32": (8192, 16384), "bf16": (8192, 16384, 32768)}
CASES_OF_DIVISIONS = {"f64": (8192, 16384), "bf16": (16384,)}
# What A, B and C are: rows, columns, blocks of N rows or columns dealt cyclically, all on rank 0, or rows in host memory.
DIVISIONS = ("columns columns columns", "rows256 rows256 rows256", "rows64 rows64 rows64", "columns64 columns64 columns64",
             "rows rows one", "one one one", "rows all rows", "host host rows", "rows rows host")


# Each returns what torch does, what damier does, their results, and a function that closes what was opened.

def alone(job, name, size, verify):
    a, b = (job.random(name, size, size) for _ in range(2))
    out, other = torch.empty_like(a), torch.empty_like(a)
    return (lambda: torch.matmul(a, b, out=other), lambda: damier.matmul(a, b, out, type_c=name, verify=verify),
            (out, other), lambda: None)


def of_rows(job, name, size, verify):
    a, b = (job.random(name, size // job.ranks, size) for _ in range(2))
    out, other = torch.empty_like(a), torch.empty_like(a)
    whole = torch.empty(size, size, dtype=a.dtype, device=job.device)
    context = damier.Context(job.world, type_c=name, verify=verify)

    def gathered():
        torch.distributed.all_gather_into_tensor(whole, b)
        torch.matmul(a, whole, out=other)

    return gathered, lambda: context.matmul(a, b, out), (out, other), context.close


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
    block = int("".join(filter(str.isdigit, how)) or own)
    if how.startswith("rows"):
        part = full.view(size // block, block, size)[job.rank::job.ranks].reshape(own, size).contiguous()
        return part, damier.BlockCyclic(part, (size, size), (block, size), (job.ranks, 1))
    part = full.view(size, size // block, block)[:, job.rank::job.ranks].reshape(size, own).contiguous()
    return part, damier.BlockCyclic(part, (size, size), (size, block), (1, job.ranks))


def divided(job, name, size, verify, division):
    """Rows take the place of torch."""
    torch.manual_seed(1)
    full = [job.random(name, size, size) for _ in range(2)]
    full.append(torch.empty_like(full[0]))
    contexts = [damier.Context(job.world, type_c=name, verify=verify) for _ in range(2)]
    rows = [stated(job, "rows", x)[1] for x in full]
    parts = [stated(job, how, x) for how, x in zip(division.split(), full)]
    out = parts[2][0] if parts[2][0] is not full[2] or job.rank == 0 else None
    there = None if out is None else stated(job, division.split()[2], full[0] @ full[1])[0]

    def close():
        recipe = contexts[1].record["plan"]["recipe"]
        for context in contexts:
            context.close()
        return {"division": division, "recipe": recipe}

    return (lambda: contexts[0].matmul(*rows), lambda: contexts[1].matmul(*(part for _, part in parts)), (out, there), close)


def measure(job, opened, pairs):
    theirs, ours, (out, other), close = opened
    calls = {"torch_s": theirs, "damier_s": ours}
    for call in (theirs, ours) * 2:
        call()
    repeats = max(1, min(100, int(0.02 / max(job.seconds(call) for call in calls.values()))))
    times = {name: [] for name in calls}
    for number, name in turns(pairs, calls, swap=True):
        took = job.seconds(calls[name], repeats)
        if number >= 0:
            times[name].append(took)
    compared = out is not None and not out.is_complex()
    wrong = job.slowest((out.double() - other.double()).abs().max().item() if compared else 0.0)
    return {"pairs": pairs, "repeats": repeats, **{name: middle(values) for name, values in times.items()},
            "ratio": middle(ratios(times["damier_s"], times["torch_s"])),
            "differ": wrong} | (close() or {})


def cases(job, divisions):
    if divisions:
        return [(name, size, division) for name, sizes in CASES_OF_DIVISIONS.items() for division in DIVISIONS for size in sizes
                if name == "f64" or "host" not in division]
    return [(name, size, "") for name, sizes in (CASES if job.ranks == 1 else CASES_OF_RANKS).items() for size in sizes]


def main():
    options = options_of(__doc__, "in_place.jsonl", ("--pairs", {"type": int, "default": 10}),
                         ("--only", {"nargs": "*", "help": "TYPE:SIZE, as f64:8192"}), ("--divisions", {"action": "store_true"}))
    job = Job()
    if job.ranks > 1:
        os.environ.setdefault("MASTER_ADDR", job.hosts[0])
        os.environ.setdefault("MASTER_PORT", "29533")
        torch.distributed.init_process_group("nccl", rank=job.rank, world_size=job.ranks, device_id=job.device)
    common = {"schema": "damier/1", "verb": "in place", "version": damier.version(), "git": damier.info().get("git", ""),
              "date": datetime.date.today().isoformat(), "command": "scripts/bench/in_place.py" + " --divisions" * options.divisions,
              "machine": {"device": torch.cuda.get_device_name(job.device), "backend": "cuda", "ranks": job.ranks,
                          "library": f"torch {torch.__version__}"}}
    if job.rank == 0:
        pathlib.Path(options.output).unlink(missing_ok=True)
    for name, size, division in cases(job, options.divisions):
        if options.only and f"{name}:{size}" not in options.only:
            continue
        for verify in (False, True):
            opened = divided(job, name, size, verify, division) if division else \
                (alone if job.ranks == 1 else of_rows)(job, name, size, verify)
            row = common | {"type": name, "size": size, "verify": verify} | measure(job, opened, options.pairs)
            del opened
            torch.cuda.empty_cache()
            if job.rank == 0:
                append(options.output, row)
                print(f"{name} {size} {division} verify={verify}: {1e3 * row['torch_s'][0]:.3f} ms, damier "
                      f"{1e3 * row['damier_s'][0]:.3f} ms, ratio {row['ratio'][0]:.3f}", flush=True)
    if job.ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
