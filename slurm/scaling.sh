#!/usr/bin/env bash
# Strong or weak scaling on Slurm: the program's own benchmark on 1, 2, 4, ... nodes.
#
#   slurm/scaling.sh --nodes "1 2 4 8" --size 40000 --type f32 -- --gpus-per-node 8 --ntasks-per-node 8
#   slurm/scaling.sh --weak --together ...
#
# usage: scaling.sh [--nodes LIST] [--size N] [--type TYPE] [--weak] [--together] [--repetitions N]
#                   [-o RECORDS.jsonl] [-- SBATCH OPTION...]
#   --weak      N is that of one node; the work of a node stays the same
#   --together  one allocation, one step per node count; else one job per node count
# Waits until all have ended.  Records go to RECORDS.jsonl (scaling.jsonl), one line each in the order
# of the nodes, and a table to the screen.  Runs with env.sh and launch.sh, as multiply.sbatch does.
set -euo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
  printf 'scaling.sh: %s\n' "$*" >&2
  exit 2
}

# Inside an allocation: scaling.sh --step NODES SIZE RECORD ... for each of the steps.
run_steps() {
  # shellcheck source=slurm/env.sh
  source "$folder/env.sh"
  # shellcheck source=slurm/launch.sh
  source "$folder/launch.sh"
  while [ $# != 0 ]; do
    choose_launcher "$1"
    echo "== $1 nodes: ${launch[*]}"
    "${launch[@]}" damier bench multiply --size "$2" --type "$type" --repetitions "$repetitions" --json "$3"
    shift 3
  done
}

type=${SCALING_TYPE:-f64} repetitions=${SCALING_REPETITIONS:-5}
if [ "${1-}" = --step ]; then
  folder=$SCALING_FOLDER
  run_steps "${@:2}"
  exit
fi

nodes='1 2 4' size=20000 weak='' together='' records=scaling.jsonl options=()
while [ $# != 0 ]; do
  case $1 in
  --nodes) nodes=${2:?} && shift ;;
  --size) size=${2:?} && shift ;;
  --type) type=${2:?} && shift ;;
  --repetitions) repetitions=${2:?} && shift ;;
  --weak) weak=1 ;;
  --together) together=1 ;;
  -o) records=${2:?} && shift ;;
  --)
    options=("${@:2}")
    break
    ;;
  *) die "unknown option '$1'" ;;
  esac
  shift
done
[[ $nodes =~ ^[0-9]+( +[0-9]+)*$ ]] || die "--nodes wants numbers, as in \"1 2 4\""
[[ $size =~ ^[0-9]+$ ]] || die "--size wants a number"
[ ! -e "$records" ] || die "$records exists"

# Weak: the flops, size^3, grow with the nodes; to a multiple of 64.
size_of() {
  if [ -z "$weak" ]; then
    echo "$size"
  else
    awk -v n="$size" -v p="$1" 'BEGIN { printf "%d", int(n * p ^ (1 / 3) / 64 + 0.5) * 64 }'
  fi
}

export SCALING_TYPE=$type SCALING_REPETITIONS=$repetitions SCALING_FOLDER=$folder
scratch=$(mktemp -d "$PWD/scaling-XXXXXX") # where the nodes see it
submit() {
  sbatch --wait --job-name=damier-scaling --output="$scratch/%j.log" --nodes "$1" "${options[@]}" \
    "$folder/scaling.sh" --step "${@:2}"
}

steps=() jobs=() most=0 failed=0
for count in $nodes; do
  step=("$count" "$(size_of "$count")" "$scratch/$(printf %06d "$count")")
  if [ -n "$together" ]; then
    steps+=("${step[@]}")
    if ((count > most)); then most=$count; fi
  else
    submit "$count" "${step[@]}" &
    jobs+=($!)
  fi
done
if [ -n "$together" ]; then submit "$most" "${steps[@]}" || failed=1; fi
for job in "${jobs[@]}"; do wait "$job" || failed=1; done

cat "$scratch"/[0-9]*[0-9] >"$records" 2>/dev/null || true
grep -h '^damier: bench' "$scratch"/*.log || true
if [ "$failed" = 1 ]; then
  echo "scaling.sh: not all went well; their logs are in $scratch" >&2
  exit 1
fi
rm -r "$scratch"
echo "$(wc -l <"$records") records in $records"
