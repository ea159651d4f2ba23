# Without a launcher the program does not start MPI, whatever variables are set: MPI would leave a folder here.
mkdir tmp
TMPDIR=$PWD/tmp PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe damier generate A.h5 --size 8 -q -q
ls tmp
