#!/usr/bin/env bash
# The whole way from files to a file on the CPU, beside its bound: in memory and on a disk, with little
# memory, and from packed files. k is chosen such that products and files take about as long.
# usage: scripts/bench_files.sh [--directory DIR] [--memory-directory DIR] [--size N] [--ranks N]
#                               [--repetitions N] [--output FILE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

directory=build memory_directory=/dev/shm size=6144 count=2 repetitions=7
output=docs/results/files.jsonl
while [ $# -gt 0 ]; do
  case $1 in
  --directory) directory=$2 ;;
  --memory-directory) memory_directory=$2 ;;
  --size) size=$2 ;;
  --ranks) count=$2 ;;
  --repetitions) repetitions=$2 ;;
  --output) output=$2 ;;
  *) die "usage: scripts/bench_files.sh [--directory DIR] [--memory-directory DIR] [--size N] [--ranks N] [--repetitions N] [--output FILE]" ;;
  esac
  shift 2
done

build_release -DDAMIER_CUDA=OFF
use_fast_openblas
records=$(mktemp)
trial=$(mktemp)
trap 'rm -f "$trial"' EXIT

bench() {
  ranks "$count" "$damier" bench multiply --from file --threads 1 -q "$@"
}

# of JQ-LIKE...: a number of the last record of the trial, by its path.
of_trial() {
  python3 - "$trial" "$@" <<'END'
import functools, json, sys
record = json.loads(open(sys.argv[1]).read().splitlines()[-1])
for path in sys.argv[2:]:
    print(functools.reduce(lambda part, name: part[name], path.split("."), record))
END
}

# balanced WORDS...: k for which products take as long as files; both are measured at k = 512.
balanced() {
  bench "$@" --m "$size" --n "$size" --k 512 --repetitions 3 --json "$trial" >/dev/null
  of_trial times.compute_median_s times.read_median_s times.write_median_s | python3 -c '
import sys
compute, read, write = (float(line) for line in sys.stdin)
k = 512 * write / max(compute - read, 0.05 * compute)
print(min(max(64 * round(k / 64), 128), 65536))'
}

# run WHERE WORDS...
run() {
  local where=$1
  shift
  say "in $where: $*"
  bench --directory "$where" "$@" --repetitions "$repetitions" --json "$records" | sed 's/^/   /'
}

for where in "$memory_directory" "$directory"; do
  k=$(balanced --directory "$where")
  note "$where: k = $k"
  run "$where" --m "$size" --n "$size" --k "$k"
done
k=$(balanced --directory "$directory" --cold) && run "$directory" --m "$size" --n "$size" --k "$k" --cold

# A quarter of the matrices, beside what the processes have before they ask for anything.
bench --directory "$memory_directory" --size 256 --repetitions 1 --json "$trial" >/dev/null
process=$(of_trial memory.host_process_bytes)
quarter=$((3 * size * size * 8 / 4 / count))
run "$memory_directory" --size "$size" --memory "host=$(((process + quarter) / 1048576))MiB"
run "$directory" --size "$size" --memory "host=$(((process + quarter) / 1048576))MiB"

k=$(balanced --directory "$memory_directory" --deflate 4 --shuffle)
run "$memory_directory" --m "$size" --n "$size" --k "$k" --deflate 4 --shuffle
keep_records "$records" "$output"
note "checkpoints on and off: scripts/bench_checkpoint.sh --directory $directory"
