# bench rates writes words for --machine; plan and the job use the file, which may be edited.
export OPENBLAS_NUM_THREADS=1
rates() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["plan"]["rates"])' "$1"; }
bench() { ranks 2 damier bench multiply --size 256 --threads 1 --repetitions 1 --json "$@" >/dev/null 2>&1; }
ranks 2 damier bench rates --threads 1 --files . -o rates.txt 2>&1 | sed -n 's/gflops=.*/gflops=.../; /^damier: bench/p'
sed 's/=[0-9.e+-]*$/=.../; s/^# Rates of .*/# .../' rates.txt
bench stated.json
bench given.json --machine @rates.txt
rates stated.json
rates given.json
damier plan --size 256 --machine @rates.txt --json plan.json | grep -c 'Rates (as --machine states)'
rates plan.json
damier generate A.h5 --size 64 -q >/dev/null
ranks 2 damier multiply A.h5 A.h5 -o C.h5 --threads 1 --machine @rates.txt -q | grep -o 'ranks=2\|PASS'
damier multiply A.h5 A.h5 -o D.h5 --machine @rates.txt --dry-run | grep -c 'as --machine states'
# Only rank 0 needs the file.
mkdir elsewhere
product=(damier multiply "$PWD/A.h5" "$PWD/A.h5" -o "$PWD/C.h5" --force --threads 1 --machine @rates.txt -q)
ranks 1 "${product[@]}" : -n 1 -wdir "$PWD/elsewhere" "${product[@]}" | grep -o 'ranks=2\|PASS'
sed -i 's/^gflops=.*/gflops=1e6 # much faster/' rates.txt
damier plan --size 256 --machine @rates.txt | grep -c '1.00 PFLOP/s'
sed -i 's/^gflops=.*/gflop=1/' rates.txt
try damier plan --size 256 --machine @rates.txt
try damier multiply A.h5 A.h5 -o D.h5 --machine @rates.txt
try damier multiply A.h5 A.h5 -o D.h5 --machine @nowhere.txt
try ranks 2 damier bench rates --files nowhere 2>&1 | grep -o 'No such file or directory'
ls
