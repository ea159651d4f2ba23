make A 20 20
try damier multiply A.h5 A.h5 -o C.h5 --kernel nope
damier info | grep -q 'cuda.*yes' && exit 77
damier multiply A.h5 A.h5 -o C.h5 --backend cuda >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
damier bench multiply --size 64 --from device >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
damier multiply A.h5 A.h5 -o C.h5 --require-gpu-per-rank >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
ls C.h5* 2>/dev/null
