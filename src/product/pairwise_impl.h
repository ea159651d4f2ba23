/* pairwise_impl: the products that covariances and correlations of pairs are made of. Private to
 * pairwise.c, which makes them, and pairwise_verify.c. */
#ifndef DM_PRODUCT_PAIRWISE_IMPL_H
#define DM_PRODUCT_PAIRWISE_IMPL_H

#include "check/verdict.h"
#include "core/pairs.h"
#include "file/read.h"
#include "product/centered.h"
#include "product/pairwise.h"

enum { COUNTS, PRODUCTS, SUMS, SQUARES, FACTORS };

/* The products are in files beside C, or in memory: rows of each on every rank, of all ranks alike;
 * in GPU memory if X is there and all fits. */
typedef struct pairwise {
  dm_run *run;
  dm_in_place *kept; /* multiplies in GPU memory */
  const dm_multiply *multiply;
  dm_centering *centering;
  dm_pair_form form;
  bool in_memory;
  dm_backend *gpu; /* of all on this rank; NULL: hosts have the products */
  dm_centered_room rooms[2];
  dm_centered_copy *copies[2]; /* there: of values or squares, and of what is present */
  dm_role held[2];             /* what they have */
  int count;                   /* of products */
  int64_t n, k;                /* lines, and their elements */
  dm_range own;                /* rows of this rank */
  double started;
  int64_t process_bytes; /* memory of the process beside what a product takes */
  dm_dataset made[FACTORS];
  dm_reader *readers[FACTORS];
  /* Some rows of the products, or this rank's; and as the last two, as rows, the columns of the
   * sums and squares with these numbers, unless one rank has all. */
  double *rows[FACTORS + 2];
  int64_t room;      /* elements of each */
  dm_record *record; /* of dm_pairwise_run; or NULL */
  const dm_verify *verify;
  dm_verdict verdict;
} pairwise;

/* Takes the means of X, makes the products, and calls WORK; P's pointers are valid meanwhile. */
dm_status dm_pairwise_make(pairwise *p, const dm_multiply *multiply, dm_status (*work)(pairwise *));

/* COUNT rows of what is known of pairs, from row FIRST of C on, which are AT rows in memory. */
dm_pairs dm_pairwise_pairs(const pairwise *p, int64_t first, int64_t at, int64_t count);

#endif
