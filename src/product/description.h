/* description: a product to be computed: where A, B, the old C and C are, what is computed, and
 * how. */
#ifndef DM_PRODUCT_DESCRIPTION_H
#define DM_PRODUCT_DESCRIPTION_H

#include "check/freivalds.h"
#include "dataset/dataset.h"
#include "engine/equation.h"
#include "engine/setup.h"
#include "io/output_form.h"
#include "layout/distributed.h"
#include "reduce/reduction.h"
#include "transform/vectors.h"

/* When to read C again and compare it with what was written, before C gets its name. */
typedef enum dm_read_back {
  DM_READ_BACK_AUTO, /* if it takes at most 1 % of the run's time */
  DM_READ_BACK_ALWAYS,
  DM_READ_BACK_NEVER,
} dm_read_back;

/* What to do if C is not alpha op(A) op(B) + beta C0. */
typedef enum dm_on_corruption {
  DM_ON_CORRUPTION_REPAIR, /* compute wrong tiles again, each once; then DM_E_CORRUPT */
  DM_ON_CORRUPTION_STOP,   /* DM_E_VERIFY; C keeps its .part name */
  DM_ON_CORRUPTION_WARN,   /* C gets its name, with the verdict FAIL; DM_E_UNCHECKED */
} dm_on_corruption;

enum { DM_REQUEST = 17 };

typedef struct dm_multiply {
  dm_dataset a, b; /* in memory: only shape and type are used */
  bool has_c;
  dm_dataset c; /* the old C, if beta is not 0 */
  /* Each rank's part of DM_A, DM_B, DM_C and DM_OLD; NULL: in a file. The old C may be C. */
  const dm_memory_matrix *in_memory[4];
  /* Matrices in host memory that every rank of the job sees whole, because one process has all
   * ranks, are read and written like files: A, B and the old C by their datasets (dm_dataset's
   * memory), and C here; base NULL: not so. */
  dm_view seen_c;
  /* NULL, or A and B are generated, C goes nowhere, and the product is repeated. */
  const struct dm_measurement *measurement;
  uint64_t elements[4]; /* their checksums, set by the pipeline if tiles are recorded */
  dm_location out;      /* C in a file: checked by dm_output_check */
  dm_dataset existing;  /* the file with C's name, if its journal says that it may be the result */
  bool only_done;       /* that file must not be replaced */
  char request[DM_REQUEST]; /* a checksum of options, version and inputs, an attribute of C; "" */
  dm_equation equation;
  dm_vectors vectors;
  dm_engine_options engine;
  dm_output_form form; /* form of C's file; completed when its shape is known */
  dm_reductions kept;  /* of C; none: all of it */
  bool verify, force, allow_unchecked;
  bool scratch;       /* C in memory may be overwritten by a wrong one, so it can be read again */
  bool keep_journal;  /* C serves a result: it is found again until the caller removes both */
  dm_check_seed seed; /* of the verification's random vector */
  bool verify_files;  /* the verification reads A, B and C from their files again */
  dm_read_back read_back;
  bool protect; /* also checksum the verified shares of A and B */
  dm_on_corruption on_corruption;
  bool checkpoint;            /* record tiles, so that an interrupted run can resume */
  double checkpoint_interval; /* seconds; 0: record every tile when it is written */
} dm_multiply;

/* Whether MATRIX is in a file: not in memory, and not generated. */
static inline bool dm_multiply_in_file(const dm_multiply *m, int matrix) {
  return !m->in_memory[matrix] && !m->measurement;
}

/* Whether a reader brings it: A, B or the old C. */
static inline bool dm_multiply_is_read(const dm_multiply *m, int matrix) {
  const dm_dataset *d = matrix == DM_A ? &m->a : matrix == DM_B ? &m->b : &m->c;
  return dm_multiply_in_file(m, matrix) || (m->in_memory[matrix] && d->memory.base);
}

/* Whether A or B is copied before: centered, scaled or weighted; or filled, unless it is while it
 * is read. */
static inline bool dm_multiply_centers(const dm_multiply *m) {
  const bool fills[2] = {m->a.meaning.found && !dm_multiply_is_read(m, DM_A),
                         m->b.meaning.found && !dm_multiply_is_read(m, DM_B)};
  return fills[0] || fills[1] || dm_standard_changes(&m->equation.standard[0]) ||
         dm_standard_changes(&m->equation.standard[1]);
}

#endif
