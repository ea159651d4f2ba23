# Names from other programs: types, transposes, grids of two numbers, verbs for help and version.
same() { # COMMAND... says what comes on stdin
  cat >wanted
  "$@" 2>&1 | cmp wanted && echo "same: $*"
}
damier --help | same damier help
damier multiply --help | same damier help multiply
damier bench links --help | same damier help bench links
damier bench --help | same damier help bench
damier --version | same damier version
plan="damier plan --m 100 --n 80 --k 60 --machine ranks=4 -q"
$plan --type f32 --op-a t --grid 2x2x1 | same $plan --type float32 --op-a T --grid 2x2
$plan --type f32 --op-a t --op-b c | same $plan --type FP32 --op-a transpose --op-b H
$plan --type f64 | same $plan --type double
$plan --type c128 | same $plan --type complex128
$plan --type bf16 | same $plan --type bfloat16
damier bench multiply --size 64 --backend cuda --transport self >/dev/null 2>&1
cuda=$?
expect $cuda damier bench multiply --size 64 --backend gpu --transport self
# A dry run plans for the ranks of the job, with the checks of multiply.
rm wanted
make A 60 50
make B 60 40
damier multiply A.h5 B.h5 --op-a T -o C.h5 --dry-run -q | grep -o 'm=.* ranks=[0-9]*'
ranks 3 damier multiply A.h5 B.h5 --op-a T -o C.h5 --dry-run -q | grep -o 'm=.* ranks=[0-9]*'
damier multiply A.h5 B.h5 --op-a T -o C.h5 --dry-run | grep -c '^Predicted time'
try damier multiply A.h5 B.h5 --op-a T -o A.h5 --force --dry-run
try damier multiply A.h5 B.h5 -o C.h5 --dry-run
ls *.h5
