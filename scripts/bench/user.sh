#!/usr/bin/env bash
# Whole commands as users run them, timed from fork to exit, that multiply from the same files to a file,
# alternating: damier alone and with mpirun (with its default binding, and without), h5py with NumPy, CuPy and
# torch, ScaLAPACK's pdgemm if installed, and the launcher with an empty program.  Each complete set (a size and
# a type) is appended to the output; scripts/report/user_tables.py makes the tables.
# usage: scripts/bench/user.sh [--sizes "N MxKxN ..."] [--types "f64 f32"] [--ranks "1 2 ..."] [--pairs N]
#                              [--only REGEX] [--cpu] [--cold] [--folder DIR] [--seconds LIMIT]
#                              [--python "PYTHON ..."] [--launcher MPIRUN] [--damier PATH] [--output FILE]
# REGEX must match whole names of rows, as in the first line of output; --cpu: adds rows of damier with
# --backend cpu; --cold: drops A and B from the page cache before each run; LIMIT: starts no set after this
# many seconds; PYTHON: interpreters in which h5py and the libraries are searched, in this order.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

valued="sizes types ranks pairs only folder seconds python launcher output" switches="cpu cold"
for name in $valued $switches; do printf -v "$name" ''; done
damier=${DAMIER:-}
read_options "$valued damier ${switches// /! }!" "$@"
[ ${#operands[@]} = 0 ] || usage
[ -n "$damier" ] || build_release -DDAMIER_CUDA=AUTO

# Options that are not given have the defaults of user_runs.py.
words=(--damier "$damier")
for name in $valued; do
  if [ -n "${!name}" ]; then words+=("--$name" "${!name}"); fi
done
for name in $switches; do
  if [ -n "${!name}" ]; then words+=("--$name"); fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Sets pdgemm if ScaLAPACK is installed (libscalapack-openmpi-dev on Debian and Ubuntu).
build_pdgemm() {
  local flags
  read -ra flags <<<"$(pkg-config --cflags --libs hdf5-serial 2>/dev/null || echo -lhdf5)"
  if mpicc -O2 tests/bench/pdgemm_files.c -o "$scratch/pdgemm_files" -lscalapack-openmpi -lopenblas \
    "${flags[@]}" 2>/dev/null; then
    words+=(--pdgemm "$scratch/pdgemm_files")
  else
    note "no rows of pdgemm: ScaLAPACK is missing"
  fi
}

numpy=$(python_with_h5py)
[ -n "$numpy" ] || die "no Python with NumPy and h5py is here"
build_pdgemm
"$numpy" scripts/bench/user_runs.py "${words[@]}"
