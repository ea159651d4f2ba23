#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests.
# usage: scripts/test.sh          the quick tests: less than two minutes on two idle cores, besides the build
#        scripts/test.sh --all    every test, some again with sanitizers, other builds, and checks of
#                                 the sources; only endurance runs must be started by hand
# The last line counts passed, failed and skipped tests; the exit code is 1 if anything failed.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

all=
case "${1-}" in
'') ;;
--all) all=1 ;;
*) die "usage: scripts/test.sh [--all]" ;;
esac
# One of each kind, which find most mistakes.
quick='^(unit\..*|layers.*|links.*|promise|documents\..*|cli\.(options|plan|kernels)|judge\.(layouts|ops|shapes|verify)|ranks\.quick\.[12]'
quick+='|hostile\.make|library\..*|python|emulated\.library.*)$'
ahead='' passed=0 failed=0 skipped=0 failures=()

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  failures+=("$1")
}
skip() {
  skipped=$((skipped + 1))
  note "skipped: $1"
}

# step NAME COMMAND...: runs one check; shows its output only if it fails.
step() {
  local name=$1 log
  shift
  say "$name"
  log=build/$(tr -c 'a-z0-9\n' '-' <<<"$name").log
  if "$@" >"$log" 2>&1; then
    pass
  else
    tail -n 60 "$log"
    note "FAILED: $name; all of it is in $log"
    fail "$name"
    return 1
  fi
}

# build PRESET CMAKE-OPTION... [-- TARGET...]: builds everything, or these targets.
build() {
  local preset=$1 options=()
  shift
  while [ $# != 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  cmake --preset "$preset" -DDAMIER_TESTS=ON ${python:+-DPython3_EXECUTABLE="$python"} "${options[@]}" &&
    cmake --build --preset "$preset" ${1:+--target "${@:2}"}
}

# Needs nvcc but no GPU; compiles all CUDA code for one architecture. Nothing of it runs: without optimisation C code
# compiles in half the time, and kernels, with a new nvcc, in a tenth.
build_cuda() {
  local fast=
  if [[ $(nvcc --help) == *--Ofast-compile* ]]; then fast='-DNDEBUG --Ofast-compile=max'; fi
  cmake --preset cuda -B build/cuda-check -DCMAKE_CUDA_ARCHITECTURES=90a-real -DCMAKE_C_FLAGS_RELEASE=-O0 \
    ${fast:+-DCMAKE_CUDA_FLAGS_RELEASE="$fast"} -DDAMIER_TESTS=ON &&
    cmake --build build/cuda-check --target damier unit_tests gpu_rank_tests
}

build_asan() { build asan -- damier unit_tests rank_tests emulated_rank_tests inspect_file read_flipped; }
build_tsan() { build tsan -- team_tests damier_emulated; }
has_mpich() { has mpicc.mpich && has mpiexec.mpich; }
build_mpich() { build mpich -DDAMIER_SIMULATION=OFF -- damier rank_tests rank_tests_cut; }
build_without_mpi() { build without-mpi -DCMAKE_C_FLAGS_RELEASE=-O0 -- installed; }

# Builds in the background, with what the tests leave of the processor, for some of them wait. The steps of these builds
# come later, wait, and report what fails.
build_ahead() {
  set -m # a process group of its own, which the trap ends
  (
    renice -n 19 "$BASHPID"
    export CMAKE_BUILD_PARALLEL_LEVEL=2
    build_asan || true
    build_tsan || true
    if has nvcc; then build_cuda || true; fi
    if has_mpich; then build_mpich || true; fi
    build_without_mpi || true
  ) >build/ahead.log 2>&1 </dev/null &
  ahead=$!
  set +m
  trap 'kill -- "-$ahead" 2>/dev/null || true' EXIT
}

# Prints lines "VERDICT NAME" from CTest's report. CTest reports missing programs and tests that skip themselves as
# "notrun"; only the latter count as skipped.
verdicts() {
  awk -F'"' '
    function flush() { if (name != "") print verdict, name; name = "" }
    /^\t<testcase / { flush(); name = $2; verdict = $(NF - 1) }
    /^\t\t<skipped message="SKIP_/ { verdict = "skipped" }
    END { flush() }' "$1"
}

# Where CI is set all packages are there: without its judges and the doors of other languages a change would pass unseen.
may_skip() {
  [ -z "${CI:-}" ] || [[ ! $1 =~ ^(judge|library|records)\. ]] || [ "$1" = judge.kernels ]
}

# run_tests PRESET [CTEST OPTION...]: adds CTest's counts to ours. Some tests wait most of their time, hence more tests
# than cores.
run_tests() {
  local preset=$1 report=build/$1/tests.xml verdict name
  shift
  say "tests of build/$preset"
  rm -f "$report"
  ctest --test-dir "build/$preset" --output-on-failure --parallel $(($(nproc) + 2)) --timeout 900 \
    --output-junit "$root/$report" "$@" || true
  if [ ! -s "$report" ]; then
    fail "ctest in build/$preset"
    return
  fi
  while read -r verdict name; do
    case $verdict in
    run) pass ;;
    skipped | disabled)
      if may_skip "$name"; then skip "$name"; else fail "$name in build/$preset, which was skipped"; fi
      ;;
    *) fail "$name in build/$preset" ;;
    esac
  done < <(verdicts "$report")
}

# Runs tests that cover most of the code in few processes, with AddressSanitizer and UndefinedBehaviorSanitizer.
# Suppressing leaks of other libraries takes full call stacks where MPI has ended; GCC 12's LeakSanitizer crashes on
# Open MPI's thread-local data. tests/CMakeLists.txt has other options for tests that are one program, and for those
# that run many, which do not check for leaks.
run_sanitized() {
  local names='unit\.[a-z]+|ranks\.2|hostile\..*|cli\.(options|plan|kernels)|emulated\.ranks'
  names+='|judge\.(chunks|layouts|ops|verify)|records\.(schema|trace)'
  UBSAN_OPTIONS=print_stacktrace=1 \
    ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0:detect_stack_use_after_return=1 \
    LSAN_OPTIONS=use_tls=0:suppressions=$root/tests/sanitizer/leaks.supp:print_suppressions=0 \
    run_tests asan --tests-regex "^($names)\$"
}

check_format() {
  git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror
}

check_man_page() {
  # STYLE messages are a matter of taste.
  mandoc -Tlint -W warning docs/damier.1 &&
    build/release/damier --man-page | diff - docs/damier.1
}

# The Doxyfile turns warnings into errors.
check_doxygen() {
  doxygen docs/Doxyfile
}

if [ -n "$all" ]; then
  scripts/packages.sh build test long lint
  # Only root can build a cluster; Slurm's packages start services, which are unwanted elsewhere.
  if [ "$(id -u)" = 0 ]; then scripts/packages.sh cluster; fi
  scripts/packages.sh mpich
  scripts/packages.sh simulation
else
  scripts/packages.sh build test
fi
python=$(python_with 'h5py, numpy')
mkdir -p build

# Without a GPU the tests use an emulated one, which builds with CUDA lack.
cuda=OFF
[ "$(gpus)" = 0 ] || cuda=AUTO
# The quick tests need no simulation.
simulation=OFF
[ -z "$all" ] || simulation=ON
if step "build of build/release" build release -DDAMIER_CUDA=$cuda -DDAMIER_SIMULATION=$simulation; then
  # Where OpenBLAS does not know the CPU, the program tells it; Python loads it first, and damier's warning would fail tests.
  kernels=$(build/release/damier info -q --json - | sed -n 's/.*"OPENBLAS_CORETYPE":"\([A-Z]*\)".*/\1/p')
  [ -z "$kernels" ] || export OPENBLAS_CORETYPE="$kernels"
  if [ -n "$all" ]; then
    build_ahead
    # emulated.* run with sanitizers below; ranks.9 and ranks.threads have those of ranks.quick.
    run_tests release --label-exclude 'endurance|part' --exclude-regex '^(emulated\.(ranks|threads\.ops)|ranks\.quick\.[12])$'
  else
    cores=$(nproc)
    note "about $((190 / (cores < 4 ? cores : 4) + 5)) s on $cores cores that are idle; --all takes 30 to 40 minutes on two"
    run_tests release --progress --label-exclude 'long|endurance' --tests-regex "$quick"
  fi
fi

if [ -n "$all" ]; then
  if [ -n "$ahead" ]; then
    wait "$ahead" || true
    trap - EXIT
  fi
  step "build with sanitizers" build_asan && run_sanitized

  step "build with ThreadSanitizer" build_tsan &&
    TSAN_OPTIONS=exitcode=66 run_tests tsan --tests-regex '^(ranks\.threads|emulated\.threads\.ops)$'

  if has nvcc; then
    step "build of the CUDA backend" build_cuda || true
  else
    skip "build of the CUDA backend, for there is no nvcc"
  fi

  if has_mpich; then
    # MPICH's ranks spin while they wait: with four ranks on two cores only the tests of messages.
    step "build with MPICH" build_mpich &&
      run_tests mpich --tests-regex '^(ranks\.2|ranks\.cut|judge\.shapes)$'
  else
    skip "MPICH, for there is no mpicc.mpich and mpiexec.mpich, which scripts/packages.sh did not get"
  fi

  step "build without MPI" build_without_mpi &&
    run_tests without-mpi --tests-regex '^library\.without_mpi$'

  step "shellcheck" shellcheck -x scripts/*.sh .ci/run R/configure R/cleanup packaging/*.sh slurm/*.sh slurm/*.sbatch \
    simulation/*.sh tests/cluster/cluster tests/cluster/enter tests/cluster/slurm.sh || true
  step "man page" check_man_page || true
  if has "${MKDOCS-mkdocs}"; then
    step "site" scripts/site.sh || true
  else
    skip "site, for there is no mkdocs (scripts/site.sh says how to get it)"
  fi
  if has doxygen; then
    step "doxygen" check_doxygen || true
  else
    skip "doxygen, which is not installed"
  fi
  step "tables and pictures of docs" python3 scripts/report/results.py --check docs/results/*.jsonl || true
  if [ ! -d .git ]; then
    skip "clang-format, for this is no git clone"
  elif [[ $(clang-format --version) != *' version 14.'* ]]; then
    skip "clang-format, for this one is not version 14, and others break lines elsewhere"
  else
    step "clang-format" check_format || true
  fi
fi

for name in "${failures[@]}"; do
  note "failed: $name"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
