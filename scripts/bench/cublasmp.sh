#!/usr/bin/env bash
# Several GPUs of one node: products of random matrices in GPU memory by damier and by NVIDIA's cuBLASMp, one rank per
# GPU, alternating.
# usage: scripts/bench/cublasmp.sh [--library DIR] [--sizes "N ..."] [--types "f64 f32 bf16"] [--ranks N]
#                                  [--pairs N] [--repetitions N] [--output FILE] [--append]
#   --library      contains include/cublasmp.h and lib/libcublasmp.so.0 [CUBLASMP_ROOT, or else pip's package
#                  nvidia-cublasmp-cu13 or -cu12]
#   --ranks        [number of GPUs]
#   --repetitions  of each program in each pair; the median is used
# cuBLASMp uses the layout that was fastest in one product.  It needs NCCL, before version 0.8 also NVSHMEM, which are
# searched in NCCL_ROOT and NVSHMEM_ROOT, then in pip's and the compiler's folders.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

library=${CUBLASMP_ROOT:-} sizes='16384 32768' types='f64 f32 bf16' ranks=$(gpus) pairs=10 repetitions=3
output=docs/results/cublasmp.jsonl append=
read_options "library sizes types ranks pairs repetitions output append!" "$@"
[ "$ranks" -gt 0 ] || die "this takes a GPU"

# Folders where pip installed NVIDIA's package NAME.
pip_folders() {
  python3 -c "import importlib.util
found = importlib.util.find_spec('nvidia.$1')
print(*(found.submodule_search_locations if found else ()), sep='\n')" 2>/dev/null || true
}

# first_with FILE FOLDER...: the first folder that contains FILE.
first_with() {
  local file=$1 folder
  shift
  for folder; do
    if [ -n "$folder" ] && [ -e "$folder/$file" ]; then
      realpath "$folder"
      return
    fi
  done
}

# shellcheck disable=SC2046,SC2086 # a folder with spaces is not found
find_library() {
  local folder
  if [ -z "$library" ]; then
    for folder in $(pip_folders cublasmp); do library+=" $folder/cu13 $folder/cu12"; done
  fi
  library=$(first_with lib/libcublasmp.so.0 $library)
  [ -n "$library" ] || die "cuBLASMp is missing: pip install nvidia-cublasmp-cu13, or --library DIR"
  nccl=$(first_with lib/libnccl.so.2 "${NCCL_ROOT:-}" $(pip_folders nccl))
  nvshmem=$(first_with lib/libnvshmem_host.so.3 "${NVSHMEM_ROOT:-}" $(pip_folders nvshmem))
  note "cuBLASMp in $library; NCCL in ${nccl:-folders of the compiler}"
}

# Without new dtags, the paths also apply to the libraries that cuBLASMp needs.
compile() {
  local folder toolkit flags=() libraries=(-l:libcublasmp.so.0 -l:libnccl.so.2 -lcublas)
  toolkit=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
  for folder in "$library/lib" ${nccl:+"$nccl/lib"} ${nvshmem:+"$nvshmem/lib"} "$toolkit/lib64" "$toolkit/lib"; do
    flags+=(-L"$folder" -Xlinker -rpath="$folder")
  done
  if readelf -d "$library/lib/libcublasmp.so.0" | grep 'NEEDED.*nvshmem' >/dev/null; then
    libraries+=(-l:libnvshmem_host.so.3)
  fi
  nvcc -O3 -std=c++17 -arch=native -ccbin mpicxx -I. -Isrc -I"$library/include" ${nccl:+-I"$nccl/include"} \
    tests/bench/cublasmp.cu -o "$mp" "${flags[@]}" -Xlinker --disable-new-dtags -Xlinker --allow-shlib-undefined \
    "${libraries[@]}" || die "cuBLASMp's program does not compile: are NCCL, and NVSHMEM before cuBLASMp 0.8, there?"
}

# Without binding, because the library starts threads; within a node NVSHMEM needs no network.
cublasmp() {
  NVSHMEM_REMOTE_TRANSPORT=${NVSHMEM_REMOTE_TRANSPORT-none} ranks "$ranks" --bind-to none "$mp" "$@"
}

build_release -DDAMIER_CUDA=ON
mp=$(dirname "$damier")/cublasmp
find_library
compile
version=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
records=$(mktemp)
if [ -n "$append" ] && [ -e "$output" ]; then cp "$output" "$records"; fi
for size in $sizes; do
  for type in $types; do
    say "$pairs pairs of $type products of $size x $size matrices in the memory of $ranks GPUs"
    layout=$(cublasmp "$type" "$size" | sed -n 's/^fastest //p') || layout=
    if [ -z "$layout" ]; then
      note "cuBLASMp has not multiplied them"
      continue
    fi
    for ((pair = 1; pair <= pairs; pair++)); do
      ranks "$ranks" "$damier" bench multiply --backend cuda --require-gpu-per-rank --from device --size "$size" \
        --type "$type" --warmup 1 --repetitions "$repetitions" -q --json "$records"
      cublasmp "$type" "$size" "$layout" "$repetitions" "$version" "cublasmp $type $size $layout $repetitions" |
        grep '^{' >>"$records"
    done
  done
done
keep_records "$records" "$output"
