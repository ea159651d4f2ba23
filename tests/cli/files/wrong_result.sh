needs_h5py
for type in f64 f32 c64; do
  make A 40 50 --type $type --force
  make B 50 30 --type $type --force
  damier multiply A.h5 B.h5 -o C.h5 --force -q >/dev/null
  "$PYTHON" "$ROOT/tests/cli/bin/edit.py" C.h5:/c 7 11
  damier verify A.h5 B.h5 C.h5 -q --json wrong.jsonl 2>errors | grep -o 'FAIL$'
  echo "exit ${PIPESTATUS[0]}, $(grep -c 'damier: error' errors) error"
  damier verify A.h5 B.h5 C.h5 --full -q 2>/dev/null | grep -o 'FAIL$'
done
python3 -c 'import json; print(len([json.loads(l) for l in open("wrong.jsonl")]))'
