#!/usr/bin/env bash
# The cost of checkpoints of finished tiles: the same product with the default interval, with 1 s, and with
# --no-checkpoint, alternating.
# usage: scripts/bench/checkpoint.sh [--directory DIR] [--size N] [--repetitions N] [--output FILE]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

directory=build size=4096 repetitions=11 output=docs/results/checkpoint.jsonl
read_options "directory size repetitions output" "$@"

build_release -DDAMIER_CUDA=OFF
records=$(mktemp)
folder=$(mktemp -d "$directory/checkpoint-XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$damier" generate "$folder/A.h5" --size "$size" -q >/dev/null
"$damier" generate "$folder/B.h5" --size "$size" --seed 2 -q >/dev/null
for ((pair = 0; pair < repetitions; pair++)); do
  say "turn $((pair + 1)) of $repetitions"
  for words in --checkpoint '--checkpoint-interval 1s' --no-checkpoint; do
    # shellcheck disable=SC2086
    ranks 2 "$damier" multiply "$folder/A.h5" "$folder/B.h5" -o "$folder/C.h5" --threads 1 -q \
      $words --json "$records" | sed 's/^/   /'
    rm "$folder/C.h5"
  done
done
keep_records "$records" "$output"
