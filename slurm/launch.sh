# shellcheck shell=bash
# How ranks are started inside an allocation: read by the job scripts.
#
# One rank per GPU; every rank sees all GPUs of its node and takes the one of its local rank.  So
# --gpus-per-node, never --gpus-per-task or --gpu-bind: a rank that sees one GPU alone cannot open the
# memory of another one's (CUDA IPC), and panels would pass through host memory.

need_damier() {
  if ! command -v damier >/dev/null; then
    echo "there is no damier in PATH: load its module, or set PATH, in env.sh" >&2
    exit 127
  fi
}

# Tasks that Slurm has on each of $1 nodes: asked for as --ntasks-per-node or as --ntasks; else 1.
tasks_per_node() {
  if [ -n "${SLURM_NTASKS_PER_NODE-}" ] || [ -z "${SLURM_NTASKS-}" ]; then
    echo "${SLURM_NTASKS_PER_NODE:-1}"
  elif ((SLURM_NTASKS % $1 == 0)); then
    echo $((SLURM_NTASKS / $1))
  elif [ -n "${RANKS_PER_NODE-}" ]; then
    echo 1
  else
    echo "launch.sh: $SLURM_NTASKS tasks are not the same number on each of $1 nodes: ask for --ntasks-per-node" >&2
    return 2
  fi
}

# The variable $1 is $2, unless the user has set it.
default() { export "$1=${!1:-$2}"; }

# Fills the array "launch" with the launcher for $1 nodes.
choose_launcher() {
  local nodes=$1 tasks ranks cpus bind=${BIND:-cores}
  tasks=$(tasks_per_node "$nodes") || return
  ranks=${RANKS_PER_NODE:-$tasks}
  if [ -z "${RANKS_PER_NODE-}${SLURM_NTASKS_PER_NODE-}${SLURM_NTASKS-}" ]; then
    ranks=${SLURM_GPUS_ON_NODE:-1}
  fi
  # Where no --cpus-per-task was asked for, an equal part of what the node gives.
  cpus=${SLURM_CPUS_PER_TASK:-$((${SLURM_CPUS_ON_NODE:-1} / ranks))}
  if [ -n "${SLURM_GPUS_ON_NODE-}" ] && ((cpus < 2)); then
    echo "launch.sh: the threads of each rank share one core: ask for --cpus-per-task" >&2
  fi
  if [ -z "${LAUNCHER-}" ]; then
    LAUNCHER=mpirun
    if [ -n "${SRUN_MPI-}" ] || srun --mpi=list 2>&1 | grep -q pmix; then LAUNCHER=srun; fi
  fi
  # More ranks than Slurm was asked for tasks: --gpus-per-node without --ntasks-per-node.
  local more=
  if ((ranks > tasks)); then more=1; fi
  case $LAUNCHER in
  srun)
    # Where Slurm's PMIx chooses the kind of each fence in MPI_Init, some starts of Open MPI 4 on several
    # nodes end with a segmentation fault (docs/cluster.md).
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-tree}
    # A rank that ends alone must end all: else the others wait for it.  And a node that is gone must
    # not keep srun: a minute after the first rank has ended, all have.
    launch=(srun --mpi="${SRUN_MPI:-pmix}" --kill-on-bad-exit=1 --wait=60 --nodes="$nodes" --ntasks-per-node="$ranks"
      --ntasks=$((nodes * ranks)) --cpu-bind="$bind")
    if ((cpus > 1)); then launch+=(--cpus-per-task="$cpus"); fi
    if [ -n "$more" ]; then launch+=(--overcommit); fi
    ;;
  mpirun)
    # Where a node is gone, mpirun notices after 90 s instead of 8 minutes.  It must be before damier
    # does (--hang-timeout): from then on it has sent to that node, and waits for the kernel to give up.
    # The names are those of Open MPI 4, and of PRRTE in Open MPI 5.
    local layer
    for layer in OMPI PRTE; do
      default "${layer}_MCA_oob_tcp_keepalive_time" 60
      default "${layer}_MCA_oob_tcp_keepalive_intvl" 5
      default "${layer}_MCA_oob_tcp_keepalive_probes" 6
    done
    local map=ppr:$ranks:node
    launch=(mpirun -n $((nodes * ranks)))
    if [ "$bind" = none ]; then
      launch+=(--bind-to none)
    elif [ -n "${SLURM_CPUS_PER_TASK-}" ]; then
      map+=:PE=$SLURM_CPUS_PER_TASK
      launch+=(--bind-to core)
    fi
    if [ -n "$more" ]; then map+=:OVERSUBSCRIBE; fi
    launch+=(--map-by "$map")
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
