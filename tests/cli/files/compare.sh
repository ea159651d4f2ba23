# Two results: the same numbers, one that differs, tolerances, shapes, NaN, vectors, and refusals.
damier generate A.h5 --size 30 -qq
damier generate B.npy --size 30 --seed 2 -qq
damier multiply A.h5 B.npy -o C.h5 -qq
damier multiply A.h5 B.npy -o D.npy -qq
damier compare C.h5 D.npy --rtol 0 --atol 0 | grep -v '^time'
echo "exit ${PIPESTATUS[0]}"
try damier compare C.h5 A.h5 -q
try damier compare C.h5 A.h5 -q --atol 1000
try damier compare C.h5:/c[0:10] D.npy -q
try damier compare C.h5:/c[0:10] C.h5:/c[10:20] -q
try damier compare C.h5 missing.h5
try damier compare C.h5 D.npy --rtol -1
try damier compare C.h5 D.npy --atol nan
try damier compare C.h5
ranks 3 damier compare C.h5 A.h5 -q 2>/dev/null
echo "exit $?"
