/* In place of comm_mpi.c in builds without MPI. */
#include <stdio.h>

#include "comm/comm_impl.h"

static const char hint[] =
    "this damier was built without MPI (-DDAMIER_MPI=OFF), as wheels are; for "
    "several ranks install damier from its sources or as a Debian package, "
    "with the MPI of this computer";

dm_status dm_comm_start(dm_comm **world) {
  DM_TRY(dm_hint(dm_launched_apart(dm_launched_rank()), hint));
  return dm_comm_take_alone(world);
}

dm_status dm_comm_adopt_fortran(int handle, dm_comm **world) {
  if (handle == -1) return dm_comm_take_alone(world);
  return dm_hint(dm_fail(DM_E_USAGE, "communicators cannot be used"), hint);
}

bool dm_comm_ignores_gpus(void) {
  return true;
}

void dm_comm_library(char *text, int64_t size) {
  snprintf(text, (size_t)size, "none");
}
