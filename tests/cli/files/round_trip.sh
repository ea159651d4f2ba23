damier generate A.h5:/in/a --rows 67 --cols 41 --kind normal --seed 3
damier generate B.h5 --rows 41 --cols 29 --kind ozaki --phi 2
damier multiply A.h5 B.h5 -o C.h5:/c
damier info C.h5
damier verify A.h5 B.h5 C.h5
damier verify A.h5 B.h5 C.h5 --full -q
judge A.h5:/in/a B.h5:/a C.h5:/c
ls
