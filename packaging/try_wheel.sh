#!/usr/bin/env bash
# Installs the wheel of build/packages in a fresh environment, multiplies, and tells how long that took: exit code 1 above 60 s, or
# if 'import damier' takes more than 0.15 s in the fastest of twenty starts (half of it is NumPy's).
# usage: packaging/try_wheel.sh [PYTHON]     python3 by default; also python3.13t, which must stay without a global lock
#        packaging/try_wheel.sh --cublas VERSION [PYTHON]     the wheel with kernels for GPUs, and nvidia-cublas of that version, about 0.7 GB:
#          whether it has all functions that damier calls, and multiplies on the CPU; on a GPU only where there is one
# Needs Python's venv; pip fetches NumPy.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

shopt -s extglob
cublas=''
if [ "${1-}" = --cublas ]; then
  [ $# -ge 2 ] || usage
  cublas=$2
  wheel=$(echo build/packages/damier-+([0-9.])-1cuda*-py3-*"_$(uname -m).whl")
  shift 2
else
  wheel=$(echo build/packages/damier-+([0-9.])-py3-*"_$(uname -m).whl")
fi
[ -f "$wheel" ] || die "there is not one wheel in build/packages: packaging/wheel.sh makes it"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset PYTHONPATH DAMIER_LIBRARY DAMIER_PROGRAM

start=$EPOCHREALTIME
"${1-python3}" -m venv "$scratch/v"
if [ -z "$cublas" ]; then
  "$scratch/v/bin/pip" install --quiet "$wheel"
else
  "$scratch/v/bin/pip" install --quiet "${wheel}[cuda13]" "nvidia-cublas==$cublas"
  # The names that the library looks up, from its own text.
  "$scratch/v/bin/python" - <<'END'
import ctypes, importlib.metadata, pathlib, re, damier, nvidia
folder = next(pathlib.Path(nvidia.__path__[0]).glob("cu*/lib"))
package = pathlib.Path(damier.__file__).parent
text = next(package.glob("libdamier.so*")).read_bytes()
libraries = [ctypes.CDLL(next(folder.glob(f"{name}.so.*"))) for name in ("libcublasLt", "libcublas")]
names = sorted(set(re.findall(rb"\0(cublas(?:Lt)?[A-Z]\w+)(?=\0)", text)) - {b"cublasLt"})
lacking = [name.decode() for name in names if not any(hasattr(library, name.decode()) for library in libraries)]
print("   cuBLAS", importlib.metadata.version("nvidia-cublas") + ":", len(names), "functions,", lacking or "none lacks")
assert len(names) > 10 and not lacking
END
fi
"$scratch/v/bin/python" - "$scratch" <<'END'
import sys, damier, numpy as np
a = np.random.default_rng(1).standard_normal((1500, 1500))
np.save(sys.argv[1] + "/A.npy", a)
print("  ", damier.multiply(sys.argv[1] + "/A.npy", a, sys.argv[1] + "/C.npy"))
np.testing.assert_allclose(np.load(sys.argv[1] + "/C.npy"), a @ a, atol=1e-9)
if hasattr(sys, "_is_gil_enabled"):
    print("   global lock:", sys._is_gil_enabled())
    assert "free-threading" not in sys.version or not sys._is_gil_enabled()
END
"$scratch/v/bin/damier-bench" --version >/dev/null
"$scratch/v/bin/damier" --version | sed -n '1s/^/   /p'
[ -z "$cublas" ] || exit 0
seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
note "environment, installation and a product: $seconds s"
import=$(for _ in {1..20}; do
  "$scratch/v/bin/python" -c 'import time
start = time.perf_counter(); import numpy; numpy = time.perf_counter() - start; import damier
print(f"{time.perf_counter() - start:.3f} s, {numpy:.3f} s of them NumPy")'
done | sort | head -n 1)
note "import damier: $import"
awk -v s="$seconds" -v i="${import%% *}" 'BEGIN { exit !(s <= 60 && i <= 0.15) }'
