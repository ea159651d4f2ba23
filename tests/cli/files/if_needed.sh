# A complete C of the same inputs and options is left as it is; anything else is computed again.
state() { stat -c %i C.h5 | grep -qx "$last" && echo left || echo made; last=$(stat -c %i C.h5); }
once() { damier multiply A.h5 B.h5 -o C.h5 --if-needed -qq "$@"; echo "exit $?: $* $(state)"; last=$(stat -c %i C.h5); }
make A 20 30
make B 30 10
last=0
once
once
once --alpha 2
once --alpha 2
touch A.h5
once --alpha 2
cp B.h5 keep.h5
make B 30 10 --seed 7 --force
once --alpha 2
once --alpha 2 --threads 1
once --alpha 2 --threads 1
once --alpha 2 --threads 1 --chunk 5x5
damier multiply A.h5 B.h5 -o C.h5 --if-needed --alpha 2 --threads 1 --chunk 5x5 -q
mv keep.h5 B.h5
last=$(stat -c %i C.h5)
ranks 2 damier multiply A.h5 B.h5 -o C.h5 --if-needed -qq
state
ranks 2 damier multiply A.h5 B.h5 -o C.h5 --if-needed -qq
state
damier multiply 'A.h5:/A[0:5]' B.h5 -o E.h5 --if-needed -qq
damier multiply 'A.h5:/A[5:10]' B.h5 -o E.h5 --if-needed -q | said
damier gram A.h5 --top 3 -o F.h5 --if-needed -qq
damier gram A.h5 --top 3 -o F.h5 --if-needed -q | said
damier gram A.h5 --top 4 -o F.h5 --if-needed -q | said
damier pca A.h5 --rank 2 -o P.h5 --if-needed -q | said
damier pca A.h5 --rank 2 -o P.h5 --if-needed -q | said
ranks 2 damier pca A.h5 --rank 2 -o P.h5 --if-needed -q | said
damier pca A.h5 --rank 3 -o P.h5 --if-needed -q | said
damier pca A.h5 --rank 3 -o P.h5 --scores T.h5 --if-needed -q | said # scores are an output, too
damier pca A.h5 --rank 3 -o P.h5 --scores T.h5 --if-needed -q | said
rm T.h5
damier pca A.h5 --rank 3 -o P.h5 --scores T.h5 --if-needed -q | said
damier svd A.h5 --rank 3 -o S.h5 --if-needed -q | said
damier svd A.h5 --rank 3 -o S.h5 --if-needed -q --of rows | said
touch A.h5
damier svd A.h5 --rank 3 -o S.h5 --if-needed -q --of rows | said
damier svd A.h5 --rank 3 -o S.h5 --if-needed -q --of rows --dry-run | said # what would be done: nothing, or a plan
damier multiply A.h5 B.h5 -o C.h5 --if-needed -qq
damier multiply A.h5 B.h5 -o C.h5 --if-needed --dry-run -q
damier multiply A.h5 B.h5 -o C.h5 --if-needed --alpha 3 --dry-run 2>/dev/null | tail -n 1 | sed 's/total_s=.*//'
try damier svd A.h5 --rank 3 -o S.h5
try damier multiply A.h5 B.h5 --beta 1 --c C.h5 -o C.h5 --if-needed
echo text > G.h5
try damier multiply A.h5 B.h5 -o G.h5 --if-needed
cat G.h5
