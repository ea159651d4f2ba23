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
  int64_t piece;       /* of k, whose sums of numbers of one sign are right to 1e-5 there; 0: any */
  bool own_kernels;    /* GPUs need kernels of ours for it, which not every GPU has */
  bool scans;          /* all of k is scanned for exponents before the first product */
  bool falls_back;     /* what it does not suit is multiplied natively, and counted */
  /* Read only here and in backends: which products these are. */
  int moduli;  /* not 0: of residues (core/residues.h) */
  bool splits; /* of operands that are sums of two of type OPERAND (core/split.h) */
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

/* A product on a GPU: rows and columns of a block of C, depth of k, and width of a panel, in
 * elements. WIDE: columns of C's block with all accumulators. PREPARED: how often op(B) is
 * converted or split. */
typedef struct dm_compute_extent {
  dm_dtype work, sum;
  int64_t rows, cols, depth, width, wide;
  double prepared;
} dm_compute_extent;

/* Device memory for a product besides operands and sums; saturating. */
int64_t dm_compute_scratch(const dm_compute *row, const dm_compute_extent *extent);

/* Bytes that a product moves in device memory besides those of the multiplication itself. */
double dm_compute_moved(const dm_compute *row, const dm_compute_extent *extent);

/* Real products of WORK on a GPU in proportion to those by the definition: complex numbers may need
 * three instead of four. */
double dm_compute_share(const dm_compute *row, dm_dtype work);

/* Largest depth of k in one product of WORK on a GPU. */
double dm_compute_depth(const dm_compute *row, dm_dtype work);

/* The first row that multiplies OPERAND, or the parts of a complex operand. */
const dm_compute *dm_compute_by(dm_operand operand);

/* Whether auto chooses it for its work type. */
bool dm_compute_is_plain(const dm_compute *row);

/* Whether sums are exact, and so the same in any order: those of integers, and of residues. */
bool dm_compute_is_exact(const dm_compute *row);

/* The name of products of WORK by ROW; for a plain row the name of their type. */
const char *dm_compute_products(const dm_compute *row, dm_dtype work);

/* The complex type with parts of type PART if IS_COMPLEX, else PART. */
dm_dtype dm_compute_type(dm_dtype part, bool is_complex);

/* The index into rates for products of WORK by ROW. */
dm_operand dm_compute_operand(const dm_compute *row, dm_dtype work);

/* The type of sums of products of WORK in its plain row. */
dm_dtype dm_compute_sum(dm_dtype work);

/* Exponents of the powers of two that scale the rows and columns of a part of C, if the mode has
 * moduli; stored with the operands. */
typedef struct dm_exponents {
  const int32_t *rows, *cols;
} dm_exponents;

/* The CPU's functions for a mode with a FINISH; no library has them. CONTEXT is passed as their
 * first argument. */
typedef struct dm_compute_calls {
  void *context;
  /* C[x] (+)= accumulator x's part of A B; called for parts of k in ascending order. With k = 0,
   * C[x] becomes 0 or, if ACCUMULATE, stays unchanged. */
  void (*product)(void *context, const dm_view *c, dm_view a, dm_view b, bool accumulate,
                  dm_exponents exponents);
  /* Computes the sums of COUNT elements of one row. */
  void (*finish)(void *context, void *sums, const void *const *accumulators, int64_t count,
                 dm_exponents exponents);
  /* (optional) C[x] += MORE[x]: adds the accumulators of two layers if they are not plain
   * numbers. */
  void (*join)(void *context, const dm_view *c, const dm_view *more);
} dm_compute_calls;

/* Whether the number with these parts is 0. */
static inline bool dm_is_zero(const double parts[2]) {
  return parts[0] == 0.0 && parts[1] == 0.0;
}

/* ---- --compute, and the row of the table of modes that it chooses ---- */

/* Values of --compute: "auto", "f64", ..., NULL at the end. */
extern const char *const dm_compute_names[];

/* A choice of --compute: an index into the names, plus 256 times the number of moduli, 0 for the
 * row's default. */
typedef int dm_compute_choice;

/* Parses "f64", "f64:int8:16", ...; false if TEXT is not a choice; *choice is then unchanged. */
bool dm_compute_parse(const char *text, dm_compute_choice *choice);
void dm_compute_choice_text(dm_compute_choice choice, char text[24]);
/* The number of moduli that CHOICE states; 0: the row's default. */
int dm_compute_moduli(dm_compute_choice choice);
/* "fastest": the planner may choose another row than auto's if it is faster and not less
 * accurate. */
bool dm_compute_is_fastest(dm_compute_choice choice);

/* The row that multiplies inputs of type INPUT with depth K for CHOICE. K determines the number of
 * moduli unless CHOICE states it. auto never lowers the inputs' precision; fastest starts from
 * auto's row. DM_E_USAGE if no row fits. */
dm_status dm_compute_choose(dm_compute_choice choice, dm_dtype input, int64_t k, dm_compute *row);

/* The rows of ROWS, and their number, that are as accurate as PLAIN, a plain one, for products of
 * WORK with depth K, and may be faster on GPUs with our kernels. */
int dm_compute_alternatives(const dm_compute *plain, dm_dtype work, int64_t k,
                            dm_compute rows[DM_COMPUTES]);

/* The choice for matrices that ROW, chosen for WANTED, does not suit: with MODULI if that many are
 * enough (not 0) and WANTED leaves them open, else natively, which suits any matrices. */
dm_compute_choice dm_compute_fallback(dm_compute_choice wanted, const dm_compute *row, int moduli);

/* f of the a priori bound of C's error, f u |A| |B|, if the row has one of its own; else 0. */
double dm_compute_factor(const dm_compute *row, dm_dtype work, int64_t k);

#endif
