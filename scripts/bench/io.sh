#!/usr/bin/env bash
# Files: plain pread and pwrite compared with damier's reader and writer on the same file system.
# usage: scripts/bench/io.sh [--directory DIR] [--bytes SIZE] [--repetitions N] [--output FILE]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

directory=build bytes=1GiB repetitions=11 output=docs/results/io.jsonl
read_options "directory bytes repetitions output" "$@"

build_release -DDAMIER_CUDA=AUTO
records=$(mktemp)
for count in 1 2 4; do
  say "$count ranks, $bytes in $directory"
  ranks "$count" "$damier" bench io --directory "$directory" --bytes "$bytes" \
    --repetitions "$repetitions" -q --json "$records"
done
keep_records "$records" "$output"
