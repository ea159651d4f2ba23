# Tasks 31 to 40: what the first users stumbled over.
needs_h5py
make A 60 40
make B 40 50 --seed 2

# 31 every example of --help works as shown, on any computer and without mpirun
mkdir fake files
printf '#!/bin/sh\necho "cpus*|4|32|64000|(null)|30:00"\n' >fake/sinfo
chmod +x fake/sinfo
PATH=$PWD/fake:$PATH
(
  cd files || exit
  for name in A B X Y; do damier generate $name.h5:/${name,,} --size 80 -q; done
  damier multiply A.h5 B.h5 -o C.h5 -q 2>&1
  cp X.h5 genes.h5
  mkdir runs && cp X.h5 runs/1.h5 && cp X.h5 runs/2.h5
  "$PYTHON" -c 'import h5py, numpy as np
a, b = (h5py.File(f"{x}.h5")[x.lower()][:] for x in "AB")
h5py.File("data.h5", "w")["run/b"] = b
for name, x in ("A", a), ("a", a), ("b", b), ("c", 0.5 * (a @ b)):
    np.save(f"{name}.npy", x)'
) >/dev/null
for verb in '' multiply gram cov cor plan generate verify info; do
  while read -r words; do
    rm -rf example && cp -r files example
    if [[ $words = *generate\ * || $words = *" -o "* && $words != *--force* ]]; then # the output is new
      sed -nE 's/.*(generate|-o) ([^ :]+).*/example\/\2/p' <<<"$words" | xargs rm -f
    fi
    echo "$words"
    (cd example && eval "$words") >out 2>&1 || { echo "exit $?" && said <out; }
  done < <(damier $verb --help | sed -n '/^Examples:/,/^$/s/^  //p')
done

# 32 slices in NumPy's words  33 three matrices  34 another program's option
task damier multiply 'A.h5:/A[10:20, ::2]' 'B.h5:/B[:20]' -o S.h5 -q
task damier multiply 'A.h5:A[0:3]' B.h5 -o S.h5
task damier multiply 'A.h5:/A[70:]' B.h5 -o S.h5
task damier multiply A.h5 B.h5 B.h5 -o S.h5
task damier multiply A.h5 B.h5 -o S.h5 --gpu 0
# 35 Ctrl-C before anything is kept, and once a tile is
damier generate L.h5 --size 3000 -q >/dev/null
interrupt() { # FILE OPTION...: Ctrl-C once FILE is there
  local file=$1
  shift
  "$PYTHON" - "$file" damier multiply L.h5 L.h5 -o R.h5 --threads 1 "$@" <<'END' 2>&1 | said
import os, signal, subprocess, sys, time
run = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while run.poll() is None and not (os.path.exists(sys.argv[1]) and os.path.getsize(sys.argv[1]) > 0):
    time.sleep(0.01)
run.send_signal(signal.SIGINT)
print("exit", run.wait(), flush=True)
END
}
interrupt R.h5.part -q
ls R.h5* 2>/dev/null
interrupt R.h5.journal -q --memory host=100MiB --checkpoint-interval 0 | sed -E 's/[0-9]+ of [0-9]+ tiles/N of N tiles/'
# 36 hours are given as hours
damier plan --size 200000 --machine "nodes=4 ranks=4 cores=8 memory=64GiB" | grep -oE 'multiply +[0-9.]+ [a-z]+'
# 37 a job by Slurm on two nodes; the same C again is refused while the first one waits
printf '#!/bin/sh\necho "sbatch $*" | sed "s|$ROOT|ROOT|; s|$PWD|HERE|"\n' >fake/sbatch
printf '#!/bin/sh\necho "damier $PWD/busy.h5"\n' >fake/squeue
chmod +x fake/*
task "$ROOT/slurm/submit.sh" -N 2 A.h5 B.h5 D.h5 | sed "s|$ROOT|ROOT|"
task "$ROOT/slurm/submit.sh" -N 2 A.h5 B.h5 busy.h5 | sed "s|$ROOT|ROOT|"
# 38 tables and a comparison of one's own records, of which a pager shows the head
for run in 1 2; do damier multiply A.h5 B.h5 -o J.h5 --force --json $run.jsonl -q >/dev/null 2>&1; done
python3 "$ROOT/scripts/report/results.py" 1.jsonl 2.jsonl 2>&1 | grep -c '^| multiply'
"$PYTHON" -c 'import json
json.dump([json.loads(open(f"{i}.jsonl").read()) for i in (1, 2)], open("both.json", "w"), indent=1)' # as bench writes FILE.json
python3 "$ROOT/scripts/report/results.py" both.json 2>&1 | grep -c '^| multiply'
python3 "$ROOT/scripts/report/compare.py" 1.jsonl 2.jsonl 2>&1 | grep -c 'too few runs'
python3 - "$ROOT" <<'END'
import subprocess, sys
words = [sys.executable, f"{sys.argv[1]}/scripts/report/results.py", "1.jsonl"]
run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
run.stdout.close()
print("a closed pipe:", run.communicate()[1] or "silent")
END
# 39 a mirror image of C is verified by itself, and a changed element is found
task damier verify J.h5 -q
"$PYTHON" -c 'import h5py; file = h5py.File("J.h5", "r+"); file["c"][3, 4] += 1'
damier verify J.h5 -q 2>&1 | said | head -1
# 40 what is here
damier info A.h5 J.h5 | grep -E '^(dataset|shape|type)'
# 53 matrices X and Y of MATLAB, saved with -v7.3, are transposed in their files
"$PYTHON" - <<'PYTHON'
import h5py, numpy
for name, shape in ("X", (30, 20)), ("Y", (20, 10)):
    with h5py.File(f"{name}.mat", "w", userblock_size=512) as file:
        file[name] = numpy.ones(shape).T
        file[name].attrs["MATLAB_class"] = numpy.bytes_("double")
PYTHON
damier info X.mat | grep -E '^(shape|in MATLAB)'
task damier multiply X.mat Y.mat -o XY.h5
task damier multiply Y.mat X.mat -o XY.h5 -q
# 54 files of two types  55 which benchmark
damier generate F.h5 --rows 40 --cols 50 --type f32 -q >/dev/null
task damier multiply A.h5 F.h5 -o AF.h5 --strict-types
task damier bench
