#!/usr/bin/env bash
# Every kernel in every type, on small matrices, under each tool of compute-sanitizer; several runs
# in parallel on all GPUs.  Fails if there is a finding.
# usage: tests/sanitizer/run_kernels.sh BUILD [--jobs N] [KERNEL...]
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

jobs=8
read_options "jobs" "$@"
[ ${#operands[@]} -ge 1 ] || usage
program=${operands[0]}/tests/run_kernels damier=${operands[0]}/damier kernels=("${operands[@]:1}")
[ -x "$program" ] || die "$program was not built"
count=$(gpus)
[ "$count" -gt 0 ] || die "this takes a GPU"
has compute-sanitizer || PATH=$PATH:/usr/local/cuda/bin
has compute-sanitizer || die "compute-sanitizer is not installed"
if [ ${#kernels[@]} = 0 ]; then
  mapfile -t kernels < <("$damier" bench kernels --list | awk '
    $2 ~ /^(gemm|transpose|add|dot)$/ && $1 !~ /^cublas/ { print $1 }')
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# The tool only counts barriers where they are initialised: those in loops must be specified.
racecheck=(--racecheck-report all --num-cuda-barriers 32)
watch() { # NUMBER TOOL KERNEL
  local options=() code=0 log=$logs/$2.$3
  [ "$2" = racecheck ] && options=("${racecheck[@]}")
  CUDA_VISIBLE_DEVICES=$(($1 % count)) timeout 120 compute-sanitizer --tool "$2" "${options[@]}" \
    --print-limit 10 --error-exitcode 99 "$program" "$3" >"$log" 2>&1 || code=$?
  echo "$2 $3: exit code $code" >"$log.line"
  [ "$code" = 0 ] || grep -vE 'Host Frame|^=*\s*$|backtrace|Current Value' "$log" |
    cut -c 1-190 | head -n 9 >>"$log.line" || true
  cat "$log.line" # in one write, as runs are concurrent
}

number=0
for tool in racecheck memcheck synccheck initcheck; do
  for kernel in "${kernels[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    number=$((number + 1))
    watch "$number" "$tool" "$kernel" &
  done
done
wait
clean=$(cat "$logs"/*.line | grep -c 'exit code 0$' || true)
echo "$clean of $number runs without a finding"
[ "$clean" = "$number" ]
