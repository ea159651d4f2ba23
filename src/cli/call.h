/* call: one invocation of damier, and its verbs (verb_*.c). */
#ifndef DM_CLI_CALL_H
#define DM_CLI_CALL_H

#include <stdio.h>

#include "comm/comm.h"
#include "core/log.h"
#include "core/notes.h"
#include "core/status.h"
#include "options/option.h"
#include "run/record.h"

typedef struct dm_call dm_call;
typedef struct dm_run dm_run;

/* The open files of --json and --csv. */
typedef struct dm_cli_reports {
  int count;
  dm_report_file files[2 * DM_REPORTS];
} dm_cli_reports;

typedef struct dm_verb {
  const char *name; /* "bench links" has two words */
  unsigned bit;     /* DM_VERB_... */
  const char *operands;
  int least, most;         /* number of operands */
  const char *about;       /* one line */
  const char *more;        /* sentences for help and man page, one per line */
  const char *examples[4]; /* NULL at the end */
} dm_verb;

extern const dm_verb dm_cli_verbs[];
extern const int dm_cli_verb_count;

/* The command line without a verb. */
extern const dm_verb dm_cli_no_verb;

/* The verb that ARGV starts with; *used words of it name the verb. */
dm_status dm_cli_verb_find(int argc, char **argv, const dm_verb **verb, int *used);

/* One parsed invocation. */
struct dm_call {
  const dm_verb *verb;
  dm_settings settings;    /* the options of products */
  dm_command_settings own; /* the program's */
  double born;             /* when main began, in seconds of dm_now */
  const char **operands;
  int operand_count;
  dm_cli_reports *reports;
  dm_notes *notes;                 /* what the command applied, or warned of */
  int rank;                        /* before MPI starts: -1 if no launcher states it */
  char **argv;                     /* the whole command line */
  const struct dm_cli_work *works; /* the functions of the program's verbs */
  char command[4096];              /* as typed */
};

int dm_cli_multiply(dm_call *call);
int dm_cli_gram(dm_call *call);
int dm_cli_cov(dm_call *call);
int dm_cli_cor(dm_call *call);
int dm_cli_pca(dm_call *call);
int dm_cli_svd(dm_call *call);
int dm_cli_plan(dm_call *call);
int dm_cli_plan_components(dm_call *call);

/* Whether C is not stored, or of distances: programs/reduced.h. */
bool dm_cli_is_reduced(const dm_call *call);
int dm_cli_verify_components(dm_call *call);
int dm_cli_generate(dm_call *call);
int dm_cli_verify(dm_call *call);
int dm_cli_info(dm_call *call);
int dm_cli_compare(dm_call *call);
int dm_cli_run_list(dm_call *call);
int dm_cli_clean(dm_call *call);

/* ---- parsing the command line ---- */

/* Parses options and operands of CALL's verb from ARGV, which starts after the verb; CALL's
 * operands have room for ARGC. */
dm_status dm_cli_arguments(dm_call *call, int argc, char **argv);

/* Takes settings that no flag gave from DAMIER_* variables; warns of unknown ones. */
dm_status dm_cli_environment(dm_call *call);

/* All settings at their defaults. */
dm_status dm_cli_defaults(dm_call *call);

/* Whether the option NAME was given by flag or environment. */
bool dm_cli_given(const dm_call *call, const char *name);

/* Adds every option, and whether it was given. */
void dm_cli_add_alike(dm_alike *alike, const dm_call *call);

/* Whether the stated beta is not 0; DM_E_USAGE if --c contradicts it. */
dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c);

/* DM_E_USAGE: a flag would change nothing. (effects.c) */
dm_status dm_cli_check_effects(const dm_call *call);

/* m, n and k from the options of these names or --size, else FALLBACK (0: none). */
dm_status dm_cli_dimensions(const dm_call *call, int64_t fallback, int64_t mnk[3]);

/* ---- output ---- */

dm_level dm_cli_level(const dm_call *call);
dm_log dm_cli_log(const dm_call *call);

/* Whether this process prints and inspects files before MPI is started. */
bool dm_cli_speaks(const dm_call *call);

/* Prints an error for the user, from DM_LOG_DETAIL on with its place in the source; RUN is NULL
 * outside MPI. */
void dm_cli_print_error(const dm_error *error, const dm_run *run, dm_level level, FILE *out);

/* ---- reports: the table on standard output, records in the files of --json and --csv ---- */

/* Opens the files before the work, on the one rank that reports. DM_E_USAGE: one is a matrix of
 * this command, or another report; DM_E_IO. */
dm_status dm_cli_open_reports(const dm_call *call);

/* May be called again. */
dm_status dm_cli_close_reports(const dm_call *call);

/* The stream for tables: standard error if a record goes to standard output. */
FILE *dm_cli_out(const dm_call *call);

/* Adds RECORD, with what was noted, to the files. */
dm_status dm_cli_report(const dm_call *call, dm_record *record);

/* Adds RECORD, with what was noted, to the files and prints, depending on -q, the table, its last
 * line, or nothing. */
dm_status dm_cli_publish(const dm_call *call, dm_record *record);

/* Output of --help, --man-page and --completion (help.c, completion.c). VERB may be
 * dm_cli_no_verb. */
void dm_cli_print_help(const dm_verb *verb, bool full, FILE *out);
void dm_cli_print_man_page(FILE *out);
void dm_cli_print_completion(int shell, FILE *out);

/* Prints what may stand in place of the last of WORDS, the words after "damier" of an unfinished
 * command: a line for each, with its description behind a tab. */
void dm_cli_complete(int count, char **words);

typedef struct dm_exit_code {
  int code;
  const char *meaning;
} dm_exit_code;

/* For help and man page; the last meaning is NULL. */
extern const dm_exit_code dm_cli_exit_codes[];

#endif
