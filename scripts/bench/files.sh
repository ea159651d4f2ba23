#!/usr/bin/env bash
# Products from files to a file, compared with their bound: in memory and on a disk, and with little
# memory; on the CPU also from packed files.  With K = 128 on CPUs, and 65536 on GPUs, products and files take
# about the same time.  Runs 'bench rates' first, for the planner.  With --backend cuda uses all GPUs of the host.
# usage: scripts/bench/files.sh [--backend cpu|cuda] [--directory DIR] [--memory-directory DIR]
#                               [--size N] [--depth K] [--ranks N] [--repetitions N] [--output FILE]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

backend=cpu directory=build memory_directory=/dev/shm size='' depth='' ranks='' repetitions=7 output=''
read_options "backend directory memory-directory size depth ranks repetitions output" "$@"

case $backend in
cpu)
  build_release -DDAMIER_CUDA=OFF
  words=(--threads 1) tuned=(--threads 1) large=8192
  : "${size:=6144}" "${depth:=128}" "${ranks:=2}" "${output:=docs/results/files.jsonl}"
  ;;
cuda)
  words=(--backend cuda --require-gpu-per-rank) tuned=(--backend cuda)
  : "${size:=16384}" "${depth:=65536}" "${ranks:=$(gpus)}" "${output:=docs/results/files_gpu.jsonl}"
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

# run WHERE WORDS...
run() {
  local where=$1
  shift
  say "in $where: $*"
  bench --directory "$where" "$@" --repetitions "$repetitions" --json "$records" | sed 's/^/   /'
}

in_both() {
  local where
  for where in "$memory_directory" "$directory"; do
    ranks "$ranks" "$damier" bench rates "${tuned[@]}" --files "$where" -o "$rates" -q
    run "$where" --m "$size" --n "$size" --k "$depth"
  done
}

# quarter SIZE: MiB per rank, such that all ranks together have a quarter of three square matrices.
quarter() {
  echo $((3 * $1 * $1 * 8 / 4 / ranks / 1048576))
}

on_cpus() {
  local process little
  in_both
  run "$directory" --m "$size" --n "$size" --k "$depth" --cold
  # In addition to the memory of the processes at their start.
  bench --directory "$memory_directory" --size 256 --repetitions 1 --json "$trial" >/dev/null
  process=$(sed -n 's/.*"host_process_bytes":\([0-9]*\).*/\1/p' "$trial")
  little=$((process / 1048576 + $(quarter "$large")))
  run "$directory" --size "$large" --memory "host=${little}MiB"
  ranks "$ranks" "$damier" bench rates "${tuned[@]}" --files "$memory_directory" -o "$rates" -q
  run "$memory_directory" --size "$large" --memory "host=${little}MiB"
  run "$memory_directory" --m "$size" --n "$size" --k "$depth" --deflate 4 --shuffle
}

# For little GPU memory see scripts/bench/gpu.sh.
on_gpus() {
  in_both
  run "$memory_directory" --size "$size"
  run "$memory_directory" --size $((2 * size))
}

if [ "$backend" = cpu ]; then on_cpus; else on_gpus; fi
keep_records "$records" "$output"
