# shellcheck shell=bash
# What a job needs before it starts: read by the job scripts.  Change it to fit the cluster.

# The MPI and HDF5 that damier was built with; all nodes must find them.
# module load gcc openmpi hdf5 openblas cuda
# module load damier

# Where the program is, if not in PATH.
# export PATH=$HOME/damier/bin:$PATH

# NICs: UCX takes those near the GPU of a rank by itself.  Only where it takes the wrong ones:
# export UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1
# Open MPI over TCP, where a node has several networks:
# export OMPI_MCA_btl_tcp_if_include=ib0

# How ranks are started: srun, mpirun (Open MPI), or mpiexec (MPICH, Intel MPI).  srun needs a Slurm
# that speaks to the MPI: --mpi=pmix for Open MPI, another of 'srun --mpi=list' for others.
# LAUNCHER=mpirun
# SRUN_MPI=pmi2

# bind=none leaves the placing of ranks on cores to the system.
# BIND=none
