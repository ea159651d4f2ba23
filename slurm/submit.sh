#!/usr/bin/env bash
# Submits multiply.sbatch after checking the files, so that a job that would fail at once does not wait
# in the queue.
#
#   slurm/submit.sh [SBATCH OPTION...] A.h5 B.h5 C.h5 [OPTION...]
#
# Without SBATCH OPTIONs damier plan --slurm chooses them.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export SCRIPTS=${SCRIPTS:-$folder}

refuse() {
  echo "submit.sh: $*" >&2
  exit 2
}

# A word after an option is its value if the option has none yet and the word is no file.
asked=()
while [[ ${1-} == -* ]]; do
  asked+=("$1")
  if [[ $1 != *=* && ($1 == --* || $1 == -?) && -n ${2-} && $2 != -* && ! -e ${2%%:/*} ]]; then
    asked+=("$2")
    shift
  fi
  shift
done
[ $# -ge 3 ] || refuse "usage: submit.sh [SBATCH OPTION...] A.h5 B.h5 C.h5 [OPTION...]"
for input in "${1%%:/*}" "${2%%:/*}"; do
  [ -r "$input" ] || refuse "$input cannot be read"
done
output=${3%%:/*}
[ -d "$(dirname "$output")" ] || refuse "$output: its folder does not exist"
if [ -e "$output" ] && [[ " $* " != *" --force "* && " $* " != *" --append "* ]]; then
  refuse "$output exists; --force replaces it"
fi
if [ ${#asked[@]} = 0 ]; then
  lines=$(damier plan --slurm "$1" "$2" "${@:4}") || refuse "give sbatch options: submit.sh --nodes=2 --time=1:00:00 ..."
  mapfile -t asked < <(sed -n 's/^#SBATCH //p' <<<"$lines")
  echo "sbatch ${asked[*]}"
fi
# The comment names C, so that a second job for it is noticed while the first waits or runs.
mark="damier $(realpath "$output")"
if squeue --noheader --user="$(id -un)" --format=%k 2>/dev/null | grep -qxF "$mark"; then
  refuse "a job for $output is already in the queue: squeue --me --format='%i %T %k'"
fi
exec sbatch --comment="$mark" "${asked[@]}" "$folder/multiply.sbatch" "$@"
