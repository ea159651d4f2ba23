# shellcheck shell=bash
# Starts the ranks inside an allocation: sourced by the job scripts.
#
# One rank per GPU; every rank sees all GPUs of its node and uses the one of its local rank.  So use
# --gpus-per-node, never --gpus-per-task or --gpu-bind: a rank that sees only one GPU cannot open the
# memory of others (CUDA IPC), and panels would pass through host memory.

need_damier() {
  if ! command -v damier >/dev/null; then
    echo "damier is not in PATH: load its module, or set PATH, in env.sh" >&2
    exit 127
  fi
}

# Number of Slurm tasks on each of $1 nodes, from --ntasks-per-node or --ntasks; else 1.
tasks_per_node() {
  if [ -n "${SLURM_NTASKS_PER_NODE-}" ] || [ -z "${SLURM_NTASKS-}" ]; then
    echo "${SLURM_NTASKS_PER_NODE:-1}"
  elif ((SLURM_NTASKS % $1 == 0)); then
    echo $((SLURM_NTASKS / $1))
  elif [ -n "${RANKS_PER_NODE-}" ]; then
    echo 1
  else
    echo "launch.sh: $SLURM_NTASKS tasks cannot be divided evenly among $1 nodes: use --ntasks-per-node" >&2
    return 2
  fi
}

# Sets variable $1 to $2, unless the user has set it.
default() { export "$1=${!1:-$2}"; }

# Fills the array "launch" with the launcher for $1 nodes.
choose_launcher() {
  local nodes=$1 tasks ranks cpus bind=${BIND:-cores}
  tasks=$(tasks_per_node "$nodes") || return
  ranks=${RANKS_PER_NODE:-$tasks}
  if [ -z "${RANKS_PER_NODE-}${SLURM_NTASKS_PER_NODE-}${SLURM_NTASKS-}" ]; then
    ranks=${SLURM_GPUS_ON_NODE:-1}
  fi
  # Without --cpus-per-task, an equal part of the job's CPUs on the node.
  cpus=${SLURM_CPUS_PER_TASK:-$((${SLURM_CPUS_ON_NODE:-1} / ranks))}
  if [ -n "${SLURM_GPUS_ON_NODE-}" ] && ((cpus < 2)); then
    echo "launch.sh: the threads of each rank share one core: use --cpus-per-task" >&2
  fi
  if [ -z "${LAUNCHER-}" ]; then
    LAUNCHER=mpirun
    if [ -n "${SRUN_MPI-}" ] || srun --mpi=list 2>&1 | grep -q pmix; then LAUNCHER=srun; fi
  fi
  # More ranks than tasks requested from Slurm: --gpus-per-node without --ntasks-per-node.
  local more=
  if ((ranks > tasks)); then more=1; fi
  case $LAUNCHER in
  srun)
    # With fences of other types, also of the one that Slurm's PMIx chooses, Open MPI 4 on several nodes
    # sometimes crashes at the start (docs/cluster.md).
    export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}
    # A rank that fails must end all, or the others wait for it.  And a lost node must not keep srun
    # running: it ends a minute after the first rank.
    launch=(srun --mpi="${SRUN_MPI:-pmix}" --kill-on-bad-exit=1 --wait=60 --nodes="$nodes" --ntasks-per-node="$ranks"
      --ntasks=$((nodes * ranks)) --cpu-bind="$bind")
    if ((cpus > 1)); then launch+=(--cpus-per-task="$cpus"); fi
    if [ -n "$more" ]; then launch+=(--overcommit); fi
    ;;
  mpirun)
    # mpirun detects a lost node after 90 s instead of 8 minutes.  This must be before damier does
    # (--hang-timeout): then mpirun sends to that node, and waits for the kernel to give up.
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
    # Hydra of MPICH and Intel MPI.
    launch=("${MPIEXEC:-mpiexec}" -n $((nodes * ranks)) -ppn "$ranks")
    if [ "$bind" != none ]; then launch+=(-bind-to "core:${SLURM_CPUS_PER_TASK:-1}"); fi
    ;;
  *)
    echo "LAUNCHER is '$LAUNCHER', not srun, mpirun or mpiexec" >&2
    return 2
    ;;
  esac
}
