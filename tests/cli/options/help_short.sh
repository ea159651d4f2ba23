for verb in multiply plan generate verify info "bench multiply" "bench io"; do
  damier $verb -h >short || echo "$verb -h failed"
  damier $verb --help >full || echo "$verb --help failed"
  grep -q "^Usage: damier $verb" short || echo "$verb -h has no usage"
  [ "$(wc -l <short)" -lt "$(wc -l <full)" ] || echo "$verb -h is not shorter than --help"
  awk -v verb="$verb" 'length > 90 { print verb ": too wide: " $0 }' full
done
