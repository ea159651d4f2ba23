# A is truncated while it is multiplied in the page cache: an error, and no C.
damier generate A.h5 --size 3000 -q -q
damier multiply A.h5 A.h5 -o C.h5 -q 2>err &
until [ -e C.h5.part ]; do sleep 0.002; done
truncate -s 1000000 A.h5
wait $! && true
echo "exit $?"
grep -c 'damier: error' err
ls C.h5 2>/dev/null || echo 'no C'
