# Without a launcher the program does not start MPI, whatever variables are set: MPI would leave a folder here.
mkdir tmp
TMPDIR=$PWD/tmp PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe damier generate A.h5 --size 8 -q -q
ls tmp
# A variable of a launcher that started something else: no rank would look at the files.
try env SLURM_PROCID=1 damier multiply A.h5 A.h5 -o C.h5 -q
