# f32:f16: refusals, counts, plans, and the fastest method.
damier generate A.h5 --rows 90 --cols 700 --type f32 --kind normal -q >/dev/null
damier generate B.h5 --rows 700 --cols 80 --type f32 --kind normal --seed 2 -q >/dev/null
ranks 4 damier multiply A.h5 B.h5 -o C.h5 --compute f32:f16 --grid 1x2x2 --panel 64 2>/dev/null | grep -E "^types|^rounding|not split"
damier verify A.h5 B.h5 C.h5 --compute f32:f16 -q | grep -o "PASS$" # the residual depends on the BLAS library
h5dump -a /c/compute C.h5 | grep '(0)'
for grid in 1x1x1 3x1x1 2x2x1; do
  ranks 4 damier multiply A.h5 B.h5 -o $grid.h5 --compute f32:f16 --reproducible --grid $grid -q >/dev/null
  h5dump -d /c -b LE -o $grid.bits $grid.h5 >/dev/null
  cmp 1x1x1.bits $grid.bits && echo "$grid: the same bits"
done
damier generate steep.h5 --rows 700 --cols 80 --type f32 --kind ozaki --phi 9 -q >/dev/null
damier multiply A.h5 steep.h5 -o S.h5 --compute f32:f16 2>/dev/null | grep -c "rows and columns not split *[1-9]"
damier generate Z.h5 --rows 700 --cols 80 --type c64 -q >/dev/null
ranks 2 damier multiply Z.h5 Z.h5 --op-a c -o ZZ.h5 --compute f32:f16 2>/dev/null | grep -E "^types|^rounding|not split"
damier generate H.h5 --rows 80 --cols 80 --type f16 -q >/dev/null
try damier multiply H.h5 H.h5 -o C.h5 --compute f32:f16 --force -q
try damier multiply A.h5 B.h5 -o C.h5 --compute f32:f16:3 --force -q
try damier multiply A.h5 B.h5 -o C.h5 --compute f32:f16 --backend cuda --kernel wgmma --force -q
try damier plan --size 4096 --type f32 --compute f32:f16 --machine "gpu=a100" -q
# Layers and tiles, as for f32.
damier plan --size 4096 --type f32 --compute f32:f16 --machine "gpu=h200 gpus=2" --grid 1x1x2 | sed -n 's/.*recipe: //p'
for what in "16384 f32 h200" "16384 c64 h200" "16384 f64 h200" "256 f32 h200" "16384 f32 a100"; do
  set -- $what
  damier plan --size $1 --type $2 --compute fastest --machine "gpu=$3 read=1000 write=1000" | sed -n 's/.*work=\([^ ]*\).*/\1/p' | head -1
done
