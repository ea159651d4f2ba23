try damier multiply A B --grid 2x
try damier multiply A B --grid 0x2x2
try damier multiply A B --panel 100
try damier multiply A B --panel 128,64
try damier multiply A B --alpha 1,x
try damier multiply A B --alpha 1e-400
try damier multiply A B --alpha 1,1e400
try damier multiply A B --beta nan
try damier multiply A B --memory host=3,dev=1
try damier multiply A B --memory 3Q
try damier multiply A B --threads 0
try damier multiply A B --threads -1
try damier multiply A B --force=yes
try damier multiply A B --json ""
try damier generate A.h5 --size 1kk
try damier generate A.h5 --rows 1e400
try damier plan --m 0
try damier multiply A B -o -
try damier multiply - B -o C.h5
try damier generate - --size 3
