#!/usr/bin/env bash
# What users get: whole commands, from fork to exit, that multiply from the same files into a file, alternating:
# damier alone and by mpirun (with the binding that it chooses, and without), h5py with NumPy, CuPy and torch,
# ScaLAPACK's pdgemm where it is installed, and the launcher with nothing to do.  Each set (a size and a type)
# is appended to the output when all of it is there; scripts/report/user_tables.py makes a table and a plot.
# usage: scripts/bench/user.sh [--sizes "N MxKxN ..."] [--types "f64 f32"] [--ranks "1 2 ..."] [--pairs N]
#                              [--only REGEX] [--cpu] [--cold] [--folder DIR] [--seconds LIMIT]
#                              [--python "PYTHON ..."] [--launcher MPIRUN] [--damier PATH] [--output FILE]
# REGEX is of whole names of rows, as the first line of output lists them; --cpu: also rows of damier with
# --backend cpu; --cold: A and B leave the page cache before each run; LIMIT: no set begins after so many
# seconds; PYTHON: where h5py and the libraries are looked for, in this order.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

valued="sizes types ranks pairs only folder seconds python launcher output" switches="cpu cold"
for name in $valued $switches; do printf -v "$name" ''; done
damier=${DAMIER:-}
read_options "$valued damier ${switches// /! }!" "$@"
[ ${#operands[@]} = 0 ] || usage
[ -n "$damier" ] || build_release -DDAMIER_CUDA=AUTO

# What was not said is left to user_runs.py.
words=(--damier "$damier")
for name in $valued; do
  if [ -n "${!name}" ]; then words+=("--$name" "${!name}"); fi
done
for name in $switches; do
  if [ -n "${!name}" ]; then words+=("--$name"); fi
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Sets pdgemm where ScaLAPACK is: Debian and Ubuntu have it as libscalapack-openmpi-dev.
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
