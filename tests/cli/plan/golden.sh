# Plans for a described machine do not depend on this computer.
damier plan --m 16384 --n 16384 --k 16384 --ranks 8 \
  --machine "nodes=2 ranks=4 cores=4 memory=16GiB"
damier plan --size 100000 --type f32 --machine "nodes=16 gpus=8 gpu=h200" -q
damier plan --m 64 --n 64 --k 1000000 --machine "ranks=8 memory=2GiB" -q
damier plan --size 30000 --grid 2x2x1 --machine "gpus=4 gpu=h200 links=device" --memory device=1GiB | sed -n '/^Plan/,/recipe/p' # what they pass on
