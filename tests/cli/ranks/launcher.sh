# A process whose launcher is killed ends with 9; one whose shell ends continues.
cat >work <<'END'
damier bench multiply --size 128 --repetitions 1000000 --time-limit 7s >/dev/null 2>"$1.errors"
echo "$1: exit $?" >"$1.code"
END
end_of() {
  local i
  for i in $(seq 200); do
    if [ -s "$1.code" ]; then break; fi
    sleep 0.1
  done
  cat "$1.code"
  grep '^damier: [es]' "$1.errors" | sed 's/ on [^ ,]*/ on HOST/'
}
cp "$(command -v bash)" slurmstepd # launchers are recognised by name
./slurmstepd -c 'sh work launcher & wait' &
launcher=$!
bash -c "sh work shell & wait" &
shell=$!
disown -a # bash reports killed jobs
for i in $(seq 60); do # both have started
  if [ "$(cat launcher.errors shell.errors 2>/dev/null | grep -c 'damier: needs')" = 2 ]; then break; fi
  sleep 0.1
done
sleep 0.5
kill -KILL $launcher $shell
end_of launcher
end_of shell
# The report contains the launching time, except if a shell that has run commands became the launcher.
make A 64 64
told() {
  "$@" damier multiply A.h5 A.h5 -o C.h5 --force 2>&1 | grep -c 'launching, before main' || true
}
told mpirun -n 2
told sh -c 'ls >/dev/null; exec mpirun -n 2 "$@"' sh
