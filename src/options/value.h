/* value: what options set, and the parsers of their values. */
#ifndef DM_OPTIONS_VALUE_H
#define DM_OPTIONS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/distance.h"
#include "core/status.h"
#include "dataset/dataset.h"
#include "plan/problem.h"

/* ---- what the options of a product state, as plain data, so that rank 0 can send its own to all
 * ranks: the environment may differ between nodes ---- */

enum { DM_OPTIONS = 176, DM_VALUE_TEXT = 256, DM_VALUE_LIST = 2048 };

/* Lines, and whose numbers to take; none are named: their means or deviations. */
typedef struct dm_lines_choice {
  int lines; /* dm_lines */
  dm_location by;
} dm_lines_choice;

/* The vectors by which A and B are changed: two of centers and two of scales, of A and of B, and
 * the weights. */
enum { DM_CENTERS = 0, DM_SCALES = 2, DM_WEIGHTS = 4, DM_USER_VECTORS };

/* The numbers of a vector in memory; NULL: it is in a file, or there is none. */
typedef struct dm_numbers {
  const double *list;
  int64_t count;
} dm_numbers;

/* The choices of --backend. */
enum { DM_BACKEND_AUTO, DM_BACKEND_CPU, DM_BACKEND_CUDA, DM_BACKEND_CHOICES };

/* Choices are indices into the option's list, which has the order of the corresponding enum. */
typedef struct dm_settings {
  bool given[DM_OPTIONS]; /* by the user; index in dm_options (options/option.h) */
  /* equation and types */
  int op_a, op_b, type, type_c, compute, accumulate;
  double alpha[2], beta[2];
  bool rounding, strict_types, reproducible;
  bool gram; /* stated by the verb or the call: B is A, transposed and conjugated, or A is */
  bool covariance, correlation;        /* the same, of centered, and scaled, lines */
  dm_lines_choice center[2], scale[2]; /* of A and B */
  dm_location weights;                 /* of the terms of each sum */
  int weights_are;
  bool center_x, scale_x;  /* the same for the one matrix of gram */
  dm_line_distance metric; /* what elements of C are, of two lines */
  bool grm, nonfounders;   /* the relationship of samples, by the alleles of all of them */
  int divide, half;
  /* what is kept of C */
  int64_t top, max_elements;
  int each, by;
  int reduce; /* 1 << kind (dm_reduction_kind) for each number */
  double above, below;
  bool no_self;
  /* components */
  int64_t rank, passes, oversampling, seed;
  int method; /* dm_components_method */
  double tolerance;
  dm_location scores;
  dm_location old_c;
  /* what is accepted, and how it is read */
  bool external, virtual, filters, no_data, raw, swmr, as_column, as_row;
  int missing, stack;
  char missing_value[DM_MISSING_TEXT];
  int64_t row_axes[2];               /* of A and B */
  dm_fold fold[2];                   /* the same */
  int complex_axis, complex_axes[2]; /* dm_complex_axis: of all files; of A and B, if not AUTO */
  int64_t batch; /* entries of A, B and C in memory, or of a plan without files */
  /* the file of C */
  dm_location output;
  bool force, append, shuffle;
  bool if_needed; /* nothing is done if C is complete; else as if forced */
  bool skip_done; /* the same, but C is not replaced; of a list of jobs */
  int64_t chunk[2], deflate, zstd;
  /* computation */
  char kernel[DM_VALUE_TEXT], machine[DM_VALUE_LIST];
  int backend, transport, read_by, write_by;
  int64_t panel[1 + DM_RAMP]; /* width of most panels, and of the first ones */
  int64_t memory[2];          /* host, device */
  int64_t grid[3];
  int64_t threads, io_threads, pretend_nodes;
  bool overlap, require_gpu_per_rank;
  double hang_timeout; /* seconds; 0: none */
  /* verification and checkpoints */
  bool verify, verify_files, protect, allow_unchecked, full, checkpoint;
  int verify_written, on_corruption;
  uint64_t verify_seed;
  double checkpoint_interval; /* seconds */
  /* in place of the files that CENTER, SCALE and WEIGHTS name; of the rank that has these settings
   */
  dm_numbers numbers[DM_USER_VECTORS];
  struct dm_kept_child *inspector; /* of a list of jobs (dataset/child.h), or NULL */
} dm_settings;

typedef struct dm_value dm_value;

/* Parses TEXT into SETTINGS; TEXT is NULL for an option without a value. DM_E_USAGE says what is
 * wrong with TEXT; the caller adds the option's name. */
typedef dm_status (*dm_setter)(const dm_value *value, const char *text, void *settings);

struct dm_value {
  dm_setter set;
  size_t at, room;            /* place in the settings, and its bytes */
  const char *initial;        /* set before anything else; NULL: zeros */
  const char *const *choices; /* NULL at the end */
  int64_t least;              /* smallest number allowed */
  bool zero_is_off;           /* a duration may be 0, even below least */
};

bool dm_value_is_flag(const dm_value *value);

/* "n|t|c"; empty without choices. Writes and returns TEXT. */
char *dm_value_choices(const dm_value *value, char text[128]);

/* Parses the location of a matrix; DM_E_USAGE also for "-", which usually means standard input or
 * output. */
dm_status dm_value_location(const char *text, dm_location *location);

/* Copies TEXT, which may neither be empty nor exceed ROOM. */
dm_status dm_value_copy(const char *text, char *to, size_t room);

/* ---- setters, one for each kind of value ---- */

dm_status dm_value_set_flag(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_choice(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_count(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_real(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_text(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_percent(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_duration(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_type(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_reductions(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_metric(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_compute(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_seed(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_complex(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_machine(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_number_text(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_lines(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_location(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_grid(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_chunk(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_shape(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_packed(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_level(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_panel(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_memory(const dm_value *value, const char *text, void *settings);

#endif
