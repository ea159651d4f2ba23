# Slurm options for a described partition, and for one reported by sinfo.
h200="nodes=16 gpus=8 gpu=h200"
try damier plan --slurm --size 100000 --type f32 --machine "$h200"
try damier plan --slurm --size 400000 --type bf16 --machine "$h200" --within 40m --partition big
try damier plan --slurm --size 400000 --machine "$h200" --within 10m
try damier plan --slurm --size 20000 --machine "$h200 cores=16"
try damier plan --slurm --size 1000000 --machine "nodes=4 gpus=8 gpu=h200 memory=64GiB"
mkdir fake
cat >fake/sinfo <<'END'
#!/bin/sh
echo 'debug*|4|32+|64000|(null)|30:00'
echo 'gpu|2|96|1000000|gpu:nvidia_h100_80gb:4(S:0-1),lscratch:100|1-00:00:00'
echo 'gpu|12|96|1000000|license:1,gpu:H100:8|infinite'
echo 'odd|3|8|16000|gpu:mystery:2|1:00:00'
echo 'empty|0|8|16000|gpu:2|1:00:00'
END
chmod +x fake/sinfo
PATH=$PWD/fake:$PATH
try damier plan --slurm --size 10000
try damier plan --slurm --size 40000 --within 20m
try damier plan --slurm --size 60000 --partition gpu
try damier plan --slurm --size 1000 --partition odd
try damier plan --slurm --size 1000 --partition empty
try damier plan --slurm --size 1000 --partition gpus
make A 30 20
make B 20 10
try damier plan --slurm A.h5 B.h5 --within 2 -q
try damier plan --slurm A.h5 B.h5 --within 10m --json record
grep -c '"nodes":1' record
printf '#!/bin/sh\nexit 1\n' >fake/sinfo
try damier plan --slurm --size 1000
