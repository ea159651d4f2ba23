#!/usr/bin/env bash
# Simulates multiplications on nodes with GPUs: scaling curves to thousands of them, in minutes.
# usage: simulation/simulate.sh [OPTION...]        simulation/simulate.sh --help lists them
#        simulation/simulate.sh --nodes 8 --shapes square --scaling strong     one curve, in a minute
#        simulation/simulate.sh --record           everything in docs/results/simulated.jsonl
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

python=$(command -v python3)
case " $* " in *' --help '*) exec "$python" simulation/sweep.py --help ;; esac
scripts/packages.sh build simulation
# It alone: the program's kernels would take longer than the simulation.
say "building build/release/damier_simulate"
mkdir -p build
cmake --preset release >build/simulate.log 2>&1 || die "the build failed: see build/simulate.log"
cmake --build build/release --target damier_simulate >>build/simulate.log 2>&1 ||
  die "there is no simulation: SimGrid was not found (Debian: libsimgrid-dev), or see build/simulate.log"

if [ "${1-}" != --record ]; then
  exec "$python" simulation/sweep.py "$@"
fi
records=build/simulated.jsonl
rm -f "$records"
sweep() { nice "$python" simulation/sweep.py --jobs "${JOBS-1}" --json "$records" "$@"; }
sweep --validate
sweep --nodes 128 --plans choice
sweep --nodes 512 --only 512 --plans choice --shapes square
sweep --nodes 128 --plans 2d,3d --shapes square
sweep --nodes 128 --plans choice --shapes square --cases slow-down,slow-nic,no-overlap
sweep --nodes 128 --plans choice --shapes square --files 64
keep_records "$records" docs/results/simulated.jsonl
