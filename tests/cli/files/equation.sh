make A 21 34 --type c128
make B 17 34 --type c128 --seed 2
make S 21 17 --type c128 --seed 3
damier multiply A.h5 B.h5 --op-b c --alpha 2,-1 --beta 0.5,3 --c S.h5 -o C.h5 -q >/dev/null
judge A.h5 B.h5 C.h5 --op-b c --alpha=2-1j --beta=0.5+3j --c S.h5
damier info C.h5 | grep -E '^  (alpha|beta|type) '
damier verify A.h5 B.h5 C.h5 -q | grep -o 'PASS$' # from the attributes of C
damier verify A.h5 B.h5 C.h5 --op-b t -q >/dev/null 2>&1
echo "exit $?"
try damier multiply A.h5 B.h5 --op-b c --c S.h5 -o D.h5
damier multiply A.h5 B.h5 --op-b c --beta 0 --c S.h5 -o D.h5 -q -q
damier multiply A.h5 B.h5 --op-b c --beta 0 --c S.h5 -o E.h5 -q >/dev/null
try damier verify A.h5 B.h5 D.h5 --c S.h5
try damier multiply A.h5 B.h5 -o F.h5
make R 3 3
try damier multiply R.h5 R.h5 --alpha 1,1 -o F.h5
damier multiply R.h5 R.h5 --alpha -2 --type f32 -o G.h5 -qq
damier info G.h5 | grep -E '^  (alpha|beta|type) '
damier verify R.h5 R.h5 G.h5 -q --type f32 | grep -oE 'dtype=f32 alpha=-2|PASS$' # no type that widens the tolerance is taken from them
