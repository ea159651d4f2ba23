make A 33 65
make B 65 20
make S 33 20 --seed 5
for count in 1 3 4; do
  ranks $count damier multiply A.h5 B.h5 --alpha -1.5 --beta 2 --c S.h5 -o C.h5 --force -q >/dev/null
  judge A.h5 B.h5 C.h5 --alpha=-1.5 --beta 2 --c S.h5
done
