#!/usr/bin/env bash
# One GPU: products of random matrices in pinned host memory, C in host memory too, by damier and by cuBLASXt,
# alternating.
# usage: scripts/bench/cublasxt.sh [--sizes "N ..."] [--types "f64 f32"] [--pairs N] [--repetitions N]
#                                  [--output FILE]
#   --repetitions  of each program in each pair; its median counts
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

sizes=16384 types='f64 f32' pairs=10 repetitions=3 output=docs/results/cublasxt.jsonl
read_options "sizes types pairs repetitions output" "$@"

build_release -DDAMIER_CUDA=ON
xt=$(dirname "$damier")/cublasxt
nvcc -O3 -std=c++17 -arch=native -Xcompiler -fopenmp -I. -Isrc tests/bench/cublasxt.cu -lcublas -o "$xt" ||
  die "cuBLASXt's program does not compile"
version=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
records=$(mktemp)
for size in $sizes; do
  for type in $types; do
    say "$pairs pairs of $type products of $size x $size matrices in host memory"
    for ((pair = 1; pair <= pairs; pair++)); do
      "$damier" bench multiply --backend cuda --from host --size "$size" --type "$type" --no-against-one \
        --warmup 2 --repetitions "$repetitions" -q --json "$records"
      "$xt" "$type" "$size" "$repetitions" "$version" "cublasxt $type $size $repetitions" >>"$records"
    done
  done
done
keep_records "$records" "$output"
