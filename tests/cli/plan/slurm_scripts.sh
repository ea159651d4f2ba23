# The job scripts, with a stand-in for Slurm that prints its actions.
mkdir fake "my scripts"
cat >fake/srun <<'FAKE'
#!/bin/sh
if [ "$1" = --mpi=list ]; then echo pmix; exit; fi
echo "srun $*"
FAKE
# A job array prints every task.
printf '#!/bin/sh\necho "   Command=$COMMAND"; echo; echo "   Command=$COMMAND"\n' >fake/scontrol
printf '#!/bin/sh\necho "sbatch $*" | sed "s|$ROOT|ROOT|; s|$PWD|HERE|"\n' >fake/sbatch
printf '#!/bin/sh\necho "damier $PWD/busy.h5"\n' >fake/squeue
printf '#!/bin/sh\necho "mpirun $*"\n' >fake/mpirun
chmod +x fake/*
cp "$ROOT"/slurm/* "my scripts"
PATH=$PWD/fake:$PATH
job() {
  env SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_JOB_NODELIST=n1,n2 SLURM_SUBMIT_DIR="$PWD" "$@" 2>&1
  echo "exit $?"
}
run=(bash "my scripts/multiply.sbatch" A.h5 B.h5 C.h5)
here=COMMAND="$PWD/my scripts/multiply.sbatch A.h5 B.h5 C.h5"
job "$here" SLURM_NTASKS=4 "${run[@]}"
job "$here" SLURM_NTASKS=5 "${run[@]}"
job "$here" SLURM_NTASKS=2 SLURM_NTASKS_PER_NODE=1 SLURM_CPUS_PER_TASK=8 "${run[@]}"
job "$here" SLURM_GPUS_ON_NODE=4 SLURM_CPUS_ON_NODE=64 "${run[@]}"
job "$here" SLURM_GPUS_ON_NODE=4 SLURM_CPUS_ON_NODE=4 LAUNCHER=mpirun "${run[@]}"
job "$here" SLURM_NTASKS=4 SLURM_CPUS_PER_TASK=2 LAUNCHER=mpirun "${run[@]}"
job "$here" PATH="$PWD/fake:/usr/bin:/bin" "${run[@]}"
cp "my scripts/multiply.sbatch" copy.sbatch
job COMMAND="$PWD/copy.sbatch A.h5 B.h5 C.h5" bash copy.sbatch A.h5 B.h5 C.h5 | sed "s|$PWD|HERE|"
job SCRIPTS="my scripts" SLURM_NTASKS=2 bash copy.sbatch A.h5 B.h5 C.h5

submit() { "$ROOT/slurm/submit.sh" "$@" 2>&1 | sed 's/^  where: .*/  where: .../'; echo "exit ${PIPESTATUS[0]}"; }
make A 30 20
make B 20 10
touch C.h5
submit --nodes=2 A.h5 B.h5:/a D.h5 --type f32
submit -N 2 --ntasks-per-node 4 --exclusive A.h5 B.h5:/a D.h5
submit --nodes=2 A.h5 B.h5 busy.h5
submit --nodes=2 A.h5 B.h5 C.h5:/c
submit --nodes=2 A.h5 B.h5 C.h5 --force
submit --nodes=2 A.h5 no.h5 D.h5
submit --nodes=2 A.h5 B.h5 none/D.h5
submit --nodes=2 A.h5 B.h5
printf '#!/bin/sh\necho "cpus*|4|32|64000|(null)|30:00"\n' >fake/sinfo
chmod +x fake/sinfo
submit A.h5 B.h5 D.h5
job COMMAND="$PWD/my scripts/scale.sbatch --size 9" SLURM_NTASKS=4 bash "my scripts/scale.sbatch" --size 9
submit A.h5 A.h5 D.h5
