# Without a GPU there is nothing to tune, and nothing is written; but the kernel exists.
damier info -q -q --json - >info
python3 -c 'import json; exit("device_0" in json.load(open("info"))["backends"]["cuda"])' || exit 77
export XDG_CACHE_HOME=$PWD/cache
damier tune >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error, $(grep -c 'hint: tile sizes are those of the kernel jit' out) hint"
damier tune --output here.json --dry-run >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
damier bench multiply --size 64 --backend cuda --kernel jit >out 2>&1
echo "exit $?, $(grep -c 'damier: error' out) error"
ls
try damier tune --type f16
try damier tune --output
try damier tune file.h5
try damier plan --size 8 --dry-run
try damier bench multiply --size 8 --backend cuda --kernel jit --type c64
