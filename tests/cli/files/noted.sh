# C in a file of NumPy has no attributes: its file system keeps what it was made of, where it can.
touch note
"$PYTHON" -c 'import os; os.setxattr("note", "user.damier", b"x")' 2>/dev/null || exit 77
make A 20 30
make B 30 10
gone() { damier "$@" --if-needed -q | said; }
once() { gone multiply A.h5 B.h5 -o "$@"; }
once C.npy
once C.npy
once C.npy --alpha 2
once C.npy --alpha 2
ranks 2 damier multiply A.h5 B.h5 -o C.npy --if-needed --alpha 2 -q | said
cp C.npy D.npy # without the note
once D.npy --alpha 2
"$PYTHON" -c 'import numpy; c = numpy.load("C.npy"); c[0] = 0; numpy.save("C.npy", c)' # the note is that of other contents
once C.npy --alpha 2
damier generate C.npy --rows 20 --cols 10 --force -q >/dev/null # and so is the old file's
once C.npy --alpha 2
once R.npz --top 3
once R.npz --top 3
once R.npz --top 2
gone pca A.h5 --rank 2 -o P.npz --scores S.npy
gone pca A.h5 --rank 2 -o P.npz --scores S.npy
rm S.npy
gone pca A.h5 --rank 2 -o P.npz --scores S.npy
gone pca A.h5 --rank 3 -o P.npz --scores S.npy
printf 'multiply A.h5 B.h5 -o C.npy --alpha 2\nmultiply A.h5 B.h5 -o J.npy\npca A.h5 --rank 3 -o P.npz --scores S.npy\n' >jobs.txt
damier run jobs.txt --at-once 1 2>&1 | said
damier run jobs.txt --at-once 1 2>&1 | said
