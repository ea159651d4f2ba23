make A 50 60 --json all.jsonl
make B 60 40 --json all.jsonl
damier multiply A.h5 B.h5 -o C.h5 --json all.jsonl --csv all.csv --json second.json -q -q
damier verify A.h5 B.h5 C.h5 --json all.jsonl -q -q
damier info C.h5 --json all.jsonl -q -q
damier info --json all.jsonl -q -q
damier bench multiply --size 200 --repetitions 2 --json all.jsonl -q -q
python3 - <<'PYTHON'
import csv, json
lines = [json.loads(line) for line in open("all.jsonl")]
print([line["verb"] for line in lines])
print({line["schema"] for line in lines}, all("command" in line for line in lines))
row, = csv.DictReader(open("all.csv"))
print(row["verb"], row["schema"], None in row)
print(json.load(open("second.json")) == lines[2])
PYTHON
ls
try damier info C.h5 --json /missing/x.json -q -q
# One document for the last run; an array if the command made several runs.
for verbose in -q -q -v; do
  damier verify A.h5 B.h5 C.h5 --json - $verbose 2>table | python3 -c 'import json, sys; print(json.load(sys.stdin)["verb"])'
  echo "$(($(wc -l <table) > 1)) $(grep -c PASS table)"
done
damier info C.h5 --json one.json -q
damier bench multiply --sizes "64;32" --repetitions 1 --json one.json -q -q
python3 -c 'import json; print([record["problem"]["m"] for record in json.load(open("one.json"))])'
damier info --json one.json -q
python3 -c 'import json; print(json.load(open("one.json"))["verb"])'
# Refused before computing, and before overwriting a file.
try damier multiply A.h5 B.h5 -o D.h5 --json /missing/x.json
try damier multiply A.h5 B.h5 -o D.h5 --json A.h5
try damier multiply A.h5 B.h5 -o D.h5 --csv ./D.h5 -q
try damier multiply A.h5 B.h5 -o D.h5 --json ./D.h5.part
try damier cov A.h5 -o D.h5 --missing pairwise --csv D.h5.damier-pair-n
try damier multiply A.h5 B.h5 -o D.npy --trace D.npy.part
try damier multiply A.h5 B.h5 -o D.h5 --csv all.jsonl
try damier multiply A.h5 B.h5 -o D.h5 --trace B.h5
echo '# rates, traces and records' >notes
try damier multiply A.h5 B.h5 -o D.h5 --trace notes
sed -i 's/#/not/' notes
try damier bench rates -o notes
cat notes
try damier multiply A.h5 B.h5 -o D.h5 --json x --csv x
try damier multiply A.h5 B.h5 -o D.h5 --json - --csv /dev/stdout
try damier multiply A.h5 missing.h5 -o D.h5 --json D.json
ls D* x 2>&1
try damier multiply A.h5 B.h5 -o D.h5 --json /dev/full -q | sed 's/time_s.*PASS/PASS/'
damier multiply A.h5 B.h5 -o D.h5 --force -q >/dev/full 2>errors
echo "exit $?"
sed '/where:/d' errors
damier verify A.h5 B.h5 D.h5 -q | grep -o 'PASS$'
