plan="damier plan --size 3000 --ranks 6 --machine ranks=6,memory=4GiB -q -q"
$plan --json plan.jsonl
$plan --json plan.jsonl --json - >printed.json
python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open("plan.jsonl")]
plan = lines[0]
print(len(lines), plan["schema"], plan["verb"], plan["problem"]["m"])
print(lines[1] == json.load(open("printed.json")), lines[1]["plan"] == plan["plan"])
print(plan["plan"]["pm"] * plan["plan"]["pn"] * plan["plan"]["pk"] <= 6)
print(plan["forecast"]["total_s"] > 0, plan["command"].startswith("damier plan --size 3000"))
PYTHON
damier plan --size 3000 --ranks 6 --csv plan.csv -q -q
damier plan --size 4000 --ranks 6 --csv plan.csv -q -q
python3 -c 'import csv; print([r["problem.n"] for r in csv.DictReader(open("plan.csv"))])'
