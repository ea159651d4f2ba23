# The script that compares real jobs: every program in it is right, on small matrices.
needs_h5py
"$PYTHON" "$ROOT/scripts/bench/jobs.py" --damier "$(command -v damier)" --runs 1 --scale 0.1 --folder . -o jobs.jsonl >out 2>errors || cat errors
grep -vE "^(zstd|anndata) +left out" errors
grep -v ' right$' out
# The ways that every computer with NumPy and h5py has.
grep -E ' (NumPy \+ h5py|damier) ' out | grep -vE '^(zstd|anndata) ' | awk '{ print $1, $NF }' | sort | uniq -c | sort -k2 | sed 's/^ *//'
python3 -c 'import json; print(sorted(json.loads(open("jobs.jsonl").readline()))[:8])'
