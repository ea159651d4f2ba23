make A 400 400
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || exit 77
damier multiply A.h5 A.h5 -o small/C.h5 2>errors >/dev/null
echo "exit $?"
grep -c 'damier: error' errors
ls small
umount small
# Room for C, but not for C twice.
mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || exit 77
expect 5 damier multiply A.h5 A.h5 -o small/C.h5 --deflate 1
grep -c 'the file with chunks, beside the one without: .*needs' expect.out
ls small
umount small
