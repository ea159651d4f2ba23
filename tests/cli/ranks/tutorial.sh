# The commands of the tutorial run as shown and print the output shown. sinfo and sbatch are stand-ins: tests/cluster
# submits to a real Slurm.
[ -n "$PYTHON" ] || exit 77
mkdir -p bin work home/.local/share/damier
export HOME="$PWD/home"
ln -s "$ROOT/slurm" "$HOME/.local/share/damier/slurm"
ln -s "$PYTHON" bin/python3
export PATH="$PWD/bin:$PATH"
printf '#!/bin/sh\necho "all*|1|2|8000|(null)|1:00:00"\n' >bin/sinfo
printf '#!/bin/sh\necho Submitted batch job 1\n' >bin/sbatch
chmod +x bin/sinfo bin/sbatch
cd work || exit
"$PYTHON" "$ROOT/tests/cli/bin/pages.py" "$ROOT/docs/tutorial.md"
