# A stack of 256 KiB, also of each thread, is enough for every command.
[ -z "$(nm -D "$(readlink -f "$(command -v damier)")" | grep -E '__(asan|tsan)_init')" ] || exit 77
make A 90 70; make B 70 80; make C 90 80
small() { (ulimit -s 256; damier "$@" -q -q --force 2>err); code=$?; [ $code = 0 ] || { echo "$code: $*"; cat err; }; }
look() { (ulimit -s 256; damier "$@" >/dev/null 2>err); code=$?; [ $code = 0 ] || { echo "$code: $*"; cat err; }; }
small multiply A.h5 B.h5 -o P.h5 --threads 2 --io-threads 2
look verify P.h5
look verify A.h5 B.h5 P.h5
look verify A.h5 B.h5 P.h5 --full
small multiply A.h5 B.h5 -o Q.h5 --beta 1 --c C.h5 --grid 1x1x1 --checkpoint-interval 0 --deflate 1
small multiply A.h5 B.h5 -o Q.npy --compute f64:int8
small multiply Q.npy C.h5 --op-b t -o R.h5
small gram A.h5 -o G.h5
for verb in cov cor; do
  small $verb A.h5 -o V.h5 --threads 2
  small $verb A.h5 -o V.h5 --missing pairwise
  look verify A.h5 A.h5 V.h5 --missing pairwise
  look plan $verb A.h5
done
look plan A.h5 B.h5 --type f16
look info A.h5 P.h5 Q.npy
look multiply A.h5 B.h5 -o S.h5 --dry-run
echo done
