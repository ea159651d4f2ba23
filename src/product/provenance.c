#include "product/provenance.h"
#include "dataset/dataset_text.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/compute.h"
#include "core/notes.h"
#include "core/units.h"
#include "core/version.h"
#include "engine/phases.h"
#include "inspect/inspect.h"
#include "plan/plan_text.h"
#include "run/facts.h"
#include "transform/centered.h"

const char *dm_op_name(dm_op op) {
  return op == DM_OP_N ? "n" : op == DM_OP_T ? "t" : "c";
}

const char *dm_half_name(dm_half half) {
  return half == DM_LOWER_HALF ? "lower" : half == DM_UPPER_HALF ? "upper" : "both";
}

static dm_status provenance_add_dataset(dm_attributes *list, const char *name,
                                        const dm_dataset *dataset) {
  char at[DM_NAME], shape[DM_SHAPE_TEXT];
  DM_TRY(dm_attributes_add(list, name, "%s", dm_location_name(&dataset->at, at)));
  char about[DM_ATTRIBUTE_NAME];
  snprintf(about, sizeof about, "%s_matrix", name);
  DM_TRY(dm_attributes_add(list, about, "%s %s", dm_dataset_text(dataset, shape),
                           dm_dtype_name(dataset->dtype)));
  char meaning[DM_MEANING_TEXT + 64];
  dm_dataset_describe_meaning(dataset, meaning, sizeof meaning);
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
static dm_status provenance_add_scalar(dm_attributes *list, const char *name,
                                       const double value[2]) {
  if (value[1] == 0.0) return dm_attributes_add(list, name, "%.17g", value[0]);
  return dm_attributes_add(list, name, "%.17g,%.17g", value[0], value[1]);
}

dm_status dm_provenance_centering(dm_attributes *list, const dm_multiply *m, bool always) {
  static const char *const names[2] = {"centering_a", "centering_b"};
  const dm_dataset *const sets[2] = {&m->a, &m->b};
  for (int x = 0; x < 2; x++) {
    const dm_standard *s = &m->equation.standard[x];
    char by[32] = "";
    if (sets[x]->centering && sets[x]->centering->user_sum)
      snprintf(by, sizeof by, ", by %016llx", (unsigned long long)sets[x]->centering->user_sum);
    if (always || dm_standard_lines(s) != DM_NO_LINES)
      DM_TRY(dm_attributes_add(list, names[x], "center %s, scale %s%s%s%s",
                               dm_lines_name(s->center), dm_lines_name(s->scale),
                               s->by_length ? " by length" : "", s->fills ? ", missing mean" : "",
                               by));
  }
  return DM_OK;
}

/* What becomes of missing values, and which one is, if the user says so. Not as "missing_value", by
 * which readers would take elements of C as missing. */
static dm_status add_missing(dm_attributes *list, const dm_meaning *m, dm_dtype type) {
  if (m->missing != DM_MISSING_REFUSED)
    DM_TRY(dm_attributes_add(list, "missing", "%s", dm_missing_name(m->missing)));
  if (!m->asked || m->count == 0) return DM_OK;
  if (type == DM_U64)
    return dm_attributes_add(list, "missing_number", "%llu", (unsigned long long)m->integers[0]);
  return dm_dtype_is_integer(type)
             ? dm_attributes_add(list, "missing_number", "%lld", (long long)m->integers[0])
             : dm_attributes_add(list, "missing_number", "%.17g", m->real[0]);
}

static dm_status add_relation(dm_attributes *list, const dm_standard *s) {
  if (!s->relates) return DM_OK;
  DM_TRY(dm_attributes_add(list, "grm", "yes"));
  return dm_attributes_add(list, "nonfounders", "%s", s->of_all ? "yes" : "no");
}

static dm_status add_vectors(dm_attributes *list, const dm_multiply *m) {
  static const char *const names[2][2] = {{"center_a", "scale_a"}, {"center_b", "scale_b"}};
  char at[DM_NAME];
  for (int x = 0; x < 2; x++) {
    const dm_standard *s = &m->equation.standard[x];
    if (!s->center_by && !s->scale_by) continue;
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

dm_status dm_provenance_divide(dm_attributes *list, dm_divide divide) {
  static const char *const names[] = {"1", "n", "n-1"};
  return dm_attributes_add(list, "divide", "%s", names[divide]);
}

static dm_status add_equation(dm_attributes *list, const dm_multiply *multiply) {
  const dm_equation *equation = &multiply->equation;
  DM_TRY(dm_attributes_add(list, "op_a", "%s", dm_op_name(equation->op_a)));
  DM_TRY(dm_attributes_add(list, "op_b", "%s", dm_op_name(equation->op_b)));
  DM_TRY(dm_provenance_centering(list, multiply, false));
  if (equation->standard[0].by_length) DM_TRY(dm_attributes_add(list, "metric", "cosine"));
  char metric[DM_DISTANCE_TEXT];
  if (equation->distance.kind != DM_NO_DISTANCE)
    DM_TRY(dm_attributes_add(list, "metric", "%s", dm_distance_text(&equation->distance, metric)));
  if (equation->half != DM_BOTH_HALVES)
    DM_TRY(dm_attributes_add(list, "triangle", "%s", dm_half_name(equation->half)));
  const bool divides = equation->divided != DM_NO_DIVISION;
  if (divides) DM_TRY(dm_provenance_divide(list, equation->divided));
  DM_TRY(provenance_add_scalar(list, "alpha", divides ? equation->undivided : equation->alpha));
  return provenance_add_scalar(list, "beta", equation->beta);
}

dm_status dm_provenance_arithmetic(dm_attributes *list, const dm_equation *equation,
                                   const dm_compute *row) {
  DM_TRY(dm_attributes_add(list, "type", "%s",
                           equation->type == DM_DTYPE_NONE ? "" : dm_dtype_name(equation->type)));
  char compute[24];
  dm_compute_choice_text(equation->compute, compute);
  if (dm_compute_is_fastest(equation->compute)) /* the mode chosen */
    snprintf(compute, sizeof compute, "%s", dm_compute_is_plain(row) ? "auto" : row->name);
  DM_TRY(dm_attributes_add(list, "compute", "%s", equation->own ? equation->own->name : compute));
  return row->piece > 0 ? dm_attributes_add(list, "accumulate", "f32") : DM_OK;
}

dm_status dm_provenance_notes(dm_attributes *list, const dm_run *run) {
  DM_FREED char *all = dm_notes_join(run->log.notes, " | ");
  if (!all) return DM_OK;
  const bool fits = strlen(all) < DM_ATTRIBUTE_TEXT;
  return dm_attributes_add(list, "warnings", "%.*s%s",
                           fits ? DM_ATTRIBUTE_TEXT : DM_ATTRIBUTE_TEXT - 5, all,
                           fits ? "" : " ...");
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

dm_status dm_provenance_inputs(dm_attributes *list, const dm_run *run, const dm_multiply *m,
                               bool reads_c) {
  DM_TRY(add_software(list, run));
  if (m->request[0]) DM_TRY(dm_attributes_add(list, "request", "%s", m->request));
  DM_TRY(provenance_add_dataset(list, "a", &m->a));
  DM_TRY(provenance_add_dataset(list, "b", &m->b));
  if (reads_c && dm_multiply_in_file(m, DM_OLD))
    DM_TRY(provenance_add_dataset(list, "old_c", &m->c));
  DM_TRY(add_missing(list, &m->a.meaning, m->a.dtype));
  DM_TRY(add_relation(list, &m->equation.standard[0]));
  DM_TRY(add_vectors(list, m));
  return add_equation(list, m);
}

dm_status dm_provenance_of(const dm_multiply *multiply, const dm_setup *setup, const dm_run *run,
                           const dm_verdict *verdict, dm_attributes *list) {
  const dm_problem *problem = &setup->plan.problem;
  char recipe[DM_RECIPE];
  dm_plan_recipe(&setup->plan, recipe);
  list->count = 0;
  DM_TRY(dm_provenance_inputs(list, run, multiply, problem->reads_c));
  DM_TRY(dm_provenance_arithmetic(list, &multiply->equation, &problem->compute));
  DM_TRY(dm_attributes_add(list, "backend", "%s", setup->backend->ops->name));
  DM_TRY(dm_attributes_add(list, "device", "%s", setup->device.name));
  DM_TRY(dm_attributes_add(list, "ranks", "%d", run->ranks));
  DM_TRY(dm_attributes_add(list, "recipe", "%s", recipe));
  DM_TRY(dm_provenance_notes(list, run));
  return add_verdict(list, verdict);
}

void dm_provenance_record(const dm_dataset *const sets[3], dm_record *record) {
  static const char *const paths[] = {"files.a_values", "files.b_values", "files.old_c_values"};
  static const char *const labels[] = {"  values of A", "  values of B", "  values of the old C"};
  for (int i = 0; i < 3; i++) {
    char text[DM_MEANING_TEXT + 64];
    if (!sets[i]) continue;
    dm_dataset_describe_meaning(sets[i], text, sizeof text);
    if (text[0]) dm_record_text(record, paths[i], labels[i], "%s", text);
  }
}

/* ---- the record of a product ---- */

static const dm_dataset *in_file(const dm_multiplied *done, int matrix, const dm_dataset *set) {
  return done->multiply->in_memory[matrix] ? NULL : set;
}

static void record_files(const dm_multiplied *done, dm_record *record) {
  const dm_dataset *inputs[] = {&done->multiply->a, &done->multiply->b};
  const char *const paths[] = {"files.a", "files.b"}, *const labels[] = {"A", "B"};
  for (int i = 0; i < 2; i++) {
    const dm_dataset *d = inputs[i];
    char layout[160], name[DM_NAME], shape[DM_SHAPE_TEXT];
    dm_dataset_text(d, shape);
    if (done->multiply->in_memory[i]) {
      dm_record_text(record, paths[i], labels[i], "in memory, %s %s", shape,
                     dm_dtype_name(d->dtype));
      continue;
    }
    dm_dataset_describe(d, layout, sizeof layout);
    dm_record_text(record, paths[i], labels[i], "%s, %s %s, %s", dm_location_name(&d->at, name),
                   shape, dm_dtype_name(d->dtype), layout);
    dm_facts_file_system(i == 0 ? "a" : "b", d->at.file, record);
  }
  dm_provenance_record(
      (const dm_dataset *const[3]){
          in_file(done, DM_A, &done->multiply->a), in_file(done, DM_B, &done->multiply->b),
          done->multiply->has_c ? in_file(done, DM_OLD, &done->multiply->c) : NULL},
      record);
  if (inputs[0]->centering || inputs[1]->centering) dm_centering_record(inputs, record);
  if (done->calls > 0)
    dm_record_integer(record, "files.read_calls", NULL, DM_SHOWN_PLAIN, done->calls);
  if (done->unpacked > 0) {
    dm_record_integer(record, "files.chunks", "chunks in A and B", DM_SHOWN_PLAIN,
                      dm_dataset_chunks(inputs[0]) + dm_dataset_chunks(inputs[1]));
    dm_record_integer(record, "files.chunks_unpacked", "chunks unpacked", DM_SHOWN_PLAIN,
                      done->unpacked);
  }
  if (done->multiply->in_memory[DM_C]) {
    dm_record_text(record, "files.c", "C", "in memory");
    return;
  }
  char form[96], name[DM_NAME];
  dm_output_form_text(done->form, form, sizeof form);
  const dm_location *out = &done->multiply->out;
  dm_record_text(record, "files.c", "C", "%s, %s",
                 dm_output_is_alone(out) ? out->file : dm_location_name(out, name), form);
  dm_facts_file_system("c", done->multiply->out.file, record);
  dm_record_text(record, "files.write_way", "C is written by", "%s", dm_write_way_name(done->way));
}

/* A machine that others use, or whose CPU is limited or throttled, makes the prediction useless. */
static void comment_slowness(const dm_multiplied *done) {
  const double long_run = 10, slow = 5; /* seconds, times the prediction */
  const dm_forecast *f = &done->setup->plan.forecast;
  char took[32], predicted[32];
  if (done->seconds < long_run || done->seconds < slow * (f->start + f->total)) return;
  dm_log_line(&done->run->log, DM_LOG_NOTE,
              "took %s, predicted %s: is the machine busy, or its CPU limited or throttled? "
              "(docs/howto/slow.md)",
              dm_format_seconds(done->seconds, took),
              dm_format_seconds(f->start + f->total, predicted));
}

void dm_multiply_record(const dm_multiplied *done, dm_record *record) {
  const dm_plan *plan = &done->setup->plan;
  const dm_problem *p = &plan->problem;
  const dm_phases *worst = done->worst;
  const dm_verdict *verdict = done->verdict;
  record_files(done, record);
  comment_slowness(done);
  dm_setup_record(done->setup, done->run, record);
  if (p->symmetry != DM_NO_SYMMETRY)
    dm_record_text(record, "problem.symmetry", "symmetry", "%s: half of C multiplied and mirrored",
                   p->symmetry == DM_HERMITIAN ? "Hermitian" : "symmetric");
  if (p->compute.moduli > 0)
    dm_record_integer(record, "problem.moduli", NULL, DM_SHOWN_PLAIN, p->compute.moduli);
  const double factor = fmax(done->factor, dm_compute_factor(&p->compute, p->work, p->k));
  if (factor > 0.0)
    dm_record_real(record, "problem.factor", "rounding at most f u |A||B|, f", DM_SHOWN_PLAIN,
                   factor);
  dm_run_record_launch(done->run, record);
  dm_phases_record(worst, done->mean, plan, done->seconds, record);
  static const char unverified[] = "UNVERIFIED";
  const dm_equation *e = &done->multiply->equation;
  const dm_verified checked = {.problem = p,
                               .alpha = done->sums ? NULL : e->alpha,
                               .beta = done->sums ? NULL : e->beta,
                               .standard = e->standard};
  if (verdict)
    dm_verdict_record(verdict, &checked, &done->run->log, record);
  else
    dm_record_text(record, "verification.verdict", NULL, "%s", unverified);
  if (done->repeated > 0.0)
    dm_record_real(record, "times.repeated_s", "before C was computed anew", DM_SHOWN_SECONDS,
                   done->repeated);
  dm_record_flag(record, "verification.read_back", NULL, done->read_back);
  char seed[DM_SEED_TEXT] = "", sizes[DM_SIZES_TEXT];
  if (verdict) dm_verdict_seed(verdict, seed);
  dm_record_summary(record,
                    "%s dtype=%s ranks=%d time_s=%.3f multiply_s=%.3f tflops=%.4g "
                    "residual=%.2g%s%s %s",
                    dm_problem_sizes(p, sizes), dm_dtype_name(p->work), done->run->ranks,
                    done->seconds, worst->multiply + worst->reduce,
                    dm_phases_flops(worst, plan) * 1e-12, verdict ? verdict->residual : 0.0,
                    seed[0] ? " seed=" : "", seed, verdict ? dm_verdict_word(verdict) : unverified);
}

void dm_multiply_record_done(const dm_run *run, const dm_multiply *m, const dm_problem *p,
                             dm_record *record) {
  char name[DM_NAME], sizes[DM_SIZES_TEXT];
  dm_record_text(record, "files.c", "C", "%s, made by an earlier run",
                 dm_location_name(&m->out, name));
  dm_record_summary(record, "%s dtype=%s ranks=%d DONE", dm_problem_sizes(p, sizes),
                    dm_dtype_name(p->work), run->ranks);
}
