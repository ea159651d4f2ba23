/* own_rank: the rank of this process before MPI starts, as its launcher exports it. */
#ifndef DM_TESTS_OWN_RANK_H
#define DM_TESTS_OWN_RANK_H

#include <stdlib.h>

/* The rank from Open MPI or MPICH; "0" without a launcher. */
static inline const char *own_rank(void) {
  const char *open_mpi = getenv("OMPI_COMM_WORLD_RANK"), *mpich = getenv("PMI_RANK");
  return open_mpi ? open_mpi : mpich ? mpich : "0";
}

#endif
