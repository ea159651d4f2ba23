# Contents of files: every dataset, why some cannot be multiplied, and the remedies.
needs_h5py
"$PYTHON" - <<'EOF'
import h5py
import numpy as np

with h5py.File("mixed.h5", "w") as f:
    f["a"] = np.arange(12.0).reshape(3, 4)
    f["g/small"] = np.ones((2, 5), "i2")
    f["v"] = np.arange(5.0)
    f["cube"] = np.zeros((2, 3, 4), "f4")
    f["table"] = np.zeros(3, [("x", "f8"), ("n", "i4")])
    f["table"].attrs["FIELD_0_NAME"] = "x"
    f["flags"] = np.ones((2, 2), bool)
    f["bits"] = np.zeros((2, 2), "V2")
    f.create_dataset("packed", data=np.ones((40, 40)), chunks=(20, 40), compression="lzf")
    f["away"] = h5py.ExternalLink("one.h5", "/m")
with h5py.File("one.h5", "w") as f:
    f["m"] = np.eye(3)
with h5py.File("links.h5", "w") as f:
    f["away"] = h5py.ExternalLink("one.h5", "/m")
    f["nowhere"] = h5py.ExternalLink("none.h5", "/m")
with h5py.File("vectors.h5", "w") as f:
    f["v"] = f["w"] = np.arange(5.0)
EOF
try damier info mixed.h5
try damier multiply mixed.h5 one.h5 -o C.h5 | sed 's/ (HDF5: .*)//'
try damier info mixed.h5:/G/Small
try damier info mixed.h5:/g
try damier info mixed.h5:/cube[0]
try damier gram mixed.h5:/cube -o C.h5
try damier info links.h5
try damier info links.h5 --allow-external | sed 's/ (HDF5: .*)//'
try damier info missing.h5 vectors.h5 one.h5
try damier info one.h5 missing.h5 -qq
try damier info vectors.h5:/v --as-column
try damier info vectors.h5:/v --as-column --as-row
damier info one.h5 missing.h5 links.h5 vectors.h5:/v one.h5:/m --json both.json --json - -q >lines 2>errors
echo "exit $?: $(grep -c error errors) errors, $(wc -l <lines) lines"
"$PYTHON" -c "import json; print([list(record)[-1] for record in json.load(open('both.json'))])"
damier info mixed.h5 --json all.json -qq
"$PYTHON" - "$ROOT" <<'EOF'
import json, sys
record = json.load(open("all.json"))
for d in record["file"]["datasets"][:3]:
    print(d)
try:
    import jsonschema
    jsonschema.validate(record, json.load(open(sys.argv[1] + "/docs/record.schema.json")))
except ImportError:
    pass
EOF
