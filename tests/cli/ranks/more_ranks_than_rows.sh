make A 1 5
make B 5 2
ranks 8 damier multiply A.h5 B.h5 -o C.h5 -q | grep -o 'PASS$'
judge A.h5 B.h5 C.h5
make O 1 1
ranks 4 damier multiply O.h5 O.h5 -o D.h5 -q | grep -o 'PASS$'
judge O.h5 O.h5 D.h5
