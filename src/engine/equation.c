#include "engine/equation.h"

#include <math.h>

#include "core/checked.h"
#include "core/compute.h"

/* C of integers by products in f64, whose inputs dm_problem_of looks at. */
static bool is_integral_by_f64(const dm_problem *problem) {
  return (problem->c == DM_I32 || problem->c == DM_I64) && problem->work == DM_F64 &&
         dm_compute_is_plain(&problem->compute);
}

static bool result_allowed(const dm_problem *problem) {
  const dm_dtype c = problem->c;
  if (is_integral_by_f64(problem)) return true;
  return problem->compute.results >> c & 1 &&
         dm_dtype_is_complex(c) == dm_dtype_is_complex(problem->work);
}

dm_status dm_types_of(dm_dtype input, const dm_equation *equation, dm_problem *problem) {
  dm_compute *row = &problem->compute;
  const bool is_complex = dm_dtype_is_complex(input);
  if (equation->own)
    *row = *equation->own;
  else
    DM_TRY(dm_compute_choose(equation->compute, input, problem->k, row));
  DM_TRY(dm_compute_check(row));
  if (equation->accumulate_stated && row->piece == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "sums of products of %s are not added in pieces",
                           dm_compute_products(row, dm_compute_type(row->work, is_complex))),
                   "--accumulate is for products of f16 and bf16; leave it out");
  if (equation->accumulate == DM_ACCUMULATE_FAST) row->piece = 0;
  problem->fastest = !equation->own && dm_compute_is_fastest(equation->compute);
  problem->work = dm_compute_type(row->work, is_complex);
  problem->accumulator = dm_compute_type(row->sum, is_complex);
  problem->c = equation->type_c != DM_DTYPE_NONE ? equation->type_c : dm_compute_sum(input);
  if (!result_allowed(problem))
    return dm_hint(dm_fail(DM_E_USAGE, "products of %s cannot be written as %s",
                           dm_dtype_name(problem->work), dm_dtype_name(problem->c)),
                   "real products are written as f64, f32, f16 or bf16, complex ones as c128 or "
                   "c64, products of integers as i32 or i64 (--type i64)");
  return DM_OK;
}

/* Checks that values FROM a file, if integers, can be converted to TYPE without rounding. ALL: the
 * other factor has integers, too. */
static dm_status check_rounding(const dm_dataset *input, dm_dtype type, bool rounds, bool all) {
  const dm_dtype from = dm_dataset_type(input);
  char name[DM_NAME];
  if (!dm_dtype_is_integer(from) || dm_dtype_holds(type, from)) return DM_OK;
  if (rounds && !dm_dtype_is_integer(type)) return DM_OK;
  dm_status status =
      dm_fail(DM_E_USAGE, "%s is %s, which %s cannot hold exactly",
              dm_location_name(&input->at, name), dm_dtype_name(from), dm_dtype_name(type));
  if (dm_dtype_is_integer(type)) return status;
  if (!dm_dtype_is_complex(type) && dm_dtype_holds(DM_F64, from))
    return dm_hint(status, "--type f64 holds every %s exactly; --allow-rounding rounds them",
                   dm_dtype_name(from));
  return dm_hint(status, "%s--allow-rounding rounds them",
                 all ? "--type i64 multiplies integers exactly; " : "");
}

/* NaN is no integer. */
static dm_status equation_check_missing(const dm_dataset *input, dm_dtype type) {
  const dm_meaning *m = &input->meaning;
  char name[DM_NAME];
  if (!m->found || m->missing != DM_MISSING_NAN || !dm_dtype_is_integer(type)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "missing values of %s cannot become NaN in %s",
                         dm_location_name(&input->at, name), dm_dtype_name(type)),
                 "--type f64 converts the matrices; --missing zero takes 0 instead");
}

/* The type of DATASET's elements; what is centered or scaled is never an integer. */
static dm_dtype equation_type_of(const dm_dataset *dataset, const dm_standard *standard) {
  const dm_dtype type = dm_dataset_type(dataset);
  return dm_standard_changes(standard) && dm_dtype_is_integer(type) ? DM_F64 : type;
}

/* The narrowest type that matrices of both TYPES can be multiplied in without loss; of integers
 * alone f64. */
static dm_dtype type_of_both(const dm_dtype types[2]) {
  const dm_dtype narrow_first[] = {types[0], types[1], DM_F32, DM_F64};
  const bool whole = dm_dtype_is_integer(types[0]) && dm_dtype_is_integer(types[1]);
  for (int i = whole ? 3 : 0; i < 4; i++)
    if (!dm_dtype_is_integer(narrow_first[i]) && dm_dtype_holds(narrow_first[i], types[0]) &&
        dm_dtype_holds(narrow_first[i], types[1]))
      return narrow_first[i];
  return dm_dtype_is_complex(types[0]) || dm_dtype_is_complex(types[1]) ? DM_C128 : DM_F64;
}

dm_dtype dm_equation_promotes(const dm_dataset *a, const dm_dataset *b,
                              const dm_equation *equation) {
  const dm_dtype types[] = {equation_type_of(a, &equation->standard[0]),
                            equation_type_of(b, &equation->standard[1])};
  if (equation->type != DM_DTYPE_NONE || equation->own) return DM_DTYPE_NONE;
  const bool taken = !dm_dtype_is_integer(types[0]) || types[0] == DM_I8;
  return types[0] == types[1] && taken ? DM_DTYPE_NONE : type_of_both(types);
}

static dm_status input_type(const dm_dataset *a, const dm_dataset *b, const dm_equation *equation,
                            dm_dtype *input) {
  const dm_dtype type = equation->type;
  const dm_dtype types[] = {equation_type_of(a, &equation->standard[0]),
                            equation_type_of(b, &equation->standard[1])};
  *input = type != DM_DTYPE_NONE ? type : types[0];
  DM_TRY(equation_check_missing(a, *input));
  DM_TRY(equation_check_missing(b, *input));
  if (type == DM_DTYPE_NONE) {
    if (types[0] == types[1]) return DM_OK;
    return dm_hint(dm_fail(DM_E_USAGE, "A is %s and B is %s", dm_dtype_name(types[0]),
                           dm_dtype_name(types[1])),
                   "--type %s converts both", dm_dtype_name(type_of_both(types)));
  }
  const dm_dataset *inputs[] = {a, b};
  for (int i = 0; i < 2; i++) {
    dm_dtype from = types[i];
    char name[DM_NAME];
    dm_location_name(&inputs[i]->at, name);
    if (dm_dtype_is_complex(from) && !dm_dtype_is_complex(type))
      return dm_fail(DM_E_USAGE, "%s is complex; --type %s would drop its imaginary part", name,
                     dm_dtype_name(type));
    if (dm_dtype_is_integer(type) && type != from)
      return dm_hint(dm_fail(DM_E_USAGE, "%s is %s, which is not converted to %s", name,
                             dm_dtype_name(from), dm_dtype_name(type)),
                     dm_dtype_is_integer(from) ? "--type f32 or f64 converts it" : "");
    const dm_standard *s = &equation->standard[i];
    const bool whole = equation->type_c == DM_I32 || equation->type_c == DM_I64;
    if (s->center == DM_NO_LINES && s->scale == DM_NO_LINES)
      DM_TRY(check_rounding(inputs[i], type, equation->rounds || whole, /* what is read tells */
                            dm_dtype_is_integer(types[!i])));
  }
  return DM_OK;
}

/* C of whole numbers is that of A and B as they are. */
static dm_status equation_check_integers(const dm_dataset *a, const dm_dataset *b,
                                         const dm_equation *equation, dm_problem *problem) {
  const dm_dataset *inputs[] = {a, b};
  char name[DM_NAME];
  if (!dm_problem_is_integral(problem)) return DM_OK;
  problem->fastest = false;
  for (int i = 0; i < 2; i++) {
    const dm_dtype type = equation_type_of(inputs[i], &equation->standard[i]);
    if (!dm_dtype_is_integer(type))
      return dm_hint(
          dm_fail(DM_E_USAGE, "%s is %s%s: its products are no whole numbers in %s",
                  dm_location_name(&inputs[i]->at, name), dm_dtype_name(dm_dataset_type(inputs[i])),
                  dm_standard_changes(&equation->standard[i]) ? ", changed" : "",
                  dm_dtype_name(problem->c)),
          "--type i32 or --type i64 multiplies whole numbers exactly, --type f64 in f64");
    DM_TRY(equation_check_missing(inputs[i], type));
  }
  return DM_OK;
}

/* Lines that are scaled have two elements at least. */
static dm_status check_standard(const dm_dataset *dataset, const dm_standard *s) {
  const dm_lines lines = dm_standard_lines(s);
  char name[DM_NAME];
  if (lines == DM_NO_LINES) return DM_OK;
  if (s->scale != DM_NO_LINES && s->scale != lines)
    return dm_fail(DM_E_USAGE, "%s: rows are centered and columns scaled, or the reverse",
                   dm_location_name(&dataset->at, name));
  const int64_t length = lines == DM_COLUMN_LINES ? dataset->rows : dataset->cols;
  if (length > 1 || (length == 1 && (s->scale == DM_NO_LINES || s->by_length))) return DM_OK;
  return dm_fail(DM_E_INPUT, "%s: %s of %lld element%s have no %s",
                 dm_location_name(&dataset->at, name), dm_lines_name(lines), (long long)length,
                 length == 1 ? "" : "s", length == 1 ? "standard deviation" : "mean");
}

static dm_status check_divide(const dm_equation *equation, const dm_problem *problem) {
  const int64_t terms = problem->no_k ? 0 : problem->k;
  if (equation->divide == DM_NO_DIVISION) return DM_OK;
  if (dm_problem_is_exact(problem))
    return dm_hint(dm_fail(DM_E_USAGE, "products of %s are whole numbers, and are not divided",
                           problem->work == DM_I8 ? "i8" : "integers"),
                   "--type f32 or f64 converts the matrices");
  if (terms > (equation->divide == DM_DIVIDE_BY_N_LESS_1)) return DM_OK;
  return dm_fail(DM_E_INPUT, "a sum of %lld term%s cannot be divided by n%s", (long long)terms,
                 terms == 1 ? "" : "s", equation->divide == DM_DIVIDE_BY_N ? "" : "-1");
}

void dm_equation_divide(const dm_dataset *a, dm_equation *equation) {
  const int64_t terms = equation->op_a == DM_OP_N ? a->cols : a->rows;
  const dm_standard *s = &equation->standard[0];
  if (s->weighted || s->complete || s->relates) return; /* not known */
  dm_equation_divide_by((double)(terms - (equation->divide == DM_DIVIDE_BY_N_LESS_1)), equation);
}

void dm_equation_divide_by(double by, dm_equation *equation) {
  if (equation->divide == DM_NO_DIVISION) return;
  equation->divided = equation->divide;
  for (int i = 0; i < 2; i++) {
    equation->undivided[i] = equation->alpha[i];
    equation->alpha[i] /= by;
  }
  equation->divide = DM_NO_DIVISION;
}

static bool is_integer_i32(const double z[2]) {
  return z[1] == 0.0 && z[0] >= -2147483648.0 && z[0] <= 2147483647.0 &&
         z[0] == (double)(int64_t)z[0];
}

static dm_status check_scalars(const dm_equation *equation, const dm_problem *problem) {
  bool imaginary = equation->alpha[1] != 0.0 || equation->beta[1] != 0.0;
  if (imaginary && !dm_dtype_is_complex(problem->work))
    return dm_fail(DM_E_USAGE, "alpha and beta must be real for %s matrices",
                   dm_dtype_name(problem->work));
  if (dm_problem_is_integral(problem) && fabs(equation->alpha[0]) != 1.0)
    return dm_hint(dm_fail(DM_E_USAGE, "alpha must be 1 or -1 for whole numbers in %s",
                           dm_dtype_name(problem->c)),
                   "--type f64 multiplies in f64");
  if (dm_problem_is_exact(problem) &&
      (!is_integer_i32(equation->alpha) || !is_integer_i32(equation->beta)))
    return dm_fail(DM_E_USAGE, "alpha and beta must be whole numbers for %s matrices",
                   problem->work == DM_I8 ? "i8" : "integer");
  if (dm_problem_is_integral(problem) && equation->beta[0] != 0.0)
    return dm_hint(dm_fail(DM_E_USAGE, "an old C is not added to whole numbers in %s",
                           dm_dtype_name(problem->c)),
                   "--type f64 adds it in f64");
  return DM_OK;
}

/* Whether op(B) is op(A) transposed, or conjugate transposed. */
static bool is_with_itself(const dm_dataset *a, const dm_dataset *b, const dm_equation *e) {
  const bool turned = (e->op_a == DM_OP_N) != (e->op_b == DM_OP_N);
  const dm_standard *s = e->standard;
  return turned && dm_dataset_is_same(a, b) && a->centering == b->centering &&
         dm_standard_is_same(&s[0], &s[1]);
}

/* How C is symmetric: as stated, or because A and B are one dataset. */
static dm_status symmetry_of(const dm_dataset *a, const dm_dataset *b, const dm_equation *e,
                             dm_problem *problem) {
  const bool conjugates = e->op_a == DM_OP_C || e->op_b == DM_OP_C;
  const dm_symmetry symmetry =
      conjugates && dm_dtype_is_complex(problem->work) ? DM_HERMITIAN : DM_SYMMETRIC;
  const bool spoiled = symmetry == DM_HERMITIAN && (e->alpha[1] != 0.0 || e->beta[1] != 0.0);
  const bool halved = e->half != DM_BOTH_HALVES; /* then the old C is symmetric, too */
  problem->symmetry_found = !e->symmetric && (halved || !problem->reads_c) && !spoiled &&
                            a->batch == 0 && is_with_itself(a, b, e);
  if (e->symmetric || problem->symmetry_found) problem->symmetry = symmetry;
  if (e->symmetric && spoiled)
    return dm_fail(DM_E_USAGE, "alpha and beta must be real: C is Hermitian");
  problem->half = e->half;
  if (halved && problem->symmetry == DM_NO_SYMMETRY)
    return dm_hint(dm_fail(DM_E_USAGE, "C is not symmetric: both halves are needed"),
                   "--triangle applies to products of a dataset with itself, transposed");
  return DM_OK;
}

static void equation_shape_of(const dm_dataset *dataset, dm_op op, int64_t *rows, int64_t *cols) {
  *rows = op == DM_OP_N ? dataset->rows : dataset->cols;
  *cols = op == DM_OP_N ? dataset->cols : dataset->rows;
}

static dm_status check_old_c(const dm_dataset *c, bool rounds, const dm_problem *problem) {
  if (!c)
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but no old C is named"),
                   "--c FILE.h5:/dataset names it");
  if (c->rows != problem->m || c->cols != problem->n)
    return dm_fail(DM_E_INPUT, "the old C is %lld x %lld, the product %lld x %lld",
                   (long long)c->rows, (long long)c->cols, (long long)problem->m,
                   (long long)problem->n);
  const dm_dtype type = dm_dataset_type(c);
  if (dm_dtype_is_complex(type) && !dm_dtype_is_complex(problem->work))
    return dm_fail(DM_E_USAGE, "the old C is complex, the product is real");
  if (problem->work == DM_I8 && !dm_dtype_is_integer(type))
    return dm_fail(DM_E_USAGE, "the old C is %s; products of i8 need i32", dm_dtype_name(type));
  DM_TRY(equation_check_missing(c, dm_dtype_widest(problem->work)));
  return check_rounding(c, dm_dtype_widest(problem->work), rounds, false);
}

/* Bytes of an unpacked chunk; 0: there are none. */
static int64_t chunk_bytes(const dm_dataset *d) {
  return d->chunk_rows * d->chunk_cols * dm_dtype_size(d->dtype);
}

/* The exponents of residues are those of whole matrices. */
static dm_status check_batch(const dm_equation *equation, dm_problem *problem) {
  if (dm_problem_entries(problem) == 1) return DM_OK;
  problem->fastest = false;
  if (equation->symmetric) return dm_fail(DM_E_USAGE, "a batch has no symmetric products");
  if (problem->compute.moduli == 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "a batch is not multiplied by residues"),
                 "leave out --compute, or multiply its entries one by one");
}

/* op(A) is m x k, op(B) INNER x n. */
static dm_status do_not_fit(const dm_equation *equation, const dm_dataset *b, int64_t m, int64_t k,
                            int64_t inner, int64_t n) {
  dm_status status = dm_fail(DM_E_INPUT,
                             "op(A) is %lld x %lld and op(B) is %lld x %lld: the inner dimensions "
                             "differ",
                             (long long)m, (long long)k, (long long)inner, (long long)n);
  int64_t all;
  const int axes = dm_dataset_axes(b).count;
  if (axes > 1 && inner > 1 && n > 1 && equation->op_b == DM_OP_N && b->batch <= 1 &&
      !dm_mul_overflows(inner, n, &all) && all == k)
    return dm_hint(status, "--row-axes-b %d makes B a column, of as many elements as A has columns",
                   axes);
  const char other_a = equation->op_a == DM_OP_N ? 't' : 'n';
  const char other_b = equation->op_b == DM_OP_N ? 't' : 'n';
  if (m == inner && k == n)
    return dm_hint(status, "they fit with --op-a %c, or with --op-b %c", other_a, other_b);
  if (m == inner) return dm_hint(status, "they fit with --op-a %c", other_a);
  if (k == n) return dm_hint(status, "they fit with --op-b %c", other_b);
  if (m == n)
    return dm_hint(status,
                   "they fit in the other order, as B A; matrices of MATLAB, Julia and R are "
                   "transposed in HDF5, and B A is their A B (docs/howto/order.md)");
  return dm_hint(status, "dimensions are HDF5's own, as h5dump shows them; --op-a t and --op-b t "
                         "transpose");
}

dm_status dm_problem_of(const dm_dataset *a, const dm_dataset *b, const dm_dataset *c,
                        const dm_equation *equation, dm_problem *problem) {
  *problem = (dm_problem){.batch = a->batch, .file_a = a->dtype, .file_b = b->dtype};
  const int64_t entries = dm_problem_entries(problem);
  dm_problem_set_home(problem, DM_HOME_FILE);
  int64_t inner;
  equation_shape_of(a, equation->op_a, &problem->m, &problem->k);
  equation_shape_of(b, equation->op_b, &inner, &problem->n);
  if (problem->m % entries != 0 || inner % entries != 0 ||
      dm_problem_entries(problem) != dm_max(1, b->batch))
    return dm_fail(DM_E_INPUT,
                   "the %lld rows of op(A) and %lld of op(B) are not those of %lld "
                   "entries",
                   (long long)problem->m, (long long)inner, (long long)entries);
  inner /= entries;
  if (inner != problem->k)
    return do_not_fit(equation, b, dm_problem_entry_rows(problem), problem->k, inner, problem->n);
  if (problem->m == 0 || problem->n == 0)
    return dm_fail(DM_E_INPUT,
                   "op(A) is %lld x %lld and op(B) is %lld x %lld: the product is empty, and files "
                   "hold no empty matrices",
                   (long long)problem->m, (long long)problem->k, (long long)inner,
                   (long long)problem->n);
  problem->no_k = problem->k == 0;
  if (problem->no_k) problem->k = 1;
  dm_dtype input;
  DM_TRY(check_standard(a, &equation->standard[0]));
  DM_TRY(check_standard(b, &equation->standard[1]));
  DM_TRY(input_type(a, b, equation, &input));
  DM_TRY(dm_types_of(input, equation, problem));
  DM_TRY(equation_check_integers(a, b, equation, problem));
  DM_TRY(check_scalars(equation, problem));
  DM_TRY(check_divide(equation, problem));
  DM_TRY(check_batch(equation, problem));
  problem->op_a = equation->op_a;
  problem->correlates = equation->correlates;
  if (problem->correlates != 0.0) /* rounded factors may give more than a correlation can be */
    problem->compute.shortening =
        fmax(problem->compute.shortening, dm_dtype_roundoff(problem->work));
  problem->op_b = equation->op_b;
  problem->chunk_a = chunk_bytes(a);
  problem->chunk_b = chunk_bytes(b);
  problem->reads_c = !dm_is_zero(equation->beta);
  problem->scales =
      equation->alpha[0] != 1.0 || equation->alpha[1] != 0.0 || equation->divide != DM_NO_DIVISION;
  DM_TRY(symmetry_of(a, b, equation, problem));
  problem->chunk_c = problem->reads_c && c ? chunk_bytes(c) : 0;
  return problem->reads_c ? check_old_c(c, equation->rounds, problem) : DM_OK;
}
