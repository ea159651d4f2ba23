plan="damier plan --size 4096 --machine ranks=8,memory=4GiB -q"
grid() { grep -o 'grid=[0-9x]* kb=[0-9]*'; }
$plan --grid 2x2x2 --panel 128 | grid
$plan --grid 2x3x1 --panel 64 | grid # two ranks stay idle
try $plan --grid 3x3x1
try damier plan --size 100k --machine memory=1GiB
try damier plan --size 100 --type i32
try damier plan --size 100 --type c64 --type-c f32
try $plan --panel 64,128 # files
# This computer's cores are those that a run would use.
OPENBLAS_NUM_THREADS=1 damier plan --size 1000 | grep -o 'each with .*'
