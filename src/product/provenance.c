#include "product/provenance.h"

#include <string.h>
#include <time.h>

#include "check/verdict.h"
#include "core/compute.h"
#include "core/version.h"
#include "file/inspect.h"
#include "plan/plan_text.h"

const char *dm_op_name(dm_op op) {
  return op == DM_OP_N ? "n" : op == DM_OP_T ? "t" : "c";
}

const char *dm_half_name(dm_half half) {
  return half == DM_LOWER_HALF ? "lower" : half == DM_UPPER_HALF ? "upper" : "both";
}

static dm_status add_dataset(dm_attributes *list, const char *name, const dm_dataset *dataset) {
  char at[DM_NAME], shape[DM_SHAPE_TEXT];
  DM_TRY(dm_attributes_add(list, name, "%s", dm_location_name(&dataset->at, at)));
  char about[DM_ATTRIBUTE_NAME];
  snprintf(about, sizeof about, "%s_matrix", name);
  DM_TRY(dm_attributes_add(list, about, "%s %s", dm_dataset_text(dataset, shape),
                           dm_dtype_name(dataset->dtype)));
  char meaning[DM_MEANING_TEXT + 64];
  dm_io_describe_meaning(dataset, meaning, sizeof meaning);
  if (!meaning[0]) return DM_OK;
  snprintf(about, sizeof about, "%s_values", name);
  return dm_attributes_add(list, about, "%s", meaning);
}

dm_status dm_provenance_command(const dm_run *run, dm_attributes *list) {
  const char *command = run->command ? run->command : "";
  static const char mark[] = " ...";
  const bool fits = strlen(command) < DM_ATTRIBUTE_TEXT;
  const int length = fits ? DM_ATTRIBUTE_TEXT : DM_ATTRIBUTE_TEXT - (int)sizeof mark;
  return dm_attributes_add(list, "command", "%.*s%s", length, command, fits ? "" : mark);
}

static dm_status add_software(dm_attributes *list, const dm_run *run) {
  char date[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  DM_TRY(dm_attributes_add(list, "software", "damier"));
  DM_TRY(dm_attributes_add(list, "software_version", "%s", DM_VERSION));
  DM_TRY(dm_attributes_add(list, "git", "%s", DM_GIT));
  DM_TRY(dm_attributes_add(list, "date", "%s", date));
  return dm_provenance_command(run, list);
}

/* RE or RE,IM. %.17g preserves the exact value. */
static dm_status add_scalar(dm_attributes *list, const char *name, const double value[2]) {
  if (value[1] == 0.0) return dm_attributes_add(list, name, "%.17g", value[0]);
  return dm_attributes_add(list, name, "%.17g,%.17g", value[0], value[1]);
}

dm_status dm_provenance_centering(dm_attributes *list, const dm_multiply *m, bool always) {
  static const char *const names[2] = {"centering_a", "centering_b"};
  const dm_dataset *const sets[2] = {&m->a, &m->b};
  for (int x = 0; x < 2; x++) {
    const dm_standard *s = &m->equation.standard[x];
    char by[32] = "";
    if (sets[x]->centering && sets[x]->centering->given)
      snprintf(by, sizeof by, ", by %016llx", (unsigned long long)sets[x]->centering->given);
    if (always || dm_standard_lines(s) != DM_NO_LINES)
      DM_TRY(dm_attributes_add(list, names[x], "center %s, scale %s%s%s", dm_lines_name(s->center),
                               dm_lines_name(s->scale), s->fills ? ", missing mean" : "", by));
  }
  return DM_OK;
}

/* What becomes of missing values, and which one is, if the user says so. */
static dm_status add_missing(dm_attributes *list, const dm_meaning *m, bool is_whole) {
  if (m->missing != DM_MISSING_REFUSED)
    DM_TRY(dm_attributes_add(list, "missing", "%s", dm_missing_name(m->missing)));
  if (!m->asked || m->count == 0) return DM_OK;
  return is_whole ? dm_attributes_add(list, "missing_value", "%lld", (long long)m->whole[0])
                  : dm_attributes_add(list, "missing_value", "%.17g", m->real[0]);
}

static dm_status add_vectors(dm_attributes *list, const dm_multiply *m) {
  static const char *const names[2][2] = {{"center_a", "scale_a"}, {"center_b", "scale_b"}};
  char at[DM_NAME];
  for (int x = 0; x < 2; x++) {
    const dm_standard *s = &m->equation.standard[x];
    const char *lines = dm_lines_name(dm_standard_lines(s));
    if (s->center_by)
      DM_TRY(dm_attributes_add(list, names[x][0], "%s:%s", lines,
                               dm_location_name(&m->vectors.center[x].at, at)));
    if (s->scale_by)
      DM_TRY(dm_attributes_add(list, names[x][1], "%s:%s", lines,
                               dm_location_name(&m->vectors.scale[x].at, at)));
  }
  if (!m->equation.standard[0].weighted) return DM_OK;
  DM_TRY(dm_attributes_add(list, "weights", "%s", dm_location_name(&m->vectors.weights.at, at)));
  return dm_attributes_add(list, "weights_are", "%s",
                           m->equation.weights_are == DM_FREQUENCIES ? "frequency" : "reliability");
}

static dm_status add_equation(dm_attributes *list, const dm_multiply *multiply,
                              const dm_compute *row) {
  const dm_equation *equation = &multiply->equation;
  DM_TRY(dm_attributes_add(list, "op_a", "%s", dm_op_name(equation->op_a)));
  DM_TRY(dm_attributes_add(list, "op_b", "%s", dm_op_name(equation->op_b)));
  DM_TRY(dm_provenance_centering(list, multiply, false));
  if (equation->half != DM_BOTH_HALVES)
    DM_TRY(dm_attributes_add(list, "triangle", "%s", dm_half_name(equation->half)));
  DM_TRY(add_scalar(list, "alpha", equation->alpha));
  DM_TRY(add_scalar(list, "beta", equation->beta));
  DM_TRY(dm_attributes_add(list, "type", "%s",
                           equation->type == DM_DTYPE_NONE ? "" : dm_dtype_name(equation->type)));
  char compute[24];
  dm_compute_choice_text(equation->compute, compute);
  if (dm_compute_is_fastest(equation->compute)) /* the mode chosen */
    snprintf(compute, sizeof compute, "%s", dm_compute_is_plain(row) ? "auto" : row->name);
  return dm_attributes_add(list, "compute", "%s", equation->own ? equation->own->name : compute);
}

static dm_status add_verdict(dm_attributes *list, const dm_verdict *verdict) {
  if (!verdict) return dm_attributes_add(list, "verified", "no");
  DM_TRY(dm_attributes_add(list, "verified", "%s", dm_verdict_word(verdict)));
  DM_TRY(dm_attributes_add(list, "residual", "%.3g of the bound", verdict->residual));
  char seed[DM_SEED_TEXT];
  DM_TRY(dm_attributes_add(list, "verify_seed", "%s", dm_verdict_seed(verdict, seed)));
  DM_TRY(dm_attributes_add(list, "norm", "%.17g", verdict->norm));
  DM_TRY(dm_attributes_add(list, "repaired_tiles", "%lld", (long long)verdict->repaired));
  DM_TRY(dm_attributes_add(list, "rows_left_out", "%lld", (long long)verdict->rows_left_out));
  return dm_attributes_add(list, "cols_left_out", "%lld", (long long)verdict->cols_left_out);
}

dm_status dm_provenance_of(const dm_multiply *multiply, const dm_setup *setup, const dm_run *run,
                           const dm_verdict *verdict, dm_attributes *list) {
  char recipe[DM_RECIPE];
  dm_plan_recipe(&setup->plan, recipe);
  list->count = 0;
  DM_TRY(add_software(list, run));
  DM_TRY(add_dataset(list, "a", &multiply->a));
  DM_TRY(add_dataset(list, "b", &multiply->b));
  if (setup->plan.problem.reads_c) DM_TRY(add_dataset(list, "old_c", &multiply->c));
  DM_TRY(add_missing(list, &multiply->a.meaning, dm_dtype_is_integer(multiply->a.dtype)));
  DM_TRY(add_vectors(list, multiply));
  DM_TRY(add_equation(list, multiply, &setup->plan.problem.compute));
  DM_TRY(dm_attributes_add(list, "backend", "%s", setup->backend->ops->name));
  DM_TRY(dm_attributes_add(list, "device", "%s", setup->device.name));
  DM_TRY(dm_attributes_add(list, "ranks", "%d", run->ranks));
  DM_TRY(dm_attributes_add(list, "recipe", "%s", recipe));
  return add_verdict(list, verdict);
}

void dm_provenance_record(const dm_dataset *const sets[3], dm_record *record) {
  static const char *const paths[] = {"files.a_values", "files.b_values", "files.old_c_values"};
  static const char *const labels[] = {"  values of A", "  values of B", "  values of the old C"};
  for (int i = 0; i < 3; i++) {
    char text[DM_MEANING_TEXT + 64];
    if (!sets[i]) continue;
    dm_io_describe_meaning(sets[i], text, sizeof text);
    if (text[0]) dm_record_text(record, paths[i], labels[i], "%s", text);
  }
}
