# What killed runs leave goes; what is resumable, in use, or not damier's stays.
damier generate A.h5 --size 3000 -qq
kept() { damier multiply A.h5 A.h5 -o "$1" --memory host=100MiB --checkpoint-interval 0 -qq & }
# Its first record follows 64 KiB that name the product.
until_tile() { until [ "$(stat -c %s "$1.journal" 2>/dev/null || echo 0)" -gt 65536 ] || ! kill -0 $!; do sleep 0.01; done; }
shown() { sed -E 's/\([0-9.]+ [KMG]?i?B\)/(SIZE)/; s/bytes=[0-9]+/bytes=N/'; }
kept C.h5
until_tile C.h5
damier clean --dry-run | shown
{ kill -KILL $! && wait $!; } 2>/dev/null # together, as the shell tells of it when it notices
echo 'notes' > user.part
echo 'notes' > user.journal
: > empty.journal
: > empty.part
truncate -s 4096 zeros.journal
cp A.h5 complete.part
cp A.h5 D.h5.damier-new
truncate -s 4096 E.h5.part
damier clean --dry-run | shown
damier clean -v | shown
ls
damier clean C.h5 --resumable | shown
damier clean empty zeros E.h5 | shown
ls
damier clean . --resumable -q | shown
ls
try damier clean nothing/
damier generate S.h5 --size 100 -qq
damier multiply S.h5 S.h5 -o Z.zarr -qq
# A folder of Zarr that was not complete, and one that somebody else put something into.
cp -r Z.zarr F.zarr.damier-new
cp -r Z.zarr G.zarr.damier-new
: > G.zarr.damier-new/c/0/notes
damier clean | shown
ls -d -- *.damier-new
# What a search for components, or a reduction, goes on from.
damier pca A.h5 --rank 3 --method passes --tolerance 1e-14 --passes 100 -o P.h5 --scores T.h5 -qq --checkpoint-interval 0 &
until [ -s P.h5.damier-kept ] || ! kill -0 $!; do sleep 0.01; done
{ kill -KILL $! && wait $!; } 2>/dev/null
rm -f P.h5.damier-kept-n # a state that was being written
damier clean | shown
damier clean --resumable | shown
