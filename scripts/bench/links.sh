#!/usr/bin/env bash
# Several GPUs of one node: products whose panels are moved between GPUs, alternating with one library
# call for each GPU's block.
# usage: scripts/bench/links.sh [--repetitions N] [--output FILE] [--transport NAME]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

repetitions=10 output=docs/results/links.jsonl transport=auto
read_options "repetitions output transport" "$@"
count=$(gpus)
[ "$count" -gt 1 ] || die "this takes a node with several GPUs; here are $count"

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
run() {
  local number=$1
  shift
  note "$number GPUs: $*"
  ranks "$number" "$damier" bench multiply --backend cuda --require-gpu-per-rank \
    --repetitions "$repetitions" -q --json "$records" "$@"
}
bench() {
  local number=$1
  shift
  run "$number" --from device --against-library --transport "$transport" "$@"
}
say "squares"
for size in 16384 32768; do
  bench "$count" --size $size
done
for type in "f32 --compute tf32" bf16 "bf16 --type-c bf16"; do
  read -ra words <<<"--type $type"
  bench "$count" --size 32768 "${words[@]}"
done
say "fewer GPUs; largeK, largeM, flat"
for number in $(seq 2 "$count"); do
  [ "$number" = "$count" ] || bench "$number" --size 32768
  bench "$number" --m 6000 --n 6000 --k 300000
  bench "$number" --m 300000 --n 6000 --k 6000
  bench "$number" --m 60000 --n 60000 --k 5000
done
say "from pinned host memory and back, and through the host"
run "$count" --from host --size 32768
run "$count" --transport host --from host --size 16384 --grid 2x2x1
say "two pretended nodes"
run "$count" --from device --transport ipc+nccl --pretend-nodes 2 --size 32768 \
  --grid 2x2x1 || note "ipc+nccl is not to be had"
keep_records "$records" "$output"
