/* compute: compute modes, the precisions of products and sums. A mode is a row of one table, or of
 * a caller's own; all properties of a mode are read from its row. */
#ifndef DM_CORE_COMPUTE_H
#define DM_CORE_COMPUTE_H

#include "core/dtype.h"
#include "core/status.h"
#include "core/view.h"

/* What the hardware multiplies: elements of a dm_dtype, or f32 truncated to TF32. Rates and kernels
 * are indexed by it. */
typedef int dm_operand;
enum { DM_TF32 = DM_DTYPE_COUNT, DM_OPERANDS };

/* "f32", "tf32", ... */
const char *dm_operand_name(dm_operand operand);

/* The type of such operands in memory. */
dm_dtype dm_operand_dtype(dm_operand operand);

/* When FINISH computes the sum of an element of C from its accumulators: before the layers' sums
 * are added, or after their accumulators have been added. */
typedef enum dm_finish_place {
  DM_NO_FINISH, /* one accumulator, which is the sum */
  DM_FINISH_FIRST,
  DM_FINISH_LAST,
} dm_finish_place;

/* Plain data: sent between ranks with the plan. Types are real; complex matrices use the row of
 * their parts' type. */
typedef struct dm_compute {
  char name[16];        /* in records; for plain modes the operand's name */
  char option[16];      /* for --compute; empty: only auto chooses it */
  unsigned inputs;      /* input types, as a set of 1 << dm_dtype, and ... */
  unsigned results;     /* ... types that C may have */
  dm_dtype work;        /* inputs are converted to it and moved in it */
  dm_operand operand;   /* what the hardware multiplies, ... */
  int products;         /* ... and the number of such products per panel */
  dm_dtype accumulator; /* type of the accumulators, ... */
  int accumulators;     /* ... their number per element of C, ... */
  dm_dtype sum;         /* ... and the type of FINISH's result */
  dm_finish_place finish;
  int64_t panel_bytes; /* scratch memory for each element of a panel of A or B, ... */
  int64_t tile_bytes;  /* ... and for each element of a block of C */
  double roundoff;     /* unit roundoff of the sums, ... */
  double shortening;   /* ... relative error of truncated operands, ... */
  bool truncates;      /* ... and whether sums on tensor cores truncate low bits */
  int moduli;          /* not 0: products are of residues (core/residues.h); all of k is scanned
                          before the first product */
  bool splits;         /* operands are sums of two of type OPERAND (core/split.h); each panel has
                          its own exponents */
} dm_compute;

enum { DM_ACCUMULATORS = 32 }; /* maximum per element */

/* DM_E_BUG if the numbers of ROW contradict each other. */
dm_status dm_compute_check(const dm_compute *row);

/* Numbers in each accumulator of an element of SUM: residues of complex numbers have two parts. */
int64_t dm_compute_parts(const dm_compute *row, dm_dtype sum);

/* Elements from one accumulator to the next in a row of C with COLS columns. Accumulators are side
 * by side in each row of a block, so that any range of rows holds whole elements of C, finished or
 * not. */
int64_t dm_compute_plane(const dm_compute *row, int64_t cols);

/* Width, in elements of SUM, of a block's row of COLS with all its accumulators. */
int64_t dm_compute_width(const dm_compute *row, dm_dtype sum, int64_t cols);
/* Width of a row when layers are added: with all accumulators, or only the finished sums. */
int64_t dm_compute_added(const dm_compute *row, dm_dtype sum, int64_t cols);

/* The first accumulators in SUMS, which become the finished sums: rows of all COLS of a block. */
dm_view dm_compute_first(const dm_compute *row, dm_view sums);
/* All accumulators of SUMS as one wide matrix. */
dm_view dm_compute_all(const dm_compute *row, dm_view sums);

/* The number of rows. */
enum { DM_COMPUTES = 9 };
extern const dm_compute dm_computes[DM_COMPUTES];

/* Whether GPUs need their own kernels for it, with compute capability 9.0. */
bool dm_compute_needs_hopper(const dm_compute *row);

/* The first row that multiplies OPERAND, or the parts of a complex operand. */
const dm_compute *dm_compute_by(dm_operand operand);

/* Whether auto chooses it for its work type. */
bool dm_compute_is_plain(const dm_compute *row);

/* The name of products of WORK by ROW; for a plain row the name of their type. */
const char *dm_compute_products(const dm_compute *row, dm_dtype work);

/* The complex type with parts of type PART if IS_COMPLEX, else PART. */
dm_dtype dm_compute_type(dm_dtype part, bool is_complex);

/* The index into rates for products of WORK by ROW. */
dm_operand dm_compute_operand(const dm_compute *row, dm_dtype work);

/* The type of sums of products of WORK in its plain row. */
dm_dtype dm_compute_sum(dm_dtype work);

#endif
