# On a GPU: a check gives a verdict, a table line and a record for each kernel.
damier info -q -q --json - >info
python3 -c 'import json; exit("device_0" not in json.load(open("info"))["backends"]["cuda"])' || exit 77
damier bench kernels --check -q --kernel 'tiled,tiled_32' --type f32,i8 --sizes '100;33,65,129' --json r.jsonl
python3 - <<'PYTHON'
import json
for r in map(json.loads, open("r.jsonl")):
    check = r["check"]
    print(r["kernel"]["name"], r["kernel"]["type"], r["problem"]["shape"], check["verdict"],
          check["edge_failures"], check["error_max"] <= check["error_bound"], r["times"]["kernel_median_s"])
PYTHON
damier bench kernels --kernel tiled --type f32 --sizes 100 --repetitions 5 --settle 0.1 -q --json t.json
python3 - <<'PYTHON'
import json
r = json.loads(open("t.json").read())
print(r["timing"]["by"], len(r["repetitions"]["kernel_s"]), 0 < r["times"]["kernel_median_s"] < 1e-3,
      r["yardstick"]["name"], r["yardstick"]["share_ci95_low"] <= r["yardstick"]["share_median"])
PYTHON
