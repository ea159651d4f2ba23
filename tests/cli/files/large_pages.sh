# Where pages have 64 KiB: mapped and copied files, shared memory of ranks, what is kept, and files of elements.
shim=$(dirname "$(realpath "$(command -v damier)")")/tests/cli/liblarge_pages.so
[ -e "$shim" ] || exit 77
make A 1100 900
make B 900 1000
damier multiply A.h5 B.h5 -o R.h5 -qq
same() { damier compare R.h5 "$1" --rtol 0 --atol 1e-9 -q | grep -o "PASS"; }
large() { LD_PRELOAD=$shim${LD_PRELOAD:+:$LD_PRELOAD} "$@"; }
for by in mapped pwrite; do
  large damier multiply A.h5 B.h5 -o C.h5 --write-by $by --force -qq
  same C.h5
done
large damier multiply A.h5 B.h5 -o C.h5 --read-by pread --chunk 300x200 --deflate 1 --force -qq
same C.h5
large damier multiply A.h5 B.h5 -o N.npy -qq
same N.npy
large damier multiply A.h5 B.h5 -o Z.zarr -qq
same Z.zarr
large damier gram A.h5 --above 1e-3 --of rows -o above.npz -qq
large damier pca A.h5 --rank 3 -o P.h5 --scores S.h5 -qq
if ! damier --version | grep -q 'without MPI'; then
  for transport in host shared; do
    large ranks 3 damier multiply A.h5 B.h5 -o C.h5 --transport $transport --force -qq
    same C.h5
  done
fi
