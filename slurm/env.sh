# shellcheck shell=bash
# Environment of a job: sourced by the job scripts. Adapt it to the cluster.

# The MPI and HDF5 that damier was built with; all nodes must have them.
# module load gcc openmpi hdf5 openblas cuda
# module load damier

# Where the program is, if not in PATH.
# export PATH=$HOME/damier/bin:$PATH

# NICs: UCX chooses those close to a rank's GPU.  Only if it chooses the wrong ones:
# export UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1
# Open MPI over TCP, if nodes have several networks:
# export OMPI_MCA_btl_tcp_if_include=ib0

# The launcher: srun, mpirun (Open MPI), or mpiexec (MPICH, Intel MPI).  srun needs a Slurm that
# supports the MPI: --mpi=pmix for Open MPI, another one of 'srun --mpi=list' for others.
# LAUNCHER=mpirun
# SRUN_MPI=pmi2

# BIND=none leaves the placement of ranks on cores to the system.
# BIND=none
