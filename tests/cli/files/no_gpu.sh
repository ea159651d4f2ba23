# Without a GPU, options that need one are refused.
damier info -q -q --json - >info
python3 -c 'import json; exit("device_0" in json.load(open("info"))["backends"]["cuda"])' || exit 77
make A 20 20
damier multiply A.h5 A.h5 -o C.h5 --backend cuda >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
damier bench multiply --size 64 --from device >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
damier multiply A.h5 A.h5 -o C.h5 --require-gpu-per-rank >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
ls
