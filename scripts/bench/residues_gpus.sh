#!/usr/bin/env bash
# Several GPUs of one node: a product by residues on one GPU and on all, and the native product on all,
# alternating, in GPU memory, verified.
# usage: scripts/bench/residues_gpus.sh [--size N] [--compute MODE] [--rounds N] [--repetitions N] [--output FILE]
#   --repetitions  of each product in each round
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

size=32768 compute=f64:int8 rounds=4 repetitions=3 output=docs/results/residues_gpus.jsonl
read_options "size compute rounds repetitions output" "$@"
count=$(gpus)
[ "$count" -gt 1 ] || die "this takes a node with several GPUs; here are $count"

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
bench() {
  local number=$1
  shift
  note "$number GPUs: $*"
  ranks "$number" "$damier" bench multiply --backend cuda --require-gpu-per-rank --from device \
    --size "$size" --warmup 1 --repetitions "$repetitions" -q --json "$records" "$@"
}
for ((round = 1; round <= rounds; round++)); do
  say "round $round of $rounds"
  bench 1 --compute "$compute"
  bench "$count" --compute "$compute"
  bench "$count" --compute f64
done
keep_records "$records" "$output"
