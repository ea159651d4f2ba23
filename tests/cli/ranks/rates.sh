# Rates that were measured here decide, and say so; those of others do not, and that is said too.
export XDG_CACHE_HOME=$PWD/cache OPENBLAS_NUM_THREADS=1
bench() { ranks 2 damier bench multiply --size 256 --threads 1 --repetitions 1 --json "$@" 2>&1; }
rates() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["plan"]["rates"])' "$1"; }
bench stated.json >/dev/null
rates stated.json
ranks 2 damier tune rates --threads 1 --dry-run | tail -n 1 | sed 's/rates=[0-9a-f]*/rates=.../'
ls
ranks 2 damier tune rates --threads 1 --json tuned.json | tail -n 1 | sed 's/rates=[0-9a-f]*/rates=.../'
ls cache/damier | wc -l
bench used.json | grep -c 'rates were measured on'
name=$(python3 -c 'import json; print(json.load(open("tuned.json"))["rates"]["name"])')
[ "$(rates used.json)" = "$name" ] && echo "used: the rates of the file"
grep -c "rates=$name" used.json
damier plan --size 256 --ranks 2 --json plan.json 2>&1 | grep -c 'Rates (measured'
damier bench multiply --size 64 --threads 1 --repetitions 1 --json other.json >/dev/null 2>&1
rates other.json # there are none for one rank
bench ignored.json --rates stated | grep -c 'rates were measured on'
rates ignored.json

# of another computer, and damaged
sed -i 's/"library": "/"library": "Other /' cache/damier/*
bench foreign.json | grep -c 'not used, the planner.s rates are stated ones'
rates foreign.json
echo >"$(ls cache/damier/*)"
bench damaged.json | grep -c 'not used, the planner.s rates are stated ones'
rates damaged.json
