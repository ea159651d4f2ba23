# shellcheck shell=bash
# How ranks are started inside an allocation: read by the job scripts.
#
# One rank per GPU; every rank sees all GPUs of its node and takes the one of its local rank.  So
# --gpus-per-node, never --gpus-per-task or --gpu-bind: a rank that sees one GPU alone cannot open the
# memory of another one's (CUDA IPC), and panels would pass through host memory.

ranks_per_node() { echo "${RANKS_PER_NODE:-${SLURM_NTASKS_PER_NODE:-${SLURM_GPUS_ON_NODE:-1}}}"; }

# Fills the array "launch" with the launcher for $1 nodes.
choose_launcher() {
  local nodes=$1 ranks bind=${BIND:-cores}
  ranks=$(ranks_per_node)
  if [ -z "${LAUNCHER-}" ]; then
    LAUNCHER=mpirun
    if [ -n "${SRUN_MPI-}" ] || srun --mpi=list 2>&1 | grep -q pmix; then LAUNCHER=srun; fi
  fi
  # More ranks than Slurm was asked for tasks: --gpus-per-node without --ntasks-per-node.
  local more=
  if ((ranks > ${SLURM_NTASKS_PER_NODE:-1})); then more=1; fi
  case $LAUNCHER in
  srun)
    # Where Slurm's PMIx chooses the kind of each fence in MPI_Init, some starts of Open MPI 4 on several
    # nodes end with a segmentation fault (docs/cluster.md).
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-tree}
    # A rank that ends alone must end all: else the others wait for it.  And a node that is gone must
    # not keep srun: a minute after the first rank has ended, all have.
    launch=(srun --mpi="${SRUN_MPI:-pmix}" --kill-on-bad-exit=1 --wait=60 --nodes="$nodes" --ntasks-per-node="$ranks"
      --ntasks=$((nodes * ranks)) --cpu-bind="$bind")
    if [ -n "${SLURM_CPUS_PER_TASK-}" ]; then launch+=(--cpus-per-task="$SLURM_CPUS_PER_TASK"); fi
    if [ -n "$more" ]; then launch+=(--overcommit); fi
    ;;
  mpirun)
    # Where a node is gone, mpirun notices after 90 s instead of 8 minutes.  It must be before damier
    # does (--hang-timeout): from then on it has sent to that node, and waits for the kernel to give up.
    export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-60}
    export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-5}
    export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-6}
    launch=(mpirun -n $((nodes * ranks)) --map-by "ppr:$ranks:node")
    if [ "$bind" = none ]; then
      launch+=(--bind-to none)
    elif [ -n "${SLURM_CPUS_PER_TASK-}" ]; then
      launch=(mpirun -n $((nodes * ranks)) --map-by "ppr:$ranks:node:PE=$SLURM_CPUS_PER_TASK" --bind-to core)
    fi
    if [ -n "$more" ]; then launch+=(--oversubscribe); fi
    ;;
  mpiexec)
    # That of MPICH and Intel MPI (Hydra).
    launch=("${MPIEXEC:-mpiexec}" -n $((nodes * ranks)) -ppn "$ranks")
    if [ "$bind" != none ]; then launch+=(-bind-to "core:${SLURM_CPUS_PER_TASK:-1}"); fi
    ;;
  *)
    echo "LAUNCHER is '$LAUNCHER', and none of srun, mpirun, mpiexec" >&2
    return 2
    ;;
  esac
}
