#!/usr/bin/env bash
# One GPU: every kernel of the registry, compared with cuBLAS, copies or plain reading, for the tables
# of docs/kernels.md.  Takes about ten minutes on an H200, most of them for the slow rungs.
# usage: scripts/bench/kernels.sh [--output FILE] [PART...]
# Parts [all]: large (8192), huge (16384, the fast kernels), classical (128 to 4096),
# along-k, accumulate, odd, helpers.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

output=docs/results/kernels.jsonl
read_options "output" "$@"
parts=("${operands[@]}")
[ ${#parts[@]} -gt 0 ] || parts=(large huge classical along-k accumulate odd helpers)

# bench OPTION...: appends its records to those of this run.  A kernel that fails its check (exit code
# 1) is not timed; the others are.
failed=
bench() {
  local status=0
  say "bench kernels $*"
  "$damier" bench kernels "$@" --json "$records" || status=$?
  case $status in
  0) ;;
  1) failed=yes ;;
  *) die "bench kernels ended with exit code $status; records so far are in $records" ;;
  esac
}

# fast "TYPE ..." OPTION...: the kernels near the library's speed, of each type those that it has.
fast() {
  local type pattern kernels types=$1
  shift
  for type in $types; do
    kernels=
    for pattern in warp_tile 'double_buffer*' 'w*mma*' '*mma*' 'cublas*'; do
      if "$damier" bench kernels --list -q -q --op gemm --type "$type" --kernel "$pattern" 2>/dev/null; then kernels+=,$pattern; fi
    done
    bench --op gemm --type "$type" --kernel "${kernels#,}" "$@"
  done
}

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
all='f32 f64 tf32 f16 bf16 i8'
for part in "${parts[@]}"; do
  case $part in
  large) bench --op gemm --type "${all// /,}" --sizes 8192 --limit 2 ;;
  huge) fast "$all" --sizes 16384 --limit 8 ;;
  classical) bench --op gemm --type "${all// /,}" --sizes 128:4096:x2 --settle 0.2 --limit 1 ;;
  along-k) fast 'tf32 i8' --sizes '8192;16384' --along-k ;;
  accumulate) fast 'f16 bf16' --sizes '8192,8192,2048;8192,8192,4096;16384,16384,4096' --accumulate ;;
  odd)
    fast "$all" --sizes '8191;8193,8190,8195'
    fast "$all" --sizes 8192 --pad 1
    ;;
  helpers) for op in transpose add dot; do bench --op $op --type f32,f64 --sizes '8192;16384'; done ;;
  *) usage ;;
  esac
done
keep_records "$records" "$output"
[ -z "$failed" ] || die "some kernels failed their check; their records say how"
