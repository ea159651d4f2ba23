/* option: the table of options. Parsing, environment, help, man page and completion are made from
 * it. */
#ifndef DM_CLI_OPTION_H
#define DM_CLI_OPTION_H

#include "options/value.h"

/* ---- what the command line can state beyond the options of products, as plain data ---- */

enum { DM_CLI_OPTIONS = 176, DM_CLI_REPORTS = 4 };

typedef struct dm_cli_paths {
  int count;
  char path[DM_CLI_REPORTS][DM_PATH];
} dm_cli_paths;

/* Requests such as --help that replace the verb's work. */
typedef struct dm_cli_asked {
  bool help, help_all, version, man_page;
  int completion; /* 0: no; else 1 + the shell */
} dm_cli_asked;

/* Settings of bench kernels. */
typedef struct dm_cli_bench {
  char kernels[DM_VALUE_TEXT], types[DM_VALUE_TEXT], sizes[DM_VALUE_LIST];
  int op; /* 0: all; else 1 + dm_kernel_op */
  bool check, list, accumulate, along_k;
  int64_t pad, pairs;
  double settle, limit;
} dm_cli_bench;

/* Choices are indices into the option's list, which has the order of the corresponding enum. */
typedef struct dm_cli_settings {
  bool given[DM_CLI_OPTIONS];  /* by flag or environment; index in dm_cli_options */
  bool stated[DM_CLI_OPTIONS]; /* by flag */
  dm_cli_asked asked;
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
  dm_cli_paths json, csv;
  dm_cli_bench bench;
} dm_cli_settings;

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

/* Options of products have their value in dm_values, by their name. */
typedef struct dm_option {
  const char *name;    /* without the dashes */
  char letter;         /* 0: none */
  const char *metavar; /* NULL: no value, or one of the choices */
  unsigned verbs;
  dm_option_group group;
  const char *shown; /* the default in words, if it is no value */
  const char *help;
  dm_value own;    /* sets dm_cli_settings; without a setter: an option of products */
  bool negatable;  /* --no-NAME exists */
  bool flags_only; /* not read from the environment */
  unsigned usual;  /* verbs whose --help shows it; --help-all and man page show all */
} dm_option;

extern const dm_option dm_cli_options[];
extern const int dm_cli_option_count;

const char *dm_cli_group_title(dm_option_group group);

const dm_value *dm_cli_value(const dm_option *option);

/* Whether the option takes a value. */
bool dm_cli_takes_value(const dm_option *option);

/* "n|t|c", "FILE", ... of an option that takes a value; writes and returns TEXT. */
char *dm_cli_metavar(const dm_option *option, char text[128]);

/* "DAMIER_OP_A" */
char *dm_cli_variable(const dm_option *option, char text[64]);

#endif
