# Common data of h5py users: integers, vectors, filters; their refusals, and the options that accept them.
needs_h5py
"$PYTHON" - <<'EOF'
import h5py
import numpy as np

rng = np.random.default_rng(1)
whole = {name: rng.integers(0, 2, (4, 4)).astype(name)
         for name in ("int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}
for name, data in whole.items():
    with h5py.File(f"{name}.h5", "w") as f:
        f["a"] = data
with h5py.File("f64.h5", "w") as f:
    f["a"] = rng.normal(size=(4, 4))
with h5py.File("x.h5", "w") as f:
    f["x"] = rng.normal(size=4)
with h5py.File("turned.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 4))
    plist.set_filter(32765, h5py.h5z.FLAG_OPTIONAL)
    a = h5py.h5d.create(f.id, b"a", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4, 4)), plist)
    a.write_direct_chunk((0, 0), bytes(b ^ 255 for b in np.eye(4).tobytes()))
EOF
for pair in 'int16 f16' 'int32 f32' 'int64 f64' 'uint8 i8' 'uint16 bf16' 'uint32 c64' 'uint64 c128'; do
  read -r name type <<<"$pair"
  expect 2 damier multiply $name.h5 $name.h5 -o C.h5 --type $type
done
try damier multiply uint8.h5 uint8.h5 -o C.h5 --force --strict-types
try damier multiply uint8.h5 uint8.h5 -o C.h5 --type i8
try damier multiply int64.h5 int64.h5 -o C.h5 --force
try damier multiply uint8.h5 f64.h5 -o C.h5 --force --strict-types
try damier multiply int32.h5 int32.h5 -o C.h5 --force --type f32
try damier multiply int64.h5 int64.h5 -o C.h5 --force --type f64
damier multiply int64.h5 int64.h5 -o C.h5 --force --type f64 --allow-rounding -q | grep -o 'PASS$'
damier verify int64.h5 int64.h5 C.h5 --full -q | grep -o 'PASS$'
try damier gram x.h5 -o y.h5
damier multiply f64.h5 x.h5 -o y.h5 -q | grep -o 'm=4 n=1 k=4'
damier multiply f64.h5 x.h5 -o y.h5 --as-column --force -q | grep -o 'm=4 n=1 k=4'
damier multiply f64.h5 x.h5 --c x.h5 --beta 1 -o y.h5 --as-column --force -q | grep -o 'm=4 n=1 k=4'
damier multiply x.h5 f64.h5 -o y.h5 --as-row --force -q | grep -o 'm=1 n=4 k=4'
damier multiply x.h5 x.h5 -o y.h5 --as-column --op-b t --force -q | grep -o 'm=4 n=4 k=1'
try damier info turned.h5
try damier info turned.h5 --allow-filters
export HDF5_PLUGIN_PATH
HDF5_PLUGIN_PATH=$(dirname "$(realpath "$(command -v damier)")")/tests/cli
[ -e "$HDF5_PLUGIN_PATH/libturn_filter.so" ] || exit 77
damier multiply turned.h5 f64.h5 -o C.h5 --force --allow-filters -q | grep -o 'PASS$'
ranks 2 damier multiply turned.h5 f64.h5 -o D.h5 --force --allow-filters -q | grep -o 'PASS$'
"$PYTHON" -c "import h5py
print(all((h5py.File(f'{c}.h5')['c'][...] == h5py.File('f64.h5')['a'][...]).all() for c in 'CD'))"
expect 3 damier multiply turned.h5 f64.h5 -o C.h5 --force -q
"$PYTHON" -c "import h5py
import numpy as np
with h5py.File('nan.h5', 'w') as f: f['a'] = np.full((4, 4), np.nan)"
damier multiply f64.h5 f64.h5 --beta 1 --c nan.h5 -o C.h5 --force -q 2>&1 >/dev/null | grep -v where
