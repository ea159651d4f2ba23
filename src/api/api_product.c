/* Turns a product as the caller states it into the pipeline's: rank 0 examines the matrices. */
#include <damier.h>
#include <string.h>

#include "api/library.h"
#include "core/buffer.h"
#include "engine/dataset_input.h"
#include "programs/pairwise.h"
#include "programs/reduced.h"

/* ---- products like the one before ---- */

/* Whether M differs from KEPT only in where its elements are, and in their stream. */
static bool api_product_is_like(const damier_matrix *m, const damier_matrix *kept) {
  damier_matrix there = *m;
  there.data = kept->data;
  return m->data && !m->parts && dm_checks_is_same(&there, kept);
}

static bool is_like_cached(const dm_api_product *p, const dm_stated *stated) {
  const damier_matrix *const all[3] = {stated->a, stated->b, stated->c};
  const dm_stated *before = &p->stated;
  bool like = p->is_cached && !stated->plan_only && stated->gram == before->gram &&
              stated->of_rows == before->of_rows && stated->covariance == before->covariance &&
              stated->correlation == before->correlation && !stated->components;
  for (int x = 0; x < 3 && like; x++) like = all[x] && api_product_is_like(all[x], &p->cached[x]);
  return like;
}

void dm_api_product_begin(dm_api_product *product, damier_context *context,
                          const dm_stated *stated) {
  if (!is_like_cached(product, stated)) memset(product, 0, sizeof *product);
  product->context = context;
  product->stated = *stated;
  product->a = stated->a;
  product->b = stated->b;
  product->c = stated->c;
}

/* ---- what a call states ---- */

static dm_dataset api_product_dataset_of(const dm_api_product *p, const damier_matrix *matrix,
                                         const char *name) {
  const int64_t batch = p->settings.batch;
  dm_dataset d = {.rows = matrix->rows, .cols = matrix->cols, .dtype = (dm_dtype)matrix->type};
  if (batch > 1) d.leads = (dm_leads){.count = 1, .extent = {batch}};
  strcpy(d.at.file, "memory");
  strcpy(d.at.dataset, name);
  return d;
}

static bool is_file(const damier_matrix *matrix) {
  return matrix->division == DAMIER_IN_FILE;
}

static bool is_kept_only(const damier_matrix *matrix) {
  return matrix->division == DAMIER_KEPT;
}

static dm_status api_product_describe(const dm_api_product *p, const damier_matrix *matrix, int x,
                                      dm_dataset *dataset) {
  if (is_file(matrix))
    return dm_request_inspect_factor(&p->settings, &p->context->run.log, matrix->file, x,
                                     !p->stated.components, dataset);
  *dataset = api_product_dataset_of(p, matrix, x == 0 ? "A" : "B");
  return dm_request_state_missing(&p->settings, &p->context->run.log, dataset);
}

/* A C that is not stored has no old one. */
static dm_status settle_kept(const dm_api_product *p, const dm_reductions *kept) {
  if (p->files.has_c)
    return dm_hint(dm_fail(DM_E_USAGE, "a product is reduced without an old C"),
                   "leave out \"beta\"");
  return kept->count > 0 ? DM_OK
                         : dm_hint(dm_fail(DM_E_USAGE, "no option says what is kept of C"),
                                   "\"top\", \"above\", \"below\" and \"reduce\" do");
}

/* The result has more than one array. */
static dm_status settle_components(dm_api_product *p) {
  if (is_kept_only(p->c)) return DM_OK;
  if (is_file(p->c)) return dm_option_take(dm_option_find("output"), p->c->file, &p->settings);
  return dm_hint(dm_fail(DM_E_USAGE, "components are several arrays"),
                 "damier_kept() keeps them in memory; damier_file() names a file for them");
}

/* All ranks know the matrix that beta multiplies, and the destination of C. */
static dm_status api_product_settle(dm_api_product *p) {
  const damier_context *context = p->context;
  dm_settings *s = &p->settings;
  const bool named = dm_given(s, "c");
  dm_reductions kept;
  DM_TRY(dm_request_check_beta(s, context->has_old));
  p->files.has_c = dm_request_reads_c(s);
  DM_TRY(dm_request_reductions(s, &kept));
  if (p->stated.components) return settle_components(p);
  if (is_kept_only(p->c)) return settle_kept(p, &kept);
  p->old = (damier_matrix){.division = DAMIER_IN_FILE};
  const bool stated = context->has_old && !dm_checks_is_same(&context->old, p->c);
  if (p->files.has_c && stated)
    p->old = context->old;
  else if (p->files.has_c && !is_file(p->c) && (context->has_old || !named)) {
    p->old_is_c = true;
    p->old = *p->c;
  } else if (p->files.has_c && !named)
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but there is no old C"),
                   "set it with damier_old_c, or the option \"c\"");
  if (p->old.file) DM_TRY(dm_value_location(p->old.file, &s->old_c));
  if (!is_file(p->c)) return DM_OK;
  return dm_option_take(dm_option_find("output"), p->c->file, s);
}

/* M, if it is in host memory, all on rank 0, which this is; else base NULL. */
static dm_view seen_of(const damier_matrix *m) {
  const bool whole = m->division == DAMIER_ON_ONE    ? m->rank == 0
                     : m->division == DAMIER_BY_ROWS ? m->own_rows == m->rows
                                                     : m->grid_rows == 1 && m->grid_cols == 1;
  if (is_file(m) || is_kept_only(m) || m->memory != DAMIER_HOST_MEMORY || !whole)
    return (dm_view){0};
  return (dm_view){.base = m->data,
                   .dtype = (dm_dtype)m->type,
                   .space = DM_HOST,
                   .rows = m->rows,
                   .cols = m->cols,
                   .row_stride = m->row_stride,
                   .col_stride = m->col_stride};
}

/* C in memory has a type; in a file its type is an option. One of integers is exact, as if the
 * option "type" had stated it. */
static dm_equation equation_of(const dm_api_product *p) {
  dm_equation equation = dm_request_equation_of(&p->settings, &p->files.a, &p->files.b);
  if (is_file(p->c) || is_kept_only(p->c)) return equation;
  equation.type_c = (dm_dtype)p->c->type;
  const bool short_sums = p->files.a.dtype == DM_I8 && p->files.b.dtype == DM_I8;
  if (p->c->type == DAMIER_I64 || (p->c->type == DAMIER_I32 && !short_sums)) {
    if (!dm_given(&p->settings, "type")) equation.type = DM_F64;
  }
  return equation;
}

static bool is_seen(const dm_api_product *p, const damier_matrix *m) {
  const dm_run *run = &p->context->run;
  return is_file(m) || m->rows == 0 || m->cols == 0 ||
         (seen_of(m).base && (run->ranks == 1 || dm_comm_is_one_process(run->world)));
}

/* Types that only exact products of integers have, which are not INTEGRAL. */
static dm_status check_types(const dm_api_product *p, bool integral) {
  const damier_matrix *const all[3] = {p->a, p->b, p->files.has_c ? &p->old : NULL};
  static const char *const names[3] = {"A", "B", "the old C"};
  for (int x = 0; x < 3 && !integral; x++) {
    if (!all[x] || is_file(all[x])) continue;
    const dm_dtype type = (dm_dtype)all[x]->type;
    if (type > DM_DTYPE_COUNT)
      return dm_hint(dm_fail(DM_E_USAGE, "%s in memory is %s", names[x], dm_dtype_name(type)),
                     "a C of type i64 or i32 takes integers; f64 holds those up to 2^53");
  }
  return DM_OK;
}

/* An exact C of integers is one of factors that are read, and is written, like files. */
static dm_status api_product_check_integral(const dm_api_product *p, const dm_problem *problem) {
  const damier_matrix *const all[3] = {p->a, p->b, p->c};
  DM_TRY(check_types(p, dm_problem_is_integral(problem)));
  for (int x = 0; x < 3 && dm_problem_is_integral(problem); x++)
    if (!is_kept_only(all[x]) && !is_seen(p, all[x]))
      return dm_hint(
          dm_fail(DM_E_USAGE, "%s is not in the host memory of one process, as products to %s need",
                  dm_matrix_name(x), dm_dtype_name(problem->c)),
          "matrices in files are multiplied on many ranks; type f64 is exact up to 2^53");
  return DM_OK;
}

static dm_status api_product_check_shape(const dm_api_product *p, const dm_problem *problem) {
  if (is_file(p->c) || is_kept_only(p->c) || (p->c->rows == problem->m && p->c->cols == problem->n))
    return DM_OK;
  return dm_fail(DM_E_USAGE, "C is %lld x %lld, the product %lld x %lld", (long long)p->c->rows,
                 (long long)p->c->cols, (long long)problem->m, (long long)problem->n);
}

/* A batch in memory has the leading dimensions of the one in a file beside it, if it has as many
 * entries: it states their number alone. */
static void take_leads(const dm_api_product *p, dm_dataset *a, dm_dataset *b) {
  const int64_t batch = p->settings.batch;
  const bool in_file[2] = {is_file(p->a), is_file(p->b)};
  if (in_file[0] == in_file[1] || batch == 1) return;
  const dm_leads *leads = in_file[0] ? &a->leads : &b->leads;
  if (dm_leads_entries(leads) == batch) *(in_file[0] ? &b->leads : &a->leads) = *leads;
}

/* Matrices in memory lie as they are. */
static dm_status api_product_arrange(dm_api_product *p) {
  dm_product_files *f = &p->files;
  const dm_settings *s = &p->settings;
  const damier_matrix *const operands[2] = {p->a, p->b};
  const int ops[2] = {s->op_a, s->op_b};
  const dm_dataset *const sets[2] = {&f->a, &f->b};
  for (int x = 0; x < 2; x++) {
    if (is_file(operands[x]) || s->batch == 1) continue;
    if (ops[x] != (int)DM_OP_N)
      return dm_hint(dm_fail(DM_E_USAGE, "a batch in memory is not transposed"),
                     "transpose its entries, or leave out \"op-a\" and \"op-b\"");
    if (sets[x]->rows % s->batch != 0)
      return dm_fail(DM_E_USAGE, "the %lld rows of %c are not those of %lld entries",
                     (long long)sets[x]->rows, "AB"[x], (long long)s -> batch);
  }
  take_leads(p, &f->a, &f->b);
  DM_TRY(dm_request_arrange(s, &f->a, &f->b, &f->form.leads));
  if (!p->stated.components) DM_TRY(dm_request_shape_result(s, &f->a, &f->b, &f->form.leads));
  for (int x = 0; x < 2; x++)
    if (!is_file(operands[x]) && sets[x]->composite)
      return dm_hint(dm_fail(DM_E_USAGE, "%c in memory is not repeated for a batch", "AB"[x]),
                     "pass one for each entry");
  return DM_OK;
}

/* Whether the matrices are all in files, which tell whether they have changed. */
static bool is_of_files(const dm_api_product *p) {
  return is_file(p->a) && is_file(p->b) && is_file(p->c) && (!p->files.has_c || is_file(&p->old));
}

static dm_status check_if_needed(const dm_api_product *p) {
  if (!p->settings.if_needed || is_of_files(p)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "\"if-needed\" needs all matrices in files"),
                 "of a matrix in memory nothing tells whether it has changed");
}

/* X is inspected. */
static dm_status describe_components(dm_api_product *p) {
  const dm_log *log = &p->context->run.log;
  dm_product_files *f = &p->files;
  DM_TRY(check_types(p, false));
  return dm_request_settle_components(&p->settings, log, is_file(p->c), is_of_files(p), f);
}

/* Checks the file of C, unless it is found to be complete, and that is asked for. */
static dm_status check_output(dm_api_product *p) {
  if (!is_file(p->c)) return DM_OK;
  if (is_of_files(p)) DM_TRY(dm_request_find_done(&p->settings, &p->files));
  if (p->files.done) return DM_OK;
  return dm_request_check_output(&p->settings, &p->context->run.log, &p->files);
}

/* Rejects contradictions before anything is started. */
static dm_status describe_all(dm_api_product *p) {
  dm_product_files *f = &p->files;
  dm_problem problem;
  DM_TRY(check_if_needed(p));
  DM_TRY(api_product_describe(p, p->a, 0, &f->a));
  DM_TRY(api_product_describe(p, p->b, 1, &f->b));
  if (p->stated.components) return describe_components(p);
  DM_TRY(api_product_arrange(p));
  if (f->has_c && is_file(&p->old))
    DM_TRY(dm_request_inspect_shaped(&p->settings, &p->context->run.log, &p->settings.old_c,
                                     f->form.leads.vector, &f->c, NULL));
  else if (f->has_c)
    f->c = api_product_dataset_of(p, &p->old, "C");
  dm_request_tell(&p->settings, &p->context->run.log, &f->a, &f->b);
  const dm_equation equation = equation_of(p);
  DM_TRY(dm_request_inspect_vectors(&p->settings, &p->context->run.log, &equation, &f->a, &f->b,
                                    &f->vectors));
  DM_TRY(dm_problem_of(&f->a, &f->b, f->has_c ? &f->c : NULL, &equation, &problem));
  DM_TRY(api_product_check_integral(p, &problem));
  dm_request_tell_types(&p->settings, &p->context->run.log, DM_LOG_DETAIL, &f->a, &f->b, &problem);
  DM_TRY(api_product_check_shape(p, &problem));
  return check_output(p);
}

/* Products of a matrix with itself have the ops that make C symmetric. */
static dm_status settle_gram(dm_api_product *p) {
  const dm_settings *s = &p->context->settings;
  const bool lines = p->stated.gram || p->stated.covariance;
  if (!lines && (s->center_x || s->scale_x))
    return dm_hint(dm_fail(DM_E_USAGE, "\"center\" and \"scale\" apply to gram"),
                   "\"center-a\", \"scale-a\" and so on apply to products of two matrices");
  if (s->half != (int)DM_BOTH_HALVES && (!p->stated.gram || !is_file(p->c)))
    return dm_hint(dm_fail(DM_E_USAGE, "\"triangle\" applies to gram with a C in a file"),
                   "in memory both halves of C are there");
  if (!lines) return DM_OK;
  for (int x = 0; x < 2; x++)
    if (s->center[x].lines != (int)DM_NO_LINES || s->scale[x].lines != (int)DM_NO_LINES)
      return dm_hint(dm_fail(DM_E_USAGE, "\"center-a\" and its like do not apply to gram"),
                     "\"center\" and \"scale\" do");
  if (p->stated.covariance)
    dm_request_covariance(&p->settings, p->stated.of_rows, p->stated.correlation, !p->stated.gram);
  else
    dm_request_gram(&p->settings, p->stated.of_rows);
  if (s->op_a == (int)DM_OP_N && s->op_b == (int)DM_OP_N) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "\"op-a\" and \"op-b\" do not apply to gram"),
                 "of_rows selects X X^H instead of X^H X");
}

static bool any_file(const dm_api_product *p) {
  return is_file(p->a) || is_file(p->b) || is_file(p->c) || (p->files.has_c && is_file(&p->old));
}

static dm_status share_findings(dm_api_product *p) {
  const dm_run *run = &p->context->run;
  dm_product_files *f = &p->files;
  dm_dataset *const datasets[] = {&f->a, &f->b, &f->c};
  DM_TRY(dm_comm_broadcast(run->world, f, sizeof *f, 0));
  return dm_datasets_share(run->world, run->rank, datasets, 3);
}

dm_status dm_api_product_inspect(dm_api_product *product) {
  const dm_run *run = &product->context->run;
  int *write_by = &product->settings.write_by;
  if (product->is_cached) return DM_OK;
  product->settings = product->context->settings;
  /* A file that is truncated while it is mapped ends the process. */
  if (*write_by == (int)DM_WRITE_MAPPED || *write_by == (int)DM_WRITE_AUTO)
    *write_by = (int)DM_WRITE_PWRITE;
  dm_status status = settle_gram(product);
  if (!status) status = api_product_settle(product);
  const bool looks = run->rank == 0 || !any_file(product);
  DM_TRY(dm_comm_agree(run->world, status || !looks ? status : describe_all(product)));
  if (any_file(product)) DM_TRY(share_findings(product));
  dm_product_files *f = &product->files;
  product->none = (damier_matrix){.division = DAMIER_IN_FILE};
  if (dm_dataset_is_empty(&f->a)) product->a = &product->none;
  if (dm_dataset_is_empty(&f->b)) product->b = &product->none;
  return DM_OK;
}

/* ---- the pipeline's product ---- */

_Static_assert(DAMIER_F64 == (int)DM_F64 && DAMIER_BF16 == (int)DM_BF16 &&
                   DAMIER_C128 == (int)DM_C128 && DAMIER_I32 == (int)DM_I32,
               "the types of damier.h are those of core/dtype.h");

_Static_assert(DAMIER_BY_ROWS == (int)DM_BY_ROWS && DAMIER_ON_ONE == (int)DM_ON_ONE &&
                   DAMIER_BLOCK_CYCLIC == (int)DM_BLOCK_CYCLIC &&
                   DAMIER_REPLICATED == (int)DM_REPLICATED,
               "the divisions of damier.h are those of layout/distributed.h");

/* Collective: the ranks of one process see what rank 0 has. */
static dm_status see_all(dm_api_product *p) {
  const damier_matrix *const all[4] = {p->a, p->b, p->c, p->files.has_c ? &p->old : NULL};
  const dm_run *run = &p->context->run;
  memset(p->seen, 0, sizeof p->seen);
  if (run->ranks > 1 && !dm_comm_is_one_process(run->world)) return DM_OK;
  for (int x = 0; x < 4 && run->rank == 0; x++)
    if (all[x]) p->seen[x] = seen_of(all[x]);
  return dm_comm_broadcast(run->world, p->seen, sizeof p->seen, 0);
}

static void find_memory(dm_api_product *p) {
  const damier_matrix *const all[4] = {p->a, p->b, p->c, p->files.has_c ? &p->old : NULL};
  for (int x = 0; x < 4; x++)
    if (all[x] && !is_file(all[x]) && !is_kept_only(all[x])) p->memory[x] = dm_memory_of(all[x]);
}

static void describe_job(dm_api_product *p, dm_multiply *job) {
  const damier_matrix *const all[4] = {p->a, p->b, p->c, p->files.has_c ? &p->old : NULL};
  dm_request_multiply(&p->settings, &p->files, job);
  job->engine.known = &p->context->links;
  job->engine.cached = &p->context->opened;
  job->engine.read_copies = true; /* mapped pages of a truncated file would end the process */
  job->equation.type_c = equation_of(p).type_c;
  find_memory(p);
  for (int x = 0; x < 4; x++)
    if (all[x] && !is_file(all[x]) && !is_kept_only(all[x])) job->in_memory[x] = &p->memory[x];
  dm_dataset *const sets[4] = {&job->a, &job->b, NULL, &job->c};
  for (int x = 0; x < 4; x++)
    if (sets[x] && p->seen[x].base) dm_dataset_set_memory(sets[x], p->seen[x]);
  job->seen_c = p->seen[DM_C];
  if (p->old_is_c) job->in_memory[DM_OLD] = job->in_memory[DM_C];
}

/* All ranks would have to agree that the next product is alike; vectors may be in files. */
static void api_product_keep(dm_api_product *p, bool taken) {
  const damier_context *context = p->context;
  p->is_cached =
      taken && context->run.ranks == 1 && !context->has_old && !dm_multiply_centers(&p->job);
  p->cached[0] = *p->stated.a;
  p->cached[1] = *p->stated.b;
  p->cached[2] = *p->stated.c;
}

dm_status dm_api_product_in_place(dm_api_product *product, dm_in_place_outcome *outcome,
                                  bool *taken) {
  damier_context *context = product->context;
  dm_multiply *job = &product->job;
  *taken = false;
  if (product->is_cached) {
    find_memory(product);
  } else {
    memset(product->seen, 0, sizeof product->seen);
    describe_job(product, job);
  }
  if (product->files.done || product->stated.components || dm_is_pairwise(job) ||
      dm_is_reduced(job))
    return DM_OK;
  DM_TRY(dm_in_place_run(&context->in_place, &context->run, job, outcome, taken));
  api_product_keep(product, *taken);
  return DM_OK;
}

static dm_status find_components(dm_api_product *p, dm_record *record) {
  DM_FREED dm_components *job = NULL;
  const dm_run *run = &p->context->run;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &job)));
  DM_TRY(dm_comm_agree(run->world, dm_request_components_job(&p->settings, &p->files, job)));
  job->multiply = p->job;
  if (p->files.done) {
    dm_components_done(run, job, record);
    return DM_OK;
  }
  return dm_components_run(&p->context->run, job, is_kept_only(p->c) ? &p->context->found : NULL,
                           record);
}

dm_status dm_api_product_multiply(dm_api_product *product, dm_record *record) {
  DM_TRY(see_all(product));
  dm_multiply *job = &product->job;
  describe_job(product, job);
  if (product->stated.components) return find_components(product, record);
  if (product->files.done) return dm_multiply_done(&product->context->run, job, record);
  if (dm_is_reduced(job))
    return dm_reduced_run(&product->context->run, job,
                          is_kept_only(product->c) ? &product->context->kept : NULL, record);
  return dm_is_pairwise(job)
             ? dm_pairwise_run(&product->context->in_place, &product->context->run, job, record)
             : dm_multiply_run(&product->context->run, job, record);
}

dm_status dm_api_product_plan(dm_api_product *product, dm_record *record) {
  DM_TRY(see_all(product));
  describe_job(product, &product->job);
  if (dm_is_reduced(&product->job))
    return dm_reduced_plan(&product->context->run, &product->job, record);
  return dm_multiply_plan(&product->context->run, &product->job, record);
}

/* ---- how callers describe matrices ---- */

damier_matrix damier_file(const char *location) {
  return (damier_matrix){.division = DAMIER_IN_FILE, .file = location};
}

damier_matrix damier_kept(void) {
  return (damier_matrix){.division = DAMIER_KEPT};
}

static damier_matrix in_rows(damier_type type, int64_t rows, int64_t cols, void *data,
                             int64_t stride) {
  return (damier_matrix){.type = type,
                         .rows = rows,
                         .cols = cols,
                         .data = data,
                         .row_stride = stride ? stride : cols,
                         .col_stride = 1};
}

damier_matrix damier_by_rows(damier_type type, int64_t rows, int64_t cols, int64_t own_rows,
                             void *data, int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_BY_ROWS;
  matrix.own_rows = own_rows;
  return matrix;
}

damier_matrix damier_on_one(damier_type type, int64_t rows, int64_t cols, int rank, void *data,
                            int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_ON_ONE;
  matrix.rank = rank;
  return matrix;
}

damier_matrix damier_on_all(damier_type type, int64_t rows, int64_t cols, void *data,
                            int64_t stride) {
  damier_matrix matrix = in_rows(type, rows, cols, data, stride);
  matrix.division = DAMIER_REPLICATED;
  return matrix;
}

/* desc: type, context, m, n, mb, nb, rsrc, csrc, lld (ScaLAPACK Users' Guide, section 4.3.3). */
damier_matrix damier_scalapack(damier_type type, const int desc[9], int grid_rows, int grid_cols,
                               int column_major, void *data) {
  if (!desc) return (damier_matrix){.division = (damier_division)-1}; /* calls refuse it */
  return (damier_matrix){.division = DAMIER_BLOCK_CYCLIC,
                         .type = type,
                         .rows = desc[2],
                         .cols = desc[3],
                         .data = data,
                         .row_stride = 1,
                         .col_stride = desc[8],
                         .grid_rows = grid_rows,
                         .grid_cols = grid_cols,
                         .column_major = column_major,
                         .row_block = desc[4],
                         .col_block = desc[5],
                         .first_row = desc[6],
                         .first_col = desc[7]};
}

damier_matrix damier_in_gpu(damier_matrix matrix, void *stream) {
  matrix.memory = DAMIER_GPU_MEMORY;
  matrix.stream = stream;
  return matrix;
}

damier_matrix damier_in_parts(const damier_matrix *parts, int count) {
  damier_matrix matrix = {.division = (damier_division)-1}; /* without parts calls refuse it */
  if (parts && count > 0) matrix = parts[0];
  matrix.parts = parts;
  matrix.part_count = count;
  return matrix;
}

/* ---- files ---- */
