# Rates measured here are used, and reported; those of other computers are ignored, which is reported, too.
export XDG_CACHE_HOME=$PWD/cache OPENBLAS_NUM_THREADS=1
bench() { ranks 2 damier bench multiply --size 256 --threads 1 --repetitions 1 --json "$@" 2>&1; }
rates() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["plan"]["rates"])' "$1"; }
bench stated.json >/dev/null
rates stated.json
ranks 2 damier tune rates --threads 1 --dry-run >told 2>&1
sed -n 's/rates=[0-9a-f]* DRY/rates=... DRY/p' told
grep 'file rates' told
ls
ranks 2 damier tune rates --threads 1 --files . --json tuned.json | tail -n 1 | sed 's/rates=[0-9a-f]*/rates=.../'
ls cache/damier | wc -l
bench used.json | grep -c 'rates were measured on'
name=$(python3 -c 'import json; print(json.load(open("tuned.json"))["rates"]["name"])')
[ "$(rates used.json)" = "$name" ] && echo "used: the rates of the file"
grep -c "rates=$name" used.json
damier plan --size 256 --ranks 2 --json plan.json 2>&1 | grep -c 'Rates (measured'
damier generate A.h5 --size 64 -q >/dev/null # where files were measured, and read
ranks 2 damier multiply A.h5 A.h5 -o C.h5 --threads 1 2>&1 | grep -c 'rates of .* stated ones'
damier plan A.h5 A.h5 --ranks 2 2>&1 | grep -c 'measured: .*; latency stated'
damier bench multiply --size 64 --threads 1 --repetitions 1 --json other.json >/dev/null 2>&1
rates other.json # no rates for one rank
bench ignored.json --rates stated | grep -c 'rates were measured on'
rates ignored.json
ranks 2 damier tune rates --threads 1 --files nowhere 2>&1 | grep -o 'No such file or directory'

# of another computer, and damaged
sed -i 's/"library": "/"library": "Other /' cache/damier/*
bench foreign.json | grep -c 'ignored, the planner uses stated rates'
rates foreign.json
echo >"$(ls cache/damier/*)"
bench damaged.json | grep -c 'ignored, the planner uses stated rates'
rates damaged.json
