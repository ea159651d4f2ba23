# The list needs no GPU: one line per kernel, with its limits, and a record of each.
damier bench kernels --list >table
grep -E '^(kernel|kahan) ' table
tail -n 1 table | grep -x "damier: bench kernels listed=$(($(wc -l <table) - 2))" >/dev/null || tail -n 1 table
damier bench kernels --list -q --type bf16 --kernel 'tiled,tiled_32,cublas' --json list.jsonl --csv list.csv
python3 - <<'PYTHON'
import csv, json
records = [json.loads(line) for line in open("list.jsonl")]
for r in records:
    print(r["verb"], r["kernel"]["name"], r["kernel"]["op"], r["kernel"]["types"], sep=" | ")
rows = list(csv.DictReader(open("list.csv")))
print([row["kernel.name"] for row in rows] == [r["kernel"]["name"] for r in records])
PYTHON
damier bench kernels --list --op gemm --type f32 -q -q
