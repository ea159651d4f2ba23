#!/usr/bin/env bash
# One GPU: damier's product of matrices in GPU memory against direct calls of cuBLAS in the same
# process, alternating; then odd sizes, and a product with a quarter of the memory that its matrices
# need.
# usage: scripts/bench/gpu.sh [--size N] [--small N] [--large N] [--repetitions N]
#   --size   of f64, f32, tf32 and bf16 [16384]     --small  of the other types [8192]
#   --large  of the product with little memory [32768]
# Writes docs/results/gpu.jsonl, gpu_odd.jsonl and limited_gpu.jsonl.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

size=16384 small=8192 large=32768 repetitions=20
read_options "size small large repetitions" "$@"

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
keep_records "$records" docs/results/gpu.jsonl

records=$(mktemp)
say "sizes that are odd"
for type in f64 bf16 'f32 --compute tf32'; do
  read -ra words <<<"--type $type"
  against_library --size $((small - 1)) "${words[@]}"
done
against_library --size $((size * 99 / 70 - 1)) --type f64
keep_records "$records" docs/results/gpu_odd.jsonl

records=$(mktemp)
quarter=$((3 * large * large * 8 / 4 / 1048576))
say "$large x $large matrices, and $quarter MiB of GPU memory"
for turn in 1 2; do
  note "turn $turn"
  for words in '--from device' "--from host --memory device=${quarter}MiB"; do
    # shellcheck disable=SC2086
    "$damier" bench multiply --backend cuda --repetitions 5 -q --json "$records" --size "$large" $words
  done
done
keep_records "$records" docs/results/limited_gpu.jsonl
