/* launcher: finds the process that keeps a rank on behalf of the job, Slurm's slurmstepd or a
 * daemon of MPI.
 *
 * If it is gone, nothing ends the rank. The kernel's PR_SET_PDEATHSIG is no alternative: it kills a
 * rank without a message to the others, it follows the thread that started the rank rather than the
 * process, and it only covers parents. */
#ifndef DM_RUN_LAUNCHER_H
#define DM_RUN_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct dm_launcher {
  char name[16]; /* "slurmstepd"; empty: no ancestor is a launcher */
  pid_t pid;
  int64_t started; /* start time: distinguishes a process from a later one with its number */
  pid_t parent;    /* 0: may end without consequence */
} dm_launcher;

/* Finds the nearest ancestor with the name of a launcher. A rank of SEVERAL also needs its parent,
 * whatever its name: an unknown launcher, or a script started by one. A single process continues
 * when its shell ends. */
void dm_launcher_find(dm_launcher *launcher, bool several);

/* Seconds, to 0.01 s, since the start of the topmost of consecutive launchers above this process,
 * such as mpirun; without one, of this process. 0: unknown, for instance if a shell script became
 * the launcher by exec. NAME: the launcher's, or "". */
double dm_launcher_age(char name[16]);

/* Whether a process that the rank needs has ended since dm_launcher_find. *itself: it is the
 * launcher, as far as is known. */
bool dm_launcher_gone(const dm_launcher *launcher, bool *itself);

#endif
