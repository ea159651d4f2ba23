/* known_product: products by the CPU's backend whose rounding errors are known, since they are
 * computed again in long double, with the sums of their verification.
 *
 * Errors are compared in units of their column: u_j = 1/||B(:,j)||. The rounding error of row i is
 *   e_i = max(sqrt(sum_j |u_j (C - AB)(i,j)|^2), 0.3 u sqrt(sum_j |u_j C(i,j)|^2)),
 * u the roundoff of C's type, or of the sums if that is larger: no row counts as better than one
 * whose exact elements were rounded once. What underflow may take is added. */
#ifndef DM_TESTS_KNOWN_PRODUCT_H
#define DM_TESTS_KNOWN_PRODUCT_H

#include "backend/backend.h"
#include "check/entry_sums.h"
#include "check/freivalds_impl.h"
#include "layout/distributed.h"
#include "product/verify.h"

typedef enum data_kind {
  NORMAL,
  POSITIVE,    /* uniform in [0, 1) */
  RANGE,       /* normal, each element times a random power of ten */
  RANGE_ROWS,  /* the same of rows of A */
  RANGE_COLS,  /* the same of columns of B, */
  RANGE_DEPTH, /* and of columns of A, whose inverse the rows of B have */
  SPARSE,      /* normal, of which a tenth is kept */
  WHOLE,       /* whole numbers up to 100 */
  CENTERED,    /* whole numbers up to 7, less 3.3 */
  CANCELLING,  /* positive in the first half of k, negative in the other */
  CONSTANT,
  CONTRAST, /* constant, of either sign: the sums cancel */
  OUTLIER,  /* constant, but for one element of each row, which is large */
  DATA_KINDS
} data_kind;

extern const char *const data_names[DATA_KINDS];

typedef struct known_product {
  dm_problem problem;
  data_kind data;
  uint64_t seed;
  dm_backend *backend;
  dm_run *run;
  int parts;
  void *a, *b, *c;         /* of their types, row-major */
  double *wide_a, *wide_b; /* the same numbers; all that follow have PARTS numbers per element */
  double *wide_c;
  long double *exact;       /* A B */
  double *units;            /* u, n */
  double *errors;           /* e, m */
  dm_freivalds *check;      /* with the sums of A and B */
  dm_entry_sums *entry;     /* the same for entries of batches; NULL: they are not checked by it */
  dm_distributed matrix[3]; /* A, B and the C that is judged, */
  dm_verify verify;         /* to be read again */
  dm_verdict clean;         /* of C */
} known_product;

/* Types of operands and of C, and how k is cut. GROUPS: of columns, as in the engine. */
typedef struct known_wish {
  dm_dtype work, c;
  int64_t m, n, k;
  data_kind data;
  uint64_t seed;
  bool groups, exact; /* EXACT: errors are wanted, not only the verdict */
} known_wish;

dm_status known_product_new(dm_run *run, dm_backend *backend, const known_wish *wish,
                            known_product **product);
void known_product_free(known_product *product);

/* Multiplies again, of A and B as they are, to C. */
dm_status known_product_multiply(known_product *p, void *c);

/* Views of those elements. */
dm_view known_view(const known_product *p, int matrix, void *base);

/* C's elements as f64, or c128. */
void known_widen(const known_product *p, const void *c, double *wide);

/* The verdict on C as product/in_place_multiply.c comes to it: where entries of batches have sums
 * of their own, either one accepts it; and rows above the bound are multiplied again. */
dm_status known_product_judge(known_product *p, const void *c, dm_verdict *verdict);

/* The largest error of a row of C, less those of the product, in units of the row's rounding error;
 * infinite if it has NaN or Inf that the product does not have. */
double known_product_multiple(const known_product *p, const void *c, double *wide);

#endif
