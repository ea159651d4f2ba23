# What attributes say about the stored numbers: how info shows it, and what multiply and verify do.
needs_h5py
"$PYTHON" - <<'EOF'
import h5py
import numpy as np

packed = np.arange(12, dtype="i2").reshape(3, 4)
for name, attributes in (("packed", {"scale_factor": 0.5, "_FillValue": np.int16(6)}),
                         ("whole", {"scale_factor": 0.5, "_FillValue": np.int16(-1)}),
                         ("text", {"MATLAB_class": np.bytes_("char")}), ("doubt", {"scale": 0.5})):
    with h5py.File(f"{name}.h5", "w") as f:
        f["a"] = packed
        f["a"].attrs.update(attributes)
with h5py.File("several.h5", "w") as f:
    for name in ("packed", "text"):
        f.copy(h5py.File(f"{name}.h5")["a"], f, name)
with h5py.File("int8.h5", "w") as f:
    f["a"] = np.ones((4, 4), "i1")
    f["a"].attrs["_FillValue"] = np.int8(0)
EOF
try damier info packed.h5
damier info several.h5 2>/dev/null | grep -A 1 /text
try damier info text.h5
try damier multiply packed.h5 packed.h5 --op-b t -o C.h5 -q
for ranks in 1 3; do
  expect 3 ranks $ranks damier multiply packed.h5 packed.h5 --op-b t -o C.h5 --grid 1x1x1
  grep -o 'one of its.*' expect.out
done
ls C.h5* 2>/dev/null
expect 0 damier multiply packed.h5 packed.h5 --op-b t -o C.h5 --missing zero
grep 'values of' expect.out
damier info C.h5 | grep values
expect 0 damier verify packed.h5 packed.h5 C.h5 --op-b t --missing zero
expect 1 damier verify packed.h5 packed.h5 C.h5 --op-b t --raw --type f64 -q
grep warning expect.out
expect 0 damier verify packed.h5 packed.h5 C.h5 --op-b t -q
expect 3 damier multiply whole.h5 whole.h5 --op-b t -o D.h5 --beta 1 --c C.h5:/none
expect 0 damier multiply whole.h5 whole.h5 --op-b t -o D.h5
expect 0 damier verify whole.h5 whole.h5 D.h5 --op-b t --missing nan
grep -c warning expect.out
expect 0 damier multiply packed.h5 packed.h5 --op-b t -o raw.h5 --raw --type f64
expect 0 damier verify packed.h5 packed.h5 raw.h5 --op-b t --raw --type f64
try damier multiply int8.h5 int8.h5 -o E.h5 --missing nan
expect 0 damier multiply int8.h5 int8.h5 -o E.h5 --missing zero
try damier multiply doubt.h5 doubt.h5 --op-b t -o F.h5 --type f64 -q | grep warning
