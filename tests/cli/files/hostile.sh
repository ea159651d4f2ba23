# Files that nobody should trust: each with its exit code and a part of its message, as an input of
# multiply too.
needs_h5py
"$PYTHON" "$ROOT/tests/hostile/make_cases.py" bad >/dev/null
cd bad || exit
while IFS=$'\t' read -r location code fragment; do
  output=$(timeout 60 damier info "$location" 2>&1)
  got=$?
  [ $got = "$code" ] || printf '%s: exit %d, wanted %d\n%s\n' "$location" $got "$code" "$output"
  [ "$code" = 0 ] && continue
  [[ $output == *"$fragment"* ]] || printf '%s: no "%s" in\n%s\n' "$location" "$fragment" "$output"
  [[ $output == *'damier: error: '* ]] || printf '%s: no error block\n' "$location"
done <cases.tsv
damier multiply cut_2048.h5 whole.h5 -o C.h5 >/dev/null 2>&1
echo "exit $?, $(ls C.h5* 2>/dev/null | wc -l) outputs"
