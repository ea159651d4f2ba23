make A 6 6
damier multiply A.h5 A.h5 -o C.h5 -qq
try damier verify C.h5 --full
try damier verify C.h5 --alpha 2
try damier verify A.h5 A.h5 C.h5 --full --verify-seed 7
try damier plan --size 100 --c A.h5
try damier plan gram --size 100 --missing zero
try damier plan --size 100 --of rows
try damier plan --size 100 --within 1h
try damier multiply A.h5 A.h5 -o D.h5 --weights-are frequency
try damier multiply A.h5 A.h5 -o D.h5 --no-verify --verify-seed 7
try damier gram A.h5 -o D.h5 --no-verify --on-corruption stop
# variables of the environment are for many commands
DAMIER_CHECKPOINT_INTERVAL=5s DAMIER_ON_CORRUPTION=stop damier multiply A.h5 A.h5 -o D.h5 --no-verify --no-checkpoint -qq
DAMIER_OP_A=t damier verify C.h5 -q | grep -oE 'PASS$|unchanged.*' | head -1
