make A 400 400
mkdir small
mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || exit 77
damier multiply A.h5 A.h5 -o small/C.h5 2>errors >/dev/null
echo "exit $?"
grep -c 'damier: error' errors
ls small
umount small
