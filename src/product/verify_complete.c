/* verify_complete: takes what the command line does not state from C's provenance, as far as that
 * cannot widen the tolerance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compute.h"
#include "product/provenance.h"
#include "product/verify.h"

static dm_status unreadable(const char *name, const char *text) {
  return dm_hint(
      dm_fail(DM_E_INPUT, "attribute %s of C is '%.40s', which is not valid", name, text),
      "give the option on the command line");
}

static dm_status read_op(const dm_attributes *list, const char *name, dm_op *op) {
  const char *text = dm_attributes_find(list, name);
  if (!text) return DM_OK;
  if (strcmp(text, "n") == 0)
    *op = DM_OP_N;
  else if (strcmp(text, "t") == 0)
    *op = DM_OP_T;
  else if (strcmp(text, "c") == 0)
    *op = DM_OP_C;
  else
    return unreadable(name, text);
  return DM_OK;
}

static dm_status read_scalar(const dm_attributes *list, const char *name, double value[2]) {
  const char *text = dm_attributes_find(list, name);
  if (!text) return DM_OK;
  char *end;
  value[0] = strtod(text, &end);
  value[1] = 0.0;
  if (end == text) return unreadable(name, text);
  if (*end == ',') value[1] = strtod(end + 1, &end);
  return *end ? unreadable(name, text) : DM_OK;
}

static dm_status read_lines(const char *name, const char *text, const char *word, dm_lines *lines) {
  char wanted[32];
  for (int i = DM_NO_LINES; i <= (int)DM_ROW_LINES; i++) {
    snprintf(wanted, sizeof wanted, "%s %s", word, dm_lines_name((dm_lines)i));
    if (!strstr(text, wanted)) continue;
    *lines = (dm_lines)i;
    return DM_OK;
  }
  return unreadable(name, text);
}

static dm_status read_standard(const dm_attributes *list, const char *name, dm_standard *standard) {
  const char *text = dm_attributes_find(list, name);
  if (!text) return DM_OK;
  DM_TRY(read_lines(name, text, "center", &standard->center));
  return read_lines(name, text, "scale", &standard->scale);
}

static dm_status read_half(const dm_attributes *list, dm_half *half) {
  const char *text = dm_attributes_find(list, "triangle");
  if (!text) return DM_OK;
  for (int i = DM_BOTH_HALVES; i <= (int)DM_UPPER_HALF; i++)
    if (strcmp(text, dm_half_name((dm_half)i)) == 0) {
      *half = (dm_half)i;
      return DM_OK;
    }
  return unreadable("triangle", text);
}

/* Notes in the text of claims that C's attributes state NAME as VALUE, which is not used. */
static void note_claim(dm_verify *v, const char *name, const char *value) {
  const size_t used = strlen(v->claims);
  snprintf(v->claims + used, sizeof v->claims - used, "%s--%s %.40s", used ? " " : "", name, value);
}

/* Whether products in TYPE have no wider tolerance than those of INPUT: it holds all its elements,
 * or is the widest of its kind. */
static bool is_as_fine(dm_dtype type, dm_dtype input) {
  return dm_dtype_holds(type, input) || type == DM_F64 || type == DM_C128;
}

/* Anybody can write attributes, so they must not widen the tolerance. */
static dm_status read_type(dm_verify *v, const dm_verify_stated *stated,
                           const dm_attributes *list) {
  const char *text = dm_attributes_find(list, "type");
  dm_dtype type, *used = &v->equation.type;
  if (!text || !*text) return DM_OK;
  if (!dm_dtype_parse(text, &type)) return stated->type ? DM_OK : unreadable("type", text);
  if (!stated->type && is_as_fine(type, v->a.dtype) && is_as_fine(type, v->b.dtype)) *used = type;
  if (type != *used) note_claim(v, "type", text);
  return DM_OK;
}

static bool is_as_strict(const dm_compute *row, const dm_compute *as) {
  return row->roundoff <= as->roundoff && row->shortening <= as->shortening &&
         row->truncates <= as->truncates;
}

/* Likewise takes a compute mode only if its products are no less accurate than auto's. */
dm_status dm_verify_take_compute(dm_verify *v, const dm_verify_stated *stated,
                                 const dm_attributes *provenance) {
  const char *text = dm_attributes_find(provenance, "compute");
  dm_equation other = v->equation;
  if (!text) return DM_OK;
  if (!dm_compute_parse(text, &other.compute))
    return stated->compute ? DM_OK : unreadable("compute", text);
  const dm_dataset *c0 = v->has_c0 ? &v->c0 : NULL;
  dm_problem used, claimed;
  dm_status status = dm_problem_of(&v->a, &v->b, c0, &v->equation, &used);
  if (!status) status = dm_problem_of(&v->a, &v->b, c0, &other, &claimed);
  const bool strict = !status && is_as_strict(&claimed.compute, &used.compute);
  dm_status_free(status); /* the caller poses the problem again */
  if (!stated->compute && strict) v->equation.compute = other.compute;
  if (other.compute != v->equation.compute) note_claim(v, "compute", text);
  return DM_OK;
}

static bool is_equal(const double a[2], const double b[2]) {
  return a[0] == b[0] && a[1] == b[1];
}

/* What is stated need not be readable. */
static dm_status unless(bool stated, dm_status status) {
  if (!stated) return status;
  dm_status_free(status);
  return DM_OK;
}

/* The equation: C's attributes state what the user does not. */
static dm_status read_equation(dm_verify *v, const dm_verify_stated *stated,
                               const dm_attributes *list) {
  dm_equation *own = &v->equation, read = *own;
  DM_TRY(unless(stated->op_a, read_op(list, "op_a", &read.op_a)));
  DM_TRY(unless(stated->op_b, read_op(list, "op_b", &read.op_b)));
  DM_TRY(unless(stated->alpha, read_scalar(list, "alpha", read.alpha)));
  DM_TRY(unless(stated->beta, read_scalar(list, "beta", read.beta)));
  DM_TRY(unless(stated->half, read_half(list, &read.half)));
  DM_TRY(unless(stated->centering, read_standard(list, "centering_a", &read.standard[0])));
  DM_TRY(unless(stated->centering, read_standard(list, "centering_b", &read.standard[1])));
  const dm_standard *now = read.standard, *was = own->standard;
  const struct {
    const char *name, *value;
    bool stated, differs;
  } parts[] = {
      {"op-a", dm_attributes_find(list, "op_a"), stated->op_a, read.op_a != own->op_a},
      {"op-b", dm_attributes_find(list, "op_b"), stated->op_b, read.op_b != own->op_b},
      {"alpha", dm_attributes_find(list, "alpha"), stated->alpha,
       !is_equal(read.alpha, own->alpha)},
      {"beta", dm_attributes_find(list, "beta"), stated->beta, !is_equal(read.beta, own->beta)},
      {"triangle", dm_attributes_find(list, "triangle"), stated->half, read.half != own->half},
      {"center-a", dm_lines_name(now[0].center), stated->centering, now[0].center != was[0].center},
      {"scale-a", dm_lines_name(now[0].scale), stated->centering, now[0].scale != was[0].scale},
      {"center-b", dm_lines_name(now[1].center), stated->centering, now[1].center != was[1].center},
      {"scale-b", dm_lines_name(now[1].scale), stated->centering, now[1].scale != was[1].scale}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (parts[i].stated && parts[i].differs) note_claim(v, parts[i].name, parts[i].value);
    v->by_attributes |= !parts[i].stated && parts[i].differs;
  }
  if (!stated->op_a) own->op_a = read.op_a;
  if (!stated->op_b) own->op_b = read.op_b;
  if (!stated->alpha) memcpy(own->alpha, read.alpha, sizeof own->alpha);
  if (!stated->beta) memcpy(own->beta, read.beta, sizeof own->beta);
  if (!stated->half) own->half = read.half;
  if (!stated->centering) memcpy(own->standard, read.standard, sizeof own->standard);
  return DM_OK;
}

/* A norm that is not finite is treated like a missing one. */
static dm_status read_norm(const dm_attributes *list, double *norm) {
  double value[2] = {-1.0, 0.0};
  DM_TRY(read_scalar(list, "norm", value));
  *norm = isfinite(value[0]) ? value[0] : -1.0;
  return DM_OK;
}

dm_status dm_verify_complete(dm_verify *verify, const dm_verify_stated *stated,
                             const dm_attributes *provenance, dm_location *old_c) {
  const double *beta = verify->equation.beta;
  verify->from_gpu = true; /* "backend" is as easily forged */
  verify->no_provenance = !dm_attributes_find(provenance, "backend");
  DM_TRY(read_norm(provenance, &verify->norm));
  if (verify->c.at.part[0]) verify->norm = -1.0; /* that of the whole */
  DM_TRY(read_equation(verify, stated, provenance));
  DM_TRY(read_type(verify, stated, provenance));
  memset(old_c, 0, sizeof *old_c);
  const char *old = dm_attributes_find(provenance, "old_c");
  const bool reads_c = beta[0] != 0.0 || beta[1] != 0.0;
  return reads_c && !stated->c0 && old ? dm_io_parse_location(old, old_c) : DM_OK;
}
