# f64:int8: the same bits for any division of C, products left to f64, and refusals.
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
damier verify A.h5 B.h5 one.h5 --compute f64:int8 --verify-seed 0x64616d69 -q

damier generate far.h5:/B --rows 700 --cols 80 --kind ozaki --phi 9 -q >/dev/null
damier multiply A.h5 far.h5 -o far_c.h5 -v --compute f64:int8 2>far.err | grep -E "^not by residues|^types"
grep -c 'multiplied in f64' far.err
# Wider ranges need more moduli; a specified number is kept.
damier generate wide.h5:/B --rows 700 --cols 80 --kind ozaki --phi 2 -q >/dev/null
damier multiply A.h5 wide.h5 -o wide_c.h5 -v --compute f64:int8 2>wide.err | grep -E "^more moduli|^types|^plan"
grep -c 'multiplied in f64:int8:19' wide.err
damier multiply A.h5 wide.h5 -o wide_d.h5 -v --compute f64:int8:16 2>wide.err | grep -E "^not by residues|^types"
h5dump -a /c/compute wide_c.h5 | grep '(0)'
try damier bench multiply --size 64 --compute f64:int8:7 -q
# Its own matrices suit few moduli.
for words in f64:int8:14 'f64:int8:14 --type c128' 'f32:int8:8 --type f32'; do
  ranks 2 damier bench multiply --size 96 --compute $words --repetitions 1 -q | grep -o PASS
done
try damier multiply A.h5 B.h5 -o C.h5 --compute f64:int8 --backend cuda --kernel cublas -q
# GPUs sum layers, and stream data that exceed their memory.
damier plan --size 4096 --compute f64:int8 --machine "gpu=h200 gpus=2" --grid 1x1x2 -q | grep -o 'grid=1x1x2'
damier plan --size 262144 --compute f64:int8 --machine "gpu=h200 gpus=2" --memory host=64G | grep -oE 'A in the file'
try damier plan --size 4096 --compute f64:int8 --machine "gpu=a100" -q
# The fastest equally accurate method: residues on GPUs that support them, if products dominate the time.
for machine in "gpu=h200 read=1000 write=1000" "gpu=a100 read=1000 write=1000" "gpu=h200" "cores=16"; do
  damier plan --size 16384 --compute fastest --machine "$machine" | sed -n 's/.*work=\([^ ]*\).*/\1/p' | head -1
done
damier plan --size 16384 --type c128 --compute fastest --machine "gpu=h200 read=1000 write=1000" | grep -o 'work=f64:int8:15'
damier plan --size 1024 --compute fastest --machine "gpu=h200 read=1000 write=1000" | grep -o 'work=f64 '
damier plan --size 16384 --type bf16 --compute fastest --machine "gpu=h200 read=1000 write=1000" | grep -o 'work=bf16'
try damier plan --size 16384 --compute fastest --reproducible --machine gpu=h200 -q
damier multiply A.h5 B.h5 -o fast.h5 --compute fastest -q >/dev/null
damier multiply A.h5 B.h5 -o plain.h5 -q >/dev/null
damier verify fast.h5 -q
h5dump -a /c/compute fast.h5 | grep '(0)'
for name in fast plain; do h5dump -d /c -b LE -o $name.bits $name.h5 >/dev/null; done
cmp fast.bits plain.bits && echo "fastest on a CPU: the bits of auto"
