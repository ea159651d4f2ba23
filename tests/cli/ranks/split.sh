# f32:f16: refusals, plans, and the fastest method.
damier generate A.h5 --rows 90 --cols 700 --type f32 --kind normal -q >/dev/null
damier generate B.h5 --rows 700 --cols 80 --type f32 --kind normal --seed 2 -q >/dev/null
try damier multiply A.h5 B.h5 -o C.h5 --compute f32:f16 --backend cpu -q
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
