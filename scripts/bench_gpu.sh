#!/usr/bin/env bash
# One GPU: damier's product of matrices in GPU memory against direct calls of cuBLAS in the same
# process, turn about.
# usage: scripts/bench_gpu.sh [--size N] [--small N] [--repetitions N] [--output FILE]
#   --size   of f64, f32, tf32 and bf16 [16384]     --small  of the other types [8192]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

size=16384 small=8192 repetitions=20 output=docs/results/gpu.jsonl
while [ $# -gt 0 ]; do
  case $1 in
  --size) size=$2 ;;
  --small) small=$2 ;;
  --repetitions) repetitions=$2 ;;
  --output) output=$2 ;;
  *) die "usage: scripts/bench_gpu.sh [--size N] [--small N] [--repetitions N] [--output FILE]" ;;
  esac
  shift 2
done

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
against_library() {
  "$damier" bench multiply --backend cuda --from device --against-library \
    --repetitions "$repetitions" -q --json "$records" "$@"
}
say "products of $size x $size matrices"
against_library --size "$size" --type f64
against_library --size "$size" --type f32
against_library --size "$size" --type f32 --compute tf32
against_library --size "$size" --type bf16
say "products of $small x $small matrices"
for type in f16 i8 c64 c128; do
  against_library --size "$small" --type "$type"
done
keep_records "$records" "$output"
