# Tasks 26 to 30: larger than memory, stopped and resumed, planned, and from Python.
damier generate L.h5 --size 1000 -q >/dev/null
# 26 the plan says tiles before the run has them
damier plan L.h5 L.h5 --memory host=48MiB | grep -oE '^  C in .* tiles' | sed -E 's/[0-9]+/N/g'
# 27 less memory than the matrices need
damier multiply L.h5 L.h5 -o C.h5 --memory host=48MiB -q | said
# 28 far too little: refused, and nothing is left
damier multiply L.h5 L.h5 -o D.h5 --memory host=1MiB >/dev/null 2>&1
echo "exit $?"
# 29 stopped, and the same command goes on
damier generate M.h5 --size 3000 -q >/dev/null
damier multiply M.h5 M.h5 -o R.h5 --memory host=100MiB --checkpoint-interval 0 -q >/dev/null 2>&1 &
until [ -s R.h5.journal ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -USR1 $! && wait $!
echo "exit $?"
damier multiply M.h5 M.h5 -o R.h5 --memory host=100MiB --checkpoint-interval 0 2>resumed >/dev/null
echo "exit $?"
grep -c '^damier: resuming' resumed
# 30 the record of a run
damier multiply L.h5 L.h5 -o J.h5 --json r.json -q >/dev/null 2>&1
python3 -c 'import json; r = json.load(open("r.json")); print(r["verification"]["verdict"], r["problem"]["m"])'
# and a table of one's own measurements
damier bench scale --size 60 --repetitions 3 --series strong --json s.jsonl -q >/dev/null 2>&1
python3 "$ROOT/scripts/report/results.py" s.jsonl | grep -c 'the same product'
damier plan L.h5 L.h5 --json r.jsonl -q >/dev/null 2>&1
damier verify L.h5 L.h5 C.h5 --json r.jsonl -q >/dev/null 2>&1
damier info L.h5 --json r.jsonl -q >/dev/null 2>&1
python3 "$ROOT/scripts/report/results.py" r.json r.jsonl | grep -oE '^\| (multiply|plan|verify|info) '
find . -name "*.h5*" | sort
