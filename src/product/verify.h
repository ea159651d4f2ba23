/* verify: checks that C, in a file or in memory, is alpha op(A) op(B) + beta C0, streaming the
 * matrices. */
#ifndef DM_PRODUCT_VERIFY_H
#define DM_PRODUCT_VERIFY_H

#include "check/freivalds.h"
#include "engine/dataset_input.h"
#include "io/tile_sums.h"
#include "product/description.h"
#include "run/run.h"

typedef struct dm_verify {
  dm_dataset a, b, c;
  bool has_c0;
  dm_dataset c0;                   /* the old C that beta was applied to */
  const dm_distributed *memory[4]; /* op(A), op(B), C and the old C, if in memory; or NULL */
  dm_equation equation;
  dm_vectors vectors;
  bool from_gpu;      /* C may come from a GPU: the bound is wider */
  bool no_provenance; /* C has no provenance */
  bool by_attributes; /* EQUATION has parts from C's attributes; the report says so */
  char claims[160];   /* options that C's attributes state but that are not used, or "" */
  double norm;        /* of C when it was written; negative: unknown */
  int io_threads;
  int64_t strip;         /* as in dm_reading */
  bool allow_unchecked;  /* verifying only part of C is no error */
  dm_check_seed seed;    /* of the random vectors, if stated, and ... */
  int draw;              /* ... the number of the next one (dm_freivalds_repeat) */
  uint8_t *wrong;        /* per row of C: set to 1 if it is wrong, else 0; or NULL */
  bool full;             /* multiply again in higher precision and compare every element */
  dm_tile_record *tiles; /* tiles of C, on rank 0; NULL: none */
  int64_t tile_count;
  struct dm_tile_sums *sums; /* adds up checksums while C is read, or NULL */
  /* C was reduced: what was kept, and the arrays of the result, in place of C's dataset. */
  dm_reduction reduction;
  dm_dataset arrays[DM_REDUCED_ARRAYS];
  int64_t entry, entries;  /* of a batch of ENTRIES, only this one is passed; 0: all */
  const uint8_t *strained; /* entries to be judged; the verdict has the others. NULL: all */
} dm_verify;

/* Collective: only computes the residual of the matrices in the files. */
dm_status dm_verify_residual(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                             dm_verdict *verdict);

/* Collective: if STATUS is agreed and an input was rejected because values of SETS (files, or NULL)
 * are missing, the error that says how many, and where the first is; else STATUS. Frees STATUS. */
dm_status dm_verify_missing(dm_run *run, int threads, const dm_dataset *const sets[3],
                            dm_status status);

/* Rows of C that are checked together: sums of them stay in caches, and B, which is passed for each
 * such part of the rows, is small beside it. So are chunks of A and C, of CHUNK_ROWS rows (0: they
 * have none), of which those at either end are unpacked twice. */
int64_t dm_verify_rows_together(const dm_problem *problem, int64_t chunk_rows);

/* VERDICT becomes that of its rows and those of FOUND, which are others of the same columns. */
void dm_verify_join_rows(dm_verdict *verdict, const dm_verdict *found);

/* Collective: VERDICT failed, with bounds for rounding errors as they are in nearly all products,
 * in the rows marked in WRONG; it passes if more exact ones, for the worst of these rows, show that
 * C is right. Or a row is suspect; it fails if these show that this row is wrong.
 * (verify_doubts.c) */
dm_status dm_verify_doubts(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           uint8_t *wrong, dm_verdict *verdict);

/* The same of a VERDICT that passed, without marks. */
dm_status dm_verify_suspect(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                            dm_verdict *verdict);

/* ---- passing a matrix, in a file or in memory, once, in runs of rows (verify_stream.c); private
 * to verify ---- */

/* Passes this rank's share of VERIFY's MATRIX (DM_A, DM_B: op(X), rounded as the equation says;
 * DM_C, DM_OLD) to TAKE as elements of WORK. */
dm_status dm_verify_stream(dm_run *run, const dm_verify *verify, int matrix, dm_dtype work,
                           dm_part_taker *take, void *context);

/* The same of PART of op(X) or C (NULL: all), with its own rows and columns. */
dm_status dm_verify_stream_part(dm_run *run, const dm_verify *verify, int matrix,
                                const dm_extent *part, dm_dtype work, dm_part_taker *take,
                                void *context);

/* Rows of op(B) that meet the same columns of op(A): those of some entries, or part of one. */
typedef struct dm_verify_window {
  dm_range k;     /* among those of all entries, */
  dm_extent a, b; /* and the parts of op(A) and op(B) */
} dm_verify_window;

/* The first window of PROBLEM, or the one after *WINDOW, of at most ROOM rows; false: there is
 * none. Start with {0}. */
bool dm_verify_next_window(const dm_problem *problem, int64_t room, dm_verify_window *window);

/* The room of a check that reads each chunk of A and B once (dm_freivalds_new). */
int64_t dm_verify_room(const dm_verify *verify, const dm_problem *problem);

/* Collective: reads B, and ROWS of A, C and the old C, for COUNT checks of parts of these rows of
 * C, and for the checksums of VERIFY. */
dm_status dm_verify_gather(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           dm_range rows, dm_freivalds *const *checks, int64_t count);

/* Collective: judges each entry of a batch, but for those that VERIFY excludes, by ONE as a product
 * of its own. A single product is passed to ONE as it is. */
typedef dm_status dm_verify_one(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                                dm_verdict *verdict);
dm_status dm_verify_each_entry(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                               dm_verify_one *one, dm_verdict *verdict);

/* Lines of A and B that are constant, or have no mean, make rows and columns of C NaN
 * (verify_nan.c). Tells CHECK, which is new, of them; returns whether there are any. */
bool dm_verify_expect_nan(const dm_dataset *a, const dm_dataset *b, const dm_equation *equation,
                          dm_freivalds *check);

/* Collective: looks whether these are NaN in C, if VERDICT is good but for them: then they count as
 * checked, else C is wrong. */
dm_status dm_verify_nan(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                        dm_verdict *verdict);

/* Collective: C has its elements, and VERDICT is good, but on the sums before alpha, beta and C's
 * type: rows with elements that these made NaN or Inf count as left out. */
dm_status dm_verify_finished(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                             dm_verdict *verdict);

/* Collective. DM_E_INPUT: finite numbers of A or B, in memory, are infinite in the type of the
 * product. */
dm_status dm_verify_range(dm_run *run, const dm_verify *verify, const dm_problem *problem);

/* Sets the random vector and the marks that VERIFY requests in a new CHECK of ROWS, and what it
 * expects. */
void dm_verify_prepare(const dm_verify *verify, dm_range rows, dm_freivalds *check);

/* Collective: the verdict for matrices with NaN or Inf, or exponents too large or too small for
 * sums of squares. Rows and columns are scaled by powers of two; rows and columns of C that must be
 * NaN or Inf, and are, count as checked. (verify_scaled.c) */
dm_status dm_verify_scaled(dm_run *run, const dm_verify *verify, const dm_problem *problem,
                           dm_verdict *verdict);

#endif
