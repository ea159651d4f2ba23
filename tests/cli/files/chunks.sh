make A 300 200 --kind integer
make B 200 400 --seed 2 --kind integer
try damier multiply A.h5 B.h5 -o C.h5 --chunk 100
try damier multiply A.h5 B.h5 -o C.h5 --chunk 0x5
try damier multiply A.h5 B.h5 -o C.h5 --deflate 0
try damier multiply A.h5 B.h5 -o C.h5 --deflate 10
try damier generate G.h5 --size 100000 --chunk 20000x20000
# damier never replaces a file with that name, whatever the options.
echo mine > C.h5.part
try damier multiply A.h5 B.h5 -o C.h5 --shuffle
try damier multiply A.h5 B.h5 -o C.h5 --shuffle --force
cat C.h5.part
rm C.h5.part
damier multiply A.h5 B.h5 -o C.h5 --shuffle --deflate 3 --force -q >/dev/null
damier info C.h5 | grep -E '^(layout|  damier_state|  verified)'
judge A.h5 B.h5 C.h5
# Chunks are at most as large as the matrix; the environment can request chunks.
DAMIER_CHUNK=1Kx1K DAMIER_DEFLATE=1 damier generate G.h5 --rows 10 --cols 20 -q >/dev/null
damier info G.h5 | grep '^layout'
ls
