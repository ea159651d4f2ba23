/* pairwise_impl: the products that covariances and correlations of pairs are made of. Private to
 * the parts of pairwise: pairwise.c makes the products, pairwise_files.c
 * knows their files, pairwise_again.c takes sums of some pairs
 * again, pairwise_counts.c counts variants, pairwise_finish.c makes C, and pairwise_verify.c
 * verifies it. */
#ifndef DM_PROGRAMS_PAIRWISE_IMPL_H
#define DM_PROGRAMS_PAIRWISE_IMPL_H

#include "check/verdict.h"
#include "core/pairs.h"
#include "io/read.h"
#include "programs/pairwise.h"
#include "transform/centered.h"

/* Of one matrix the last two are the transposes of the two before. */
enum {
  COUNTS,
  PAIRWISE_PRODUCTS,
  PAIRWISE_SUMS,
  PAIRWISE_SQUARES,
  OTHER_SUMS,
  OTHER_SQUARES,
  PAIRWISE_FACTORS
};

/* A pair whose sums were taken again from the elements that both lines have. */
typedef struct dm_pair_again {
  int64_t row, col;
  dm_pair of, made; /* MADE: of a sample, what products gave to the rank that has the row; else its
                       count is -1 */
} dm_pair_again;

typedef struct dm_pair_list {
  dm_pair_again *list; /* by rows, then columns */
  int64_t count;
} dm_pair_list;

/* The products are in files beside C, or in memory: rows of each on every rank; in GPU memory if X
 * is there and all fits. */
typedef struct pairwise {
  dm_run *run;
  dm_in_place *in_place; /* multiplies in GPU memory */
  const dm_multiply *multiply;
  bool one;     /* B is A */
  bool relates; /* only the first two products are made, and the counts are kept */
  dm_centering *centering[2];
  double *exponents[2]; /* of the lines, as in dm_pair */
  double *diagonal;     /* of the products in memory, if RELATES; or NULL */
  dm_pair_form form;
  bool in_memory;
  dm_backend *gpu; /* of all on this rank; NULL: hosts have the products */
  dm_centered_room rooms[2];
  dm_centered_copy *copies[2]; /* there: of values or squares, and of what is present */
  dm_role held[2];             /* what they have */
  int count;                   /* of products */
  int64_t m, n, k;             /* lines of A and of B, and their elements */
  dm_range own;                /* rows of C of this rank */
  double started, multiplied;  /* MULTIPLIED: seconds */
  int64_t process_bytes;       /* memory of the process beside what a product takes */
  dm_dataset made[PAIRWISE_FACTORS];
  dm_reader *readers[PAIRWISE_FACTORS];
  double
      *rows[PAIRWISE_FACTORS]; /* some rows of the products, or this rank's; NULL: see OTHER_SUMS */
  int64_t room;                /* elements of each */
  dm_pair_list doubtful;       /* pairs of this rank's rows, */
  dm_pair_list sample;         /* and pairs that C is compared with: the same on all ranks */
  dm_record *record;           /* of dm_pairwise_run; or NULL */
  const dm_verify *verify;
  dm_verdict verdict;
} pairwise;

/* Takes the means of the lines, makes the products, and calls WORK; P's pointers are valid
 * meanwhile. */
dm_status dm_pairwise_make(pairwise *p, const dm_multiply *multiply, dm_status (*work)(pairwise *));

/* This rank's rows in the place of the counts, from now on in host memory; the others are freed. */
dm_status dm_pairwise_to_host(pairwise *p);

/* Collective: computes what is in GPU memory again in host memory. */
dm_status dm_pairwise_leave_gpu(pairwise *p);

/* Memory of this rank. */
int64_t dm_pairwise_share(const pairwise *p);

/* Bytes of this rank's rows of a product, and of all. */
dm_status dm_pairwise_bytes(const pairwise *p, int64_t *bytes, int64_t *all);

/* The M x N numbers whose rows of this rank are at ROWS. */
dm_memory_matrix dm_pairwise_in_rows(const pairwise *p, double *rows, bool on_gpu);

/* COUNT rows of them. */
dm_view dm_pairwise_view(const pairwise *p, double *rows, int64_t count, bool on_gpu);

/* Moves the matrix STATED, in GPU memory of BACKEND if it is there, or its transpose, to TO. */
dm_status dm_pairwise_move(const pairwise *p, const dm_memory_matrix *stated, dm_backend *backend,
                           bool turned, dm_distributed *to);

/* Of one matrix, array I has the columns of this product as rows. */
static inline int dm_pairwise_column_of(int i) {
  return i - OTHER_SUMS + PAIRWISE_SUMS;
}

/* Collective: the product WHICH that JOB describes, in its file; one that an earlier run has made
 * is taken. */
dm_status dm_pairwise_to_file(pairwise *p, int which, dm_multiply *job);

/* Whether the counts follow from the missing genotypes, of which there are few, without a product.
 */
bool dm_pairwise_counts_alone(const pairwise *p);

/* Collective: counts this rank's rows, in memory; or writes the counts of all ranks to the file AT,
 * through a buffer of at most ROOM bytes. */
dm_status dm_pairwise_count_in_memory(pairwise *p);
dm_status dm_pairwise_count_to_file(pairwise *p, const dm_location *at, int64_t room);

/* The same in a file of another name than theirs, which rank 0 gives them right before C gets its
 * own: no journal tells a later run that they are complete. */
dm_status dm_pairwise_keep_counts(pairwise *p, int64_t room);
dm_status dm_pairwise_name_kept_counts(pairwise *p);

/* Rank 0: DM_E_FIT if the disk has no space for the files that no earlier run has left, each of
 * which reserves it when it is begun; DM_E_USAGE: a file of the user has the name of one. */
dm_status dm_pairwise_check_space(const pairwise *p);

/* Rank 0 removes the files of the products, but for those that are results; or all. */
void dm_pairwise_remove_products(void *pairwise);
void dm_pairwise_remove_all(const pairwise *p);

/* COUNT rows of what is known of pairs, from row FIRST of C on, which are AT rows in memory. */
dm_pairs dm_pairwise_pairs(const pairwise *p, int64_t first, int64_t at, int64_t count);

/* Reads COUNT rows of the products from ROW on, if they are in files. */
dm_status dm_pairwise_read(pairwise *p, int64_t row, int64_t count);
dm_status dm_pairwise_open_readers(pairwise *p);
void dm_pairwise_close_readers(pairwise *p);

/* Collective: finds the doubtful pairs of this rank's rows, draws a sample, and takes the sums of
 * both again in three passes over the elements: counts and extremes, means, and then squares. */
dm_status dm_pairwise_take_again(pairwise *p);
void dm_pair_list_free(dm_pair_list *list);

/* The pairs of LIST in ROW; *count of them. */
const dm_pair_again *dm_pair_list_row(const dm_pair_list *list, int64_t row, int64_t *count);

/* How much VALUE, an element of C in TYPE, is off in bounds. SAME: of a line with itself. */
double dm_pairwise_excess(const pairwise *p, const dm_pair *of, bool same, double value,
                          dm_dtype type);

const char *dm_pairwise_name(const pairwise *p); /* "covariances" */

/* Collective: joins the verdicts of all ranks, of which each has its residual and norm. */
dm_status dm_pairwise_judge(pairwise *p);

/* Collective: makes C, in its file or the caller's memory. */
dm_status dm_pairwise_deliver(pairwise *p);

#endif
