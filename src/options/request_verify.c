/* The verification that settings state, completed from the provenance of C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/entries.h"
#include "file/output_tiles.h"
#include "options/request.h"

static dm_verify_stated what_is_given(const dm_settings *s) {
  return (dm_verify_stated){
      .op_a = dm_given(s, "op-a"),
      .op_b = dm_given(s, "op-b"),
      .half = dm_given(s, "triangle"),
      .alpha = dm_given(s, "alpha"),
      .beta = dm_given(s, "beta"),
      .centering = dm_given(s, "center-a") || dm_given(s, "center-b") || dm_given(s, "scale-a") ||
                   dm_given(s, "scale-b"),
      .type = dm_given(s, "type"),
      .compute = dm_given(s, "compute"),
      .c0 = dm_given(s, "c"),
  };
}

static dm_status inspect_old_c(const dm_settings *s, const dm_log *log, const dm_location *recorded,
                               dm_verify *v) {
  const double *beta = v->equation.beta;
  if (beta[0] == 0.0 && beta[1] == 0.0) return DM_OK;
  const dm_location *at = dm_given(s, "c") ? &s->old_c : recorded;
  if (at->file[0] == '\0')
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but the old C is not known"),
                   "--c FILE.h5:/dataset names it");
  v->has_c0 = true;
  DM_TRY(dm_request_inspect_at(s, log, at, &v->c0, NULL));
  DM_TRY(dm_request_check_leads(&v->c0, &v->c.leads));
  if (v->c0.device != v->c.device || v->c0.inode != v->c.inode ||
      strcmp(v->c0.at.dataset, v->c.at.dataset) != 0)
    return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "this C has replaced the old C that beta was applied to"),
                 "--c FILE.h5:/dataset names a copy of it, if there is one");
}

/* A result of other values of X cannot pass. Values of which none is missing are the same whatever
 * becomes of missing ones. */
static void compare_readings(const dm_log *log, const dm_attributes *provenance,
                             const dm_dataset *set, char x) {
  static const char refused[] = "values are refused";
  char now[DM_MEANING_TEXT + 64], name[] = "x_values";
  name[0] = x;
  dm_io_describe_meaning(set, now, sizeof now);
  const char *then = dm_attributes_find(provenance, name);
  if (!then) then = "";
  const bool none_missing = strstr(then, refused) || (then[0] && strstr(now, refused));
  if (strcmp(then, now) == 0 || none_missing || !dm_attributes_find(provenance, "software")) return;
  dm_log_line(log, DM_LOG_WARNING, "C was made from %c as: %s; it is verified with %c as: %s",
              x - 'a' + 'A', then[0] ? then : "stored", x - 'a' + 'A', now[0] ? now : "stored");
}

/* What became of missing values, and by which vectors A and B were changed, from C's provenance
 * where the user does not state it. */
static dm_status take_readings(const dm_attributes *provenance, const dm_verify_stated *given,
                               dm_settings *s) {
  static const char *const options[][2] = {
      {"missing", "missing"},   {"missing-value", "missing_value"},
      {"weights", "weights"},   {"weights-are", "weights_are"},
      {"center-a", "center_a"}, {"center-b", "center_b"},
      {"scale-a", "scale_a"},   {"scale-b", "scale_b"}};
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
    const char *text = dm_attributes_find(provenance, options[i][1]);
    if (text && !dm_given(s, options[i][0]) && (i < 4 || !given->centering))
      DM_TRY(dm_value_take(dm_value_find(options[i][0]), text, s));
  }
  if (s->missing != (int)DM_MISSING_PAIRWISE) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "what was computed from pairs of lines is no product"),
                 "damier cov or cor computes it again");
}

static dm_status prepare(dm_settings *s, const dm_log *log, const char *const operands[3],
                         dm_verify *v, dm_attributes *provenance) {
  dm_location old_c = {.file = ""}, at;
  dm_verify_stated given = what_is_given(s);
  dm_problem problem;
  dm_leads leads;
  DM_TRY(dm_value_location(operands[2], &at));
  DM_TRY(dm_request_inspect_at(s, log, &at, &v->c, provenance));
  DM_TRY(take_readings(provenance, &given, s));
  DM_TRY(dm_request_inspect_factor(s, log, operands[0], 0, &v->a));
  DM_TRY(dm_request_inspect_factor(s, log, operands[1], 1, &v->b));
  v->equation = dm_request_equation(s);
  v->equation.type_c = dm_dataset_type(&v->c);
  v->equation.rounds = true; /* as multiply was allowed to */
  v->full = s->full;
  v->seed = dm_request_check_seed(s);
  v->allow_unchecked = s->allow_unchecked;
  v->io_threads = dm_request_io_threads(s);
  DM_TRY(dm_verify_complete(v, &given, provenance, &old_c));
  DM_TRY(dm_entries_arrange(&v->a, v->equation.op_a != DM_OP_N, &v->b, v->equation.op_b != DM_OP_N,
                            &leads));
  DM_TRY(dm_request_check_leads(&v->c, &leads));
  DM_TRY(dm_request_inspect_vectors(s, log, &v->equation, &v->a, &v->b, &v->vectors));
  compare_readings(log, provenance, &v->a, 'a');
  compare_readings(log, provenance, &v->b, 'b');
  DM_TRY(inspect_old_c(s, log, &old_c, v));
  dm_equation_divide(&v->a, &v->equation);
  DM_TRY(dm_verify_take_compute(v, &given, provenance));
  DM_TRY(dm_output_tiles_read(&v->c, &v->tiles, &v->tile_count));
  return dm_problem_of(&v->a, &v->b, v->has_c0 ? &v->c0 : NULL, &v->equation, &problem);
}

dm_status dm_request_verify(const dm_settings *s, const dm_log *log, const char *const operands[3],
                            dm_verify *v) {
  dm_attributes *provenance = calloc(1, sizeof *provenance);
  if (!provenance) return dm_fail(DM_E_FIT, "no memory for the provenance of C");
  dm_settings *own = malloc(sizeof *own);
  dm_status status = own ? DM_OK : dm_fail(DM_E_FIT, "no memory for settings");
  if (own) *own = *s;
  if (!status) status = prepare(own, log, operands, v, provenance);
  free(own);
  free(provenance);
  return status;
}

dm_status dm_request_verify_alone(const dm_settings *s, const dm_log *log, const char *operand,
                                  dm_verify *v) {
  char name[DM_NAME];
  dm_location at;
  DM_TRY(dm_value_location(operand, &at));
  DM_TRY(dm_request_inspect_at(s, log, &at, &v->c, NULL));
  v->io_threads = dm_request_io_threads(s);
  DM_TRY(dm_output_tiles_read(&v->c, &v->tiles, &v->tile_count));
  if (v->tile_count > 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_INPUT, "%s has no checksums of its tiles, or some of another format",
                         dm_location_name(&v->c.at, name)),
                 "damier verify A.h5 B.h5 C.h5 compares it with the product");
}
