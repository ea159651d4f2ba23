#!/usr/bin/env python3
"""Products of NumPy arrays in host memory, whose C is an array that exists, verified, alternating.

host_arrays.py [--output FILE.jsonl] [--pairs N] [--gpus N] [--only TYPE:SIZE ...]: one line of JSON for each call; needs the
damier package (PYTHONPATH, DAMIER_LIBRARY). With a GPU: a context of one GPU and one of several, compared with torch, which
copies pageable arrays to one GPU, multiplies, and copies C back. Without: damier.matmul compared with numpy.matmul; calls
shorter than 20 ms are repeated for that long. Medians follow on stdout.
"""
import itertools

import damier
import numpy as np

from measure import NUMPY_TYPES, append, median, now, options_of, processor, timed, turns

try:
    import torch
    DEVICE = torch.cuda.get_device_name() if torch.cuda.is_available() else None
except ImportError:
    DEVICE = None
CASES = ("f64:4096", "f64:16384", "f32:16384", "f64:32768") if DEVICE else ("f64:8", "f64:64", "f64:256", "f64:2048", "f32:2048")


def ways_of(options, a, b, out):
    """What is compared, the first as the reference; and the contexts of some."""
    if not DEVICE:
        return {"NumPy": lambda: np.matmul(a, b, out), "CPU": lambda: damier.matmul(a, b, out)}, {}
    one, several = (damier.Context(gpus=gpus, backend="cuda") for gpus in (1, options.gpus))
    into = torch.from_numpy(out)
    return {"torch": lambda: into.copy_(torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()),
            "one GPU": lambda: one.matmul(a, b, out), "several GPUs": lambda: several.matmul(a, b, out)}, \
        {"one GPU": one, "several GPUs": several}


def repeated(call, times):
    for _ in itertools.repeat(None, times):
        call()


def measure(options, name, n):
    rng = np.random.default_rng(n)
    a, b = (rng.random((n, n), dtype=NUMPY_TYPES[name]) for _ in range(2))
    calls, contexts = ways_of(options, a, b, np.zeros_like(a))
    facts = damier.plan(size=n)
    taken, times = {way: [] for way in calls}, {way: 1 for way in calls}
    for pair, way in turns(options.pairs, calls):
        took, _, _ = timed(lambda: repeated(calls[way], times[way]))
        if pair < 0:
            times[way] = max(1, round(0.02 / timed(calls[way])[0])) if not DEVICE else 1
            continue
        taken[way].append(took / times[way])
        append(options.output, {
            "verb": "arrays" if DEVICE else "arrays on CPUs", "type": name, "size": n, "way": way, "gpus": {"several GPUs": options.gpus}.get(way, 1 if DEVICE else 0),
            "seconds": taken[way][-1], "machine": {"device": DEVICE or processor()}, "version": facts["version"],
            "git": facts["git"], "date": now(), "times": contexts[way].record["times"] if way in contexts else None})
    for context in contexts.values():
        context.close()
    first = next(iter(taken))
    for way, seconds in taken.items():
        print(f"{name}:{n:<8} {way:13} {median(seconds):.3g} s ({min(seconds):.3g} to {max(seconds):.3g}), "
              f"of {first} {median(seconds) / median(taken[first]):.3f}", flush=True)


def main():
    options = options_of(__doc__, "host_arrays.jsonl", ("--pairs", {"type": int, "default": 10}),
                         ("--gpus", {"type": int, "default": 2}), ("--only", {"nargs": "*", "default": CASES}))
    for case in options.only:
        measure(options, case.split(":")[0], int(case.split(":")[1]))


if __name__ == "__main__":
    main()
