# Untrustworthy files in one call: it continues after each one and reports why it is rejected.
needs_h5py
"$PYTHON" "$ROOT/tests/hostile/make_cases.py" bad >/dev/null
cd bad || exit
locations=() fragments=()
while IFS=$'\t' read -r location code fragment; do
  # Files that can be listed have another outcome here, info does not read chunks, and options are for all files.
  [[ $code = 0 || $fragment == 'holds '* || $location == lzf_* || $location == *' '[a-z]* ]] && continue
  locations+=("$location") fragments+=("$fragment")
done <cases.tsv
output=$(timeout 120 damier info "${locations[@]}" 2>&1)
echo "exit $?"
refused=$(grep -c '^damier: error: ' <<<"$output")
[ "$refused" = ${#locations[@]} ] || echo "$refused of ${#locations[@]} refused"
for fragment in "${fragments[@]}"; do
  [[ $output == *"${fragment%|*}"* || $output == *"${fragment#*|}"* ]] || echo "nothing says '$fragment'"
done
damier multiply cut_2048.h5 whole.h5 -o C.h5 >/dev/null 2>&1
echo "exit $?, $(ls C.h5* 2>/dev/null | wc -l) outputs"
# What the user allows makes no difference to what counts as a matrix.
for file in two_*.h5; do
  damier multiply "$file" whole.h5 -o C.h5 -q --allow-external --allow-virtual --allow-filters --allow-no-data --as-column \
    2>&1 | grep -o 'holds [0-9]* matrices'
done | sort | uniq -c | sed 's/^ *//'
for file in never_*.h5; do
  damier info "$file:/a" --allow-no-data 2>&1 | sed -n 's/.*\(has no data.*\)/\1/p; s/.*\(its fill time is [^,]*\),.*/\1/p'
done
