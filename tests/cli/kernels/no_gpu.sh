# Without a GPU there is nothing to measure; several ranks are refused even with one.
damier info -q -q --json - >info
python3 -c 'import json; exit("device_0" in json.load(open("info"))["backends"]["cuda"])' || exit 77
damier bench kernels >out 2>&1
echo "exit $?, $(grep -c 'damier: error: bench kernels needs a GPU' out) error"
damier bench kernels --check --csv out.csv >out 2>&1
echo "exit $?, $(grep -c -- --list out) hint"
ls
ranks 2 damier bench kernels >out 2>&1
echo "exit $?"
cat out
