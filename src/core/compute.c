#include "core/compute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/residues.h"
#include "core/split.h"

enum {
  REAL = 1 << DM_F64 | 1 << DM_F32 | 1 << DM_F16 | 1 << DM_BF16,
  COMPLEX = 1 << DM_C64 | 1 << DM_C128,
  FLOATING = REAL | COMPLEX,
  COMPUTE_LONG = 1 << DM_F64 | 1 << DM_F32 | COMPLEX,
};

/* A mode with one product per element, of unconverted operands, summed in type SUMS. */
#define ONE_PRODUCT(type, sums)                                                                    \
  .work = (type), .operand = (type), .products = 1, .accumulator = (sums), .accumulators = 1,      \
  .sum = (sums)
/* int8 products instead of those of TYPE: with MODULI of this number as accurate for most data. */
#define RESIDUES(type, number)                                                                     \
  .work = (type), .operand = DM_I8, .products = (number), .accumulator = DM_I8,                    \
  .accumulators = (number), .sum = (type), .finish = DM_FINISH_LAST, .panel_bytes = (number),      \
  .own_kernels = true, .scans = true, .moduli = (number)
#define TENSOR_CORES .roundoff = 0x1p-24, .truncates = true

/* Sums of 16-bit products are f32 anyway, so --compute f32 does not convert 16-bit inputs. */
/* clang-format off */
const dm_compute dm_computes[DM_COMPUTES] = {
    {"f64", "f64", FLOATING, FLOATING, ONE_PRODUCT(DM_F64, DM_F64), .roundoff = 0x1p-53},
    {"f32", "f32", COMPUTE_LONG, FLOATING, ONE_PRODUCT(DM_F32, DM_F32), .roundoff = 0x1p-24},
    /* tensor cores truncate f32 inputs to TF32 */
    {"tf32", "tf32", FLOATING, FLOATING, .work = DM_F32, .operand = DM_TF32, .products = 1,
     .accumulator = DM_F32, .accumulators = 1, .sum = DM_F32, TENSOR_CORES, .shortening = 0x1p-10},
    /* numbers of one sign become too small in proportion to k (H200, k = 16384: f16 by 9.5e-5) */
    {"f16", "f32", 1 << DM_F16, FLOATING, ONE_PRODUCT(DM_F16, DM_F32), TENSOR_CORES, .piece = 1536},
    {"bf16", "f32", 1 << DM_BF16, FLOATING, ONE_PRODUCT(DM_BF16, DM_F32), TENSOR_CORES,
     .piece = 3072},
    {"i8", "", 1 << DM_I8, 1 << DM_I32, ONE_PRODUCT(DM_I8, DM_I32)},
    {"f64:int8:15", "f64:int8", FLOATING, FLOATING, RESIDUES(DM_F64, 15), .roundoff = 0x1p-53},
    {"f32:int8:8", "f32:int8", FLOATING, FLOATING, RESIDUES(DM_F32, 8), .roundoff = 0x1p-24},
    /* tensor cores truncate sums of few products; small numbers lose most when they are split */
    {"f32:f16", "f32:f16", COMPUTE_LONG, FLOATING, .work = DM_F32, .operand = DM_F16,
     .products = 3, .accumulator = DM_F32, .accumulators = 1, .sum = DM_F32, .panel_bytes = 4,
     .roundoff = 0x1p-24, .shortening = 0x1p-18, .own_kernels = true,
     .falls_back = true, .splits = true},
};
/* clang-format on */

dm_status dm_compute_check(const dm_compute *row) {
  const bool plain = row->finish == DM_NO_FINISH;
  const bool fits = row->accumulators >= 1 && row->accumulators <= DM_ACCUMULATORS &&
                    row->products >= 1 &&
                    row->accumulators * dm_dtype_size(row->accumulator) >= dm_dtype_size(row->sum);
  const bool is_sum = row->accumulators == 1 && row->accumulator == row->sum;
  if (fits && (is_sum || !plain)) return DM_OK;
  return dm_fail(DM_E_BUG, "the accumulators of '%.15s' are not sums", row->name);
}

int64_t dm_compute_plane(const dm_compute *row, int64_t cols) {
  /* Then rows are multiples of a sum's size, and planes of bytes multiples of what a GPU stores at
   * once. */
  const int64_t whole = row->moduli > 0 ? 16 : 8;
  return row->finish == DM_NO_FINISH ? cols : dm_round_up(cols, whole);
}

int64_t dm_compute_parts(const dm_compute *row, dm_dtype sum) {
  return row->moduli > 0 && dm_dtype_is_complex(sum) ? 2 : 1;
}

/* The type of accumulators for sums of type SUM. */
static dm_dtype compute_type_of(const dm_compute *row, dm_dtype sum) {
  if (row->moduli > 0) return row->accumulator;
  return dm_compute_type(row->accumulator, dm_dtype_is_complex(sum));
}

int64_t dm_compute_width(const dm_compute *row, dm_dtype sum, int64_t cols) {
  if (row->finish == DM_NO_FINISH) return cols;
  const int64_t plane = dm_compute_plane(row, dm_compute_parts(row, sum) * cols);
  return row->accumulators * plane * dm_dtype_size(compute_type_of(row, sum)) / dm_dtype_size(sum);
}

int64_t dm_compute_added(const dm_compute *row, dm_dtype sum, int64_t cols) {
  return row->finish == DM_FINISH_LAST ? dm_compute_width(row, sum, cols) : cols;
}

/* The rows of SUMS viewed as accumulators. */
static dm_view seen_as(const dm_compute *row, dm_view sums, int64_t cols) {
  const dm_dtype type = compute_type_of(row, sums.dtype);
  const int64_t stride = sums.row_stride * dm_dtype_size(sums.dtype) / dm_dtype_size(type);
  return dm_view_strided(sums.base, type, sums.space, sums.rows, cols, stride);
}

dm_view dm_compute_first(const dm_compute *row, dm_view sums) {
  return seen_as(row, sums, dm_compute_parts(row, sums.dtype) * sums.cols);
}

dm_view dm_compute_all(const dm_compute *row, dm_view sums) {
  const int64_t cols = dm_compute_parts(row, sums.dtype) * sums.cols;
  return seen_as(row, sums, row->accumulators * dm_compute_plane(row, cols));
}

const dm_compute *dm_compute_by(dm_operand operand) {
  if (operand < DM_DTYPE_COUNT) operand = (dm_operand)dm_dtype_real((dm_dtype)operand);
  for (int i = 0; i < DM_COMPUTES; i++)
    if (dm_computes[i].operand == operand) return &dm_computes[i];
  return NULL;
}

bool dm_compute_is_plain(const dm_compute *row) {
  return strcmp(row->name, dm_dtype_name(row->work)) == 0;
}

bool dm_compute_is_exact(const dm_compute *row) {
  return row->operand < DM_DTYPE_COUNT && dm_dtype_is_integer((dm_dtype)row->operand);
}

const char *dm_compute_products(const dm_compute *row, dm_dtype work) {
  return dm_compute_is_plain(row) ? dm_dtype_name(work) : row->name;
}

dm_dtype dm_compute_type(dm_dtype part, bool is_complex) {
  if (!is_complex) return part;
  return part == DM_F64 ? DM_C128 : DM_C64;
}

dm_operand dm_compute_operand(const dm_compute *row, dm_dtype work) {
  const bool of_parts = row->moduli > 0 || row->splits; /* products are real */
  return dm_dtype_is_complex(work) && !of_parts ? (dm_operand)work : row->operand;
}

dm_dtype dm_compute_sum(dm_dtype work) {
  const dm_compute *row = dm_compute_by((dm_operand)work);
  return row ? dm_compute_type(row->sum, dm_dtype_is_complex(work)) : work;
}

const char *dm_operand_name(dm_operand operand) {
  return operand == DM_TF32 ? "tf32" : dm_dtype_name((dm_dtype)operand);
}

dm_dtype dm_operand_dtype(dm_operand operand) {
  return operand == DM_TF32 ? DM_F32 : (dm_dtype)operand;
}

enum {
  COMPUTE_SHORT =
      4096,      /* below this depth residues use one modulus more: native sums lose less there */
  CHOICES = 256, /* a choice holds the number of moduli times CHOICES */
};

enum { AUTO, FASTEST }; /* indices of dm_compute_names */
const char *const dm_compute_names[] = {"auto",     "fastest",  "f64",     "f32", "tf32",
                                        "f64:int8", "f32:int8", "f32:f16", NULL};

/* Byte accumulators are finished in place: they must not be shorter than the sum. */
static bool has_moduli(const char *name, int64_t moduli) {
  for (int i = 0; i < DM_COMPUTES; i++) {
    const dm_compute *row = &dm_computes[i];
    if (row->moduli > 0 && strcmp(row->option, name) == 0)
      return moduli >= dm_dtype_size(row->sum) && moduli <= DM_MODULI_MOST;
  }
  return false;
}

bool dm_compute_parse(const char *text, dm_compute_choice *choice) {
  for (int i = 0; dm_compute_names[i]; i++) {
    const char *name = dm_compute_names[i];
    const size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || (text[length] && text[length] != ':')) continue;
    const char *number = text + length + 1;
    const int moduli = text[length] ? (int)strtol(number, NULL, 10) : 0;
    char same[16];
    snprintf(same, sizeof same, "%d", moduli);
    if (text[length] && (strcmp(number, same) != 0 || !has_moduli(name, moduli))) continue;
    *choice = i + CHOICES * moduli;
    return true;
  }
  return false;
}

static const char *compute_name_of(dm_compute_choice choice) {
  return dm_compute_names[choice % CHOICES];
}

void dm_compute_choice_text(dm_compute_choice choice, char text[24]) {
  const int moduli = dm_compute_moduli(choice);
  snprintf(text, 24, moduli == 0 ? "%s" : "%s:%d", compute_name_of(choice), moduli);
}

int dm_compute_moduli(dm_compute_choice choice) {
  return choice / CHOICES;
}

static bool is_for(const dm_compute *row, dm_compute_choice choice, dm_dtype input) {
  if (choice == AUTO || choice == FASTEST)
    return dm_compute_is_plain(row) && row->work == dm_dtype_real(input);
  return strcmp(row->option, compute_name_of(choice)) == 0 && row->inputs >> input & 1;
}

/* Rows and columns are truncated at 2^-L of their norms, 2 L = log2 (P / 2); check/freivalds.h
 * states the effect on the bound. */
static void set_moduli(dm_compute *row, int moduli) {
  dm_moduli table;
  snprintf(row->name, sizeof row->name, "%.11s:%d", row->option, moduli % 100);
  row->moduli = row->products = row->accumulators = moduli;
  row->panel_bytes = moduli;
  dm_moduli_make(moduli, &table);
  row->roundoff = fmax(row->roundoff, exp2(3.0 - 0.5 * (floor(dm_moduli_bits(&table)) - 1.0)));
}

/* Integers other than i8 have to be converted. */
static dm_status not_multiplied(dm_dtype input) {
  const char *name = dm_dtype_name(input);
  dm_status status = input == DM_I32
                         ? dm_fail(DM_E_USAGE, "i32 matrices are results, not factors")
                         : dm_fail(DM_E_USAGE, "%s matrices need --type to be multiplied", name);
  if (!dm_dtype_holds(DM_F64, input))
    return dm_hint(status, "--type f64 --allow-rounding rounds what f64 cannot hold exactly");
  return dm_hint(status, "--type %s holds every %s exactly",
                 dm_dtype_holds(DM_F32, input) ? "f32" : "f64", name);
}

static dm_status not_in(dm_dtype input, dm_compute_choice choice) {
  if (dm_dtype_is_complex(input))
    return dm_hint(dm_fail(DM_E_USAGE, "%s matrices are not multiplied in %s", dm_dtype_name(input),
                           compute_name_of(choice)),
                   "--compute auto multiplies them in their own precision");
  return dm_hint(dm_fail(DM_E_USAGE, "%s matrices are multiplied exactly, not in %s",
                         dm_dtype_name(input), compute_name_of(choice)),
                 "--type f32 or --type f64 converts the inputs first");
}

/* DEPTH: real products per element. */
static int moduli_of(dm_compute_choice choice, int64_t depth, const dm_compute *row) {
  if (dm_compute_moduli(choice) > 0) return dm_compute_moduli(choice);
  return row->moduli + (depth < COMPUTE_SHORT ? 1 : 0);
}

dm_status dm_compute_choose(dm_compute_choice choice, dm_dtype input, int64_t k, dm_compute *row) {
  if (dm_dtype_is_integer(input) && input != DM_I8) return not_multiplied(input);
  for (int i = 0; i < DM_COMPUTES; i++)
    if (is_for(&dm_computes[i], choice, input)) {
      *row = dm_computes[i];
      if (row->moduli > 0)
        set_moduli(row, moduli_of(choice, dm_compute_parts(row, input) * k, row));
      return DM_OK;
    }
  return not_in(input, choice);
}

bool dm_compute_is_fastest(dm_compute_choice choice) {
  return choice == FASTEST;
}

int dm_compute_alternatives(const dm_compute *plain, dm_dtype work, int64_t k,
                            dm_compute rows[DM_COMPUTES]) {
  const int64_t depth = dm_dtype_is_complex(work) ? 2 * k : k; /* real products */
  int count = 0;
  for (int i = 0; i < DM_COMPUTES && dm_compute_is_plain(plain); i++) {
    dm_compute *row = &rows[count];
    *row = dm_computes[i];
    if (row->work != plain->work) continue;
    if (row->moduli > 0) set_moduli(row, moduli_of(AUTO, dm_compute_parts(row, work) * k, row));
    const bool splits = row->splits && dm_split_factor(depth) <= (double)depth;
    count += row->moduli > 0 || splits;
  }
  return count;
}

dm_compute_choice dm_compute_fallback(dm_compute_choice wanted, const dm_compute *row, int moduli) {
  dm_compute_choice natively = wanted;
  if (moduli > 0 && dm_compute_moduli(wanted) == 0 && !dm_compute_is_fastest(wanted))
    return wanted % CHOICES + CHOICES * moduli;
  (void)dm_compute_parse(dm_dtype_name(row->work), &natively);
  return natively;
}

double dm_compute_factor(const dm_compute *row, dm_dtype work, int64_t k) {
  const int64_t depth = dm_dtype_is_complex(work) ? 2 * k : k;
  return row->splits ? fmax((double)depth, dm_split_factor(depth)) : 0;
}

/* ---- what products on a GPU cost besides the multiplication ---- */

static int64_t compute_parts_of(dm_dtype work) {
  return dm_dtype_is_complex(work) ? 2 : 1;
}

/* Planes of residues per modulus. */
static int64_t planes_of(dm_dtype work) {
  return dm_dtype_is_complex(work) ? DM_RESIDUES_PLANES : 1;
}

/* Residues of a part of a panel of A and of B, and in the same memory sums of some rows. */
static int64_t residue_bytes(const dm_compute *row, const dm_compute_extent *e) {
  const int64_t parts = compute_parts_of(e->work), cols = dm_sat_mul(parts, e->cols);
  const int64_t depth =
      dm_sat_round_up(dm_min(e->width, DM_RESIDUES_SPLIT / parts), DM_RESIDUES_ROW);
  const int64_t lines = dm_sat_add(dm_sat_round_up(e->rows, DM_RESIDUES_ROWS),
                                   dm_sat_round_up(e->cols, DM_RESIDUES_ROWS));
  const int64_t sums = dm_min(dm_laid_out(DM_DEVICE, e->rows, cols, 8),
                              dm_max(DM_RESIDUES_SUMS, dm_laid_out(DM_DEVICE, 1, cols, 8)));
  const int64_t planes = dm_sat_mul(planes_of(e->work), row->panel_bytes);
  return dm_max(dm_sat_mul(planes, dm_sat_mul(lines, depth)), sums);
}

/* Split parts of a panel of A and of B, statistics of their lines, exponents and lists. */
static int64_t split_bytes(const dm_compute *row, const dm_compute_extent *e) {
  const int64_t parts = compute_parts_of(e->work);
  const int64_t cols = dm_sat_mul(parts, e->cols), lines = dm_sat_add(e->rows, cols);
  const int64_t depth = dm_min(dm_sat_mul(parts, e->width), DM_SPLIT_DEPTH);
  const int64_t elements = dm_sat_add(dm_sat_mul(e->rows, dm_sat_round_up(depth, DM_SPLIT_ROW)),
                                      dm_sat_mul(depth, dm_sat_round_up(cols, DM_SPLIT_ROW)));
  return dm_sat_add(
      dm_sat_mul(row->panel_bytes, elements),
      dm_sat_add(DM_SPLIT_COUNTS, dm_sat_mul(2 * sizeof(int32_t) + sizeof(dm_split_line), lines)));
}

int64_t dm_compute_scratch(const dm_compute *row, const dm_compute_extent *e) {
  if (row->splits) return split_bytes(row, e);
  if (row->moduli > 0) return residue_bytes(row, e);
  const int64_t panels =
      dm_sat_add(dm_sat_bytes(e->rows, e->width, 1), dm_sat_bytes(e->width, e->cols, 1));
  return dm_sat_add(dm_sat_mul(row->panel_bytes, panels),
                    dm_sat_bytes(e->rows, e->cols, row->tile_bytes));
}

/* A is read once and B twice; complex numbers of B are written in two rows. */
static double split_moved(const dm_compute *row, const dm_compute_extent *e) {
  const double parts = (double)compute_parts_of(e->work), halves = parts * (double)row->panel_bytes;
  const double work = (double)dm_dtype_size(e->work);
  return (double)e->depth *
         ((double)e->rows * (work + halves) + (double)e->cols * (2 * work + parts * halves));
}

/* A and B are split; finally sums are computed and moved to their place. */
static double residue_moved(const dm_compute *row, const dm_compute_extent *e) {
  const double planes = (double)planes_of(e->work) * (double)row->panel_bytes;
  const double each = (double)dm_dtype_size(e->work) + planes;
  const double of_panels =
      (double)e->depth * ((double)e->rows + (double)e->cols * e->prepared) * each;
  const double of_c =
      (double)e->rows * (double)dm_dtype_size(e->sum) * (double)(e->wide + 3 * e->cols);
  return of_panels + of_c;
}

double dm_compute_moved(const dm_compute *row, const dm_compute_extent *extent) {
  if (row->splits) return split_moved(row, extent);
  return row->moduli > 0 ? residue_moved(row, extent) : 0;
}

double dm_compute_share(const dm_compute *row, dm_dtype work) {
  return row->moduli > 0 && dm_dtype_is_complex(work) ? DM_RESIDUES_PLANES / 4.0 : 1;
}

double dm_compute_depth(const dm_compute *row, dm_dtype work) {
  const double parts = (double)compute_parts_of(work);
  if (row->splits) return DM_SPLIT_DEPTH / parts;
  return row->moduli > 0 ? DM_RESIDUES_SPLIT / parts : INFINITY;
}
