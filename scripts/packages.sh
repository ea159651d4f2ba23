#!/usr/bin/env bash
# Installs missing Debian or Ubuntu packages; on other systems lists them.
# usage: scripts/packages.sh [build] [test] [long] [lint] [cluster] [mpich] [simulation]
#   build    to build and run damier     test  its tests     lint  the checks of its sources
#   long     tests that are not in the quick run
#   cluster  Slurm, for the tests with several nodes on one computer; optional
#   simulation  SimGrid, for runs on simulated machines; optional
#   mpich    MPICH; if Open MPI is installed, mpicc and mpirun stay Open MPI's
# Uses the installed MPI, if any; else installs Open MPI.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

build_packages=(gcc libc6-dev cmake ninja-build pkg-config libhdf5-dev
  libopenblas-dev libhwloc-dev libjansson-dev libxxhash-dev zlib1g-dev
  libdeflate-dev libzstd-dev liblz4-dev libblosc-dev)
test_packages=(libcmocka-dev python3 python3-numpy python3-h5py python3-jsonschema hdf5-tools procps)
long_packages=(strace g++ gfortran mypy hdf5-filter-plugin python3-hdf5plugin python3-pip python3-setuptools python3-venv
  python3-wheel
  make octave r-base-core r-bioc-delayedarray r-bioc-hdf5array r-cran-jsonlite
  python3-pandas python3-scipy python3-xarray python3-dask python3-zarr python3-tqdm) # whose arrays the package takes
lint_packages=(shellcheck clang-format mandoc doxygen)
cluster_packages=(iproute2 munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins)
mpich_packages=(mpich libmpich-dev)
simulation_packages=(libsimgrid-dev)
if (source /etc/os-release && [[ $ID-${VERSION_ID%.*} =~ ^(debian-1[3-9]|ubuntu-(2[4-9]|3.))$ ]]) 2>/dev/null; then
  build_packages+=(libblosc2-dev) # not in earlier ones
fi
if (source /etc/os-release && [ "$ID" = debian ]) 2>/dev/null; then long_packages+=(python3-torch snakemake); fi
if has nvcc; then build_packages+=(g++); fi # the host compiler of nvcc
if ! { has mpicc && has mpirun; }; then build_packages+=(openmpi-bin libopenmpi-dev); fi
# Debian's mpi4py depends on Open MPI, which must not replace another mpirun.
if ! has mpirun || mpirun --version 2>/dev/null | grep -q "Open MPI"; then long_packages+=(python3-mpi4py); fi

# Required commands and libraries, from any source.
build_tools=(cc cmake ninja pkg-config mpicc mpirun)
build_libraries=(hwloc jansson libxxhash zlib)
test_tools=(python3 h5dump pkill)
test_libraries=(cmocka)
lint_tools=(shellcheck clang-format mandoc)

packages=() tools=() libraries=()
for group in "${@:-build}"; do
  case $group in
  build) packages+=("${build_packages[@]}") tools+=("${build_tools[@]}") libraries+=("${build_libraries[@]}") ;;
  test) packages+=("${test_packages[@]}") tools+=("${test_tools[@]}") libraries+=("${test_libraries[@]}") ;;
  long) packages+=("${long_packages[@]}") ;;
  lint) packages+=("${lint_packages[@]}") tools+=("${lint_tools[@]}") ;;
  cluster) packages+=("${cluster_packages[@]}") ;;
  mpich) packages+=("${mpich_packages[@]}") ;;
  simulation) packages+=("${simulation_packages[@]}") ;;
  *) die "no package group '$group'; there are build, test, long, lint, cluster, mpich and simulation" ;;
  esac
done

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      echo "$package"
    fi
  done
}

missing_needs() {
  local need
  for need in "${tools[@]}"; do
    has "$need" || echo "$need"
  done
  for need in "${libraries[@]}"; do
    pkg-config --exists "$need" 2>/dev/null || echo "$need"
  done
}

# With or without sudo; non-interactive.
apt_get() {
  local as_root=(env)
  if [ "$(id -u)" != 0 ]; then as_root=(sudo env); fi
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}

# Without a terminal sudo must not need a password.
may_install() {
  [ "$(id -u)" = 0 ] || { has sudo && { { : </dev/tty; } 2>/dev/null || sudo -n true 2>/dev/null; }; }
}

# Lines of apt-get's output that show how far it is.
show_packages() {
  awk '/^Need to get/ { print "   " $0 }
    /^Get:/ && ++got % 20 == 0 { print "   " got " packages downloaded" }
    /^Setting up/ && ++set % 20 == 0 { print "   " set " packages installed" } { fflush() }'
}

install_missing() {
  local missing log
  mapfile -t missing < <(missing_packages)
  if [ ${#missing[@]} = 0 ]; then return; fi
  say "packages for $*: ${missing[*]}"
  if ! may_install; then
    note "not installed: this needs root, or a user who may use sudo"
    return
  fi
  apt_get update || note "the package lists could not be renewed; going on with the old ones"
  log=$(mktemp)
  if ! apt_get -q=1 install -y --no-install-recommends "${missing[@]}" | tee "$log" | show_packages; then
    tail -n 20 "$log" >&2
    note "apt-get install failed"
  fi
  rm -f "$log"
}

if has apt-get && has dpkg-query; then
  install_missing "${@:-build}"
fi

# Installs CMake and Ninja without root.
fetch_tools() {
  local tools=()
  has cmake || tools+=(cmake)
  has ninja || tools+=(ninja)
  if [ ${#tools[@]} = 0 ]; then return; fi
  say "by pip, to build/tools: ${tools[*]}"
  if ! { has python3 && python3 -m venv build/tools && build/tools/bin/pip install --quiet "${tools[@]}"; } >&2; then
    note "pip did not fetch them"
  fi
  PATH=$PATH:$root/build/tools/bin
}
if [[ " ${tools[*]} " == *" ninja "* ]]; then fetch_tools; fi

mapfile -t needs < <(missing_needs)
if [ ${#needs[@]} != 0 ]; then
  cat >&2 <<END
error: missing for ${*:-build}: ${needs[*]}
  It takes a C11 compiler, CMake 3.25 or newer, Ninja, pkg-config, MPI 3 (Open MPI or MPICH),
  HDF5 1.10 or newer, a CBLAS (OpenBLAS, BLIS, MKL, NVPL), hwloc 2, jansson, xxHash, zlib;
  for compressed chunks also libdeflate, zstd, lz4, blosc, blosc2, each of which may be missing;
  for the tests cmocka, h5dump, and Python 3 with NumPy, h5py and jsonschema;
  for the checks shellcheck, clang-format and mandoc.
  Debian's names for them: ${packages[*]}
  Without root: modules ('module avail' lists them: gcc, openmpi, hdf5, openblas, hwloc, jansson, xxhash), or
    conda install -c conda-forge c-compiler cmake ninja pkg-config openmpi hdf5 openblas libhwloc jansson xxhash zlib zstd lz4-c blosc c-blosc2 libdeflate
    spack install cmake ninja pkgconf openmpi hdf5 openblas hwloc jansson xxhash zlib-api zstd lz4 c-blosc c-blosc2 libdeflate
  The build finds what pkg-config finds (PKG_CONFIG_PATH), and what is below CMAKE_PREFIX_PATH.
END
  exit 1
fi
if [[ " ${tools[*]} " != *" cmake "* ]]; then exit; fi
cmake_version=$(cmake --version | sed -n '1s/[^0-9]*//p')
if [ "$(printf '3.25\n%s\n' "$cmake_version" | sort -V | head -n 1)" != 3.25 ]; then
  die "CMake 3.25 or newer is needed, and $(command -v cmake) is $cmake_version"
fi
