for type in f64 f32 c64 c128; do
  make A 20 33 --type $type --force
  make B 33 17 --type $type --force
  damier multiply A.h5 B.h5 -o C.h5 --force -q >/dev/null
  echo "$type $(judge A.h5:A B.h5:B C.h5:c)"
done
for type in f16 bf16 i8; do
  make A 20 33 --type $type --kind integer --range 5 --force
  make B 33 17 --type $type --kind integer --range 5 --force
  damier multiply A.h5 B.h5 -o C.h5 --force -q | grep -o 'PASS$'
  damier verify A.h5 B.h5 C.h5 --full -q | grep -o 'PASS$'
done
make A 20 33 --type f32 --force
try damier multiply A.h5 B.h5 -o D.h5 --strict-types
damier multiply A.h5 B.h5 -o D.h5 2>&1 | grep 'multiplied as'
damier verify A.h5 B.h5 D.h5 --full -q | grep -o 'PASS$'
make A 20 33 --type c64 --force
make B 33 17 --type f64 --force
damier multiply A.h5 B.h5 -o D.h5 --force 2>&1 | grep -o 'is multiplied as.*\|PASS$'
echo "promoted $(judge A.h5:A B.h5:B D.h5:c)"
