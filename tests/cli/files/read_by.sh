# Products of mapped and of read data have the same bits, in every type that can be mapped and one that cannot.
for type in f32 f64 c64 c128 bf16; do
  damier generate A.h5 --rows 300 --cols 700 --type $type --force -q -q
  damier generate B.h5 --rows 700 --cols 250 --type $type --seed 2 --force -q -q
  for way in auto pread; do damier multiply A.h5 B.h5 -o $way.h5 --read-by $way --force -q -q; done
  "$PYTHON" -c '
import h5py, sys
auto, pread = (h5py.File(f"{way}.h5")["c"][()].tobytes() for way in ("auto", "pread"))
print(sys.argv[1], "same" if auto == pread else "other", "bits")' $type || exit 77
done
