# The commands of the tutorial run as they stand, and what it shows is printed. sbatch is a stand-in: tests/cluster
# submits to a real Slurm.
[ -n "$PYTHON" ] || exit 77
mkdir bin work
ln -s "$PYTHON" bin/python3
export PATH="$PWD/bin:$PATH"
printf '#!/bin/sh\necho Submitted batch job 1\n' >bin/sbatch
chmod +x bin/sbatch
cd work || exit
ln -s "$ROOT/slurm" slurm
"$PYTHON" "$ROOT/tests/cli/bin/pages.py" "$ROOT/docs/tutorial.md"
