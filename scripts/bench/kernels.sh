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

# The kernels near the library's speed; a pattern that matches no kernel of a type is no error here.
fast='warp_tile,double_buffer*,w*mma*,*mma*,jit*,cublas*'

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

# fast TYPE OPTION...: runs the available fast kernels that support TYPE.
bench_fast() {
  local type=$1 pattern kernels=()
  shift
  for pattern in ${fast//,/ }; do
    if "$damier" bench kernels --list -q -q --op gemm --type "$type" --kernel "$pattern" 2>/dev/null; then
      kernels+=("$pattern")
    fi
  done
  bench --op gemm --type "$type" --kernel "$(IFS=, && echo "${kernels[*]}")" "$@"
}

measure() {
  local type
  case $1 in
  large) bench --op gemm --type f32,f64,tf32,f16,bf16,i8 --sizes 8192 --limit 2 ;;
  huge) for type in f32 f64 tf32 f16 bf16 i8; do bench_fast $type --sizes 16384 --limit 8; done ;;
  classical) bench --op gemm --type f32,f64,tf32,f16,bf16,i8 --sizes 128:4096:x2 \
    --settle 0.2 --limit 1 ;;
  along-k) for type in tf32 i8; do bench_fast $type --sizes '8192;16384' --along-k; done ;;
  accumulate) for type in f16 bf16; do
    bench_fast $type --sizes '8192,8192,2048;8192,8192,4096;16384,16384,4096' --accumulate
  done ;;
  odd) for type in f32 f64 tf32 f16 bf16 i8; do
    bench_fast $type --sizes '8191;8193,8190,8195'
    bench_fast $type --sizes 8192 --pad 1
  done ;;
  helpers) for op in transpose add dot; do
    "$damier" bench kernels --list -q -q --op $op 2>/dev/null || continue
    bench --op $op --type f32,f64 --sizes '8192;16384'
  done ;;
  *) usage ;;
  esac
}

build_release -DDAMIER_CUDA=ON
records=$(mktemp)
for part in "${parts[@]}"; do measure "$part"; done
keep_records "$records" "$output"
[ -z "$failed" ] || die "some kernels failed their check; their records say how"
