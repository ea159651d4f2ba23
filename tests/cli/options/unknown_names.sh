try damier
try damier multipy A B
try damier sing
try damier matmul A B
try damier bench
try damier bench mul
try damier -v multiply A B
try damier multiply --ouput C.h5
try damier multiply --verb
try damier multiply --sing
try damier multiply -z
try damier generate A.h5 --kernel x
try damier multiply A B --compute tf3
try damier multiply A B --transA t
try damier multiply A B --transpose-b
try damier multiply A B --dtype f32
try damier multiply A B --overwrite
try damier multiply A B --backend gpus
try damier multiply A B --backend cude
try damier multiply A B --op-a x
try damier multiply A B --type f46
try damier generate A.h5 --kind unifrom --size 3
try damier plan --size 9 --machine "nodes=2 gpu=h20"
try damier plan --size 9 --machine "node=2"
try damier multiply A B --type complx64
try damier generate A.h5 --kind intege --size 3
try damier A.h5 B.h5
try damier multiply A.h5 B.h5 C.h5
try damier multiply A.h5 B.h5 D.h5 -o C.h5
try damier multiply A.h5 B.h5 -o C.h5 --gpu 0
try damier multiply A.h5 B.h5 -o C.h5 --gpus 2
try damier multiply A.h5 B.h5 -o C.h5 --ranks 4
try damier multiply A.h5 B.h5 -o C.h5 -n 4
try damier multiply A.h5 B.h5 -o C.h5 -np 4
try damier multiply 2 B.h5 -o C.h5
