/* cli_settings: what the command line can state beyond the options of products, as plain data. */
#ifndef DM_CLI_CLI_SETTINGS_H
#define DM_CLI_CLI_SETTINGS_H

#include "options/settings.h"

enum { DM_CLI_OPTIONS = 128, DM_CLI_REPORTS = 4 };

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
  bool given[DM_CLI_OPTIONS]; /* by flag or environment; index in dm_cli_options */
  dm_cli_asked asked;
  int verbose, quiet, progress;
  bool cold, against_library, against_one, dry_run, slurm;
  int from, kind, generate_by, of_rows;
  double phi, value, budget, precision, fill; /* percentages as fractions */
  double time_limit, within;                  /* seconds; 0: none */
  int64_t range, seed;
  int64_t rows, cols, size, m, n, k;
  int64_t ranks, repetitions, runs, warmup;
  char gpus[DM_VALUE_TEXT];
  char sizes[DM_VALUE_TEXT], partition[DM_VALUE_TEXT], series[DM_VALUE_TEXT];
  char directory[DM_PATH], rates_file[DM_PATH], files[DM_PATH], trace[DM_PATH];
  char pieces[DM_VALUE_LIST];
  dm_cli_paths json, csv;
  dm_cli_bench bench;
} dm_cli_settings;

#endif
