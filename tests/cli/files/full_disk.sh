# 72 MB of C, and a limit of 40 MB; MPI needs small files, so the limit cannot be tight.
make A 3000 1
make B 1 3000
trap '' XFSZ
ulimit -f 40000
damier multiply A.h5 B.h5 -o C.h5 2>errors >/dev/null
echo "exit $?, $(grep -c 'damier: error' errors) error"
ls
