/* verify_complete: takes what the command line does not state from C's provenance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compute_choice.h"
#include "job/verify.h"

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

static dm_status read_types(dm_equation *equation, const dm_verify_stated *given,
                            const dm_attributes *list) {
  const char *type = dm_attributes_find(list, "type");
  if (!given->type && type && *type && !dm_dtype_parse(type, &equation->type))
    return unreadable("type", type);
  const char *compute = dm_attributes_find(list, "compute");
  if (!given->compute && compute && !dm_compute_parse(compute, &equation->compute))
    return unreadable("compute", compute);
  return DM_OK;
}

/* A norm that is not finite is treated like a missing one. */
static dm_status read_norm(const dm_attributes *list, double *norm) {
  double value[2] = {-1.0, 0.0};
  DM_TRY(read_scalar(list, "norm", value));
  *norm = isfinite(value[0]) ? value[0] : -1.0;
  return DM_OK;
}

dm_status dm_verify_complete(dm_verify *verify, const dm_verify_stated *given,
                             const dm_attributes *provenance, dm_location *old_c) {
  dm_equation *equation = &verify->equation;
  const char *backend = dm_attributes_find(provenance, "backend");
  verify->tensor = !backend || strcmp(backend, "cpu") != 0;
  verify->no_provenance = !backend;
  DM_TRY(read_norm(provenance, &verify->norm));
  if (!given->op_a) DM_TRY(read_op(provenance, "op_a", &equation->op_a));
  if (!given->op_b) DM_TRY(read_op(provenance, "op_b", &equation->op_b));
  if (!given->alpha) DM_TRY(read_scalar(provenance, "alpha", equation->alpha));
  if (!given->beta) DM_TRY(read_scalar(provenance, "beta", equation->beta));
  DM_TRY(read_types(equation, given, provenance));
  memset(old_c, 0, sizeof *old_c);
  bool reads_c = equation->beta[0] != 0.0 || equation->beta[1] != 0.0;
  const char *old = dm_attributes_find(provenance, "old_c");
  return reads_c && !given->c0 && old ? dm_io_parse_location(old, old_c) : DM_OK;
}
