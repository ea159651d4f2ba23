# --help of every verb fits on a screen and begins with examples, the first of which needs no four cores; --help-all
# shows more; both keep to their width.
damier -h | cmp - <(damier --help)
while read -r verb; do
  damier $verb --help >short || echo "$verb --help failed"
  damier $verb --help-all >full || echo "$verb --help-all failed"
  grep -q "^Usage: damier $verb" short || echo "$verb --help has no usage"
  [ "$(wc -l <short)" -le 40 ] || echo "$verb --help has more than 40 lines"
  grep -E '^(Examples|Options):' short | head -n 1 | grep -q Examples || echo "$verb --help does not begin with examples"
  sed -n '/^Examples:/{n;p}' short | grep -vE '^  (mpirun -n 2 )?damier' && echo "$verb --help: its first example"
  [ "$(wc -l <short)" -lt "$(wc -l <full)" ] || echo "$verb --help is not shorter than --help-all"
  awk -v verb="$verb" 'length > 100 { print verb ": too wide: " $0 }' short
  awk -v verb="$verb" 'length > 90 { print verb ": too wide: " $0 }' full
done <<END
multiply
gram
cov
cor
plan
generate
verify
info
bench rates
bench multiply
bench scale
bench links
bench kernels
END
# The full help contains everything of the short one.
damier multiply --help | grep -o -- '^ *\(-., \)\?--[][a-z-]*' | sort >usual
damier multiply --help-all | grep -o -- '^ *\(-., \)\?--[][a-z-]*' | sort >all
comm -23 usual all
damier plan --help | grep -q 'links=' || echo "plan --help does not name links="
