# The script that compares real jobs: every program in it is right, on small matrices.
needs_h5py
"$PYTHON" "$ROOT/scripts/bench/commands.py" jobs scale=0.1 --damier "$(command -v damier)" --runs 1 --folder . -o jobs.jsonl >out 2>errors || cat errors
grep -vE "^(zstd|anndata) +left out" errors
grep -v -e ' right$' -e '^== ' out
# The ways that every computer with NumPy and h5py has.
python3 - <<'EOF'
import collections, json
records = [json.loads(line) for line in open("jobs.jsonl")]
found = collections.Counter((r["job"], r["verdict"]) for r in records if r["way"] in ("NumPy + h5py", "damier"))
for (job, verdict), count in sorted(found.items()):
    if job not in ("zstd", "anndata"):
        print(count, job, verdict)
print(sorted(records[0])[:8])
EOF
