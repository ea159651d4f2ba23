/* settings: everything that the command line can state, as plain data, so that rank 0 can send its
 * own to all ranks: the environment may differ between nodes. */
#ifndef DM_CLI_SETTINGS_H
#define DM_CLI_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "file/dataset.h"
#include "plan/problem.h"

enum { DM_CLI_OPTIONS = 128, DM_CLI_TEXT = 256, DM_CLI_LIST = 2048, DM_CLI_REPORTS = 4 };

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
typedef struct dm_cli_lab {
  char kernels[DM_CLI_TEXT], types[DM_CLI_TEXT], sizes[DM_CLI_LIST];
  int op; /* 0: all; else 1 + dm_kernel_op */
  bool check, list, accumulate, along_k;
  int64_t pad, pairs;
  double settle, limit;
} dm_cli_lab;

/* Choices are indices into the option's list, which has the order of the corresponding enum. */
typedef struct dm_settings {
  bool given[DM_CLI_OPTIONS]; /* by flag or environment; index in the option table */
  dm_cli_asked asked;
  int verbose, quiet, progress;
  bool force, allow_unchecked, reproducible, verify, verify_files, protect, overlap,
      require_gpu_per_rank;
  bool external, virtual, filters, no_data, raw, swmr; /* trust */
  bool rounding, as_column, as_row, append;
  bool shuffle, cold;
  bool full, checkpoint, against_library, against_one, against_local, dry_run, slurm;
  int op_a, op_b, type, type_c, compute, missing;
  int backend, transport, from, kind, read_by, write_by, generate_by, verify_written, on_corruption;
  double alpha[2], beta[2];
  double phi, value, budget, precision, fill; /* percentages as fractions */
  double time_limit, hang_timeout, within;    /* seconds; 0: none */
  double checkpoint_interval;                 /* seconds */
  int64_t range, seed;
  uint64_t verify_seed;
  int64_t rows, cols, size, m, n, k;
  int64_t panel[1 + DM_RAMP]; /* width of most panels, and of the first ones */
  int64_t memory[2];          /* memory: host, device */
  int64_t grid[3];
  int64_t chunk[2], deflate;
  int64_t threads, io_threads, ranks, pretend_nodes, repetitions, runs, warmup;
  char kernel[DM_CLI_TEXT], machine[DM_CLI_LIST], sizes[DM_CLI_TEXT], partition[DM_CLI_TEXT];
  char series[DM_CLI_TEXT];
  char directory[DM_PATH], rates_file[DM_PATH], files[DM_PATH], trace[DM_PATH];
  char pieces[DM_CLI_LIST];
  dm_location output, old_c;
  dm_cli_paths json, csv;
  dm_cli_lab lab;
} dm_settings;

#endif
