make A 40 300
make B 300 50
for grid in 4x1x1 1x4x1 1x1x4 2x2x1 2x1x2 1x2x2; do
  ranks 4 damier multiply A.h5 B.h5 -o C.h5 --force --grid $grid --panel 64 -q >/dev/null
  echo "$grid $(judge A.h5 B.h5 C.h5)"
done
ranks 4 damier multiply A.h5 B.h5 -o C.h5 --force --grid 1x2x1 -q >/dev/null # two stay idle
judge A.h5 B.h5 C.h5
ranks 2 damier multiply A.h5 B.h5 -o D.h5 --grid 2x2x1 2>errors
echo "exit $?, $(grep -c 'damier: error' errors) error"
ls *.h5*
