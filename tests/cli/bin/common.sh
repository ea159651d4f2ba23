# Sourced by every case before its first line (BASH_ENV).
unset BASH_ENV

# ranks N COMMAND...: runs COMMAND under mpirun, hiding mpirun's messages about failed ranks.
ranks() {
  local count=$1 status
  shift
  mpirun -n "$count" "$@" 2>ranks.stderr
  status=$?
  # Open MPI reports failed ranks between two ruled lines.
  awk '/^--------------------/ { inside = !inside; next }
       inside || /^\[.*(mpirun|PRTE|prte|ORTE|orte|PMIX|pmix|help-)/ { next }
       /^$/ { next } { print }' ranks.stderr >&2
  return $status
}

# signal_ranks SIGNAL LAUNCHER [OPTION OF PKILL...]: signals the launcher's children, or those of its proxy.
signal_ranks() {
  local signal=$1 launcher=$2
  shift 2
  pkill "-$signal" --parent "$launcher$(pgrep --parent "$launcher" | sed 's/^/,/' | tr -d '\n')" "$@" damier
}

# try COMMAND...: prints the command, its output and its exit status; for tables of refusals. Hides the source line in
# "where:", which would change often.
try() {
  printf '$ %s\n' "$*"
  "$@" 2>&1 | sed 's/^  where: .*/  where: .../'
  printf 'exit %d\n' "${PIPESTATUS[0]}"
}

# said: its input without what differs from run to run in the last line of a command.
said() { sed -E 's/ (ranks|time_s|seed|residual|multiply_s|tflops)=[^ ]*//g; s/^  where: .*/  where: .../'; }

# task COMMAND...: prints the command and its output.
task() {
  printf '$ %s\n' "$*"
  "$@" 2>&1 | said
}

# expect STATUS COMMAND...: silent if the command ends with this status.
expect() {
  local wanted=$1 status
  shift
  "$@" >expect.out 2>&1
  status=$?
  [ $status = "$wanted" ] && return
  printf 'exit %d, wanted %d: %s\n' $status "$wanted" "$*"
  cat expect.out
}

# make NAME ROWS COLS [OPTION...]: generates a random matrix NAME.h5:/NAME.
make() {
  local name=$1 rows=$2 cols=$3
  shift 3
  damier generate "$name.h5:/$name" --rows "$rows" --cols "$cols" -q "$@" >/dev/null
}

needs_h5py() {
  [ -n "$PYTHON" ] || exit 77
}

# judge A B C [OPTION...]: NumPy's verdict on C; see judge.py.
judge() {
  needs_h5py
  "$PYTHON" "$ROOT/tests/cli/bin/judge.py" "$@"
}
