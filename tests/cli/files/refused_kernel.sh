make A 20 20
try damier multiply A.h5 A.h5 -o C.h5 --kernel nope
try damier multiply A.h5 A.h5 -o C.h5 --backend cpu --kernel cblass
try damier multiply A.h5 A.h5 -o C.h5 --compute tf32 --backend cpu
try damier multiply A.h5 A.h5 -o C.h5 --backend cpu --type c64 --type-c i32
ls C.h5* 2>/dev/null
