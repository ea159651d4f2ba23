# One block from one rank, and the code of the whole job.
make A 20 20
echo text >text.h5
run() {
  ranks 3 "$@" >out 2>errors
  echo "exit $?, $(grep -c 'damier: error' errors) error"
}
run damier multiply A.h5 missing.h5 -o C.h5
run damier multiply A.h5 text.h5 -o C.h5
run damier multiply A.h5 A.h5 -o missing/C.h5
run damier multiply A.h5 A.h5
run damier verify A.h5 A.h5 A.h5
run damier multiply A.h5 A.h5 -o C.h5 --grid 2x2x1
run damier multiply A.h5 A.h5 -o C.h5 --memory host=10k -v
grep -c '  where: .*, rank . of 3' errors
ls C.h5* 2>/dev/null | wc -l
