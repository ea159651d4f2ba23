#!/usr/bin/env bash
# Several GPUs of one node: products whose panels travel between GPUs, turn about with the same
# products of panels that lie ready ("nothing moved").
# usage: scripts/bench_links.sh [--repetitions N] [--output FILE] [--transport NAME]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

repetitions=10 output=docs/results/links.jsonl transport=auto
while [ $# -gt 0 ]; do
  case $1 in
  --repetitions) repetitions=$2 ;;
  --output) output=$2 ;;
  --transport) transport=$2 ;;
  *) die "usage: scripts/bench_links.sh [--repetitions N] [--output FILE] [--transport NAME]" ;;
  esac
  shift 2
done
count=$(gpus)
[ "$count" -gt 1 ] || die "this takes a node with several GPUs; here are $count"

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
bench() {
  local number=$1
  shift
  note "$number GPUs: $*"
  ranks "$number" "$damier" bench multiply --backend cuda --from device --against-local \
    --transport "$transport" --require-gpu-per-rank --repetitions "$repetitions" -q \
    --json "$records" "$@"
}
say "squares"
for size in 16384 32768; do
  bench "$count" --size $size
done
for type in "f32 --compute tf32" bf16; do
  read -ra words <<<"--type $type"
  bench "$count" --size 32768 "${words[@]}"
done
bench "$count" --size 65536 --type bf16
say "largeK, largeM, flat"
bench "$count" --m 6000 --n 6000 --k 300000
bench "$count" --m 300000 --n 6000 --k 6000
bench "$count" --m 60000 --n 60000 --k 5000
say "fewer GPUs"
for number in $(seq 2 $((count - 1))); do
  bench "$number" --size 32768
done
keep_records "$records" "$output"
