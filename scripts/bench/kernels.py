#!/usr/bin/env python3
"""One GPU: every kernel of the registry, compared with cuBLAS, copies or plain reading, for the tables of docs/kernels.md.

    scripts/bench/kernels.py                                                    all parts: ten minutes on an H200, most for slow rungs
    scripts/bench/kernels.py --only large jit --output docs/results/ladder.jsonl    the ladder alone

A kernel that fails its check is not timed; the others are, and the script fails at the end.
"""
import pathlib
import subprocess
import sys

from measure import Failed, options_of, start

TYPES = "f32,f64,tf32,f16,bf16,i8"


def fast(kinds, words):
    """The kernels near the library's speed."""
    kernels = {"f32": "warp_tile,double_buffer*", "f64": "warp_tile,double_buffer*,*mma*"}
    return [f"gemm --type {kind} --kernel {kernels.get(kind, '*mma*')},cublas* {words}" for kind in kinds.split(",")]


PARTS = {
    "large": [f"gemm --type {TYPES} --sizes 8192 --limit 2"],
    "jit": ["gemm --type f32,f64,bf16 --kernel tiled_32,jit --sizes 8192;8191;4096,4096,4;4096,4096,16;4096,4096,33;512;100"],
    "huge": fast(TYPES, "--sizes 16384 --limit 8"),
    "classical": [f"gemm --type {TYPES} --sizes 128:4096:x2 --settle 0.2 --limit 1"],
    "along-k": fast("tf32,i8", "--sizes 8192;16384 --along-k"),
    "accumulate": fast("f16,bf16", "--sizes 8192,8192,2048;8192,8192,4096;16384,16384,4096 --accumulate"),
    "odd": fast(TYPES, "--sizes 8191;8193,8190,8195") + fast(TYPES, "--sizes 8192 --pad 1"),
    "helpers": [f"{op} --type f32,f64 --sizes 8192;16384" for op in ("transpose", "add", "dot")],
}


def main():
    options = options_of(__doc__, "docs/results/kernels.jsonl", damier="build/release/damier",
                         only={"nargs": "*", "default": list(PARTS), "choices": list(PARTS)})
    pathlib.Path(options.output).unlink(missing_ok=True)
    codes = set()
    for words in (words for part in options.only for words in PARTS[part]):
        print(f"== bench kernels --op {words}", flush=True)
        codes.add(subprocess.run([options.damier, "bench", "kernels", "--op", *words.split(), "--json", options.output], check=False)
                  .returncode)
    if codes - {0, 1}:
        raise Failed("a benchmark ended early")
    sys.exit("some kernels failed their check; their records say how" if codes != {0} else 0)


if __name__ == "__main__":
    start(main)
