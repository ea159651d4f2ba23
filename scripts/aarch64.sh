#!/usr/bin/env bash
# Builds damier for 64-bit Arm with a cross compiler, and runs its unit tests and judges under an emulator (qemu-user).
# usage: scripts/aarch64.sh                      builds, then runs all unit tests and some judges
#        scripts/aarch64.sh build | unit [test_PREFIX_] | judge [NAME...]       NAME of tests/judge/judge_NAME.py
#        EACH=2 scripts/aarch64.sh judge NAME    two cases of each kind; emulation is slow
#        scripts/aarch64.sh configure FOLDER CMAKE-OPTION...                    a build without tests, for packaging/wheel.sh
#        scripts/aarch64.sh try-wheel    multiplies with the wheel of 'packaging/wheel.sh --aarch64', in a bare Debian for arm64
#        scripts/aarch64.sh python [NAME...]   NAME of tests/python/test_NAME.py, with what try-wheel installed
#   Needs Debian's gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static and mmdebstrap; fetches the libraries of
#   the same Debian for arm64 to build/aarch64-root, about 600 MB. Nothing outside of build/ changes.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

triple=aarch64-linux-gnu
libraries=${DAMIER_ARM_ROOT:-$root/build/aarch64-root}
lib=$libraries/usr/lib/$triple
built=$root/build/aarch64
blosc2=$libraries/opt/blosc2/lib
packages=(libc6-dev libgcc-12-dev libopenmpi-dev openmpi-bin libhdf5-dev libopenblas-pthread-dev libhwloc-dev libjansson-dev
  libxxhash-dev zlib1g-dev libdeflate-dev libzstd-dev liblz4-dev libblosc-dev libcmocka-dev)

for tool in $triple-gcc $triple-g++ qemu-aarch64-static mmdebstrap; do
  has "$tool" || die "$tool is missing: apt-get install gcc-$triple g++-$triple qemu-user-static mmdebstrap"
done

# fetch FOLDER PACKAGE...: nothing of it runs while it is unpacked, so that it needs neither root nor the emulator.
fetch() {
  local suite
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  say "fetching packages of $suite for arm64 to $1"
  mmdebstrap --quiet --architectures=arm64 --variant=extract --format=directory \
    --include="$(IFS=,; echo "${*:2}")" "$suite" "$1" "${DAMIER_DEBIAN:-http://deb.debian.org/debian}"
}

# fetch_from_pip FOLDER PACKAGE...: for arm64 and Debian's Python.
fetch_from_pip() {
  local system systems=()
  for system in 2_36 2_35 2_34 2_28 2_27 2_17; do systems+=(--platform "manylinux_${system}_aarch64"); done
  python3 -m venv "$built/pip"
  "$built/pip/bin/pip" install --quiet --upgrade --target "$1" --only-binary=:all: --no-deps --python-version 3.11 \
    "${systems[@]}" --platform manylinux2014_aarch64 "${@:2}"
}

fetch_libraries() {
  if [ ! -d "$lib/openmpi" ]; then fetch "$libraries" "${packages[@]}"; fi
  # Debian has Blosc2 from version 13 on; the package of pip contains the library, its headers and blosc2.pc.
  if [ ! -d "$blosc2" ]; then fetch_from_pip "$libraries/opt" blosc2; fi
}

# What the packages' scripts would have done.
link_libraries() {
  local name
  for name in libopenblas.so.0 libblas.so.3 liblapack.so.3; do
    ln -sf "openblas-pthread/$name" "$lib/$name"
  done
  rm -rf "${libraries:?}/dev" # else the emulator would take its dev/shm, a folder on the disk, for /dev/shm
  for name in libm.so libmvec.so; do # absolute links point outside
    if [ -L "$lib/$name" ]; then ln -sfn "$libraries$(readlink "$lib/$name" | sed "s|^$libraries||")" "$lib/$name"; fi
  done
}

write_toolchain() {
  cat >"$built/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_CXX_COMPILER $triple-g++)
set(CMAKE_SYSROOT $libraries)
set(CMAKE_FIND_ROOT_PATH $libraries)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE $triple)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;$libraries)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $libraries)
set(ENV{PKG_CONFIG_LIBDIR} $lib/pkgconfig:$lib/openblas-pthread/pkgconfig:$libraries/usr/share/pkgconfig:$blosc2/pkgconfig)
END
}

# configure FOLDER CMAKE-OPTION...
configure() {
  mkdir -p "$built" "$1"
  fetch_libraries
  link_libraries
  write_toolchain
  cmake -S . -B "$1" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$built/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DDAMIER_CUDA=OFF -DDAMIER_SIMULATION=OFF -DHDF5_C_COMPILER_EXECUTABLE=/bin/false \
    -DCMAKE_INCLUDE_PATH=/usr/include/hdf5/serial -DCMAKE_LIBRARY_PATH="/usr/lib/$triple/hdf5/serial;/usr/lib/$triple/openmpi/lib" \
    "${@:2}" >"$1/configure.log" 2>&1 || { tail -n 30 "$1/configure.log"; die "CMake failed"; }
}

build() {
  configure "$built" -DDAMIER_TESTS=ON -DMPI_C_COMPILER=MPI_C_COMPILER-NOTFOUND -DMPI_C_LIB_NAMES=mpi \
    -DMPI_mpi_LIBRARY="$lib/openmpi/lib/libmpi.so" -DMPI_C_HEADER_DIR="$lib/openmpi/include"
  say "building for $triple"
  cmake --build "$built" --target damier unit_tests
  mkdir -p "$built/emulated"
  # Ranks that wait leave the cores to others, as in all tests.
  $triple-gcc --sysroot="$libraries" -O2 -shared -fPIC -o "$built/sleep_to_yield.so" tests/lib/sleep_to_yield.c
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q -E LD_PRELOAD=%q %q "$@"\n' "$libraries" "$built/sleep_to_yield.so" "$built/damier" \
    >"$built/emulated/damier"
  chmod +x "$built/emulated/damier"
}

# In a bare system with Python, where nothing is that the wheel should bring but NumPy. The program is that beside the package:
# the script that pip installs starts it, which takes binfmt_misc here.
try_wheel() {
  local bare=$root/build/aarch64-python wheel here=$built/tried emulated
  wheel=$(echo build/packages/damier-*-py3-*_aarch64.whl)
  [ -f "$wheel" ] || die "there is no wheel for aarch64: 'packaging/wheel.sh --aarch64' makes it"
  if [ ! -x "$bare/usr/bin/python3.11" ]; then
    fetch "$bare" python3 libstdc++6
    rm -rf "${bare:?}/dev"
  fi
  rm -rf "$here"
  fetch_from_pip "$here/packages" "$wheel" numpy h5py
  emulated=(qemu-aarch64-static -L "$bare" -E "LD_LIBRARY_PATH=" -E "PYTHONPATH=$here/packages")
  "${emulated[@]}" "$bare/usr/bin/python3.11" - "$here" <<'END'
import platform, sys, damier, h5py, numpy as np
a = np.random.default_rng(1).standard_normal((300, 300))
np.testing.assert_allclose(damier.matmul(a, a), a @ a, atol=1e-10)
with h5py.File(sys.argv[1] + "/A.h5", "w") as file:
    file["a"] = a
np.save(sys.argv[1] + "/A.npy", a)
print("  ", damier.multiply(sys.argv[1] + "/A.npy", sys.argv[1] + "/A.h5", sys.argv[1] + "/C.h5"))
with h5py.File(sys.argv[1] + "/C.h5") as file:
    np.testing.assert_allclose(file["c"][:], a @ a, atol=1e-10)
print("  ", platform.machine(), "Python", platform.python_version(), "NumPy", np.__version__, "damier", damier.__version__)
END
  "${emulated[@]}" "$here/packages/damier.scripts/damier" --version | sed 's/^/   /'
  "${emulated[@]}" "$here/packages/damier.scripts/damier" multiply "$here/A.h5" "$here/A.h5" -o "$here/D.h5" --zstd 3 -q | sed 's/^/   /'
  "${emulated[@]}" "$here/packages/damier.scripts/damier" compare "$here/C.h5" "$here/D.h5" --atol 1e-10 | sed 's/^/   /'
}

# Tests of the Python package, from the wheel that try_wheel installed. They start damier and Python again by scripts, which the system
# can execute, as it cannot what is for another processor.
run_python() {
  local bare=$root/build/aarch64-python site=$built/tried/packages names=("$@") name failed=0
  local program=$built/emulated/program python=$built/emulated/python
  [ -d "$site/damier" ] || die "'scripts/aarch64.sh try-wheel' comes before"
  [ ${#names[@]} != 0 ] || names=(first calls files matmul memory needed numbers random stored threads)
  mkdir -p "$built/emulated"
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q -E LD_LIBRARY_PATH= %q "$@"\n' "$bare" "$site/damier.scripts/damier" >"$program"
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q -E LD_LIBRARY_PATH= %q "$@"\n' "$bare" "$bare/usr/bin/python3.11" >"$python"
  chmod +x "$program" "$python"
  for name in "${names[@]}"; do
    PYTHONPATH=$site:$root/tests/python:$PYTHONPATH DAMIER_PROGRAM=$program timeout 3000 "$python" -c "
import sys, unittest
sys.executable = '$python'
unittest.main('test_$name', argv=['test', '-v'])" >"$built/python_$name.log" 2>&1 || failed=1
    note "python.$name: $(tail -n 3 "$built/python_$name.log" | tr '\n' ' ')"
  done
  return $failed
}

# The program as the tests start it: binfmt_misc is not needed, so that nothing of the system changes. An emulated process
# cannot read another one's memory (process_vm_readv).
emulate() {
  export MPIEXEC=${MPIEXEC:-mpirun} PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1 EMULATED=1
  export OMPI_MCA_btl_vader_single_copy_mechanism=none
}

# qemu-user ignores limits of address space and madvise, so that two tests fail there, of what is kept of limited memory and of pages
# that are made ahead.
run_unit() {
  mkdir -p "$built/scratch"
  say "unit tests under $(qemu-aarch64-static --version | head -n 1)"
  (cd "$built/scratch" && qemu-aarch64-static -L "$libraries" "$built/tests/unit_tests" "$@") 2>&1 | tee "$built/unit.log" |
    grep -E '^\[ *(FAILED|PASSED|SKIPPED)' || true
}

# The program is emulated; NumPy, which judges it, is not. Cases that measure memory, or limit it to less than the emulator's own
# and a product take, are left out, and say so (tests/lib/running.py).
run_judges() {
  local name names=("$@") failed=0 python
  python=$(python_with 'h5py, numpy')
  [ -n "$python" ] || die "no Python has NumPy and h5py: apt-get install python3-h5py"
  [ ${#names[@]} != 0 ] || names=(shapes ops types gram covariance slices compare zarr codecs)
  for name in "${names[@]}"; do
    timeout 3000 "$python" "tests/judge/judge_$name.py" --damier "$built/emulated/damier" >"$built/judge_$name.log" 2>&1 || failed=1
    note "judge.$name: $(tail -n 1 "$built/judge_$name.log")"
    sed -n 's/^left out/  &/p' "$built/judge_$name.log"
  done
  return $failed
}

emulate
case ${1-} in
"") build && run_unit && run_judges ;;
build) build ;;
unit) shift && run_unit "$@" ;;
judge) shift && run_judges "$@" ;;
configure) shift && configure "$@" ;;
try-wheel) try_wheel ;;
python) shift && run_python "$@" ;;
*) usage ;;
esac
