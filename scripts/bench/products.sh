#!/usr/bin/env bash
# Products by damier and by another way, alternating on this machine, for a table of docs/results.
# usage: scripts/bench/products.sh SET [--NAME VALUE ...]
#   cpu         two ranks of one thread, by shared memory and by messages; one process of the BLAS library with two threads
#   scalapack   --ranks processes of one thread; ScaLAPACK's pdgemm (Debian: libscalapack-openmpi-dev; mpi4py)
#   checkpoint  files in --directory, with checkpoints, with one each second, and without
#   gpu         GPU memory; cuBLAS in the same process
#   gpu_odd     the same, sizes that are no multiples of 16 bytes
#   limited_gpu GPU memory; host memory and a quarter of the GPU memory that the matrices need
#   links       several GPUs, whose panels travel; one cuBLAS call for each GPU's block
#   residues_gpus  by --compute on one GPU and on all, and the native product on all
#   cublasxt    pinned host memory, on --gpus (one, and all); NVIDIA's cuBLASXt (torch)
#   cublasmp    memory of all GPUs; NVIDIA's cuBLASMp, whose file is --library (torch, mpi4py)
# --size is that of the largest matrices; --sizes and --types are lists, for sets with another library. --pairs (or --rounds) counts
# turns, --repetitions the products in each; --setting chooses the other library's block, layout or grid [the fastest].
# --output FILE [docs/results/SET.jsonl]; --append keeps its records.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

sizes='' types='' pairs='' repetitions='' ranks='' gpus='' compute=f64:int8 transport=auto directory=build library='' setting='' output='' append=''
size='' rounds=''
read_options "size sizes types pairs rounds repetitions ranks gpus compute transport directory library setting output append!" "$@"
[ ${#operands[@]} = 1 ] || usage
set=${operands[0]}
: "${sizes:=$size}" "${pairs:=$rounds}" "${output:=docs/results/$set.jsonl}"
records=$(mktemp)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -n "$append" ] && [ -e "$output" ]; then cp "$output" "$records"; fi

# bench RANKS OPTION...
bench() {
  local count=$1 start=()
  shift
  if [ "$count" -gt 1 ]; then start=(ranks "$count"); fi
  note "$count ranks: $*"
  "${start[@]}" "$damier" bench multiply ${repetitions:+--repetitions "$repetitions"} "$@" -q --json "$records"
}

on_gpus() { bench "$@" --backend cuda --require-gpu-per-rank; }

# against PROGRAM TYPE SIZE RANKS damier's OPTION...: alternates with a program of rivals.py.
against() {
  local program=$1 type=$2 n=$3 count=$4 start=(ranks "$4") chosen pair
  shift 4
  local rival=("$python" scripts/bench/rivals.py "$program" "$type" "$n" --library "$library")
  case $program in
  cublasxt) start=() rival+=(--gpus "$count") ;;
  cublasmp) start+=(--bind-to none) ;; # the library starts threads
  esac
  say "$pairs pairs of $type products of $n x $n matrices by damier and $program, $count ranks or GPUs"
  chosen=${setting:-$("${start[@]}" "${rival[@]}")} || die "$program has not multiplied them"
  rival+=(--setting "$chosen" --repetitions "$repetitions" --git "$version")
  for ((pair = 1; pair <= pairs; pair++)); do
    "$@" "$count" --size "$n" --warmup 1 "${more[@]}"
    "${start[@]}" "${rival[@]}" >>"$records"
  done
}

# with_python MODULES: sets what rivals.py needs.
with_python() {
  python=$(python_with "$1")
  [ -n "$python" ] || die "there is no Python with $1"
  version=$("$damier" --version | sed -n '1s/.*(git \([^)]*\)).*/\1/p') # the other library's records are of damier's commit
}

measure_scalapack() {
  : "${repetitions:=1}" "${pairs:=10}"
  with_python 'numpy, mpi4py'
  share_openblas_kernels
  more=(--threads 1)
  for size in ${sizes:-4096}; do OPENBLAS_NUM_THREADS=1 against pdgemm f64 "$size" "${ranks:-2}" bench; done
}

measure_checkpoint() {
  local turn words
  rmdir "$folder"
  folder=$(mktemp -d "$directory/checkpoint-XXXXXX")
  "$damier" generate "$folder/A.h5" --size "${sizes:-4096}" -q >/dev/null
  "$damier" generate "$folder/B.h5" --size "${sizes:-4096}" --seed 2 -q >/dev/null
  for ((turn = 1; turn <= ${repetitions:-11}; turn++)); do
    for words in --checkpoint '--checkpoint-interval 1s' --no-checkpoint; do
      # shellcheck disable=SC2086
      ranks 2 "$damier" multiply "$folder/A.h5" "$folder/B.h5" -o "$folder/C.h5" --threads 1 -q $words --json "$records"
      rm "$folder/C.h5"
    done
  done
}

# Prints the products of one turn of a set that only damier multiplies: "RANKS OPTION...".
products() {
  local n=$sizes type shape device="--backend cuda --from device" each="--backend cuda --require-gpu-per-rank"
  local linked="$all $each --from device --against-library --transport $transport"
  case $set in
  cpu) printf '%s\n' "2 --size $n --threads 1 --warmup 1 --transport shared" \
    "1 --size $n --threads 2 --warmup 1 --against-library" "2 --size $n --threads 1 --warmup 1 --transport host" ;;
  gpu)
    for type in f64 f32 'f32 --compute tf32' bf16; do echo "1 $device --against-library --size $n --type $type"; done
    for type in f16 i8 c64 c128; do echo "1 $device --against-library --size $((n / 2)) --type $type"; done
    ;;
  gpu_odd) for type in f64 bf16 'f32 --compute tf32'; do echo "1 $device --against-library --size $n --type $type"; done ;;
  limited_gpu) printf '%s\n' "1 $device --size $n" \
    "1 --backend cuda --from host --size $n --memory device=$((6 * n * n / 1048576))MiB" ;;
  links)
    for shape in "--size $((n / 2))" "--size $n" "--size $n --type f32 --compute tf32" "--size $n --type bf16" \
      "--size $n --type bf16 --type-c bf16" '--m 6000 --n 6000 --k 300000' '--m 300000 --n 6000 --k 6000' \
      '--m 60000 --n 60000 --k 5000'; do echo "$linked $shape"; done
    echo "$all $each --from host --size $n"
    ;;
  residues_gpus) printf '%s\n' "1 $each --from device --size $n --warmup 1 --compute $compute" \
    "$all $each --from device --size $n --warmup 1 --compute $compute" \
    "$all $each --from device --size $n --warmup 1 --compute f64" ;;
  esac
}

# in_turns SIZE TURNS REPETITIONS: those are the defaults.
in_turns() {
  local turn words
  : "${sizes:=$1}" "${pairs:=$2}" "${repetitions:=$3}"
  for ((turn = 1; turn <= pairs; turn++)); do
    while read -ra words; do bench "${words[@]}" </dev/null; done < <(products)
  done
}

# nvidias PROGRAM MEMORY "GPUS ..." "TYPE ..."
nvidias() {
  local count size type
  : "${repetitions:=3}" "${pairs:=10}"
  for count in $3; do
    for size in ${sizes:-16384}; do
      for type in ${types:-$4}; do
        more=(--from "$2" --type "$type")
        against "$1" "$type" "$size" "$count" on_gpus
      done
    done
  done
}

measure_cublasxt() {
  with_python torch
  nvidias cublasxt host "${gpus:-$(printf '%s\n' 1 "$all" | sort -nu | xargs)}" 'f64 f32'
}

measure_cublasmp() {
  with_python 'torch, mpi4py'
  nvidias cublasmp device "${ranks:-$all}" 'f64 f32 bf16'
}

all=$(gpus)
grep -qE "^#   $set " "$script" || usage
case $set in
cpu | scalapack | checkpoint) build_release -DDAMIER_CUDA=OFF ;;
links | residues_gpus) [ "$all" -gt 1 ] || die "this takes a node with several GPUs; here are $all" ;;&
*)
  [ "$all" -gt 0 ] || die "this takes a GPU"
  build_release -DDAMIER_CUDA=ON
  ;;
esac
case $set in
cpu) in_turns 4096 15 1 ;;
gpu) in_turns 16384 1 20 ;;
gpu_odd) in_turns 8191 1 20 ;;
limited_gpu) in_turns 32768 2 5 ;;
links) in_turns 32768 1 10 ;;
residues_gpus) in_turns 32768 4 3 ;;
*) "measure_$set" ;;
esac
keep_records "$records" "$output"
