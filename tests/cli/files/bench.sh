# Lists, suites, and refusals of bench multiply.
lines() { grep -o 'm=[0-9]* n=[0-9]* k=[0-9]*'; }
damier bench multiply --sizes '48;64:128:x2;16,32,48' --repetitions 1 -q | lines
printf 'm,n,k\n# one\n40,50,60\n' >suite.csv
damier bench multiply --sizes suite.csv --time 0.1 --json r.json -q | lines
python3 -c '
import json
r = json.load(open("r.json"))
b, t = r["bench"], r["times"]
print(b["repetitions"] == len(r["repetitions"]["multiply_s"]) >= 3, r["rates"]["of_peak"])
print(t["multiply_min_s"] <= t["multiply_ci95_low_s"] <= t["multiply_median_s"] <= t["multiply_max_s"])'
for suite in "$ROOT"/inputs/suites/*.csv; do
  damier bench multiply --sizes "$suite" --memory host=1KiB >/dev/null 2>&1
  echo "exit $?" # read, and too large
done
try damier bench multiply --sizes 64 --size 64
try damier bench multiply --precision x
try damier bench multiply --sizes 64,64
try damier bench multiply --sizes none.csv
