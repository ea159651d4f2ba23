# A process whose launcher is killed ends with 9; one whose shell ends continues.
cat >work <<'END'
damier bench multiply --size 128 --repetitions 1000000 -v >/dev/null 2>"$1.errors" &
echo $! >"$1.pid"
wait $!
echo "$1: exit $?" >"$1.code"
END
end_of() {
  until [ -s "$1.code" ]; do sleep 0.1; done
  cat "$1.code"
  grep '^damier: [es]' "$1.errors" | sed 's/ on [^ ,]*/ on HOST/'
}
cp "$(command -v bash)" slurmstepd # launchers are recognised by name
./slurmstepd -c 'sh work launcher & wait' &
launcher=$!
bash -c "sh work shell & wait" &
shell=$!
disown -a # bash reports killed jobs
for name in launcher shell; do # both have started
  until grep -qs 'damier: needs' $name.errors || [ -s $name.code ]; do sleep 0.1; done
done
kill -KILL $launcher $shell
end_of launcher
kill -USR1 "$(cat shell.pid)"
end_of shell
# A rank of which MPI knows nothing, because the launcher is another MPI's or left its variables behind, says so.
make A 64 64
for name in PMIX_RANK PMI_RANK SLURM_PROCID; do
  env $name=2 damier multiply A.h5 A.h5 -o C.h5 -q 2>errors || echo "$name: exit $?"
  grep -o 'calls this process .*' errors
done
ls C.h5* 2>/dev/null
# What needs no MPI works nevertheless.
export PMIX_RANK=2
damier info A.h5 | grep shape
damier plan --size 64 -q | grep -o 'plan m=64'
damier --version | grep -c '^damier '
try damier info nowhere.h5
try damier multiply A.h5
unset PMIX_RANK
# The report contains the launching time, except if a shell that has run commands became the launcher.
told() {
  "$@" damier multiply A.h5 A.h5 -o C.h5 --force -v 2>&1 | grep -c 'launching, before main' || true
}
told mpirun -n 2
told sh -c 'ls >/dev/null; exec mpirun -n 2 "$@"' sh
