#!/usr/bin/env bash
# One GPU, and all GPUs of this node: products of random matrices in pinned host memory, C in host memory too, by
# damier (one rank per GPU) and by cuBLASXt (one process), alternating.
# usage: scripts/bench/cublasxt.sh [--sizes "N ..."] [--types "f64 f32"] [--gpus "N ..."] [--pairs N]
#                                  [--repetitions N] [--output FILE] [--append]
#   --gpus         numbers of GPUs [one, and all]
#   --repetitions  of each program in each pair; the median is used
# cuBLASXt uses the block width that was fastest in one product.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

sizes=16384 types='f64 f32' pairs=10 repetitions=3 output=docs/results/cublasxt.jsonl append=
gpus=$(printf '%s\n' 1 "$(gpus)" | sort -nu | xargs)
read_options "sizes types gpus pairs repetitions output append!" "$@"
[ "$(gpus)" -gt 0 ] || die "this takes a GPU"

build_release -DDAMIER_CUDA=ON
xt=$(dirname "$damier")/cublasxt
nvcc -O3 -std=c++17 -arch=native -Xcompiler -fopenmp -I. -Isrc tests/bench/cublasxt.cu -lcublas -o "$xt" ||
  die "cuBLASXt's program does not compile"
version=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
records=$(mktemp)
if [ -n "$append" ] && [ -e "$output" ]; then cp "$output" "$records"; fi
for count in $gpus; do
  for size in $sizes; do
    for type in $types; do
      say "$pairs pairs of $type products of $size x $size matrices in host memory, GPUs: $count"
      block=$("$xt" "$type" "$size" "$count")
      for ((pair = 1; pair <= pairs; pair++)); do
        ranks "$count" "$damier" bench multiply --backend cuda --require-gpu-per-rank --from host --size "$size" \
          --type "$type" --warmup 1 --repetitions "$repetitions" -q --json "$records"
        "$xt" "$type" "$size" "$count" "$block" "$repetitions" "$version" \
          "cublasxt $type $size $count $block $repetitions" >>"$records"
      done
    done
  done
done
keep_records "$records" "$output"
