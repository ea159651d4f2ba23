# shellcheck shell=bash
# Sourced by all scripts, in the project's root.
set -euo pipefail
root=$PWD
script=$(cd "${OLDPWD:-.}" && realpath "$0")

say() { printf '== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Prints the comment at the head of the script.
usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script" >&2
  exit 1
}

# read_options "NAME... FLAG!..." "$@": --NAME VALUE sets the variable NAME, --FLAG the variable FLAG to 1; a
# dash in a name is an underscore in the variable.  Other arguments go to the array "operands".
read_options() {
  local names=" $1 " name
  shift
  operands=()
  while [ $# -gt 0 ]; do
    name=${1#--}
    case "$1 $names" in
    [!-]*) operands+=("$1") ;;
    --*" $name! "*) printf -v "${name//-/_}" 1 ;;
    --*" $name "*)
      [ $# -gt 1 ] || usage
      printf -v "${name//-/_}" %s "$2"
      shift
      ;;
    *) usage ;;
    esac
    shift
  done
}

# CUDA is often installed outside of PATH.
if ! has nvcc && [ -x /usr/local/cuda/bin/nvcc ]; then
  PATH=$PATH:/usr/local/cuda/bin
fi

# Tools that pip installs for users without root (scripts/packages.sh).
if [ -d build/tools/bin ]; then
  PATH=$PATH:$root/build/tools/bin
fi

# Open MPI refuses to run as root unless both are set.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# In a container without /sys each rank and mpirun would print warnings.
if [ ! -e /sys/devices/system/cpu ]; then
  export HWLOC_HIDE_ERRORS=${HWLOC_HIDE_ERRORS-2} UCX_LOG_LEVEL=${UCX_LOG_LEVEL-fatal}
fi

# ranks N COMMAND...: allows more ranks than cores. MPICH has no such flag and needs none.
ranks() {
  local count=$1 flags=()
  shift
  case $(mpirun --version 2>&1) in *'Open MPI'*) flags=(--oversubscribe) ;; esac
  mpirun "${flags[@]}" -n "$count" "$@"
}

# python_with MODULES: prints a Python that has them, if any; the first one in PATH need not have them.
python_with() {
  local python
  for python in python3 /usr/bin/python3; do
    if has "$python" && "$python" -c "import $1" 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
}

gpus() {
  { nvidia-smi -L 2>/dev/null || true; } | grep -c '^GPU' || true
}

# Shows the progress of a build in steps of 10 %; compiler messages go to standard output.
show_tenths() {
  local line tenth last=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    if ((tenth > last)); then note "${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps" >&2; fi
    last=$tenth
  done
}

# Sets damier, the program: DAMIER, or else an optimised build of the current commit.
# shellcheck disable=SC2034
build_release() {
  if [ -n "${DAMIER:-}" ]; then
    damier=$(realpath "$DAMIER")
    return
  fi
  say "building build/release/damier"
  mkdir -p build
  if ! { cmake --preset release "$@" 2>&1 && cmake --build --preset release --target installed 2>&1; } |
    show_tenths >build/release.log; then
    tail -n 40 build/release.log >&2
    die "the build failed; all of it is in build/release.log"
  fi
  damier=$root/build/release/damier
}

# keep_records FROM TO: moves a measurement into place once it is complete.
keep_records() {
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2"
  rm -f "$1"
  say "$(wc -l <"$2") records in $2; scripts/report/results.py docs/results/*.jsonl makes the tables"
}
