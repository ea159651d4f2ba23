#!/usr/bin/env bash
# One GPU: every kernel of our own, in f32 and f64, against direct calls of cuBLAS in the same
# process, turn about.
# usage: scripts/bench_kernels.sh [--size N] [--repetitions N] [--output FILE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

size=8192 repetitions=10 output=docs/results/kernels.jsonl
while [ $# -gt 0 ]; do
  case $1 in
  --size) size=$2 ;;
  --repetitions) repetitions=$2 ;;
  --output) output=$2 ;;
  *) die "usage: scripts/bench_kernels.sh [--size N] [--repetitions N] [--output FILE]" ;;
  esac
  shift 2
done

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
kernels=$("$damier" info | sed -n 's/^backend cuda.*kernels //p' | tr -d ,)
for type in f32 f64; do
  for kernel in $kernels; do
    case "$kernel $type" in auto* | cublas* | "kahan f64") continue ;; esac
    say "$kernel, $type"
    "$damier" bench multiply --backend cuda --from device --against-library --size "$size" \
      --type "$type" --kernel "$kernel" --repetitions "$repetitions" --warmup 2 -q --json "$records"
  done
done
keep_records "$records" "$output"
