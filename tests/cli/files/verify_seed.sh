# The seed of the check's random vector: random, reported, and repeated on request.
make A 90 70 --kind normal
make B 70 80 --kind normal
seeds() { # of the record: the check's, and its residual
  python3 -c '
import json, sys
v = json.load(open("run.json"))["verification"]
print(v["seed"] if len(sys.argv) > 1 else "", v["verdict"], v["residual"], v["equation"])' "$@"
}
run() {
  damier "$@" --json run.json -q -q || echo "exit $?"
}
run multiply A.h5 B.h5 -o C.h5 --verify-seed 0xABCDEF0123456789
seeds yes | cut -d' ' -f1,2,4-
seeds >stated
h5dump -a /c/verify_seed C.h5 | grep '(0)'
damier info C.h5 | grep -E '^  verify_seed'
damier verify A.h5 B.h5 C.h5 -q --verify-seed 12379813738877118345 | grep -o 'seed=.*'
damier verify A.h5 B.h5 C.h5 --verify-seed 7 | grep -o 'C = A B in f64, residual .* of the bound, seed 0x0000000000000007: PASS' | sed 's/residual [^ ]*/residual .../'
# Every check draws its own: in memory, from the files, of benchmarks.
for words in "multiply A.h5 B.h5 -o D.h5 --force" "multiply A.h5 B.h5 -o D.h5 --force --verify-files" \
  "multiply A.h5 B.h5 -o D.h5 --force --reproducible" "verify A.h5 B.h5 C.h5" "bench multiply --size 64 --repetitions 1"; do
  for turn in 1 2; do
    run $words
    seeds yes
  done | cut -d' ' -f1 | sort | uniq | wc -l
  run $words --verify-seed 0x17
  seeds yes | cut -d' ' -f1,2
done
run multiply A.h5 B.h5 -o D.h5 --force --verify-seed 0xABCDEF0123456789
seeds | cmp - stated && echo "the same residual"
damier verify A.h5 B.h5 C.h5 --full | grep -c 'seed'
for seed in x -1 0x 1.5 18446744073709551616 ''; do try damier verify A.h5 B.h5 C.h5 --verify-seed "$seed" -q; done
