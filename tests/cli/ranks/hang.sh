# A stopped rank is named, with exit 8; a job that is suspended as a whole and continues is not.
start() {
  mpirun -n 3 damier bench multiply --size 256 --grid 3x1x1 --repetitions 1000000 --hang-timeout 2s -v >out 2>errors &
  launcher=$!
  until grep -qs 'needs per rank' errors || ! kill -0 $launcher; do sleep 0.1; done # before, MPI itself may be waited for
  sleep 3 # and before they measure, that they start
}
# Of ranks that it killed Hydra may report the signal, 9.
of_hang() {
  if [ "$1" = 9 ] && mpirun --version 2>&1 | grep -q HYDRA; then echo 8; else echo "$1"; fi
}
fail_of() {
  signal_ranks STOP $launcher "$@"
  wait $launcher
  echo "exit $(of_hang $?)"
  grep -A 2 '^damier: error' errors | sed 's/ on [^ ]*/ on HOST/; s/ ([0-9]* of [0-9]* panels)//'
}
start
fail_of --newest
start
fail_of --oldest >said
head -n 4 said # if rank 0 hangs, another rank may report it before the launcher ends it
start
signal_ranks STOP $launcher
sleep 5
signal_ranks CONT $launcher
sleep 1
signal_ranks USR1 $launcher
wait $launcher
echo "exit $?"
grep '^damier: stopped' errors
