/* compute: the modes in which products are done and summed.  A mode is a row of one table, or of a
 * caller's own; what others need to know of a mode they read from its row. */
#ifndef DM_CORE_COMPUTE_H
#define DM_CORE_COMPUTE_H

#include "core/dtype.h"
#include "core/status.h"
#include "core/view.h"

/* What hardware multiplies: elements of a dm_dtype, or f32 that it shortens to TF32.  Rates and
 * kernels are listed by it. */
typedef int dm_operand;
enum { DM_TF32 = DM_DTYPE_COUNT, DM_OPERANDS };

/* "f32", "tf32", ... */
const char *dm_operand_name(dm_operand operand);

/* The type of such operands in memory. */
dm_dtype dm_operand_dtype(dm_operand operand);

/* FINISH makes the sum of an element of C from its accumulators: before the layers' sums are added
 * up, or after their accumulators were. */
typedef enum dm_finish_place {
  DM_NO_FINISH, /* one accumulator, which is the sum */
  DM_FINISH_FIRST,
  DM_FINISH_LAST,
} dm_finish_place;

/* Plain data: it goes from rank to rank with the plan.  Types are real; complex matrices are served
 * by the row of their parts. */
typedef struct dm_compute {
  char name[16];        /* in records; that of its operands where it is their own mode */
  char option[16];      /* for --compute; empty: chosen by auto alone */
  unsigned inputs;      /* set of dm_dtype, 1 << type: what it multiplies, and ... */
  unsigned results;     /* ... what C may be */
  dm_dtype work;        /* inputs are converted to it and move as it */
  dm_operand operand;   /* what the hardware multiplies, ... */
  int products;         /* ... and how many such products a panel takes */
  dm_dtype accumulator; /* type of the accumulators, ... */
  int accumulators;     /* ... of which each element of C has so many, ... */
  dm_dtype sum;         /* ... and of what FINISH makes of them */
  dm_finish_place finish;
  int64_t panel_bytes; /* scratch memory for each element of a panel of A or B, ... */
  int64_t tile_bytes;  /* ... and for each element of a block of C */
  double roundoff;     /* unit roundoff of the sums, ... */
  double shortening;   /* ... relative error of shortened operands, ... */
  bool truncates;      /* ... and whether tensor cores sum them, which cut off low bits */
  int moduli;          /* not 0: products are of residues (core/residues.h); all of k is looked at
                          before the first of them */
  bool splits;         /* operands are sums of two of type OPERAND (core/split.h), with exponents of
                          each panel */
} dm_compute;

enum { DM_ACCUMULATORS = 32 }; /* of an element, at most */

/* DM_E_BUG where the numbers of ROW do not fit together. */
dm_status dm_compute_check(const dm_compute *row);

/* Of each accumulator for an element of SUM: residues of complex numbers are of two parts. */
int64_t dm_compute_parts(const dm_compute *row, dm_dtype sum);

/* Elements from one accumulator to the next, of COLS in a row of C: they lie side by side in each
 * row of a block, so that any rows of it hold whole elements of C, finished or not. */
int64_t dm_compute_plane(const dm_compute *row, int64_t cols);

/* Columns of SUM that a row of a block of COLS takes with all its accumulators. */
int64_t dm_compute_width(const dm_compute *row, dm_dtype sum, int64_t cols);
/* Columns of SUM that a row takes where the layers' are added up: with its accumulators or not. */
int64_t dm_compute_added(const dm_compute *row, dm_dtype sum, int64_t cols);

/* The first accumulators of SUMS, finished sums in their place: rows of all COLS of a block. */
dm_view dm_compute_first(const dm_compute *row, dm_view sums);
/* All accumulators of SUMS as one wide matrix. */
dm_view dm_compute_all(const dm_compute *row, dm_view sums);

/* All rows. */
enum { DM_COMPUTES = 9 };
extern const dm_compute dm_computes[DM_COMPUTES];

/* Whether GPUs take it by kernels of their own, which need compute capability 9.0. */
bool dm_compute_needs_hopper(const dm_compute *row);

/* The first row that multiplies OPERAND, or the parts of a complex one. */
const dm_compute *dm_compute_by(dm_operand operand);

/* Whether it is what auto chooses for its work type. */
bool dm_compute_is_plain(const dm_compute *row);

/* What products of WORK by ROW are called: by their type where the row is plain. */
const char *dm_compute_products(const dm_compute *row, dm_dtype work);

/* The type whose parts are PART if IS_COMPLEX, else PART. */
dm_dtype dm_compute_type(dm_dtype part, bool is_complex);

/* What rates of products of WORK by ROW are listed by. */
dm_operand dm_compute_operand(const dm_compute *row, dm_dtype work);

/* In which sums of products of WORK are held where its plain row multiplies it. */
dm_dtype dm_compute_sum(dm_dtype work);

#endif
