#!/usr/bin/env bash
# From a fresh clone to a verified product: installs missing packages, builds, generates two matrices,
# multiplies them with four ranks (on the GPUs, if there are any), and checks the result twice.
# All its files are in build/.
# usage: scripts/demo.sh          builds GPU code if there are a GPU and nvcc
#        scripts/demo.sh --cuda   always builds GPU code; takes minutes
#        DAMIER=/usr/bin/damier scripts/demo.sh   uses an installed program
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

cuda='' flags=()
read_options "cuda!" "$@"
if [ -z "${DAMIER-}" ]; then
  scripts/packages.sh build
  flags=(-DDAMIER_CUDA=OFF)
  if [ -n "$cuda" ]; then
    flags=(-DDAMIER_CUDA=ON)
  elif [ "$(gpus)" != 0 ]; then
    flags=(-DDAMIER_CUDA=AUTO)
  elif has nvcc; then
    note "no GPU is seen: no GPU code is built; --cuda builds it"
  fi
  if [ "$(gpus)" != 0 ] && ! has nvcc; then
    note "there is a GPU but no nvcc: built for the CPU alone"
  fi
fi
build_release "${flags[@]}"

mkdir -p build/demo
cd build/demo
say "A (1500 x 1200) and B (1200 x 1800), random, in HDF5 files"
ranks 4 "$damier" generate A.h5:/a --rows 1500 --cols 1200 --kind normal --seed 1 --force
ranks 4 "$damier" generate B.h5:/b --rows 1200 --cols 1800 --kind normal --seed 2 --force

say "mpirun -n 4 damier multiply A.h5:/a B.h5:/b -o C.h5:/c"
ranks 4 "$damier" multiply A.h5:/a B.h5:/b -o C.h5:/c --force

say "damier verify A.h5 B.h5 C.h5"
"$damier" verify A.h5 B.h5 C.h5

python=$(python_with 'h5py, numpy')
if [ -n "$python" ]; then
  say "NumPy's opinion"
  "$python" "$root/scripts/check_product.py" A.h5:/a B.h5:/b C.h5:/c
fi
say "done: build/demo/C.h5 holds C"
