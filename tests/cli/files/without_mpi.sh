# A process that no launcher started does without MPI, whatever is set for launchers: MPI would leave a folder here.
mkdir tmp
TMPDIR=$PWD/tmp PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe damier generate A.h5 --size 8 -q -q
ls tmp
