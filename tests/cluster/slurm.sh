# shellcheck shell=bash disable=SC2154
# The cluster's own Slurm, sourced by "cluster". Uses Debian's packages without changing /etc: every node has its own
# /etc/slurm.

check_slurm() {
  local tool
  for tool in slurmctld slurmd munged srun sbatch; do
    command -v "$tool" >/dev/null || cannot "there is no '$tool'"
  done
  [ -d /etc/slurm ] || cannot "there is no /etc/slurm"
}

configure_slurm() {
  local folder=$state/slurm
  mkdir -p "$folder"/{etc,controller,munge}
  cat >"$folder/etc/slurm.conf" <<END
ClusterName=damier
SlurmctldHost=head($network.1)
SlurmUser=root
AuthType=auth/munge
# Credentials are short-lived: a requeued job waits until the old one expires.
AuthInfo=socket=$folder/munge/socket,cred_expire=5
StateSaveLocation=$folder/controller
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$state/log/slurmctld
SlurmdSpoolDir=$folder/spool-%n
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdLogFile=$state/log/slurmd-%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
MpiDefault=pmix
ReturnToService=2
KillWait=2
SlurmdTimeout=120
InactiveLimit=0
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SwitchType=switch/none
NodeName=DEFAULT CPUs=2 RealMemory=2000 State=UNKNOWN
$(for ((i = 1; i <= nodes; i++)); do echo "NodeName=n$i NodeAddr=$network.$((i + 1))"; done)
PartitionName=all Nodes=n[1-$nodes] Default=YES MaxTime=1:00:00 OverSubscribe=NO State=UP
END
  if ((nodes == 1)); then sed -i 's/n\[1-1\]/n1/' "$folder/etc/slurm.conf"; fi
  echo "# none is used" >"$folder/etc/cgroup.conf"
  head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 700 "$folder/munge"
  chmod 400 "$folder/munge/key"
}

slurm_answers() {
  local idle
  idle=$(enter_quietly head sinfo --noheader --states=idle --format=%D) || return 1
  [ "${idle:-0}" = "$nodes" ]
}

enter_quietly() { ("$here/cluster" exec "$1" -- "${@:2}") 2>/dev/null; }

start_slurm() {
  local folder=$state/slurm i
  "$here/cluster" exec head -- munged --force --key-file="$folder/munge/key" \
    --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" --log-file="$state/log/munged" \
    --seed-file="$folder/munge/seed" >"$state/log/munged-start" 2>&1
  "$here/cluster" exec head -- slurmctld -c -f "$folder/etc/slurm.conf"
  for ((i = 1; i <= nodes; i++)); do
    mkdir "$folder/spool-n$i"
    "$here/cluster" exec "n$i" -- slurmd -N "n$i" -f "$folder/etc/slurm.conf"
  done
  for _ in $(seq 100); do
    if slurm_answers; then return; fi
    sleep 0.1
  done
  tail -n 20 "$state"/log/* >&2
  die "Slurm does not come up"
}
