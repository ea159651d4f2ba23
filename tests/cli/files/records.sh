make A 50 60 --json all.json
make B 60 40 --json all.json
damier multiply A.h5 B.h5 -o C.h5 --json all.json --csv all.csv --json second.json -q -q
damier verify A.h5 B.h5 C.h5 --json all.json -q -q
damier info C.h5 --json all.json -q -q
damier info --json all.json -q -q
damier bench multiply --size 200 --repetitions 2 --json all.json -q -q
damier bench io --bytes 1MiB --repetitions 1 --json all.json -q -q
python3 - <<'PYTHON'
import csv, json
lines = [json.loads(line) for line in open("all.json")]
print([line["verb"] for line in lines])
print({line["schema"] for line in lines}, all("command" in line for line in lines))
row, = csv.DictReader(open("all.csv"))
print(row["verb"], row["schema"], None in row)
print(json.load(open("second.json")) == lines[2])
PYTHON
ls
try damier info C.h5 --json /missing/x.json -q -q
