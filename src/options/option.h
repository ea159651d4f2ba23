/* option: the table of options. Parsing, environment, help, man page, completion and the keywords
 * of Python are made from it; the library takes those of products. */
#ifndef DM_OPTIONS_OPTION_H
#define DM_OPTIONS_OPTION_H

#include "options/value.h"

/* ---- what the command line can state beyond the options of products, as plain data ---- */

enum { DM_REPORTS = 4 };

typedef struct dm_report_paths {
  int count;
  char path[DM_REPORTS][DM_PATH];
} dm_report_paths;

/* Requests such as --help that replace the verb's work. */
typedef struct dm_command_asked {
  bool help, help_all, version, man_page;
  int completion; /* 0: no; else 1 + the shell */
} dm_command_asked;

/* Settings of bench kernels. */
typedef struct dm_bench_settings {
  char kernels[DM_VALUE_TEXT], types[DM_VALUE_TEXT], sizes[DM_VALUE_LIST];
  int op; /* 0: all; else 1 + dm_kernel_op */
  bool check, list, accumulate, along_k;
  int64_t pad, pairs;
  double settle, limit;
} dm_bench_settings;

/* Choices are indices into the option's list, which has the order of the corresponding enum. */
typedef struct dm_command_settings {
  bool given[DM_OPTIONS];  /* by flag or environment; index in dm_options */
  bool stated[DM_OPTIONS]; /* by flag */
  dm_command_asked asked;
  int verbose, quiet, progress;
  bool against_library, dry_run, slurm;
  int from, kind, generate_by, of_rows;
  double phi, value, budget, precision; /* a percentage as a fraction */
  double time_limit, within;            /* seconds; 0: none */
  int64_t range, seed;
  int64_t rows, cols, size, m, n, k;
  int64_t ranks, repetitions, runs, warmup;
  char gpus[DM_VALUE_TEXT];
  char sizes[DM_VALUE_TEXT], partition[DM_VALUE_TEXT], series[DM_VALUE_TEXT];
  char rates_file[DM_PATH], files[DM_PATH], trace[DM_PATH];
  char pieces[DM_VALUE_LIST];
  double rtol, atol; /* of compare */
  bool equal_nan;
  char jobs_of[DM_VALUE_TEXT]; /* of run */
  int64_t at_once;             /* jobs of a list; 0: as many as suit it */
  bool resumable;              /* of clean */
  dm_report_paths json, csv;
  dm_bench_settings bench;
} dm_command_settings;

/* ---- the table ---- */

/* Sets of verbs; DM_VERB_NONE is a command line without a verb. */
enum {
  DM_VERB_MULTIPLY = 1,
  DM_VERB_PLAN = 2,
  DM_VERB_GENERATE = 4,
  DM_VERB_VERIFY = 8,
  DM_VERB_INFO = 16,
  DM_VERB_BENCH_MULTIPLY = 32,
  DM_VERB_NONE = 128,
  DM_VERB_BENCH_KERNELS = 512,
  DM_VERB_BENCH_RATES = 1024,
  DM_VERB_BENCH_LINKS = 2048,
  DM_VERB_BENCH_SCALE = 4096,
  DM_VERB_GRAM = 8192,
  DM_VERB_COV = 16384,
  DM_VERB_COR = 32768,
  DM_VERB_PCA = 65536,
  DM_VERB_SVD = 131072,
  DM_VERB_COMPARE = 262144,
  DM_VERB_RUN = 524288,
  DM_VERB_CLEAN = 1048576,
  DM_VERBS_COMPONENTS = DM_VERB_PCA | DM_VERB_SVD,
  /* Verbs of products; those that stop early on request and run under the watchdog. */
  DM_VERBS_PRODUCT = DM_VERB_MULTIPLY | DM_VERB_GRAM | DM_VERB_COV | DM_VERB_COR,
  DM_VERBS_STOPPABLE = DM_VERBS_PRODUCT | DM_VERBS_COMPONENTS | DM_VERB_GENERATE | DM_VERB_VERIFY |
                       DM_VERB_COMPARE | DM_VERB_BENCH_MULTIPLY | DM_VERB_BENCH_RATES |
                       DM_VERB_BENCH_LINKS | DM_VERB_BENCH_SCALE,
};

typedef enum dm_option_group {
  DM_GROUP_FILES,
  DM_GROUP_MATRIX,
  DM_GROUP_EQUATION,
  DM_GROUP_REDUCTION,
  DM_GROUP_MEASURE,
  DM_GROUP_ENGINE,
  DM_GROUP_TRUST,
  DM_GROUP_REPORT,
  DM_GROUP_GENERAL,
  DM_GROUPS,
} dm_option_group;

/* Who has an option, and what it sets. */
typedef enum dm_option_owner {
  DM_OF_COMMAND, /* the program alone; dm_command_settings */
  DM_OF_JOB,     /* jobs of the program; dm_settings */
  DM_OF_PRODUCT, /* the library, too; dm_settings */
} dm_option_owner;

/* A row without a setter has the value of the first row of that name with one that sets
 * dm_settings: only its words are others. */
typedef struct dm_option {
  const char *name;    /* without the dashes */
  char letter;         /* 0: none */
  const char *metavar; /* NULL: no value, or one of the choices */
  unsigned verbs;
  dm_option_group group;
  const char *shown; /* the default in words, if it is no value */
  const char *help;
  dm_option_owner owner;
  dm_value value;
  const char *python; /* type of the keyword, "" for none; NULL: the one for this kind of value */
  bool negatable;     /* --no-NAME exists */
  bool flags_only;    /* not read from the environment */
  unsigned usual;     /* verbs whose --help shows it; --help-all and man page show all */
} dm_option;

extern const dm_option dm_options[];
extern const int dm_option_count;

/* ---- what sets dm_settings ---- */

/* The row that has the value of the option NAME; NULL: no option sets dm_settings by that name. */
const dm_option *dm_option_find(const char *name);

/* Whether OPTION is a row that dm_option_find returns. */
bool dm_option_is_setting(const dm_option *option);

/* Sets OPTION in SETTINGS, and that it was given. On failure nothing changes. */
dm_status dm_option_take(const dm_option *option, const char *text, dm_settings *settings);

/* The vector that OPTION states, DM_CENTERS + 0 and so on; -1: none. */
int dm_option_vector(const dm_option *option);

/* Sets OPTION, which states a vector, to NUMBERS, of rows or columns if it is not weights; NUMBERS
 * stay the caller's as long as SETTINGS have them. */
void dm_option_take_numbers(const dm_option *option, bool of_rows, const dm_numbers *numbers,
                            dm_settings *settings);

/* Makes OPTION what it is if nobody gives it. */
dm_status dm_option_restore(const dm_option *option, dm_settings *settings);

/* All settings at their defaults. */
dm_status dm_settings_defaults(dm_settings *settings);

/* Notes that the option NAME was given, or asks whether it was. */
void dm_give(dm_settings *settings, const char *name);
bool dm_given(const dm_settings *settings, const char *name);

/* The text of the choice that NAME, an option with choices, has in SETTINGS. */
const char *dm_chosen(const dm_settings *settings, const char *name);

/* ---- words ---- */

const char *dm_option_group_title(dm_option_group group);

/* OPTION, or the row that has its value. */
const dm_option *dm_option_valued(const dm_option *option);

/* Whether the option takes a value. */
bool dm_option_takes_value(const dm_option *option);

/* "n|t|c", "FILE", ... of an option that takes a value; writes and returns TEXT. */
char *dm_option_metavar(const dm_option *option, char text[128]);

/* "DAMIER_OP_A" */
char *dm_option_variable(const dm_option *option, char text[64]);

#endif
