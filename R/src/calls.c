/* What R calls. Matrices of R are multiplied where they are: they are column-major, which strides
 * state. A call returns a list (code, message, hint, value, warnings); conditions are made in R. */
#include <damier.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define R_NO_REMAP
#include <R.h>
#include <R_ext/Rdynload.h>
#include <R_ext/Utils.h>
#include <Rinternals.h>

extern void Rf_onintr(void); /* R declares it only for graphics devices */

/* ---- contexts ---- */

/* A context is kept: opening one takes about as long as a small product. */
typedef struct kept_context {
  damier_context *context;
  pid_t process; /* that opened it; forked ones (package parallel) open their own */
} kept_context;

static kept_context without_options, with_options;
static damier_context *latest; /* of the last call, for its record */

static void interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

/* Asks R, while panels are multiplied, whether the user wants to stop. */
static int is_interrupted(void *argument, int64_t done, int64_t total) {
  (void)argument, (void)done, (void)total;
  return R_ToplevelExec(interrupt, NULL) == FALSE;
}

static void close_context(kept_context *kept) {
  if (kept->context == latest) latest = NULL;
  if (kept->process == getpid()) damier_close(kept->context);
  kept->context = NULL;
}

static int open_context(kept_context *kept, int gpus, damier_error *error) {
  const int code = gpus > 1 ? damier_open_gpus(gpus, &kept->context, error)
                            : damier_open_local(&kept->context, error);
  kept->process = getpid();
  if (code == DAMIER_OK) damier_on_progress(kept->context, is_interrupted, NULL);
  return code;
}

/* OPTIONS is a named list of texts, and of numbers for options that name a vector; of those the
 * attribute "of_rows" says what they belong to. */
static int set_options(damier_context *context, SEXP options, damier_error *error) {
  SEXP names = Rf_getAttrib(options, R_NamesSymbol);
  int code = DAMIER_OK;
  for (R_xlen_t i = 0; i < XLENGTH(options) && code == DAMIER_OK; i++) {
    SEXP value = VECTOR_ELT(options, i);
    const char *name = CHAR(STRING_ELT(names, i));
    if (TYPEOF(value) == STRSXP) {
      code = damier_set(context, name, CHAR(STRING_ELT(value, 0)), error);
    } else {
      const int of_rows = Rf_asLogical(Rf_getAttrib(value, Rf_install("of_rows"))) == TRUE;
      code =
          damier_set_vector(context, name, of_rows, DAMIER_F64, XLENGTH(value), REAL(value), error);
    }
  }
  return code;
}

/* The context of a call with OPTIONS. */
static int context_for(SEXP options, int gpus, damier_context **context, damier_error *error) {
  const bool is_plain = XLENGTH(options) == 0 && gpus <= 1;
  kept_context *kept = is_plain ? &without_options : &with_options;
  if (!is_plain || kept->process != getpid()) close_context(kept);
  int code = DAMIER_OK;
  if (!kept->context) code = open_context(kept, gpus, error);
  if (code == DAMIER_OK && !is_plain) code = set_options(kept->context, options, error);
  *context = latest = code == DAMIER_OK ? kept->context : NULL;
  return code;
}

/* ---- matrices ---- */

/* DATA, or its transpose, as the library sees it. */
static damier_matrix in_memory(SEXP data, bool is_transposed) {
  const int64_t rows = Rf_nrows(data), cols = Rf_ncols(data);
  const bool is_complex = TYPEOF(data) == CPLXSXP;
  void *elements = is_complex ? (void *)COMPLEX(data) : (void *)REAL(data);
  damier_matrix m =
      damier_on_one(is_complex ? DAMIER_C128 : DAMIER_F64, is_transposed ? cols : rows,
                    is_transposed ? rows : cols, 0, elements, 0);
  m.row_stride = is_transposed ? rows : 1;
  m.col_stride = is_transposed ? 1 : rows;
  return m;
}

/* A location, or a list of a matrix and of whether it is transposed. */
static damier_matrix stated(SEXP operand) {
  if (TYPEOF(operand) == STRSXP) return damier_file(CHAR(STRING_ELT(operand, 0)));
  return in_memory(VECTOR_ELT(operand, 0), Rf_asLogical(VECTOR_ELT(operand, 1)) == TRUE);
}

static int multiply(const char *verb, damier_context *context, const damier_matrix *x,
                    const damier_matrix *y, int of_rows, const damier_matrix *c,
                    damier_error *error) {
  if (strcmp(verb, "multiply") == 0) return damier_multiply(context, x, y, c, error);
  if (strcmp(verb, "gram") == 0) return damier_gram(context, x, of_rows, c, error);
  if (strcmp(verb, "pca") == 0) return damier_pca(context, x, of_rows, c, error);
  if (strcmp(verb, "svd") == 0) return damier_svd(context, x, of_rows, c, error);
  if (strcmp(verb, "cov") == 0)
    return y ? damier_cov_two(context, x, y, of_rows, c, error)
             : damier_cov(context, x, of_rows, c, error);
  return y ? damier_cor_two(context, x, y, of_rows, c, error)
           : damier_cor(context, x, of_rows, c, error);
}

/* ---- results ---- */

/* A copy of ARRAY: a vector, or a matrix that has its lines as columns. */
static SEXP copied(const damier_array *array) {
  const int64_t count = array->rows * (array->cols ? array->cols : 1);
  SEXP value = PROTECT(array->cols ? Rf_allocMatrix(REALSXP, (int)array->cols, (int)array->rows)
                                   : Rf_allocVector(REALSXP, count));
  double *numbers = REAL(value);
  for (int64_t i = 0; i < count; i++)
    numbers[i] =
        array->whole ? (double)((const int64_t *)array->data)[i] : ((const double *)array->data)[i];
  UNPROTECT(1);
  return value;
}

/* A named list of the arrays that CONTEXT kept. */
static SEXP kept_arrays(const damier_context *context) {
  damier_array array;
  int count = 0;
  while (damier_kept_array(context, count, &array)) count++;
  SEXP list = PROTECT(Rf_allocVector(VECSXP, count));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, count));
  for (int i = 0; i < count; i++) {
    (void)damier_kept_array(context, i, &array);
    SET_STRING_ELT(names, i, Rf_mkChar(array.name));
    if (array.whole || array.type == DAMIER_F64) SET_VECTOR_ELT(list, i, copied(&array));
  }
  Rf_setAttrib(list, R_NamesSymbol, names);
  UNPROTECT(2);
  return list;
}

static SEXP answer(int code, const damier_error *error, const char *warnings, SEXP value) {
  static const char *const names[] = {"code", "message", "hint", "warnings", "value", ""};
  PROTECT(value);
  SEXP list = PROTECT(Rf_mkNamed(VECSXP, (const char **)names));
  SET_VECTOR_ELT(list, 0, Rf_ScalarInteger(code));
  SET_VECTOR_ELT(list, 1, Rf_mkString(code == DAMIER_OK ? "" : error->message));
  SET_VECTOR_ELT(list, 2, Rf_mkString(code == DAMIER_OK ? "" : error->hint));
  SET_VECTOR_ELT(list, 3, Rf_mkString(warnings));
  SET_VECTOR_ELT(list, 4, value);
  UNPROTECT(2);
  return list;
}

/* ---- calls ---- */

/* VERB: "multiply", "gram", "cov", "cor", "pca" or "svd". X, Y: as stated() takes them; Y may be
 * NULL. OUT: a location; a list of the rows and columns of a matrix that is made here, of whether
 * it is complex, and of whether the library sees its transpose; or NULL: the arrays that are kept.
 */
static SEXP r_product(SEXP verb, SEXP x, SEXP y, SEXP of_rows, SEXP out, SEXP options, SEXP gpus) {
  damier_error error = {0};
  damier_context *context = NULL;
  SEXP value = R_NilValue;
  damier_matrix c = damier_kept();
  if (TYPEOF(out) == STRSXP) {
    c = stated(out);
  } else if (out != R_NilValue) {
    value = Rf_allocMatrix(Rf_asLogical(VECTOR_ELT(out, 2)) == TRUE ? CPLXSXP : REALSXP,
                           Rf_asInteger(VECTOR_ELT(out, 0)), Rf_asInteger(VECTOR_ELT(out, 1)));
  }
  PROTECT(value);
  if (value != R_NilValue) c = in_memory(value, Rf_asLogical(VECTOR_ELT(out, 3)) == TRUE);
  int code = context_for(options, Rf_asInteger(gpus), &context, &error);
  const char *warnings = "";
  if (code == DAMIER_OK) {
    const damier_matrix a = stated(x), b = y == R_NilValue ? a : stated(y);
    code = multiply(CHAR(STRING_ELT(verb, 0)), context, &a, y == R_NilValue ? NULL : &b,
                    Rf_asLogical(of_rows) == TRUE, &c, &error);
    warnings = damier_warnings(context);
  }
  if (code == DAMIER_E_STOPPED) Rf_onintr(); /* does not return */
  const bool is_complete = code == DAMIER_OK || code == DAMIER_E_UNCHECKED;
  if (is_complete && out == R_NilValue) {
    UNPROTECT(1);
    value = PROTECT(kept_arrays(context));
  }
  SEXP result = answer(code, &error, warnings, is_complete ? value : R_NilValue);
  UNPROTECT(1);
  return result;
}

/* The record of `damier info` of LOCATION, as JSON. */
static SEXP r_info(SEXP location, SEXP options) {
  damier_error error = {0};
  damier_context *context = NULL;
  int code = context_for(options, 1, &context, &error);
  if (code == DAMIER_OK) code = damier_info(context, CHAR(STRING_ELT(location, 0)), &error);
  SEXP value = PROTECT(code == DAMIER_OK ? Rf_mkString(damier_record(context)) : R_NilValue);
  SEXP result = answer(code, &error, "", value);
  UNPROTECT(1);
  return result;
}

static SEXP r_record(void) {
  return Rf_mkString(latest ? damier_record(latest) : "");
}

static SEXP r_version(void) {
  return Rf_mkString(damier_version());
}

static SEXP r_choose_kernels(void) {
  damier_choose_kernels();
  return R_NilValue;
}

static SEXP r_close(void) {
  close_context(&without_options);
  close_context(&with_options);
  return R_NilValue;
}

static const R_CallMethodDef calls[] = {{"product", (DL_FUNC)&r_product, 7},
                                        {"info", (DL_FUNC)&r_info, 2},
                                        {"record", (DL_FUNC)&r_record, 0},
                                        {"version", (DL_FUNC)&r_version, 0},
                                        {"close", (DL_FUNC)&r_close, 0},
                                        {"choose_kernels", (DL_FUNC)&r_choose_kernels, 0},
                                        {NULL, NULL, 0}};

void R_init_damier(DllInfo *library) {
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
