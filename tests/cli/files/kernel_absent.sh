# Without a GPU kernels exist, and are refused.
damier info -q -q --json - >info
python3 -c 'import json; exit("device_0" in json.load(open("info"))["backends"]["cuda"])' || exit 77
damier bench multiply --size 64 --backend cuda --kernel warp_tile >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
try damier bench rates --output
try damier bench rates file.h5
try damier plan --size 8 --dry-run
try damier bench multiply --size 8 --backend cuda --kernel warp_tile --type c64
