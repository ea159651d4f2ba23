make A 30 30
make B 30 30 --seed 2
damier multiply A.h5 B.h5 -o C.h5 -q >/dev/null
cp C.h5 before.h5
try damier multiply A.h5 B.h5 -o C.h5
cmp C.h5 before.h5
damier multiply A.h5 B.h5 -o C.h5 --force -q >/dev/null
judge A.h5 B.h5 C.h5
try damier multiply A.h5 B.h5 -o A.h5 --force
try damier multiply A.h5 B.h5 -o ./missing/C.h5
try damier multiply A.h5 B.h5 -o /dev/null --force
try damier multiply A.h5 B.h5 -o /dev/stdout --force
try damier multiply A.h5 B.h5 -o C.npz
for ending in csv mat nc txt parquet MTX; do
  expect 2 damier multiply A.h5 B.h5 -o C.$ending
  expect 2 damier generate D.$ending --size 3
done
try damier multiply A.h5 B.h5 -o C.h5:grp/c
mkdir x:
damier multiply A.h5 B.h5 -o x:/D.h5 -q >/dev/null && ls x:
rm -r x:
damier multiply A.h5 B.h5 -o C.NPY -q >/dev/null
head -c 6 C.NPY | tail -c 5
echo
rm C.NPY
mkfifo pipe.h5
try damier multiply A.h5 B.h5 -o pipe.h5 --force
rm pipe.h5
ln A.h5 link.h5
try damier multiply A.h5 B.h5 -o link.h5 --force
# The new C may replace the old one.
cp C.h5 old.h5
damier multiply A.h5 B.h5 --beta 2 --c C.h5 -o C.h5 --force -q >/dev/null
judge A.h5 B.h5 C.h5 --beta 2 --c old.h5
try damier verify A.h5 B.h5 C.h5
damier verify A.h5 B.h5 C.h5 --c old.h5 -q | grep -o 'PASS$'
try damier multiply A.h5 B.h5 --beta 2 --c C.h5 -o C.h5
ls
try damier generate A.h5 --size 3
try damier generate D.npz --size 3
# Numbers that the type does not have.
try damier generate D.h5 --size 3 --type i8 --kind integer --range 200
try damier generate D.h5 --size 3 --type i8 --kind constant --value 0.5
try damier generate D.h5 --size 3 --type f16 --kind constant --value 1e10
