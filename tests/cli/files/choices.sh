# The table's lists of names are in the order of their enums.
for type in f64 f32 f16 bf16 c64 c128 i8 i32; do
  make A 3 4 --type $type --force
  damier info A.h5 | grep -q "^type  *$type$" || echo "--type $type is not $type"
done
for kind in uniform normal ozaki identity integer constant hilbert; do
  make A 3 4 --kind $kind --force
  damier info A.h5 | grep -q "^  kind  *$kind$" || echo "--kind $kind is not $kind"
done
make A 5 5 --force
for compute in auto f64 f32; do
  damier multiply A.h5 A.h5 -o C.h5 --compute $compute --op-a t --force -q >/dev/null
  damier info C.h5 | grep -q "^  compute  *$compute$" || echo "--compute $compute is not $compute"
  damier info C.h5 | grep -q "^  op_a  *t$" || echo "--op-a t is not t"
done
