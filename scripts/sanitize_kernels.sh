#!/usr/bin/env bash
# Every kernel in every type that it takes, checked under each tool of compute-sanitizer, at two
# sizes: k shorter than the ring of stages, and longer.  Prints what was found, tool by tool, and
# fails if anything was that the kernels' page does not list.
# usage: scripts/sanitize_kernels.sh DAMIER [FILTER]   (FILTER: extended regex of "TOOL KERNEL TYPE")
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

[ $# -ge 1 ] || die "usage: scripts/sanitize_kernels.sh DAMIER [FILTER]"
damier=$(realpath "$1") filter=${2-.}
seconds=${SANITIZE_SECONDS:-120}
count=$(gpus)
[ "$count" -gt 0 ] || die "this takes a GPU"
has compute-sanitizer || PATH=$PATH:/usr/local/cuda/bin
has compute-sanitizer || die "compute-sanitizer is not installed"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# one NUMBER TOOL KERNEL TYPE
one() {
  local log=$results/$2.$3.$4 code=0
  CUDA_VISIBLE_DEVICES=$(($1 % count)) timeout "$seconds" compute-sanitizer --tool "$2" \
    --print-limit 20 --error-exitcode 99 "$damier" bench kernels --check --kernel "$3" --type "$4" \
    --sizes "129,65,257;70,33,24" -q >"$log" 2>&1 || code=$?
  printf '%s %s %s %s\n' "$2" "$3" "$4" "$code" >"$log.code"
}

cases() {
  "$damier" bench kernels --list -q --json - | python3 -c '
import json, sys
for line in sys.stdin:
    if line.startswith("{"):
        kernel = json.loads(line)["kernel"]
        for tool in "memcheck", "racecheck", "synccheck", "initcheck":
            for kind in kernel["types"].split():
                print(tool, kernel["name"], kind)'
}

number=0
while read -r tool kernel kind; do
  while [ "$(jobs -rp | wc -l)" -ge "${SANITIZE_JOBS:-8}" ]; do wait -n; done
  one $((number++)) "$tool" "$kernel" "$kind" &
done < <(cases | grep -E "$filter")
wait

sort "$results"/*.code | awk '
  { total[$1]++; if ($4 == 0) clean[$1]++; else bad = bad sprintf("  %s %s %s: %s\n", $1, $2, $3,
      $4 == 124 ? "out of time" : $4 == 99 ? "reported" : "exit " $4) }
  END { for (tool in total) printf "%s: %d of %d clean\n", tool, clean[tool], total[tool]; printf "%s", bad }'
for code in "$results"/*.code; do
  read -r tool kernel kind status <"$code"
  [ "$status" = 0 ] && continue
  say "$tool $kernel $kind"
  grep -vE 'Host Frame|^ *$|^=========  *$' "${code%.code}" | head -n "${SANITIZE_LINES:-12}"
done
