/* The verification that settings state, completed from the provenance of C. */
#include "dataset/dataset_text.h"
#include "options/request.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/compute.h"
#include "dataset/entries.h"
#include "io/arrays_file.h"
#include "io/output_tiles.h"

/* ---- what C's attributes state, each as the text of an option ---- */

typedef struct request_attribute {
  const char *option, *name;
  const char *before; /* the text is the word after this; NULL: all of it */
  bool of_equation;   /* the report says if it is taken, and if it is not */
  bool of_lines;      /* of centering and scaling, which the user states altogether */
} request_attribute;

/* What is read in place of values first: lines are those of vectors. */
static const request_attribute attributes[] = {
    {"missing", "missing", NULL, false, false},
    {"missing-value", "missing_number", NULL, false, false},
    {"metric", "metric", NULL, false, false},
    {"grm", "grm", NULL, false, false},
    {"nonfounders", "nonfounders", NULL, false, false},
    {"weights", "weights", NULL, false, false},
    {"weights-are", "weights_are", NULL, false, false},
    {"divide", "divide", NULL, false, false},
    {"center-a", "center_a", NULL, false, true},
    {"center-b", "center_b", NULL, false, true},
    {"scale-a", "scale_a", NULL, false, true},
    {"scale-b", "scale_b", NULL, false, true},
    {"op-a", "op_a", NULL, true, false},
    {"op-b", "op_b", NULL, true, false},
    {"alpha", "alpha", NULL, true, false},
    {"beta", "beta", NULL, true, false},
    {"triangle", "triangle", NULL, true, false},
    {"center-a", "centering_a", "center ", true, true},
    {"scale-a", "centering_a", "scale ", true, true},
    {"center-b", "centering_b", "center ", true, true},
    {"scale-b", "centering_b", "scale ", true, true},
};

/* What a reduction kept, as attributes of its group state it. */
static const request_attribute request_reductions[] = {
    {"top", "top", NULL, false, false},         {"above", "above", NULL, false, false},
    {"below", "below", NULL, false, false},     {"reduce", "reduce", NULL, false, false},
    {"each", "each", NULL, false, false},       {"by", "by", NULL, false, false},
    {"no-self", "no_self", NULL, false, false},
};

static dm_status request_unreadable(const char *name, const char *text) {
  return dm_hint(
      dm_fail(DM_E_INPUT, "attribute %s of C is '%.40s', which is not valid", name, text),
      "give the option on the command line");
}

/* Notes that C's attributes state OPTION as TEXT, which is not used. */
static void note_claim(dm_verify *v, const char *option, const char *text) {
  const size_t used = strlen(v->claims);
  snprintf(v->claims + used, sizeof v->claims - used, "%s--%s %.40s", used ? " " : "", option,
           text);
}

/* The text of A's option in LIST; NULL: it states none. */
static const char *text_of(const request_attribute *a, const dm_attributes *list,
                           char word[DM_ATTRIBUTE_TEXT]) {
  const char *text = dm_attributes_find(list, a->name);
  if (!text || !a->before) return text;
  const char *found = strstr(text, a->before);
  size_t length = 0;
  for (found = found ? found + strlen(a->before) : ""; isalpha((unsigned char)found[length]);)
    length++;
  snprintf(word, DM_ATTRIBUTE_TEXT, "%.*s", (int)length, found);
  return word;
}

/* Lines that differ at most in the numbers that they are centered by are the same. */
static bool request_is_same(const request_attribute *a, const dm_value *value,
                            const dm_settings *one, const dm_settings *other) {
  const size_t room = a->of_lines ? sizeof(int) : value->room;
  return memcmp((const char *)one + value->at, (const char *)other + value->at, room) == 0;
}

/* Whether TEXT is what provenance calls the numbers of OPTION that were in memory. */
static bool request_was_in_memory(const dm_option *option, const char *text) {
  char name[DM_ATTRIBUTE_TEXT];
  const char *at = strstr(text, "memory:");
  snprintf(name, sizeof name, "memory:%s", option->name);
  return dm_option_vector(option) >= 0 && at && strcmp(at, name) == 0;
}

/* Takes A from LIST unless it is STATED. */
static dm_status request_take(const request_attribute *a, const dm_attributes *list, bool stated,
                              dm_settings *s, dm_settings *read, dm_verify *v) {
  char word[DM_ATTRIBUTE_TEXT];
  const dm_option *option = dm_option_find(a->option);
  const char *text = text_of(a, list, word);
  if (!text || (stated && !a->of_equation)) return DM_OK;
  if (!stated && request_was_in_memory(option, text))
    return dm_hint(dm_fail(DM_E_USAGE, "the %s of C were in memory, and are not stated", a->option),
                   "write them to a file: --%s FILE.npy; damier_set_vector takes them from memory",
                   a->option);
  *read = *s;
  dm_status invalid = dm_option_take(option, text, read);
  dm_status_free(invalid);
  if (invalid)
    return stated ? DM_OK : request_unreadable(a->name, dm_attributes_find(list, a->name));
  if (a->of_equation && request_is_same(a, &option->value, s, read)) return DM_OK;
  if (stated) {
    note_claim(v, a->option, text);
  } else {
    *s = *read;
    v->by_attributes |= a->of_equation;
  }
  return DM_OK;
}

/* Changes S where the user states nothing. */
static dm_status take_attributes(const dm_attributes *list, dm_settings *s, dm_verify *v) {
  DM_FREED dm_settings *stated = NULL, *read = NULL;
  DM_TRY(dm_buffer_table(1, &stated));
  DM_TRY(dm_buffer_table(1, &read));
  *stated = *s;
  const bool lines = dm_given(s, "center-a") || dm_given(s, "center-b") || dm_given(s, "scale-a") ||
                     dm_given(s, "scale-b");
  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
    const request_attribute *a = &attributes[i];
    bool is_stated = a->of_lines ? lines : dm_given(stated, a->option);
    if (strcmp(a->option, "alpha") == 0) /* it may be divided already */
      is_stated |= s->missing != (int)DM_MISSING_PAIRWISE && dm_given(stated, "divide");
    DM_TRY(request_take(a, list, is_stated, s, read, v));
  }
  return DM_OK;
}

/* Into V, from LIST, in place of C's dataset; S stays as the user stated it. */
static dm_status take_reduction(const dm_attributes *list, const dm_settings *s, dm_verify *v) {
  DM_FREED dm_settings *own = NULL, *read = NULL;
  DM_TRY(dm_buffer_table(1, &own));
  DM_TRY(dm_buffer_table(1, &read));
  *own = *s;
  for (size_t i = 0; i < sizeof request_reductions / sizeof *request_reductions; i++)
    DM_TRY(request_take(&request_reductions[i], list, false, own, read, v));
  dm_reductions kept;
  dm_request_kept(own, &kept);
  v->reduction = kept.list[0];
  if (kept.count == 1) return DM_OK;
  return dm_hint(dm_fail(DM_E_INPUT, "the attributes of C do not say what was kept of it"),
                 "make the result again with this version of damier");
}

/* Whether products in TYPE have no wider tolerance than those of INPUT: it holds all its elements,
 * or is the widest of its kind. */
static bool is_as_fine(dm_dtype type, dm_dtype input) {
  return dm_dtype_holds(type, input) || type == DM_F64 || type == DM_C128;
}

/* Anybody can write attributes, so they must not widen the tolerance. */
static dm_status take_type(const dm_attributes *list, bool stated, dm_verify *v) {
  const char *text = dm_attributes_find(list, "type");
  dm_dtype type, *used = &v->equation.type;
  if (!text || !*text) return DM_OK;
  if (!dm_dtype_parse(text, &type)) return stated ? DM_OK : request_unreadable("type", text);
  if (!stated && is_as_fine(type, v->a.dtype) && is_as_fine(type, v->b.dtype)) *used = type;
  if (type != *used) note_claim(v, "type", text);
  return DM_OK;
}

static bool is_as_strict(const dm_compute *row, const dm_compute *as) {
  return row->roundoff <= as->roundoff && row->shortening <= as->shortening &&
         row->truncates <= as->truncates;
}

/* "f32" narrows the tolerance; anything else leaves that of the units' own sums. */
static void take_sums(const dm_attributes *list, dm_verify *v) {
  const char *text = dm_attributes_find(list, "accumulate");
  if (text && strcmp(text, "f32") == 0) v->equation.accumulate = DM_ACCUMULATE_F32;
}

/* Likewise takes a compute mode only if its products are no less accurate than auto's; the old C
 * must be known. */
static dm_status take_compute(const dm_attributes *list, bool stated, dm_verify *v) {
  const char *text = dm_attributes_find(list, "compute");
  dm_equation other = v->equation;
  if (!text) return DM_OK;
  if (!dm_compute_parse(text, &other.compute))
    return stated ? DM_OK : request_unreadable("compute", text);
  const dm_dataset *c0 = v->has_c0 ? &v->c0 : NULL;
  dm_problem used, claimed;
  dm_status status = dm_problem_of(&v->a, &v->b, c0, &v->equation, &used);
  if (!status) status = dm_problem_of(&v->a, &v->b, c0, &other, &claimed);
  const bool strict = !status && is_as_strict(&claimed.compute, &used.compute);
  dm_status_free(status); /* the caller poses the problem again */
  if (!stated && strict) v->equation.compute = other.compute;
  if (other.compute != v->equation.compute) note_claim(v, "compute", text);
  return DM_OK;
}

/* A norm that is not finite is treated like a missing one. */
static dm_status take_norm(const dm_attributes *list, double *norm) {
  const char *text = dm_attributes_find(list, "norm");
  char *end = NULL;
  *norm = text ? strtod(text, &end) : -1.0;
  if (text && (end == text || *end)) return request_unreadable("norm", text);
  if (!isfinite(*norm)) *norm = -1.0;
  return DM_OK;
}

/* ---- all of it ---- */

static dm_status inspect_old_c(const dm_settings *s, const dm_log *log,
                               const dm_attributes *provenance, dm_verify *v) {
  dm_location recorded = {.file = ""};
  const char *old = dm_attributes_find(provenance, "old_c");
  if (!dm_request_reads_c(s)) return DM_OK;
  if (old && !dm_given(s, "c")) DM_TRY(dm_location_parse(old, &recorded));
  const dm_location *at = dm_given(s, "c") ? &s->old_c : &recorded;
  if (at->file[0] == '\0')
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but the old C is not known"),
                   "--c FILE.h5:/dataset names it");
  v->has_c0 = true;
  DM_TRY(dm_request_inspect_shaped(s, log, at, v->c.vector, &v->c0, NULL));
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
  dm_dataset_describe_meaning(set, now, sizeof now);
  const char *then = dm_attributes_find(provenance, name);
  if (!then) then = "";
  const bool none_missing = strstr(then, refused) || (then[0] && strstr(now, refused));
  if (strcmp(then, now) == 0 || none_missing || !dm_attributes_find(provenance, "software")) return;
  dm_log_line(log, DM_LOG_WARNING, "C was made from %c as: %s; it is verified with %c as: %s",
              x - 'a' + 'A', then[0] ? then : "stored", x - 'a' + 'A', now[0] ? now : "stored");
}

/* The arrays of the group AT. */
static dm_status inspect_arrays(const dm_settings *s, const dm_log *log, const dm_location *at,
                                dm_verify *v) {
  DM_FREED dm_settings *own = NULL;
  const char *names[DM_REDUCED_ARRAYS];
  const int count = dm_reduction_arrays(&v->reduction, names);
  DM_TRY(dm_buffer_table(1, &own));
  *own = *s;
  own->as_column = own->raw = true;
  own->as_row = false;
  for (int i = 0; i < count; i++) {
    dm_location array = *at;
    const int length = snprintf(array.dataset, sizeof array.dataset, "%s/%s",
                                at->dataset[0] ? at->dataset : "/c", names[i]);
    if (length >= (int)sizeof array.dataset)
      return dm_fail(DM_E_USAGE, "the name of %s's group is too long", at->file);
    DM_TRY(dm_request_inspect_at(own, log, &array, &v->arrays[i], NULL));
    if (v->arrays[i].composite) return dm_fail_at(DM_E_INPUT, &array, "is made of other datasets");
  }
  return DM_OK;
}

/* C, or what was kept of it. */
static dm_status inspect_c(const dm_settings *s, const dm_log *log, const char *operand,
                           dm_verify *v, dm_attributes *provenance) {
  dm_location at;
  DM_TRY(dm_value_location(operand, &at));
  DM_TRY(dm_request_inspect_group(s, &at, provenance));
  const char *groups = dm_attributes_find(provenance, DM_GROUPS_ATTRIBUTE);
  const bool reduced = dm_attributes_find(provenance, DM_REDUCTION_ATTRIBUTE) != NULL;
  if (groups && !reduced)
    return dm_hint(dm_fail_at(DM_E_INPUT, &at, "holds several results: %.200s", groups),
                   "name one of them: %s:%s/%.*s", at.file, at.dataset[0] ? at.dataset : "/c",
                   (int)strcspn(groups, " "), groups);
  /* It is a row if A turns out to be one. */
  if (!reduced) return dm_request_inspect_shaped(s, log, &at, DM_AS_COLUMN, &v->c, provenance);
  v->c.at = at;
  DM_TRY(take_reduction(provenance, s, v));
  return inspect_arrays(s, log, &at, v);
}

static dm_status request_prepare(dm_settings *s, const dm_log *log, const char *const operands[3],
                                 dm_verify *v, dm_attributes *provenance) {
  const bool type = dm_given(s, "type"), compute = dm_given(s, "compute"),
             beta = dm_given(s, "beta");
  dm_problem problem;
  dm_leads leads;
  DM_TRY(inspect_c(s, log, operands[2], v, provenance));
  const bool reduced = v->reduction.kind != DM_REDUCE_NONE;
  v->no_provenance = !dm_attributes_find(provenance, "backend");
  v->from_gpu = true; /* "backend" is as easily forged */
  DM_TRY(take_norm(provenance, &v->norm));
  if (v->c.at.part[0]) v->norm = -1.0; /* that of the whole */
  DM_TRY(take_attributes(provenance, s, v));
  DM_TRY(dm_request_inspect_both(s, log, operands, &v->a, &v->b));
  v->equation = dm_request_equation(s);
  if (!reduced) v->equation.type_c = dm_dataset_type(&v->c);
  v->equation.rounds = true; /* as multiply was allowed to */
  v->full = s->full;
  v->seed = dm_request_check_seed(s);
  v->allow_unchecked = s->allow_unchecked;
  v->io_threads = dm_request_io_threads(s);
  take_sums(provenance, v);
  DM_TRY(take_type(provenance, type, v));
  if (v->equation.type == DM_DTYPE_NONE)
    v->equation.type = dm_request_equation_of(s, &v->a, &v->b).type;
  DM_TRY(dm_entries_arrange(&v->a, v->equation.op_a != DM_OP_N, &v->b, v->equation.op_b != DM_OP_N,
                            &leads));
  DM_TRY(dm_request_shape_result(s, &v->a, &v->b, &leads));
  if (v->c.vector != DM_NO_VECTOR && leads.vector == DM_AS_ROW)
    DM_TRY(dm_request_inspect_shaped(s, log, &v->c.at, DM_AS_ROW, &v->c, NULL));
  DM_TRY(dm_request_check_leads(&v->c, &leads));
  DM_TRY(dm_request_inspect_vectors(s, log, &v->equation, &v->a, &v->b, &v->vectors));
  compare_readings(log, provenance, &v->a, 'a');
  compare_readings(log, provenance, &v->b, 'b');
  if (dm_given(s, "c") && !dm_request_reads_c(s) && !beta)
    return dm_hint(dm_fail(DM_E_USAGE, "an old C is named, but C's attributes state no beta"),
                   "--beta states it; without --c the product alone is verified");
  DM_TRY(inspect_old_c(s, log, provenance, v));
  if (s->missing != (int)DM_MISSING_PAIRWISE) dm_equation_divide(&v->a, &v->equation);
  DM_TRY(take_compute(provenance, compute, v));
  if (reduced && s->missing == (int)DM_MISSING_PAIRWISE)
    return dm_fail(DM_E_USAGE, "--missing pairwise makes a C that is stored, not reduced");
  if (!reduced) DM_TRY(dm_output_tiles_read(&v->c, &v->tiles, &v->tile_count));
  return dm_problem_of(&v->a, &v->b, v->has_c0 ? &v->c0 : NULL, &v->equation, &problem);
}

dm_status dm_request_verify(const dm_settings *s, const dm_log *log, const char *const operands[3],
                            dm_verify *v) {
  DM_FREED dm_attributes *provenance = NULL;
  DM_FREED dm_settings *own = NULL;
  DM_TRY(dm_buffer_table(1, &provenance));
  DM_TRY(dm_buffer_table(1, &own));
  *own = *s;
  return request_prepare(own, log, operands, v, provenance);
}

dm_status dm_request_verify_alone(const dm_settings *s, const dm_log *log, const char *operand,
                                  dm_verify *v) {
  char name[DM_NAME];
  dm_location at;
  DM_FREED dm_attributes *found = NULL;
  DM_TRY(dm_buffer_table(1, &found));
  DM_TRY(dm_value_location(operand, &at));
  DM_TRY(dm_request_inspect_group(s, &at, found));
  if (dm_attributes_find(found, DM_REDUCTION_ATTRIBUTE))
    return dm_hint(dm_fail_at(DM_E_INPUT, &at, "is what was kept of C, which has no tiles"),
                   "damier verify A.h5 B.h5 %s computes some of it again", operand);
  DM_TRY(dm_request_inspect_shaped(s, log, &at, DM_AS_COLUMN, &v->c, NULL));
  v->io_threads = dm_request_io_threads(s);
  dm_status status = dm_output_tiles_read(&v->c, &v->tiles, &v->tile_count);
  if (status && v->c.vector != DM_NO_VECTOR) { /* they are of a row */
    dm_status_free(status);
    DM_TRY(dm_request_inspect_shaped(s, log, &at, DM_AS_ROW, &v->c, NULL));
    status = dm_output_tiles_read(&v->c, &v->tiles, &v->tile_count);
  }
  DM_TRY(status);
  if (v->tile_count > 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_INPUT, "%s has no checksums of its tiles, or some of another format",
                         dm_location_name(&v->c.at, name)),
                 "damier verify A.h5 B.h5 %s compares it with the product", name);
}
