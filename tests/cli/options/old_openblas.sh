# An OpenBLAS older than the CPU uses slow kernels: the program suggests better ones.
shim=$(dirname "$(realpath "$(command -v damier)")")/tests/cli/libold_openblas.so
if [ ! -e "$shim" ] || ! grep -q avx2 /proc/cpuinfo || ! ldd "$(command -v damier)" | grep -q openblas; then
  exit 77
fi
export LD_PRELOAD="$shim${LD_PRELOAD:+:$LD_PRELOAD}"
kernels() {
  "$PYTHON" -c "import json, sys
print(json.load(sys.stdin)['environment']['OPENBLAS_CORETYPE'])"
}
unset OPENBLAS_CORETYPE
damier info -q --json - | kernels | sed 's/SKYLAKEX/HASWELL/'
OPENBLAS_CORETYPE=Haswell damier info -q --json - | kernels
