#!/usr/bin/env bash
# CPU: two ranks with one thread each, whose panels are in shared memory (A) or sent as messages (C),
# against one process of the BLAS library with two threads (B), alternating: A B C A B C.
# usage: scripts/bench/cpu.sh [--size N] [--pairs N] [--output FILE]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

size=4096 pairs=15 output=docs/results/cpu.jsonl
read_options "size pairs output" "$@"

build_release -DDAMIER_CUDA=OFF
records=$(mktemp)
say "$pairs pairs of products of $size x $size matrices"
two_ranks() {
  mpirun -n 2 "$damier" bench multiply --size "$size" --threads 1 --repetitions 1 --warmup 1 \
    --transport "$1" -q --json "$records"
}
for ((pair = 1; pair <= pairs; pair++)); do
  two_ranks shared
  "$damier" bench multiply --size "$size" --threads 2 --repetitions 1 --warmup 1 \
    --against-library -q --json "$records"
  two_ranks host
done
keep_records "$records" "$output"
