#!/usr/bin/env bash
# Every kernel in every type, on small matrices, under each tool of compute-sanitizer: side by side,
# for most of the time goes into starting.  Fails if there is a finding.
# usage: scripts/sanitize_kernels.sh BUILD [KERNEL...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

[ $# -ge 1 ] || die "usage: scripts/sanitize_kernels.sh BUILD [KERNEL...]"
program=$1/tests/run_kernels
shift
[ -x "$program" ] || die "$program was not built"
[ "$(gpus)" -gt 0 ] || die "this takes a GPU"
has compute-sanitizer || PATH=$PATH:/usr/local/cuda/bin
has compute-sanitizer || die "compute-sanitizer is not installed"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

tools=(memcheck racecheck synccheck initcheck)
for tool in "${tools[@]}"; do
  {
    timeout "${SANITIZE_SECONDS:-600}" compute-sanitizer --tool "$tool" --print-limit 40 \
      --error-exitcode 99 "$program" "$@" >"$logs/$tool" 2>&1 && code=0 || code=$?
    echo "$code" >"$logs/$tool.code"
  } &
done
wait

failed=0
for tool in "${tools[@]}"; do
  code=$(<"$logs/$tool.code")
  printf '%-9s exit code %s: %s\n' "$tool" "$code" \
    "$(grep -E 'SUMMARY|kernels in a type' "$logs/$tool" | tr -d = | tr '\n' ' ')"
  [ "$code" = 0 ] && continue
  failed=$((failed + 1))
  grep -E '^=+ (Error|Warning|Uninit|Invalid| *at |.* Race|.* and )' "$logs/$tool" | cut -c 1-180 |
    sed 's/ *in [^ ]*$//' | sort | uniq -c | sort -rn | head -n 40
done
[ "$failed" = 0 ]
