#!/usr/bin/env bash
# CPU: products of random matrices by damier and by ScaLAPACK's pdgemm (Debian: libscalapack-openmpi-dev),
# with the same ranks, threads and BLAS library, alternating.
# usage: scripts/bench/scalapack.sh [--size N] [--ranks N] [--pairs N] [--grid RxC] [--block N]
#                                   [--output FILE] [--append]
# GRID and BLOCK are for pdgemm: choose the fastest.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

size=4096 ranks=2 pairs=10 grid=2x1 block=256 output=docs/results/scalapack.jsonl append=
read_options "size ranks pairs grid block output append!" "$@"

build_release -DDAMIER_CUDA=OFF
share_openblas_kernels
pdgemm=$root/build/release/pdgemm
mpicc -O2 tests/bench/pdgemm.c -o "$pdgemm" -lscalapack-openmpi -lopenblas -lm ||
  die "ScaLAPACK is missing; Debian has it as libscalapack-openmpi-dev"
version=$(git describe --always --dirty --abbrev=12)
records=$(mktemp)
if [ -n "$append" ]; then cp "$output" "$records"; fi
say "$pairs pairs of products of $size x $size matrices on $ranks ranks"
for ((pair = 1; pair <= pairs; pair++)); do
  ranks "$ranks" "$damier" bench multiply --size "$size" --threads 1 --repetitions 1 --warmup 1 \
    -q --json "$records"
  ranks "$ranks" "$pdgemm" "$size" "$block" "${grid%x*}" "${grid#*x}" 1 1 "$version" \
    "pdgemm $size $block ${grid/x/ } 1 1" >>"$records"
done
keep_records "$records" "$output"
