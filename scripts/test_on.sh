#!/usr/bin/env bash
# Runs scripts/demo.sh and scripts/test.sh in a bare Debian system, as a new user would: on a clone of the
# current commit, in a chroot without /sys and with a host name that does not resolve.
# usage: scripts/test_on.sh bookworm|trixie|forky|sid [mpich] [--all] [--as-root] [--cores N]
#                           [--run COMMAND] [--with FILE] [--again] [--roots FOLDER]
#   mpich     install MPICH instead of Open MPI
#   --all     run test.sh --all
#   --as-root run as root; otherwise as an ordinary user with sudo, so that both scripts install packages
#   --cores   use the first N cores
#   --run     run this command in the clone instead of both scripts
#   --with    copy this file to the user's home
#   --again   reuse the system and the build of the last run
# The systems are in build/roots, or in FOLDER.  Must be run as root; needs debootstrap, and the package mirror
# of this computer.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

all='' as_root='' cores='' run='' with='' again='' roots=$root/build/roots
read_options "all! as-root! cores run with again! roots" "$@"
suite=${operands[0]-} mpi=${operands[1]-openmpi}
case "$suite $mpi" in
'bookworm openmpi' | 'bookworm mpich' | 'trixie openmpi' | 'trixie mpich' | 'forky openmpi' | 'forky mpich' | \
  'sid openmpi' | 'sid mpich') ;;
*) usage ;;
esac
[ "$(id -u)" = 0 ] || die "only root can make a system and change into it"
has debootstrap || die "debootstrap is missing: apt-get install debootstrap"

user=visitor home=/home/visitor
if [ -n "$as_root" ]; then user=root home=/root; fi
name=$suite-$mpi-$user
system=$roots/$name log=$roots/$name.log
mkdir -p "$roots/archives/partial"

# The package mirror of this computer; empty for debootstrap's default.
mirror() {
  # shellcheck disable=SC2016 # these are apt's own names
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1
}

make_base() {
  local base=$roots/base-$suite from script=/usr/share/debootstrap/scripts
  if [ -s "$base.tar" ]; then return; fi
  from=$(mirror)
  say "debootstrap $suite"
  rm -rf "$base"
  # Suites unknown to this debootstrap are installed like the newest known one.
  if [ -e "$script/$suite" ]; then script=$script/$suite; else script=$script/sid; fi
  # Cloning takes git; ordinary users need sudo.
  debootstrap --variant=minbase --include=git,sudo,ca-certificates "$suite" "$base" ${from:+"$from" "$script"} \
    >"$base.log" || die "debootstrap failed: $base.log"
  apt-config dump | grep -E '^Acquire::(http|https|Check)' >"$base/etc/apt/apt.conf.d/99host" || true
  tar -C "$base" -cf "$base.tar.part" .
  mv "$base.tar.part" "$base.tar"
  rm -rf "$base"
}

make_system() {
  say "a new $suite system in $system"
  rm -rf "$system"
  mkdir -p "$system"
  tar -C "$system" -xf "$roots/base-$suite.tar"
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  echo '127.0.0.1 localhost' >"$system/etc/hosts"
  if [ $user != root ]; then
    chroot "$system" useradd --create-home --shell /bin/bash $user
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"$system/etc/sudoers.d/$user"
  fi
  git clone --quiet --no-local "$root" "$system$home/damier"
  git -C "$system$home/damier" checkout --quiet --detach "$(git rev-parse HEAD)"
  chroot "$system" chown -R "$user:" "$home/damier"
}

# inside COMMAND [AS]: runs COMMAND in the system, in its own namespaces for processes, mounts and host name.
inside() {
  local command=$1 as=${2-$user} bind=()
  if [ -n "$cores" ]; then bind=(taskset --cpu-list "0-$((cores - 1))"); fi
  # shellcheck disable=SC2016 # for another shell
  "${bind[@]}" unshare --mount --uts --pid --fork --kill-child bash -euc '
    hostname "no-such-host"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
    mount --bind "$2" "$1/var/cache/apt/archives"
    chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin su - "$3" -c "$4"' \
    bash "$system" "$roots/archives" "$as" "$command"
}

# Prints one line: the system, and the versions that the scripts found or installed.
versions() {
  # shellcheck disable=SC2016 # for another shell
  inside '
    . /etc/os-release
    printf "%s, " "$PRETTY_NAME"
    cc --version | sed -n "1s/ (.*) / /p" | tr "\n" ","
    mpirun --version 2>/dev/null | sed -n "s/^mpirun (Open MPI)/ Open MPI/p; s/^ *Version: */ MPICH /p" | tr "\n" ","
    dpkg-query -W -f=" HDF5 \${Version}, CMake " libhdf5-dev
    cmake --version | sed -n "1s/[^0-9]*//p"'
}

make_base
if [ -z "$again" ] || [ ! -d "$system$home/damier" ]; then make_system; fi
if [ "$mpi" = mpich ]; then
  inside "cd $home/damier && scripts/packages.sh mpich" root
fi
if [ -n "$with" ]; then cp "$with" "$system$home"; fi
if [ -n "$run" ]; then
  inside "cd damier && $run"
  exit
fi

verdicts=()
for command in scripts/demo.sh "scripts/test.sh${all:+ --all}"; do
  say "$command in $system, as $user"
  begun=$SECONDS code=0
  inside "cd damier && ./$command" >"$log" 2>&1 || code=$?
  verdict="exit $code"
  case $command in
  *test.sh*)
    verdict=$(tail -n 1 "$log")
    grep 'failed: ' "$log" || true
    ;;
  *) if [ $code = 0 ]; then verdict=passed; fi ;;
  esac
  verdicts+=("$command: $verdict in $((SECONDS - begun)) s")
  note "${verdicts[-1]}"
  mv "$log" "$roots/$name-$(basename "${command%% *}" .sh).log"
done
line="$(date -u +%F) $(inside "git -C damier rev-parse --short=12 HEAD") $(versions), $mpi, $user, ${cores:-$(nproc)} cores;"
line+=" ${verdicts[0]}; ${verdicts[1]}"
echo "$line"
case $line in *'demo.sh: passed'*' 0 failed'*) ;; *) exit 1 ;; esac
