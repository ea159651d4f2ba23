# A list of jobs: what is complete is skipped, failures are listed, parts of the list, a job that is killed, and a stop.
make A 40 40
make B 40 40 --seed 2
cat > jobs.txt <<'END'
# products of A
multiply A.h5 B.h5 -o C1.h5
damier gram A.h5 -o "C 2.h5"

multiply A.h5 missing.h5 -o C3.h5
cor A.h5 --alpha -o C4.h5
multiply 'A.h5
info A.h5
  multiply B.h5 A.h5 -o C5.h5
compare C1.h5 C5.h5
END
listed() { sed -E 's/time_s=[^ ]* //; s/residual=.*PASS/PASS/; s/ (ranks|time_s|multiply_s|tflops)=[^ ]*//g'; }
damier run jobs.txt 2>&1 | listed
echo "exit ${PIPESTATUS[0]}"
ls C*.h5
damier run jobs.txt 2>/dev/null | listed # again: only what failed
damier run jobs.txt --jobs-of 1/3 --at-once 1 2>/dev/null | listed
damier run jobs.txt --jobs-of 3/3 2>/dev/null | listed
rm C*.h5
damier run jobs.txt --at-once 3 -qq 2>/dev/null # the exit code is that of the first line that failed
echo "exit $?"
ls C*.h5
make W 700 700 # the slowest job is the first line, and is told first
cat > order.txt <<'END'
gram W.h5 -o W1.h5 --threads 1
multiply A.h5 missing.h5 -o W2.h5
multiply 'A.h5
multiply A.h5 B.h5 -o W4.h5
gram A.h5 -o W5.h5
END
damier run order.txt --at-once 4 2>&1 | listed
try damier run jobs.txt --jobs-of 4/3
try damier run jobs.txt --at-once 1000
try damier run missing.txt
printf 'multiply A.h5 B.h5 -o C1.h5 --alpha 3\nmultiply A.h5 B.h5 -o C1.h5 --alpha 3 --if-needed\n' > again.txt
damier run again.txt 2>&1 | listed # another C is replaced only if the line says so
damier run again.txt 2>&1 | listed
printf 'multiply A.h5 B.h5 -o E1.h5\nmultiply E1.h5 B.h5 -o ./E2.h5\nmultiply ./E2.h5 A.h5 -o E3.h5\n' > chain.txt
damier run chain.txt 2>&1 | listed # a line reads what one before it writes
printf 'multiply A.h5 B.h5 -o F.h5:/x --append\ngram A.h5 -o F.h5:/y --append\n' > one.txt
damier run one.txt 2>&1 | listed # two lines write one file
printf 'pca A.h5 --rank 3 --scores S.h5 -o P1.h5\nmultiply S.h5 B.h5 --op-a t -o SB.h5\nsvd A.h5 --rank=2 -o P2.h5\n' > pca.txt
damier run pca.txt 2>&1 | listed # components, and a line that reads the scores of one before it
damier run pca.txt 2>&1 | listed
try ranks 2 damier run jobs.txt
for i in $(seq 400); do echo "multiply A.h5 B.h5 -o D$i.h5"; done > many.txt
damier run many.txt --at-once 2 -qq 2>/dev/null &
until [ -e D3.h5 ]; do sleep 0.01; done
kill -TERM $!
wait $!
echo "stopped: exit $?"
head -n 60 many.txt > first.txt
damier run first.txt -qq # a job that was stopped goes on
echo "resumed: exit $?"
ls D*.part D*.journal 2>/dev/null || echo 'nothing left'
{ printf '\xef\xbb\xbf' && cat <<'JOBS'; } | damier run - --at-once 1 2>&1 | listed # of an editor of Windows, through a pipe
multiply A.h5 B.h5 -o H1.h5 # a note
multiply --help
multiply A.h5 B.h5 -o "#2.h5"
JOBS
ls H1.h5 '#2.h5'
