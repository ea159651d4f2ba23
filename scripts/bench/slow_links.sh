#!/usr/bin/env bash
# CPU: four ranks, each on a separate node, over links of a known rate (tests/cluster; Linux, as root),
# with and without overlap, alternating with the same products of local panels.
# usage: scripts/bench/slow_links.sh [--rates "1 2"] [--sizes "2048 4096"] [--repetitions N]
#                                    [--output FILE] [--append]
# Rates are in Gbit/s; 0: unlimited, which shows the CPU time that the network costs.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

rates="1 2" sizes="2048 4096" repetitions=10 output=docs/results/slow_links.jsonl append=
read_options "rates sizes repetitions output append!" "$@"

cluster=$root/tests/cluster/cluster
build_release -DDAMIER_CUDA=OFF
records=$(mktemp)
if [ -n "$append" ]; then cp "$output" "$records"; fi
measured=$(mktemp -d)
trap 'rm -rf "$measured"; "$cluster" down' EXIT
# measure RATE SIZE [OPTION...]
measure() {
  local rate=$1 size=$2
  shift 2
  "$cluster" run --map-by ppr:1:node -- "$damier" bench multiply --size "$size" \
    --threads 1 --repetitions "$repetitions" --warmup 1 --against-local "$@" -q -q --json - \
    >"$measured/record"
  sed "s/^{/{\"link_bits\":${rate}e9,/" "$measured/record" >>"$records"
}
for rate in $rates; do
  say "links of $rate Gbit/s"
  limit=()
  if [ "$rate" != 0 ]; then limit=(--rate "$(awk "BEGIN { print $rate * 1000 }")mbit"); fi
  "$cluster" up --nodes 4 "${limit[@]}"
  for size in $sizes; do
    measure "$rate" "$size"
    measure "$rate" "$size" --no-overlap
  done
  "$cluster" down
done
keep_records "$records" "$output"
