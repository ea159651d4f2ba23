#!/usr/bin/env bash
# CPU: products of random matrices by damier and by ScaLAPACK's pdgemm (Debian: libscalapack-openmpi-dev),
# with the same ranks, threads and BLAS library, turn about.
# usage: scripts/bench_scalapack.sh [--size N] [--ranks N] [--pairs N] [--grid RxC] [--block N]
#                                   [--output FILE] [--append]
# GRID and BLOCK are pdgemm's: those that make it fastest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

size=4096 number=2 pairs=10 grid=2x1 block=256 output=docs/results/scalapack.jsonl append=
while [ $# -gt 0 ]; do
  case $1 in
  --append) append=1 && shift && continue ;;
  --size) size=$2 ;;
  --ranks) number=$2 ;;
  --pairs) pairs=$2 ;;
  --grid) grid=$2 ;;
  --block) block=$2 ;;
  --output) output=$2 ;;
  *) die "unknown option '$1'; see the begin of this script" ;;
  esac
  shift 2
done

build_release -DDAMIER_CUDA=OFF
use_fast_openblas
pdgemm=$root/build/release/pdgemm
mpicc -O2 tests/bench/pdgemm.c -o "$pdgemm" -lscalapack-openmpi -lopenblas -lm ||
  die "ScaLAPACK is missing; Debian has it as libscalapack-openmpi-dev"
version=$(git describe --always --dirty --abbrev=12)
records=$(mktemp)
if [ -n "$append" ]; then cp "$output" "$records"; fi
say "$pairs pairs of products of $size x $size matrices on $number ranks"
for ((pair = 1; pair <= pairs; pair++)); do
  ranks "$number" "$damier" bench multiply --size "$size" --threads 1 --repetitions 1 --warmup 1 \
    -q --json "$records"
  ranks "$number" "$pdgemm" "$size" "$block" "${grid%x*}" "${grid#*x}" 1 1 "$version" \
    "pdgemm $size $block ${grid/x/ } 1 1" >>"$records"
done
keep_records "$records" "$output"
