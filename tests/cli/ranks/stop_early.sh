# USR1 and the time limit stop all ranks after a common panel: exit 75, one message, no output.
make A 4500 4500 --type c64
begun() { until [ -e "$1" ] || ! kill -0 $!; do sleep 0.05; done; }
signalled() {
  mpirun -n "$1" damier multiply A.h5 A.h5 -o C.h5 --panel 64 -q 2>errors &
  begun C.h5.part
  signal_ranks USR1 $!
  wait $!
  echo "exit $?"
  grep -A 1 '^damier' errors
  ls C.h5* 2>/dev/null
}
signalled 1
signalled 3
# Ctrl-C: the first one stops the run, the second one ends it at once. Blocked signals are unblocked; ignored ones
# stay ignored.
interrupted() { # FILE COMMAND...: Ctrl-C once FILE is there
  env --default-signal=INT "${@:2}" 2>errors &
  begun "$1"
  kill -INT $!
  wait $!
  echo "exit $?"
  cat errors
}
interrupted C.h5.part damier multiply A.h5 A.h5 -o C.h5 --panel 64 -q
ls C.h5* 2>/dev/null
env --default-signal=INT damier multiply A.h5 A.h5 -o C.h5 --panel 4544 -q 2>errors & # one panel
# After 1.5 s of CPU time its product is under way.
until ! ticks=$(cut -d ' ' -f 14 "/proc/$!/stat") || [ "$ticks" -gt 150 ]; do sleep 0.05; done
kill -INT $!
until grep -q stopping errors || ! kill -0 $!; do sleep 0.05; done
kill -INT $!
wait $! 2>/dev/null
echo "exit $?"
cat errors
rm -f C.h5.*
env --block-signal=USR1 damier multiply A.h5 A.h5 -o C.h5 --panel 64 -q 2>errors & # ignores SIGINT, like all background processes
begun C.h5.part
kill -INT $!
kill -USR1 $!
wait $!
echo "exit $?"
cat errors
# SIGUSR1, which leaves time, takes nothing back of SIGTERM, which does not.
damier multiply A.h5 A.h5 -o C.h5 --panel 64 -q 2>errors &
begun C.h5.part
kill -TERM $!
kill -USR1 $!
wait $!
echo "exit $?"
cat errors
# A slow machine may have finished a tile by then, and would keep it.
try ranks 2 damier multiply A.h5 A.h5 -o C.h5 --panel 64 --no-checkpoint --time-limit 1s -q
ls C.h5* 2>/dev/null
SLURM_JOB_END_TIME=$(($(date +%s) + 3)) try damier multiply A.h5 A.h5 -o C.h5 --panel 64 --no-checkpoint -q
ls C.h5* 2>/dev/null
try ranks 2 damier bench multiply --size 256 --repetitions 1000000 --time-limit 1s -q
# Without checkpoints the message does not promise to resume.
interrupted G.h5.part damier generate G.h5 --size 9000 --kind ozaki -q
# A run that is much slower than predicted, of which nothing would be kept, begins anew in tiles; Ctrl-C keeps the
# finished ones.
slow=(damier multiply A.h5 A.h5 -o C.h5 --panel 64 --checkpoint-interval 0)
env --default-signal=INT "${slow[@]}" --threads 1 --machine 'gflops-c64=1e6 copy=1e4 read=1e4 write=1e4' 2>errors &
until [ -s C.h5.journal ] || ! kill -0 $!; do sleep 0.05; done
kill -INT $!
wait $!
echo "exit $?"
grep -o 'C is computed anew.*' errors
sed -E -n 's/^ .*: [1-9][0-9]* of [0-9]+ tiles/N of M tiles/p' errors
"${slow[@]}" 2>errors | tail -n 1 | sed 's/.* //'
sed -E -n 's/[1-9][0-9]* of [0-9]+ tiles/N of M tiles/; s/^damier: resuming/resuming/p' errors
