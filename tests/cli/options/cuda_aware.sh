# An MPI library that says that it sends GPU memory is recognised.
shim=$(dirname "$(realpath "$(command -v damier)")")/tests/cli/libcuda_aware.so
if [ ! -e "$shim" ] || damier --version | grep -q 'without MPI'; then
  exit 77
fi
LD_PRELOAD=$shim${LD_PRELOAD:+:$LD_PRELOAD} damier info | sed -n 's/^MPI .*, CUDA-aware$/CUDA-aware/p'
