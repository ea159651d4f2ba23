try damier multiply
try damier multiply A
try damier multiply A B C
try damier multiply A B
try damier multiply A B -o
try damier multiply A B -o C.h5 --beta 1
try damier multiply A B -o C.h5 --no-protect --checkpoint
try damier multiply A B -o C.h5 --no-protect --checkpoint-interval 1s
try damier multiply A B -o C.h5 --no-protect --verify-written always
try damier generate
try damier generate A.h5
try damier generate A.h5 --rows 3
try damier generate A.h5 --size 3 --phi 2
try damier verify A B
try damier plan
try damier plan --m 3 --n 3
try damier plan A.h5
try damier plan A.h5 B.h5 --m 3
try damier bench links 3
