# The commands of the tutorial, the how-to pages and "From NumPy" run as they stand, each page in an empty folder; what
# they show is printed. sbatch is a stand-in: tests/cluster submits to a real Slurm.
[ -n "$PYTHON" ] || exit 77
mkdir bin
ln -s "$PYTHON" bin/python3
printf '#!/bin/sh\necho Submitted batch job 1\n' >bin/sbatch
chmod +x bin/sbatch
for page in tutorial numpy howto/order howto/memory howto/many_gpus howto/resume howto/exit5; do
  rm -rf work && mkdir work && cd work || exit
  ln -s "$ROOT/slurm" slurm
  echo "$page: $("$PYTHON" "$ROOT/tests/cli/bin/pages.py" "$ROOT/docs/$page.md" 2>&1)"
  cd ..
done
