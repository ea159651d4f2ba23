/* centered: finds, before a product, what its factors are centered, scaled and weighted with, and
 * what their missing values become. */
#ifndef DM_TRANSFORM_CENTERED_H
#define DM_TRANSFORM_CENTERED_H

#include "engine/equation.h"
#include "run/record.h"
#include "run/run.h"
#include "transform/centered_copy.h"
#include "transform/relationship.h"
#include "transform/vectors.h"

/* What stands for A and B in their product; to be freed when they are no longer read, also after an
 * error. */
typedef struct dm_centered {
  dm_centering *made[2];      /* B may have A's */
  dm_centered_copy copies[2]; /* of matrices in memory; so may these */
  int64_t unpacked;           /* chunks that this rank unpacked for moments */
} dm_centered;

void dm_centered_free(dm_centered *centered);

/* The factors of a product. */
typedef struct dm_factors {
  const dm_vectors *vectors;
  const dm_equation *equation;
  dm_dataset *sets[2];
  const dm_memory_matrix *memory[2]; /* NULL: SETS are read */
  const dm_engine_options *engine;   /* for those, ... */
  dm_centered_room *rooms;           /* ... unless there are rooms for their copies */
  const dm_relation *relation;       /* set inside: of A and B, the same genotypes; or NULL */
} dm_factors;

/* Collective: changes A and B as EQUATION states, with numbers of the user from FACTORS' vectors;
 * if terms are weighted, also divides alpha. Matrices in files are changed while they are read, on
 * IO_THREADS threads per rank (negative: as many as help), as is the host memory of one process;
 * other memory is copied: in GPU memory to ROOMS, of A and B; NULL: to memory of its own.
 *
 * Moments are those of the values in f64, whatever type they are rounded to afterwards; deviations
 * are divided by the number of elements less one, or what it is with weights. Each factor is passed
 * once for them, the same lines of the same matrix once for both. DM_E_INPUT: values are missing,
 * NaN included, and the dataset's meaning does not say what they become; or numbers of the user are
 * not suitable. */
dm_status dm_center_factors(dm_run *run, int io_threads, const dm_factors *factors,
                            dm_equation *equation, dm_centered *centered);

/* The type of a centered copy of SET, factor X of EQUATION. */
dm_dtype dm_centered_type(const dm_equation *equation, const dm_dataset *set, int x);

/* The same for A and B in files, read on IO_THREADS threads per rank (negative: as many as help).
 */
dm_status dm_center_inputs(dm_run *run, int io_threads, const dm_vectors *vectors,
                           dm_equation *equation, dm_dataset *a, dm_dataset *b,
                           dm_centered *centered);

/* What CENTERING does, or "" if it is NULL. */
enum { DM_CENTERING_TEXT = 192 };
void dm_centering_text(const dm_centering *centering, char text[DM_CENTERING_TEXT]);

/* Says in RECORD what is centered of A and B: of SETS, or in words. */
void dm_centering_record(const dm_dataset *const sets[2], dm_record *record);
void dm_centering_record_text(const char *const texts[2], dm_record *record);

#endif
