# C as an additional dataset of a file, and as a NumPy file.
needs_h5py
"$PYTHON" - <<'EOF'
import h5py
import numpy as np

rng = np.random.default_rng(3)
with h5py.File("all.h5", "w", userblock_size=1024) as f:
    f["A"], f["B"] = rng.normal(size=(90, 70)), rng.normal(size=(70, 120))
    f["g/precious"] = np.arange(5)
    f["g"].attrs["note"] = "keep"
    f["packed"] = h5py.SoftLink("/g/precious")
    f["away"] = h5py.ExternalLink("none.h5", "/x")
EOF
chmod 640 all.h5
cp all.h5 before.h5
try damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C
try damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --force
try damier multiply all.h5:/A all.h5:/B -o all.h5:/A --append
try damier multiply all.h5:/A all.h5:/B -o all.h5:/A/C --append
try damier multiply all.h5:/A all.h5:/B -o all.h5:/away/C --append
try damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --append --deflate 1
ln all.h5 other.h5
try damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --append
rm other.h5
cmp all.h5 before.h5
damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --append -q | grep -o 'PASS$'
ranks 2 damier multiply all.h5:/A all.h5:/B --c all.h5:/g/C --beta 2 -o all.h5:/new/D --append -q | grep -o 'PASS$'
damier verify all.h5:/A all.h5:/B all.h5:/g/C -q | grep -o 'PASS$'
damier verify all.h5:/A all.h5:/B all.h5:/new/D -q | grep -o 'PASS$'
judge all.h5:A all.h5:B all.h5:g/C
judge all.h5:A all.h5:B all.h5:new/D --beta 2 --c all.h5:g/C
damier multiply all.h5:/A all.h5:/B -o fresh.h5 --append -q | grep -o 'PASS$'
stat -c '%a %n' all.h5
"$PYTHON" - <<'EOF'
import h5py

with h5py.File("all.h5") as new, h5py.File("before.h5") as old:
    print(sorted(new), new.userblock_size, new["g"].attrs["note"], new.get("away", getlink=True).filename)
    print(all((new[n][...] == old[n][...]).all() for n in ("A", "B", "g/precious", "packed")))
    print(new["g/C"].attrs["damier_state"], new["g/C"].attrs["verified"])
EOF

# One dataset is replaced; all else in the file stays.
cp all.h5 before.h5
damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --append --force --alpha 3 -v 2>/dev/null | grep -E '^ *C '
damier multiply all.h5:/A all.h5:/B -o all.h5:/g/C --append --if-needed --alpha 3 -q 2>/dev/null | grep -o 'PASS$' # A's file has changed
judge all.h5:A all.h5:B all.h5:g/C --alpha 3
try damier multiply all.h5:/A all.h5:/B -o all.h5:/B --append --force
try damier multiply all.h5:/A all.h5:/B --c all.h5:/g/C --beta 1 -o all.h5:/g/C --append --force
try damier multiply all.h5:/A all.h5:/B -o all.h5:/g --append --force
"$PYTHON" - <<'EOF'
import h5py

with h5py.File("all.h5", "a") as new, h5py.File("before.h5") as old:
    print(all((new[n][...] == old[n][...]).all() for n in ("A", "B", "g/precious", "packed", "new/D")), new["g"].attrs["note"])
    print(abs(new["g/C"][...] - 3 * old["g/C"][...]).max() < 1e-9)
    new["also"] = new["g/C"]
    new["new/D"].make_scale("x")
EOF
try damier multiply all.h5:/A all.h5:/B -o all.h5:/also --append --force
try damier multiply all.h5:/A all.h5:/B -o all.h5:/new/D --append --force

damier generate A.npy --rows 30 --cols 40 --type f32 -q >/dev/null
damier generate B.h5 --rows 40 --cols 20 --type f32 -q >/dev/null
damier multiply A.npy B.h5 -o C.npy -q | grep -o 'PASS$'
ranks 2 damier multiply A.npy B.h5 -o D.npy -q --json record.jsonl | grep -o 'PASS$'
damier verify A.npy B.h5 C.npy -q | grep -o 'PASS$'
"$PYTHON" - <<'EOF'
import json

import h5py
import numpy as np

a, c, d = (np.load(f"{name}.npy") for name in "ACD")
b = h5py.File("B.h5")["a"][...]
print(c.dtype, c.shape, c.flags.c_contiguous, abs(c - a.astype("f8") @ b).max() < 1e-4, (c == d).all())
print(json.loads(open("record.jsonl").readline())["files"]["c"])
EOF
damier multiply A.npy B.h5 -o F.h5:/x -qq
for name in x y; do
  damier multiply A.npy B.h5 -o F.h5:/$name --append --force --dry-run 2>&1 | grep copied | sed "s/($(stat -c %s F.h5) bytes)/(all bytes)/"
done
rm F.h5
echo text >text.npy
try damier multiply A.npy B.h5 -o C.npy
try damier multiply A.npy B.h5 -o text.npy --force
try damier multiply A.npy B.h5 -o C.npy:/c --force
try damier multiply A.npy B.h5 -o D.npy --append
try damier multiply A.npy B.h5 -o E.npy --deflate 1
try damier multiply A.npy B.h5 -o E.npy --type-c bf16
try damier multiply A.npy B.h5 -o A.npy --force
damier multiply A.npy B.h5 -o C.npy --force --type-c f64 -q | grep -o 'PASS$'
ls
# A .npy file does not record how it was made.
make T 9 9
damier multiply T.h5 T.h5 -o T.npy --alpha 2 -q >/dev/null
damier verify T.h5 T.h5 T.npy -q 2>&1 | grep -e hint -o -e FAIL
damier verify T.h5 T.h5 T.npy -q --alpha 2 | grep -o 'PASS$'
