#include "options/request.h"
#include "core/checksum.h"
#include "dataset/dataset_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/units.h"
#include "dataset/composite.h"
#include "dataset/entries.h"
#include "io/journal.h"
#include "programs/info.h"

dm_check_seed dm_request_check_seed(const dm_settings *s) {
  return (dm_check_seed){dm_given(s, "verify-seed"), s->verify_seed};
}

dm_wishes dm_request_wishes(const dm_settings *s) {
  return (dm_wishes){
      .pm = (int)s->grid[0],
      .pn = (int)s->grid[1],
      .pk = (int)s->grid[2],
      .panel = s->panel[0],
      .ramp = {s->panel[1], s->panel[2]},
      .reproducible = s->reproducible,
      .no_overlap = !s->overlap,
  };
}

dm_output_form dm_request_form(const dm_settings *s) {
  return (dm_output_form){.chunk_rows = s->chunk[0],
                          .chunk_cols = s->chunk[1],
                          .deflate = (int)s->deflate,
                          .zstd = (int)dm_min(s->zstd, INT32_MAX),
                          .shuffle = s->shuffle};
}

int dm_request_io_threads(const dm_settings *s) {
  return dm_given(s, "io-threads") ? (int)dm_min(s->io_threads, INT32_MAX) : -1;
}

dm_engine_options dm_request_engine(const dm_settings *s) {
  return (dm_engine_options){
      .backend = dm_chosen(s, "backend"),
      .kernel = s->kernel,
      .transport = dm_chosen(s, "transport"),
      .threads = (int)s->threads,
      .io_threads = dm_request_io_threads(s),
      .read_copies = s->read_by != 0,
      .write_by = (dm_write_way)s->write_by,
      .memory_host = s->memory[0],
      .memory_device = s->memory[1],
      .require_gpu_per_rank = s->require_gpu_per_rank,
      .pretend_nodes = (int)s->pretend_nodes,
      .machine = s->machine,
      .wishes = dm_request_wishes(s),
  };
}

dm_status dm_request_inspect_operands(const dm_settings *s, const dm_log *log,
                                      const char *const operands[2], dm_product_files *f,
                                      dm_problem *problem) {
  DM_TRY(dm_request_inspect_both(s, log, operands, &f->a, &f->b));
  DM_TRY(dm_request_arrange(s, &f->a, &f->b, &f->form.leads));
  DM_TRY(dm_request_shape_result(s, &f->a, &f->b, &f->form.leads));
  if (f->has_c)
    DM_TRY(dm_request_inspect_shaped(s, log, &s->old_c, f->form.leads.vector, &f->c, NULL));
  dm_request_tell(s, log, &f->a, &f->b);
  DM_TRY(dm_request_problem(s, f, problem));
  dm_request_tell_types(s, log, DM_LOG_NOTE, &f->a, &f->b, problem);
  return DM_OK;
}

/* The vector AT, or NUMBERS in memory, with one for each of LENGTH WHATs. */
static dm_status inspect_vector(const dm_settings *s, const dm_log *log, const dm_location *at,
                                const dm_numbers *numbers, int64_t length, const char *what,
                                dm_dataset *vector) {
  dm_settings own = *s;
  char name[DM_NAME], shape[DM_SHAPE_TEXT];
  own.as_column = true;
  own.as_row = false;
  if (numbers->list) {
    *vector = (dm_dataset){.at = *at, .rows = numbers->count, .cols = 1, .dtype = DM_F64};
    dm_dataset_set_memory(
        vector, dm_view_row_major((void *)(uintptr_t)numbers->list, DM_F64, numbers->count, 1));
  } else {
    DM_TRY(dm_request_inspect_at(&own, log, at, vector, NULL));
  }
  dm_location_name(&vector->at, name);
  if (vector->composite)
    return dm_hint(dm_fail(DM_E_USAGE, "%s is a part of a dataset, or several", name),
                   "write the vector as a dataset of its own");
  if (dm_dtype_is_complex(dm_dataset_type(vector)))
    return dm_fail(DM_E_INPUT, "%s is complex", name);
  if (dm_min(vector->rows, vector->cols) == 1 && dm_max(vector->rows, vector->cols) == length)
    return DM_OK;
  return dm_fail(DM_E_INPUT, "%s has %s numbers, not one for each of %lld %s", name,
                 dm_dataset_text(vector, shape), (long long)length, what);
}

dm_status dm_request_inspect_vectors(const dm_settings *s, const dm_log *log, const dm_equation *e,
                                     const dm_dataset *a, const dm_dataset *b, dm_vectors *v) {
  const dm_dataset *const sets[2] = {a, b};
  const int64_t inner = e->op_a == DM_OP_N ? a->cols : a->rows;
  for (int x = 0; x < 2; x++) {
    const dm_lines_choice *const choices[] = {&s->center[x], &s->scale[x]};
    dm_dataset *const vectors[] = {&v->center[x], &v->scale[x]};
    for (int i = 0; i < 2; i++) {
      const bool rows = choices[i]->lines == (int)DM_ROW_LINES;
      const dm_numbers *numbers = &s->numbers[(i == 0 ? DM_CENTERS : DM_SCALES) + x];
      if (choices[i]->by.file[0])
        DM_TRY(inspect_vector(s, log, &choices[i]->by, numbers,
                              rows ? sets[x]->rows : sets[x]->cols, rows ? "rows" : "columns",
                              vectors[i]));
    }
  }
  if (!s->weights.file[0]) return DM_OK;
  return inspect_vector(s, log, &s->weights, &s->numbers[DM_WEIGHTS], inner, "terms of the sums",
                        &v->weights);
}

/* Options that say what --grm says otherwise. */
static dm_status check_grm(const dm_settings *s) {
  static const char *const others[] = {"center",   "scale",   "divide",  "weights", "center-a",
                                       "center-b", "scale-a", "scale-b", "c",       "beta"};
  const dm_missing missing = (dm_missing)s->missing;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (dm_given(s, others[i]))
      return dm_fail(DM_E_USAGE, "--grm and --%s cannot be combined", others[i]);
  if (!s->gram || s->covariance)
    return dm_fail(DM_E_USAGE, "--grm is a product of a matrix with itself (gram)");
  if (s->op_a == (int)DM_OP_N)
    return dm_hint(dm_fail(DM_E_USAGE, "--grm is of samples, the columns of a .bed file"),
                   "leave out --of rows");
  if (missing == DM_MISSING_PAIRWISE || missing == DM_MISSING_MEAN || missing == DM_MISSING_REFUSED)
    return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "--grm does not take --missing %s", dm_missing_name(missing)),
                 "pairwise, the default, divides by the variants known in both samples, mean by "
                 "all; refuse allows no missing one");
}

/* Distances are computed in f64 from the lines as they are. */
static dm_status check_distance(const dm_settings *s) {
  static const char *const others[] = {"type",         "compute",      "triangle",
                                       "reproducible", "verify-files", "verify-written",
                                       "on-corruption"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (dm_given(s, others[i]))
      return dm_hint(
          dm_fail(DM_E_USAGE, "--%s does not apply to distances", others[i]),
          "they are computed in f64, in tiles that are verified before they are written");
  if (s->missing == (int)DM_MISSING_MEAN)
    return dm_hint(dm_fail(DM_E_USAGE, "distances do not take --missing mean"),
                   "--missing nan makes distances to such lines NaN");
  return DM_OK;
}

/* Metrics are of lines as they are. */
static dm_status check_metric(const dm_settings *s, const dm_dataset *a, const dm_dataset *b) {
  static const char *const others[] = {"center",   "scale",    "divide",  "weights",
                                       "center-a", "center-b", "scale-a", "scale-b",
                                       "c",        "beta",     "alpha",   "grm"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (dm_given(s, others[i]))
      return dm_fail(DM_E_USAGE, "--metric and --%s cannot be combined", others[i]);
  if (s->covariance)
    return dm_hint(dm_fail(DM_E_USAGE, "--metric applies to multiply and gram"),
                   "correlations are the cosines of centered lines");
  if (dm_dtype_is_complex(dm_dataset_type(a)) || dm_dtype_is_complex(dm_dataset_type(b)))
    return dm_fail(DM_E_USAGE, "--metric takes real matrices");
  if (s->missing == (int)DM_MISSING_PAIRWISE || s->missing == (int)DM_MISSING_COMPLETE)
    return dm_fail(DM_E_USAGE, "--metric does not take --missing %s",
                   dm_missing_name((dm_missing)s->missing));
  return s->metric.kind == DM_COSINE ? DM_OK : check_distance(s);
}

static dm_status check_pairwise(const dm_settings *s, const dm_dataset *a, const dm_dataset *b) {
  const dm_dataset *const sets[2] = {a, b};
  char name[DM_NAME];
  if (!dm_request_has_covariances(s, false) && !dm_request_has_covariances(s, true))
    return dm_hint(
        dm_fail(DM_E_USAGE, "--missing pairwise applies to covariances and correlations"),
        "cov and cor, of one matrix or of two; products take --missing nan, zero, mean or "
        "complete");
  if (dm_request_reads_c(s)) return dm_fail(DM_E_USAGE, "--missing pairwise adds no old C");
  for (int x = 0; x < 2; x++)
    if (dm_dtype_is_complex(dm_dataset_type(sets[x])))
      return dm_fail(DM_E_USAGE, "%s is complex; --missing pairwise takes real matrices",
                     dm_location_name(&sets[x]->at, name));
  return s->weights.file[0] ? dm_fail(DM_E_USAGE, "--missing pairwise takes no weights") : DM_OK;
}

dm_status dm_request_arrange(const dm_settings *s, dm_dataset *a, dm_dataset *b, dm_leads *leads) {
  char name[DM_NAME];
  if (s->gram && a->leads.count > 0)
    return dm_hint(dm_fail(DM_E_INPUT, "%s has %d dimensions; a matrix has 2",
                           dm_location_name(&a->at, name), a->leads.count + 2),
                   "--row-axes-a 1 flattens it: a row for each entry of the first dimension; "
                   "'%.400s[0]' names one of them%s",
                   name,
                   dm_request_may_be_complex(a)
                       ? "; --complex-axis last takes the last one as real and imaginary parts"
                       : "");
  if (dm_dataset_is_same(a, b) && !dm_composite_is_same(a->composite, b->composite))
    return dm_hint(dm_fail_at(DM_E_IO, &b->at, "changed since it was inspected"),
                   "a list of rows or files was written, or a file came or went");
  const dm_equation equation = dm_request_equation(s);
  if (s->metric.kind != DM_NO_DISTANCE) DM_TRY(check_metric(s, a, b));
  if (s->grm) DM_TRY(check_grm(s));
  if (s->nonfounders && !s->grm)
    return dm_fail(DM_E_USAGE, "--nonfounders says how --grm counts alleles");
  if (s->missing == (int)DM_MISSING_PAIRWISE && !s->grm) DM_TRY(check_pairwise(s, a, b));
  const bool batch[2] = {a->leads.count + b->leads.count > 0, b->leads.count > 0};
  for (int x = 0; x < 2; x++) /* A by itself is repeated for the matrices of B */
    if (batch[x] && dm_standard_changes(&equation.standard[x]))
      return dm_fail(DM_E_USAGE,
                     "the matrices of a batch are not centered, scaled, weighted or filled");
  *leads = a->leads;
  if (a->leads.count == 0 && b->leads.count == 0) return DM_OK; /* two matrices */
  return dm_entries_arrange(a, s->op_a != (int)DM_OP_N, b, s->op_b != (int)DM_OP_N, leads);
}

dm_status dm_request_check_leads(const dm_dataset *c, const dm_leads *leads) {
  char name[DM_NAME];
  bool same = c->leads.count == leads->count;
  for (int i = 0; same && i < leads->count; i++) same = c->leads.extent[i] == leads->extent[i];
  if (same) return DM_OK;
  return dm_fail(DM_E_INPUT, "the leading dimensions of %s are not those of the product",
                 dm_location_name(&c->at, name));
}

dm_status dm_request_problem(const dm_settings *s, const dm_product_files *f, dm_problem *problem) {
  const dm_equation equation = dm_request_equation_of(s, &f->a, &f->b);
  if (f->has_c) DM_TRY(dm_request_check_leads(&f->c, &f->form.leads));
  return dm_problem_of(&f->a, &f->b, f->has_c ? &f->c : NULL, &equation, problem);
}

/* An earlier run of the command may have named C before it was killed: only its journal is left to
 * be removed. CHECKED says whether the file may be replaced. */
static dm_status find_result(const dm_settings *s, const dm_log *log, dm_product_files *f,
                             const dm_problem *problem, dm_status checked) {
  struct stat info;
  bool complete;
  if ((checked && checked->code != DM_E_USAGE) || lstat(f->out.file, &info) < 0) return checked;
  dm_location at = f->out;
  if (dm_output_is_alone(&f->out)) at.dataset[0] = '\0';
  dm_status status = dm_journal_inspect_complete(&f->out, problem->m, problem->n, &complete);
  if (!status && complete)
    status = dm_request_inspect_shaped(s, log, &at, f->form.leads.vector, &f->existing, NULL);
  if (status) f->existing = (dm_dataset){0};
  dm_status_free(status);
  if (!f->existing.at.file[0]) return checked;
  f->only_done = checked != DM_OK;
  dm_status_free(checked);
  return DM_OK;
}

/* A reduction has no C that an earlier run may have left. */
static dm_status check_reduced(const dm_settings *s, const dm_problem *problem,
                               const dm_dataset *const *inputs, int count, dm_product_files *f) {
  f->out = s->output;
  if (dm_problem_entries(problem) > 1)
    return dm_hint(dm_fail(DM_E_USAGE, "a batch of products is not reduced"),
                   "name one matrix of each stack: A.h5:/a[0]");
  return dm_output_check_arrays(&f->out, "/c", s->force || s->if_needed, inputs, count);
}

dm_status dm_request_check_output(const dm_settings *s, const dm_log *log, dm_product_files *f) {
  /* Checked here only to reject a problem that does not fit together before any work starts. */
  dm_problem problem;
  DM_TRY(dm_request_problem(s, f, &problem));
  const dm_leads leads = f->form.leads;
  const dm_vectors *v = &f->vectors;
  const dm_dataset *const inputs[] = {&f->a,        &f->b,        &v->center[0], &v->center[1],
                                      &v->scale[0], &v->scale[1], &v->weights};
  dm_reductions kept;
  DM_TRY(dm_request_reductions(s, &kept));
  if (kept.count > 0) return check_reduced(s, &problem, inputs, 7, f);
  f->out = s->output;
  f->form = dm_request_form(s);
  f->form.leads = leads;
  f->form.npy = dm_output_is_npy(&f->out);
  f->form.zarr = dm_output_is_zarr(&f->out);
  f->out.names = f->a.names != DM_NAMES_R_I ? f->a.names : f->b.names; /* if C is complex */
  DM_TRY(find_result(s, log, f, &problem,
                     dm_output_check(&f->out, "/c", s->force || s->if_needed, inputs, 7,
                                     f->has_c ? &f->c : NULL, s->append ? &f->form : NULL)));
  dm_output_form form = f->form;
  return dm_output_form_complete(&form, problem.c, problem.m, problem.n);
}

void dm_request_multiply(const dm_settings *s, const dm_product_files *f, dm_multiply *job) {
  *job = (dm_multiply){
      .a = f->a,
      .b = f->b,
      .has_c = f->has_c,
      .c = f->c,
      .out = f->out,
      .existing = f->existing,
      .only_done = f->only_done,
      .equation = dm_request_equation_of(s, &f->a, &f->b),
      .vectors = f->vectors,
      .engine = dm_request_engine(s),
      .form = f->form,
      .verify = s->verify,
      .seed = dm_request_check_seed(s),
      .verify_files = s->verify_files,
      .read_back = (dm_read_back)s->verify_written,
      .on_corruption = (dm_on_corruption)s->on_corruption,
      .force = s->force || s->if_needed,
      .allow_unchecked = s->allow_unchecked,
      .protect = s->protect,
      .checkpoint = s->checkpoint && s->protect, /* a checkpoint trusts tiles by their checksums */
      .checkpoint_interval = s->checkpoint_interval,
  };
  memcpy(job->request, f->request, sizeof job->request);
  dm_status_free(dm_request_reductions(s, &job->kept)); /* it was checked with the output */
  if (s->missing != (int)DM_MISSING_PAIRWISE) dm_equation_divide(&f->a, &job->equation);
}

_Static_assert(DM_ALIKE >= DM_OPTIONS + 32, "room for the options and what else a call states");

void dm_request_add_alike(dm_alike *alike, const dm_settings *settings) {
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *o = &dm_options[i];
    if (!dm_option_is_setting(o)) continue;
    const uint64_t stated[] = {(uint64_t)dm_checksum_bytes((const char *)settings + o->value.at,
                                                           (int64_t)o->value.room, 0),
                               settings->given[i]};
    dm_alike_add(alike, o->name, stated, sizeof stated);
    const int vector = dm_option_vector(o);
    if (vector < 0) continue;
    const dm_numbers *numbers = &settings->numbers[vector];
    const int64_t bytes = numbers->count * (int64_t)sizeof(double);
    const uint64_t sum =
        numbers->list ? (uint64_t)dm_checksum_bytes((const char *)numbers->list, bytes, 1) : 0;
    dm_alike_add(alike, o->name, &sum, sizeof sum);
  }
}

/* ---- what a location names: a matrix, or the contents of a file ---- */

/* Describes the matrix AT. */
static dm_status request_describe(const dm_settings *s, const dm_log *log, const dm_location *at,
                                  dm_record *record) {
  DM_FREED dm_attributes *provenance = NULL;
  DM_TRY(dm_buffer_table(1, &provenance));
  dm_dataset dataset = {.composite = NULL};
  dm_location location = *at;
  location.row_axes = s->row_axes[0];
  location.complex_axis = (dm_complex_axis)s->complex_axis;
  location.fold = s->fold[0];
  dm_status status = dm_request_inspect_at(s, log, &location, &dataset, provenance);
  if (!status) status = dm_info_dataset(&dataset, provenance, record);
  dm_dataset_free(&dataset);
  return status;
}

/* Describes the contents of a file, and its only matrix in full. If nothing in it can be
 * multiplied, the error follows the list. */
static dm_status describe_file(const dm_settings *s, const dm_log *log, const dm_location *at,
                               dm_listing *listing, dm_record *record, bool *found) {
  dm_trust trust;
  DM_TRY(dm_request_trust(s, &trust));
  DM_TRY(dm_file_list(at, &trust, listing));
  int64_t good = 0, which = 0;
  for (int64_t i = listing->count - 1; i >= 0; i--) {
    const dm_listed *d = &listing->list[i];
    if (d->refused[0] || (good > 0 && d->kind > listing->list[which].kind)) continue;
    good = good > 0 && d->kind == listing->list[which].kind ? good + 1 : 1;
    which = i;
  }
  *found = listing->all > 1;
  if (*found) dm_info_listing(at, listing, record);
  if (*found && good == 0)
    return dm_fail(DM_E_INPUT, "%s: contains nothing that can be multiplied", at->file);
  if (good > 1 || listing->all > listing->count) return DM_OK;
  dm_location one = *at;
  const char *name = listing->list[which].name;
  if (listing->all > 0 && !strchr(name, '?')) /* with '?' the name may have been sanitized */
    snprintf(one.dataset, sizeof one.dataset, "%s", name);
  return request_describe(s, log, &one, record);
}

dm_status dm_request_describe(const dm_settings *s, const dm_log *log, const char *operand,
                              dm_record *record, bool *found) {
  dm_location at;
  *found = false;
  DM_TRY(dm_location_parse(operand, &at));
  if (at.dataset[0] || at.part[0] || dm_location_is_stack(&at) || s->fold[0].way != DM_NOT_FOLDED)
    return request_describe(s, log, &at, record);
  DM_FREED dm_listing *listing = NULL;
  DM_TRY(dm_buffer_table(1, &listing));
  return describe_file(s, log, &at, listing, record, found);
}
