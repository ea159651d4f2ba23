#!/usr/bin/env bash
# A walk through what new users met, on this computer: every command, and what it prints.  Takes a minute on an
# idle computer.
# usage: scripts/report/walk.sh > docs/results/walk.txt
# DAMIER names the program; otherwise what is committed is built.  Needs h5py.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/common.sh

python=$(python_with_h5py)
[ -n "$python" ] || die "there is no Python with h5py"
build_release -DDAMIER_TESTS=OFF >&2
build=$(dirname "$damier")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export PATH=$build:$PATH ROOT=$root BUILD=$build PYTHON=$python

say_system() {
  echo "# $(date -u +%F), commit $(git -C "$root" rev-parse --short=12 HEAD), $(. /etc/os-release && echo "$PRETTY_NAME"),"
  echo "# $(mpirun --version | head -n 1), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg)."
  echo "# Made by scripts/report/walk.sh: ROOT is the repository, BUILD where the program was built."
}

# Each line from stdin is a command, shown before what it prints; lines with a dot in front are not shown.
walk() {
  local line shown code
  printf '\n== %s\n' "$1"
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    shown=$line
    if [[ $line == .\ * ]]; then shown='' line=${line#. }; fi
    if [ -n "$shown" ]; then printf '\n$ %s\n' "$shown"; fi
    code=0
    bash -c "$line" 2>&1 </dev/null | sed -e "s|$root|ROOT|g; s|$scratch|HERE|g; /^  where: /d" || code=${PIPESTATUS[0]}
    if [ "$code" != 0 ] && [ -n "$shown" ]; then echo "exit $code"; fi
  done
}

say_system

walk "1. Plans of described GPU machines have links from GPU to GPU" <<'END'
damier plan --size 100000 --type f32 --machine "nodes=16 gpus=8 gpu=h200" | grep -e '^Machine' -e '^  link' -e '^  rate' -e '^damier'
damier plan --size 100000 --type f32 --machine "nodes=16 gpus=8 gpu=h200 links=device" | grep -e '^  link' -e '^  rate'
damier plan --size 100000 --type f32 --machine "nodes=16 gpus=8 gpu=h200 links=host" | grep -e '^  link' -e '^  rate'
damier plan --size 200000 --type bf16 --machine "nodes=4 gpus=4 gpu=a100" | grep -e '^  link' -e '^  rate' -e '^damier'
damier plan --help | grep -n 'links='
END

walk "2. README's commands and sessions run verbatim on two cores" <<'END'
. mkdir readme
cd readme && python3 "$ROOT/tests/cli/bin/readme.py" "$ROOT/README.md" commands >commands && cat commands && bash -e commands 2>/dev/null | grep '^damier:'
cd readme && rm C.h5 && python3 "$ROOT/tests/cli/bin/readme.py" "$ROOT/README.md" sessions
END

walk "3. Tests on clean systems: docs/results/platforms.txt.  What the quick tests install" <<'END'
grep -A 1 -E '^(build|test)_packages=' "$ROOT/scripts/packages.sh" | grep -v long
END

# A Slurm that says what it would do; tests/cluster has a real one.
mkdir -p bin "my scripts"
printf '#!/bin/sh\necho "gpu*|4|64|512000|gpu:a100:4|1-00:00:00"\n' >bin/sinfo
printf '#!/bin/sh\necho "sbatch $*"\n' >bin/sbatch
# shellcheck disable=SC2016 # for another shell
printf '#!/bin/sh\nif [ "$1" = --mpi=list ]; then echo pmix; else echo "srun $*"; fi\n' >bin/srun
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "   Command=$COMMAND"\n' >bin/scontrol
chmod +x bin/*
cp "$root"/slurm/* "my scripts"
cp "$root/slurm/multiply.sbatch" copy.sbatch
damier generate A.h5 --rows 1500 --cols 1000 --kind normal >/dev/null
damier generate B.h5 --rows 1000 --cols 1200 --kind normal --seed 2 >/dev/null
export SLURM="env PATH=$scratch/bin:$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST=n[1-2] SLURM_JOB_NUM_NODES=2 SLURM_SUBMIT_DIR=$scratch"

walk "4. Slurm: 4 nodes of 4 GPUs and 64 cores, of which sinfo, sbatch, srun and scontrol are stand-ins" <<'END'
$SLURM damier plan --slurm --size 100000 | grep SBATCH
damier plan --slurm --size 20000 --machine "nodes=4 gpus=4 gpu=a100 cores=16" | grep cpus
grep -A 1 'submit.sh --nodes' "$ROOT/slurm/README.md"
touch C.h5
$SLURM "my scripts/submit.sh" --nodes=2 A.h5 B.h5 C.h5
$SLURM "my scripts/submit.sh" --nodes=2 A.h5 none.h5 D.h5
$SLURM "my scripts/submit.sh" A.h5 B.h5 D.h5
$SLURM SLURM_NTASKS=4 COMMAND="$PWD/my scripts/multiply.sbatch A.h5 B.h5 D.h5" bash "my scripts/multiply.sbatch" A.h5 B.h5 D.h5
$SLURM SLURM_NTASKS=4 COMMAND="$PWD/copy.sbatch A.h5 B.h5 D.h5" bash copy.sbatch A.h5 B.h5 D.h5
$SLURM SLURM_NTASKS=4 SCRIPTS="my scripts" bash copy.sbatch A.h5 B.h5 D.h5
env PATH="$PWD/bin:/usr/bin:/bin" SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST=n1 SCRIPTS="my scripts" bash copy.sbatch A.h5 B.h5 D.h5
$SLURM SLURM_NTASKS=4 SLURM_CPUS_PER_TASK=2 LAUNCHER=mpirun SCRIPTS="my scripts" bash -c 'source "my scripts/launch.sh"; choose_launcher 2; env | grep MCA_oob | sort; echo "${launch[@]}"'
grep -E '^(Bootstrap|From):' "$ROOT/packaging/Apptainer.def"
END

rm -f C.h5
damier generate L.h5 --size 4000 --kind normal >/dev/null

walk "5. Progress, where stderr is no terminal, and on one" <<'END'
mpirun -n 2 damier multiply L.h5 L.h5 -o C.h5 --memory host=250MiB 2>&1 >/dev/null | cat
rm C.h5
script -qec "damier multiply L.h5 L.h5 -o C.h5 --memory host=250MiB" /dev/null | tr '\r' '\n' | sed 's/\x1b\[K//' | grep '%' | sed -n '1p; 8p; $p'
. rm C.h5
END

# Commands in the background ignore SIGINT otherwise; the journal has a record of 64 bytes for each tile.
export INT="env --default-signal=INT"
# shellcheck disable=SC2016
export AFTER_A_TILE='until [ "$(stat -c %s C.h5.journal 2>/dev/null || echo 0)" -gt 65600 ]; do sleep 0.1; done'
walk "6. Ctrl-C" <<'END'
$INT damier multiply L.h5 L.h5 -o C.h5 --memory host=180MiB --checkpoint-interval 0 -q & eval "$AFTER_A_TILE"; kill -INT $!; wait $!; echo "exit $?"; ls C.h5*
damier multiply L.h5 L.h5 -o C.h5 --memory host=180MiB --checkpoint-interval 0 | grep '^damier'; ls C.h5*; rm C.h5
$INT damier multiply L.h5 L.h5 -o C.h5 --panel 4032 -q & sleep 2; kill -INT $!; sleep 0.1; kill -INT $!; wait $!; echo "exit $?"; ls C.h5*
damier multiply A.h5 B.h5 -o C.h5 --force -q
. rm -f C.h5*
$INT mpirun -n 2 damier multiply L.h5 L.h5 -o C.h5 --memory host=180MiB --checkpoint-interval 0 -q & eval "$AFTER_A_TILE"; kill -INT $!; wait $!; echo "exit $?"; ls C.h5*
mpirun -n 2 damier multiply L.h5 L.h5 -o C.h5 --memory host=180MiB --checkpoint-interval 0 2>&1 | grep -e resuming -e '^damier: multiply '; ls C.h5*
damier generate G.h5 --size 20000 -q & sleep 1; kill -TERM $!; wait $!; echo "exit $?"
END

walk "7. Output for machines" <<'END'
damier multiply A.h5 B.h5 -o C7.h5 --json - -q | python3 -c 'import json, sys; print(json.load(sys.stdin)["verb"])'
damier multiply A.h5 B.h5 -o C7.h5 --force --json - 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["verb"])'
for i in 1 2; do damier info C7.h5 --json one.json --json all.jsonl -q; done; python3 -c 'import json; print(json.load(open("one.json"))["verb"])'; wc -l all.jsonl
damier multiply --help-all | grep -A 2 -e --json
damier info C7.h5 -q
damier info C7.h5 none.h5 A.h5 --json - -q | wc -l
END

"$python" - <<'END'
import h5py
import numpy as np

rng = np.random.default_rng(1)
with h5py.File("mixed.h5", "w") as f:
    f["a"] = np.arange(12.0).reshape(3, 4)
    f["v"] = np.arange(5.0)
    f["cube"] = np.zeros((2, 3, 4), "f4")
    f["table"] = np.zeros(3, [("x", "f8"), ("n", "i4")])
    f["flags"] = np.ones((2, 2), bool)
    f["words"] = [b"one", b"two"]
    f.create_dataset("packed", data=np.ones((40, 40)), chunks=(20, 40), compression="lzf")
    f["away"] = h5py.ExternalLink("one.h5", "/m")
with h5py.File("one.h5", "w") as f:
    f["m"] = np.eye(3)
with h5py.File("link.h5", "w") as f:
    f["away"] = h5py.ExternalLink("one.h5", "/m")
with h5py.File("vector.h5", "w") as f:
    f["v"] = rng.normal(size=1000)
with h5py.File("lzf.h5", "w") as f:
    f.create_dataset("a", data=rng.integers(0, 9, (1500, 1000)).astype("f8"), compression="lzf", shuffle=True)
for name in "bool", "uint8", "uint16", "int16", "int32", "int64":
    with h5py.File(f"{name}.h5", "w") as f:
        f["a"] = rng.integers(0, 2, (40, 40)).astype(name)
with h5py.File("big.h5", "w") as f:
    f["a"] = np.full((40, 40), 2**53 + 1)
with h5py.File("bf16.h5", "w") as f:  # as h5py stores arrays of ml_dtypes.bfloat16
    f["a"] = (rng.normal(size=(40, 40)).astype("f4").view("u4") >> 16).astype("u2").view("V2")
with h5py.File("turned.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 4))
    plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
    a = h5py.h5d.create(f.id, b"a", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((4, 4)), plist)
    a.write_direct_chunk((0, 0), bytes(128))
with h5py.File("data.h5", "w") as f:
    f["a"] = rng.normal(size=(40, 40))
    f["notes"] = "kept"
np.save("a.npy", rng.normal(size=(40, 30)))
np.save("b.npy", np.asfortranarray(rng.normal(size=(30, 20)).astype("f4").astype("f8")))
END

walk "8. What files hold" <<'END'
damier info mixed.h5
damier info none.h5 mixed.h5:/cube one.h5 -qq; echo "exit $?"
damier info none.h5 vector.h5 one.h5
damier info link.h5
damier info link.h5 --allow-external | tail -n 4
END

walk "9. What users of h5py have" <<'END'
damier multiply lzf.h5 B.h5 -o C9.h5 -q
damier info turned.h5
damier info bf16.h5
"$PYTHON" -c "import h5py; h5py.File('bf16.h5', 'a')['a'].attrs['dtype'] = 'bfloat16'"; damier multiply bf16.h5 bf16.h5 -o C9.h5 --force -q
for type in bool uint8 uint16 int16 int32 int64; do damier multiply $type.h5 $type.h5 -o C9.h5 --force -q --type f64; done
for type in bool uint8 uint16 int16; do damier multiply $type.h5 $type.h5 -o C9.h5 --force -q --type f32; done
damier multiply uint8.h5 uint8.h5 -o C9.h5 --force
damier multiply big.h5 big.h5 -o C9.h5 --force --type f64
damier multiply big.h5 big.h5 -o C9.h5 --force --type f64 --allow-rounding -q
damier multiply A.h5 vector.h5 -o y.h5
damier multiply A.h5 vector.h5 -o y.h5 --as-column -q
damier multiply vector.h5 vector.h5 -o y.h5 --force --as-row --op-b t -q
sha256sum data.h5; damier multiply data.h5:/a data.h5:/a -o data.h5:/c --append -q; "$PYTHON" "$ROOT/scripts/check_product.py" data.h5:/a data.h5:/a data.h5:/c; "$PYTHON" -c "import h5py; print(dict(h5py.File('data.h5')))"
damier multiply data.h5:/a data.h5:/a -o data.h5:/c --append
mpirun -n 2 damier multiply a.npy b.npy -o c.npy -q; "$PYTHON" -c "import numpy as np; print(np.abs(np.load('c.npy') - np.load('a.npy') @ np.load('b.npy')).max())"
END

walk "10. Hints, and words of other programs" <<'END'
damier multiply A.h5 B.h5 -o D.h5 --backend gpu
damier multiply A.h5 B.h5 -o D.h5 --gpu
damier multiply A.h5 B.h5 -o D.h5 --transA t
damier multiply A.h5 B.h5 -o D.h5 --backend gpus
damier matmul A.h5 B.h5 -o D.h5
damier multiply A.h5 B.h5 -o D.h5 --dry-run | grep -A 1 -e '^Predicted' -e '^damier'; ls D.h5
damier multiply A.h5 B.h5 -o D.h5 --dryrun
damier tune
damier multiply A.h5 A.h5 -o D.h5 --op-a T --type double --grid 1x1 -q
damier multiply A.h5 A.h5 -o D.h5 --op-a T --type float32 --force -q
damier help multiply | head -n 3
damier version
damier multiply A.h5 B.h5 -o -
damier multiply A.h5 B.h5 -o x.npz
damier multiply A.h5 B.h5 -o x.npy -q; head -c 6 x.npy | od -c | head -n 1
END

# The build's manifest of what was installed is the user's.
manifest=$build/install_manifest.txt
if [ -e "$manifest" ]; then cp "$manifest" "$scratch/manifest"; fi

walk "11. Install and build" <<'END'
cmake --install "$BUILD" --prefix "$PWD/local" | grep -c Installing; find local -type f -o -type l | sort
readelf -d local/bin/damier local/lib/libdamier.so | grep RUNPATH
bash -c '. local/share/bash-completion/completions/damier; COMP_WORDS=(damier multiply --op); COMP_CWORD=2; _damier; echo "${COMPREPLY[@]}"'
ninja -C "$BUILD" uninstall | grep -c Removing; find local -type f; find local -name '*damier*'
DESTDIR="$PWD/staged" cmake --install "$BUILD" --prefix /usr | grep -c Installing; find staged -type f | wc -l; DESTDIR="$PWD/staged" ninja -C "$BUILD" uninstall | grep -c Removing; find staged -type f | wc -l
grep -n 'no GPU is seen' "$ROOT/scripts/demo.sh"
END
if [ -e "$scratch/manifest" ]; then cp "$scratch/manifest" "$manifest"; fi

walk "Version" <<'END'
damier --version
END
