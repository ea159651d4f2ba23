make A 70 40
make B 40 30
damier plan A.h5 B.h5:/B --ranks 3 -q | grep -o 'm=.* ranks=3'
damier plan A.h5 A.h5 --op-b t -q | grep -o 'm=[^r]*'
try damier plan A.h5 A.h5
try damier plan A.h5 missing.h5
