/* program: what damier and damier-bench have in common: from the command line to the exit code. */
#ifndef DM_CLI_PROGRAM_H
#define DM_CLI_PROGRAM_H

#include "cli/call.h"

/* The function of a verb; each program has its own. */
typedef struct dm_cli_work {
  unsigned verb; /* DM_VERB_... */
  int (*run)(dm_call *call);
} dm_cli_work;

/* Runs the verb that the command line names, one of WORKS; its end has the verb 0. Returns the exit
 * code. */
int dm_cli_program(int argc, char **argv, const dm_cli_work *works);

/* The same of the words of a line of WITHIN, a list of jobs (damier run): of a command whose verb
 * is one of products or their checks, and that does nothing if its C is complete. */
int dm_cli_job(int argc, char **argv, const dm_call *within);

/* The program damier-bench, whose words ARGV are; NULL where it is a file of its own. */
int dm_bench_program(int argc, char **argv) __attribute__((weak));

/* The environment as it was when the program started. */
void dm_cli_restore_environment(void);

#endif
