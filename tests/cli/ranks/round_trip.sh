ranks 4 damier generate A.h5 --rows 130 --cols 77 -q >/dev/null
ranks 3 damier generate B.h5 --rows 77 --cols 91 --seed 2 -q >/dev/null
for count in 1 2 3 4 5 8; do
  ranks $count damier multiply A.h5 B.h5 -o C$count.h5 -q | grep -o 'PASS$'
  judge A.h5 B.h5 C$count.h5
done
ranks 4 damier verify A.h5 B.h5 C8.h5 -q | grep -o 'PASS$'
