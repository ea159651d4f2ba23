# damier bench is a program of its own, damier-bench, beside the program damier: found through links, also under mpirun.
program=$(readlink -f "$(command -v damier)")
bench=$(dirname "$program")/damier-bench
damier bench multiply --size 48 --repetitions 1 -q | grep -o 'm=48.*ranks=1'
"$bench" multiply --size 48 --repetitions 1 -q --json r.json | grep -o 'm=48.*ranks=1'
ranks 2 damier bench multiply --size 48 --repetitions 1 -q | grep -o 'm=48.*ranks=2'
python3 -c 'import json; r = json.load(open("r.json")); print(r["verb"], "|", r["command"])'
damier bench kernels --list -q
"$bench" --version | cmp - <(damier --version) && echo "the same version"
"$bench" multiply --help | cmp - <(damier bench multiply --help) && echo "the same help"
try damier bench
"$bench" 2>&1 | cmp - <(damier bench 2>&1) && echo "the same refusal"
for word in multiply io; do
  "$bench" $word x 2>&1 | cmp - <(damier bench $word x 2>&1) && echo "the same refusal"
done
# OpenBLAS is loaded with one thread; the variable is the user's again when damier-bench starts.
OPENBLAS_NUM_THREADS=2 damier bench multiply --size 48 --repetitions 1 -q | grep -o 'm=48.*ranks=1'
# Without damier-bench.
mkdir alone
cp "$program" alone
alone/"$(basename "$program")" multiply --help | head -1
alone/"$(basename "$program")" bench multiply --size 48 2>&1 | sed "s|$PWD|.|"
alone/"$(basename "$program")" bench multiply --size 48 2>/dev/null || echo "exit $?"
ranks 2 alone/"$(basename "$program")" bench multiply --size 48 2>&1 | grep -c 'cannot be started'
# damier holds no benchmark. Programs without symbols show nothing.
if nm --defined-only "$bench" 2>/dev/null | grep -q dm_bench_; then nm --defined-only "$program" | grep dm_bench_; fi
exit 0
