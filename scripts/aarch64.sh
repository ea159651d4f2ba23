#!/usr/bin/env bash
# Builds damier for 64-bit Arm with a cross compiler, and runs its unit tests and judges under an emulator (qemu-user).
# usage: scripts/aarch64.sh                      builds, then runs all unit tests and some judges
#        scripts/aarch64.sh build | unit [test_PREFIX_] | judge [NAME...]       NAME of tests/judge/judge_NAME.py
#   Needs Debian's gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static and mmdebstrap; fetches the libraries of
#   the same Debian for arm64 to build/aarch64-root, about 600 MB. Nothing outside of build/ changes.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

triple=aarch64-linux-gnu
libraries=${DAMIER_ARM_ROOT:-$root/build/aarch64-root}
lib=$libraries/usr/lib/$triple
built=$root/build/aarch64
packages=(libc6-dev libgcc-12-dev libopenmpi-dev openmpi-bin libhdf5-dev libopenblas-pthread-dev libhwloc-dev libjansson-dev
  libxxhash-dev zlib1g-dev libdeflate-dev libzstd-dev liblz4-dev libblosc-dev libcmocka-dev)

for tool in $triple-gcc $triple-g++ qemu-aarch64-static mmdebstrap; do
  has "$tool" || die "$tool is missing: apt-get install gcc-$triple g++-$triple qemu-user-static mmdebstrap"
done

# Nothing of it runs while it is unpacked, so that it needs neither root nor the emulator.
fetch_libraries() {
  local suite
  if [ -d "$lib/openmpi" ]; then return; fi
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  say "fetching the libraries of $suite for arm64"
  mmdebstrap --quiet --architectures=arm64 --variant=extract --format=directory \
    --include="$(IFS=,; echo "${packages[*]}")" "$suite" "$libraries" "${DAMIER_DEBIAN:-http://deb.debian.org/debian}"
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
set(ENV{PKG_CONFIG_LIBDIR} $lib/pkgconfig:$lib/openblas-pthread/pkgconfig:$libraries/usr/share/pkgconfig)
END
}

build() {
  mkdir -p "$built"
  fetch_libraries
  link_libraries
  write_toolchain
  say "building for $triple"
  cmake -S . -B "$built" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$built/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DDAMIER_TESTS=ON -DDAMIER_CUDA=OFF -DDAMIER_SIMULATION=OFF -DHDF5_C_COMPILER_EXECUTABLE=/bin/false \
    -DCMAKE_INCLUDE_PATH=/usr/include/hdf5/serial -DCMAKE_LIBRARY_PATH="/usr/lib/$triple/hdf5/serial;/usr/lib/$triple/openmpi/lib" \
    -DMPI_C_COMPILER=MPI_C_COMPILER-NOTFOUND -DMPI_C_LIB_NAMES=mpi -DMPI_mpi_LIBRARY="$lib/openmpi/lib/libmpi.so" \
    -DMPI_C_HEADER_DIR="$lib/openmpi/include" >"$built/configure.log" 2>&1 || { tail -30 "$built/configure.log"; die "CMake failed"; }
  cmake --build "$built" --target damier unit_tests
  mkdir -p "$built/emulated"
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q %q "$@"\n' "$libraries" "$built/damier" >"$built/emulated/damier"
  chmod +x "$built/emulated/damier"
}


# The program as the tests start it: binfmt_misc is not needed, so that nothing of the system changes. An emulated process
# cannot read another one's memory (process_vm_readv).
emulate() {
  export MPIEXEC=${MPIEXEC:-mpirun} PYTHONPATH=$root/tests/lib PYTHONDONTWRITEBYTECODE=1
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

# The program is emulated; NumPy, which judges it, is not.
run_judges() {
  local name names=("$@") failed=0
  [ ${#names[@]} != 0 ] || names=(shapes ops types gram covariance slices compare zarr codecs)
  for name in "${names[@]}"; do
    timeout 3000 python3 "tests/judge/judge_$name.py" --damier "$built/emulated/damier" >"$built/judge_$name.log" 2>&1 || failed=1
    note "judge.$name: $(tail -n 1 "$built/judge_$name.log")"
  done
  return $failed
}

emulate
case ${1-} in
"") build && run_unit && run_judges ;;
build) build ;;
unit) shift && run_unit "$@" ;;
judge) shift && run_judges "$@" ;;
*) usage ;;
esac
