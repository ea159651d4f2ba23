# f64:int8: the same bits however C is computed, what it leaves to f64, and what it refuses.
make A 90 700 --kind normal
make B 700 80 --kind normal --seed 2
bits() { # NAME RANKS OPTION...
  local name=$1 count=$2
  shift 2
  ranks "$count" damier multiply A.h5 B.h5 -o "$name.h5" --compute f64:int8 -q "$@" >/dev/null
  h5dump -d /c -b LE -o "$name.bits" "$name.h5" >/dev/null
}
bits one 1
bits layers 4 --grid 1x2x2 --panel 64
bits layer 3 --grid 1x1x3 --no-overlap
bits rows 3 --grid 3x1x1 --panel 192
bits fixed 4 --reproducible
for name in layers layer rows fixed; do cmp one.bits $name.bits && echo "$name: the same bits"; done
damier verify A.h5 B.h5 one.h5 -q

damier generate far.h5:/B --rows 700 --cols 80 --kind ozaki --phi 9 -q >/dev/null
damier multiply A.h5 far.h5 -o far_c.h5 --compute f64:int8 2>far.err | grep -E "^not by residues|^types"
grep -c 'multiplied in f64' far.err
# More moduli take wider ranges; a number that is stated is kept.
damier generate wide.h5:/B --rows 700 --cols 80 --kind ozaki --phi 2 -q >/dev/null
damier multiply A.h5 wide.h5 -o wide_c.h5 --compute f64:int8 2>wide.err | grep -E "^more moduli|^types|^plan"
grep -c 'multiplied with' wide.err
damier multiply A.h5 wide.h5 -o wide_d.h5 --compute f64:int8:16 2>wide.err | grep -E "^not by residues|^types"
h5dump -a /c/compute wide_c.h5 | grep '(0)'
try damier bench multiply --size 64 --compute f64:int8:7 -q
try damier multiply A.h5 B.h5 -o C.h5 --compute f64:int8 --backend cuda --kernel cublas -q
try damier plan --size 4096 --compute f64:int8 --machine "gpu=h200 gpus=2" --grid 1x1x2 -q
damier generate large.h5 --size 1200 -q >/dev/null
try damier multiply large.h5 large.h5 -o C.h5 --compute f64:int8 --memory host=100M -q
