#!/usr/bin/env bash
# Products from files to a file, compared with their bound: in memory and on a disk, and with little
# memory; on the CPU also from packed files.  k is chosen such that products and files take about the
# same time.  Runs 'bench rates' first, for the planner.  With --backend cuda uses all GPUs of the host.
# usage: scripts/bench/files.sh [--backend cpu|cuda] [--directory DIR] [--memory-directory DIR]
#                               [--size N] [--ranks N] [--repetitions N] [--output FILE]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

backend=cpu directory=build memory_directory=/dev/shm size='' ranks='' repetitions=7 output=''
read_options "backend directory memory-directory size ranks repetitions output" "$@"

case $backend in
cpu)
  build_release -DDAMIER_CUDA=OFF
  words=(--threads 1) tuned=(--threads 1) short=512 large=8192
  : "${size:=6144}" "${ranks:=2}" "${output:=docs/results/files.jsonl}"
  ;;
cuda)
  words=(--backend cuda --require-gpu-per-rank) tuned=(--backend cuda) short=8192
  : "${size:=16384}" "${ranks:=$(gpus)}" "${output:=docs/results/files_gpu.jsonl}"
  [ "$ranks" -gt 0 ] || die "there is no GPU here"
  build_release -DDAMIER_CUDA=ON
  ;;
*) die "--backend is cpu or cuda, not $backend" ;;
esac
records=$(mktemp)
trial=$(mktemp)
rates=$(mktemp)
trap 'rm -f "$trial" "$rates"' EXIT

bench() {
  ranks "$ranks" "$damier" bench multiply --from file "${words[@]}" --machine "@$rates" -q "$@"
}

# of JQ-LIKE...: a number from the last record of the trial, by its path.
of_trial() {
  python3 - "$trial" "$@" <<'END'
import functools, json, sys
record = json.loads(open(sys.argv[1]).read().splitlines()[-1])
for path in sys.argv[2:]:
    print(functools.reduce(lambda part, name: part[name], path.split("."), record))
END
}

# balanced WORDS...: k for which products take as long as files, from measurements at a short k.
balanced() {
  bench "$@" --m "$size" --n "$size" --k $short --repetitions 3 --json "$trial" >/dev/null
  of_trial times.compute_median_s times.read_median_s times.write_median_s | python3 -c '
import sys
short = int(sys.argv[1])
compute, read, write = (float(line) for line in sys.stdin)
k = short * write / max(compute - read, 0.05 * compute)
print(min(max(64 * round(k / 64), 128), 65536))' $short
}

# run WHERE WORDS...
run() {
  local where=$1
  shift
  say "in $where: $*"
  bench --directory "$where" "$@" --repetitions "$repetitions" --json "$records" | sed 's/^/   /'
}

in_both() {
  local where k
  for where in "$memory_directory" "$directory"; do
    ranks "$ranks" "$damier" bench rates "${tuned[@]}" --files "$where" -o "$rates" -q
    k=$(balanced --directory "$where")
    note "$where: k = $k"
    run "$where" --m "$size" --n "$size" --k "$k"
  done
}

# quarter SIZE: MiB per rank, such that all ranks together have a quarter of three square matrices.
quarter() {
  echo $((3 * $1 * $1 * 8 / 4 / ranks / 1048576))
}

on_cpus() {
  local k process little
  in_both
  k=$(balanced --directory "$directory" --cold)
  run "$directory" --m "$size" --n "$size" --k "$k" --cold
  # In addition to the memory of the processes at their start.
  bench --directory "$memory_directory" --size 256 --repetitions 1 --json "$trial" >/dev/null
  process=$(of_trial memory.host_process_bytes)
  little=$((process / 1048576 + $(quarter "$large")))
  run "$directory" --size "$large" --memory "host=${little}MiB"
  ranks "$ranks" "$damier" bench rates "${tuned[@]}" --files "$memory_directory" -o "$rates" -q
  run "$memory_directory" --size "$large" --memory "host=${little}MiB"
  k=$(balanced --directory "$memory_directory")
  run "$memory_directory" --m "$size" --n "$size" --k "$k" --deflate 4 --shuffle
}

# For little GPU memory see scripts/bench/gpu.sh.
on_gpus() {
  in_both
  run "$memory_directory" --size "$size"
  run "$memory_directory" --size $((2 * size))
}

if [ "$backend" = cpu ]; then on_cpus; else on_gpus; fi
keep_records "$records" "$output"
