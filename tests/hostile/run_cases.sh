#!/bin/bash
# Runs COMMAND on every line of cases.tsv and compares exit code and message.
# '|' in a message separates alternatives; ' raw' or ' no-data' after a location is an option of inspect_file.
# usage: run_cases.sh FOLDER COMMAND...      (such as: run_cases.sh /tmp/bad damier info)
set -u
folder=$1
shift
failed=0 count=0

holds() { # TEXT ALTERNATIVES
  local part rest="$2|"
  while [ -n "$rest" ]; do
    part=${rest%%|*} rest=${rest#*|}
    [[ $1 == *"$part"* ]] && return
  done
  return 1
}

cd "$folder" || exit 2
while IFS=$'\t' read -r location code fragment; do
  words=("$location")
  for option in raw no-data; do
    if [[ $location == *" $option" ]]; then words=("${location% "$option"}" "$option"); fi
  done
  output=$(timeout 60 "$@" "${words[@]}" 2>&1)
  got=$?
  count=$((count + 1))
  if [ "$got" != "$code" ] || ! holds "$output" "$fragment"; then
    failed=$((failed + 1))
    printf 'FAIL %s\n  expected %s: %s\n  got %s: %s\n' "$location" "$code" "$fragment" "$got" "$output"
  fi
done < cases.tsv
echo "$count cases, $failed failed"
[ "$failed" = 0 ]
