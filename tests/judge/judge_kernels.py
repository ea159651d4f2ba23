"""kernels: every kernel in the main job, on four ranks, in each type that it multiplies."""
import json
import sys

import judging
from judging import Case
from running import ended, options, run

SKIPPED = 77


def described(damier):
    """The product kernels, from `bench kernels --list`."""
    out = run(damier, 1, "bench", "kernels", "--list", "--op", "gemm", "-q", "--json", "-")
    lines = [line for line in out.splitlines() if line.startswith("{")]
    return [json.loads(line)["kernel"] for line in lines]


def sees_a_gpu(damier):
    return ended([damier, "bench", "multiply", "--backend", "cuda", "--size", "64", "-q"]).returncode != 6


def cases(damier):
    found = []
    for kernel in described(damier):
        for kind in kernel["types"].split():
            flags = f"--backend cuda --kernel {kernel['name']}"
            dtype, compute = ("f32", "tf32") if kind == "tf32" else (kind, "")
            found.append(Case(333, 270, 517, dtype=dtype, compute=compute, flags=flags, ranks=4,
                              alpha=2, beta=-1, old=dtype if dtype != "i8" else "i32"))
    return found


def main():
    damier = options().damier
    if not sees_a_gpu(damier):
        print("no GPU is visible")
        sys.exit(SKIPPED)
    judging.main(lambda: cases(damier), lambda rng: [])


main()
