#!/bin/sh
# Prints which C files of src one plain `damier multiply` enters, and how many: entered_files.sh [SIZE]
# Builds the program with gcov's counters in a temporary folder; needs gcc and gcov.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
size=${1:-512}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake -S "$root" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DDAMIER_CUDA=OFF -DDAMIER_TESTS=OFF \
      -DCMAKE_C_FLAGS="--coverage -O1" > "$folder/log" 2>&1
cmake --build "$folder/build" --target damier >> "$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; exit 1; }
damier=$folder/build/damier
"$damier" generate "$folder/a.h5" --size "$size" -q > "$folder/log"
"$damier" generate "$folder/b.h5" --size "$size" --seed 2 -q > "$folder/log"
find "$folder/build" -name '*.gcda' -delete
"$damier" multiply "$folder/a.h5" "$folder/b.h5" -o "$folder/c.h5" -q > "$folder/log"

cd "$folder"
find build -name '*.gcda' -exec gcov -n {} + 2> /dev/null |
  awk '/^File / { file = substr($2, 2, length($2) - 2) }
       /^Lines executed:/ && sub(/^.*\/src\//, "", file) && file ~ /^[a-z]+\/[a-z0-9_]+\.c$/ {
         split($2, part, /[:%]/)
         if (part[2] > 0) print file }' | sort -u > entered
cat entered
echo "$(wc -l < entered) of $(find "$root/src" -name '*.c' | wc -l) files"
