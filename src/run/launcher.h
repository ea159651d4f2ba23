/* launcher: the process that keeps a rank on behalf of the job, Slurm's slurmstepd or a daemon of
 * MPI.
 *
 * If it is gone, nobody ends the rank.  The kernel's PR_SET_PDEATHSIG is not used: it ends a rank
 * without a message to the others, it follows the thread that started the rank rather than the
 * process, and it knows parents only. */
#ifndef DM_RUN_LAUNCHER_H
#define DM_RUN_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct dm_launcher {
  char name[16]; /* "slurmstepd"; empty: no ancestor is a launcher */
  pid_t pid;
  int64_t started; /* tells a process from a later one with its number */
  pid_t parent;    /* 0: may end as it likes */
} dm_launcher;

/* The nearest ancestor that is a launcher by its name.  A rank of SEVERAL needs its parent too,
 * whoever it is: a launcher of an unknown name, or a script that one started.  A single process
 * whose shell ends goes on. */
void dm_launcher_find(dm_launcher *launcher, bool several);

/* Seconds since the launchers of this process began, the one farthest up of those that follow each
 * other, such as mpirun; since this process itself where there is none.  To 0.01 s; 0: unknown,
 * as where a shell script has become the launcher by exec.
 * NAME: the launcher's, or "". */
double dm_launcher_age(char name[16]);

/* Whether any of those that the rank needs has ended since then. */
bool dm_launcher_gone(const dm_launcher *launcher);

/* After that: whether the launcher itself has, by all that is known of it. */
bool dm_launcher_lost(const dm_launcher *launcher);

#endif
