#include "programs/pairwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/compute.h"
#include "core/copy.h"
#include "core/units.h"
#include "io/read.h"
#include "plan/partition.h"
#include "product/center_product.h"
#include "product/multiply.h"
#include "programs/pairwise_impl.h"

/* A product: what is read in place of the values of its factors. */
static const struct {
  dm_role left, right;
} pairwise_factors[PAIRWISE_FACTORS] = {[COUNTS] = {DM_ROLE_PRESENT, DM_ROLE_PRESENT},
                                        [PAIRWISE_PRODUCTS] = {DM_ROLE_VALUES, DM_ROLE_VALUES},
                                        [PAIRWISE_SUMS] = {DM_ROLE_VALUES, DM_ROLE_PRESENT},
                                        [PAIRWISE_SQUARES] = {DM_ROLE_SQUARES, DM_ROLE_PRESENT},
                                        [OTHER_SUMS] = {DM_ROLE_PRESENT, DM_ROLE_VALUES},
                                        [OTHER_SQUARES] = {DM_ROLE_PRESENT, DM_ROLE_SQUARES}};

/* ---- the products ---- */

dm_memory_matrix dm_pairwise_in_rows(const pairwise *p, double *rows, bool on_gpu) {
  return (dm_memory_matrix){.division = DM_BY_ROWS,
                            .dtype = DM_F64,
                            .rows = p->m,
                            .cols = p->n,
                            .data = rows,
                            .row_stride = p->n,
                            .col_stride = 1,
                            .own_rows = dm_range_size(p->own),
                            .on_gpu = on_gpu};
}

/* A or B in memory: a copy in which each value is what ROLE says. */
static dm_status copy_role(const pairwise *p, int x, const dm_centering *role, dm_dataset *set,
                           dm_centered_copy *copy) {
  static const char *const names[] = {"A", "B"};
  const dm_centered_source from = {p->multiply->in_memory[x], names[x], set, DM_F64};
  DM_TRY(dm_centered_copy_open(p->run, &p->multiply->engine, NULL, &from, copy));
  set->dtype = DM_F64;
  dm_status status = dm_centered_copy_change(p->run, copy, role);
  set->meaning = (dm_meaning){.active = false};
  return status;
}

/* The same in GPU memory, where a copy serves several products. */
static dm_status change_role(pairwise *p, int x, const dm_centering *role) {
  if (p->held[x] == role->role) return DM_OK;
  p->held[x] = role->role;
  return dm_centered_copy_change(p->run, p->copies[x], role);
}

static dm_status set_copies(pairwise *p, const dm_centering *roles[2], dm_multiply *job) {
  dm_dataset *const sets[2] = {&job->a, &job->b};
  for (int x = 0; x < 2; x++) {
    const int which = roles[x]->role == DM_ROLE_PRESENT;
    DM_TRY(change_role(p, which, roles[x]));
    sets[x]->dtype = DM_F64;
    sets[x]->meaning = (dm_meaning){.active = false};
    sets[x]->inode = roles[x]->role; /* other copies are other matrices */
    job->in_memory[x] = &p->copies[which]->stated;
  }
  return DM_OK;
}

/* The factors of JOB, which are X as ROLES say. */
static dm_status set_factors(const pairwise *p, const dm_centering *roles[2], dm_multiply *job,
                             dm_centered_copy copies[2]) {
  dm_dataset *const sets[2] = {&job->a, &job->b};
  for (int x = 0; x < 2; x++) {
    sets[x]->centering = roles[x];
    if (!p->multiply->in_memory[x] || sets[x]->memory.base) continue; /* it is read */
    sets[x]->centering = NULL;
    const bool again = x == 1 && roles[0] == roles[1];
    if (!again) DM_TRY(copy_role(p, x, roles[x], sets[x], &copies[x]));
    if (again) *sets[1] = *sets[0];
    job->in_memory[x] = &copies[again ? 0 : x].stated;
  }
  return DM_OK;
}

/* Where the factors are, if they suit; Inf that hides C from its verification does not. */
static dm_status multiply_there(pairwise *p, const dm_multiply *job) {
  dm_in_place_outcome outcome;
  bool taken = false;
  dm_status status = dm_in_place_run(p->in_place, p->run, job, &outcome, &taken);
  if (status && (status->code == DM_E_UNCHECKED || status->code == DM_E_CORRUPT ||
                 status->code == DM_E_VERIFY)) {
    dm_status_free(status);
    taken = false;
  } else {
    DM_TRY(status);
  }
  if (taken && outcome.verified)
    p->verdict.residual = fmax(p->verdict.residual, outcome.verdict.residual);
  return taken ? DM_OK : dm_multiply_run(p->run, job, NULL);
}

static dm_status multiply_job(pairwise *p, int which, dm_multiply *job) {
  if (p->gpu) return multiply_there(p, job);
  return p->in_memory ? dm_multiply_run(p->run, job, NULL) : dm_pairwise_to_file(p, which, job);
}

/* Sums of ones below 2^24 are exact in f32. Copies in GPU memory are multiplied as they are. */
static dm_dtype type_of_product(const pairwise *p, int which) {
  const int64_t most = INT64_C(1) << 24;
  return which == COUNTS && p->k < most && !p->gpu ? DM_F32 : DM_F64;
}

static dm_status multiply_roles(pairwise *p, int which) {
  dm_centering left = *p->centering[0], right = *p->centering[1];
  dm_multiply job = *p->multiply;
  dm_equation *e = &job.equation;
  dm_centered_copy copies[2] = {{.room = NULL}, {.room = NULL}};
  const dm_memory_matrix rows = dm_pairwise_in_rows(p, p->rows[which], p->gpu != NULL);
  const bool same = p->one && pairwise_factors[which].left == pairwise_factors[which].right;
  left.role = pairwise_factors[which].left;
  right.role = pairwise_factors[which].right;
  *e = (dm_equation){.op_a = e->op_a,
                     .op_b = e->op_b,
                     .alpha = {1.0, 0.0},
                     .type = type_of_product(p, which),
                     .type_c = DM_F64,
                     .symmetric = same};
  job.form = (dm_output_form){0};
  job.existing = (dm_dataset){0};
  job.seen_c = (dm_view){.base = NULL};
  job.only_done = job.has_c = false;
  job.force = job.keep_journal = job.scratch = true;
  job.in_memory[DM_C] = p->in_memory ? &rows : NULL;
  job.engine.process_bytes = p->process_bytes;
  const dm_centering *roles[2] = {&left, same ? &left : &right};
  dm_status status = p->gpu ? set_copies(p, roles, &job) : set_factors(p, roles, &job, copies);
  if (!status) status = multiply_job(p, which, &job);
  for (int x = 0; x < 2; x++) dm_centered_copy_free(&copies[x]);
  return status;
}

/* ---- products in memory ---- */

/* Of rows of products and, as the last ones, of columns. */
static int64_t arrays_of(const pairwise *p) {
  if (p->relates) return p->count;
  return p->one && p->in_memory && p->run->ranks == 1 ? OTHER_SUMS : PAIRWISE_FACTORS;
}

int64_t dm_pairwise_share(const pairwise *p) {
  return dm_setup_share(p->multiply->engine.memory_host,
                        (double)dm_memory_available() / p->run->local_ranks);
}

dm_status dm_pairwise_bytes(const pairwise *p, int64_t *bytes, int64_t *all) {
  DM_TRY(dm_bytes_of(dm_range_size(p->own), p->n, sizeof(double), bytes));
  if (dm_mul_overflows(*bytes, arrays_of(p), all)) *all = INT64_MAX;
  return DM_OK;
}

static dm_status pairwise_take_rows(pairwise *p) {
  int64_t bytes, all;
  DM_TRY(dm_pairwise_bytes(p, &bytes, &all));
  const int64_t share = dm_pairwise_share(p);
  char needs[32], has[32];
  if (all > share && !p->gpu)
    return dm_hint(dm_fail(DM_E_FIT, "the products of pairs need %s in memory, a rank has %s",
                           dm_format_bytes(all, needs), dm_format_bytes(share, has)),
                   "use more ranks, or X and C in files");
  if (!p->gpu) p->process_bytes += all;
  for (int i = 0; i < arrays_of(p) && bytes > 0; i++)
    DM_TRY(p->gpu ? dm_backend_alloc(p->gpu, DM_DEVICE, bytes, (void **)&p->rows[i])
                  : dm_buffer_alloc(bytes, (void **)&p->rows[i]));
  return DM_OK;
}

static void free_rows(pairwise *p) {
  for (int i = 0; i < PAIRWISE_FACTORS; i++) {
    if (p->gpu)
      dm_backend_release(p->gpu, DM_DEVICE, p->rows[i]);
    else
      free(p->rows[i]);
    p->rows[i] = NULL;
  }
}

dm_status dm_pairwise_move(const pairwise *p, const dm_memory_matrix *stated, dm_backend *backend,
                           bool turned, dm_distributed *to) {
  dm_distributed from;
  dm_status status = dm_distributed_open(p->run->world, stated, "a product", &from);
  if (!status) /* the parts of only some ranks may be in GPU memory */
    status = dm_comm_agree(
        p->run->world, stated->on_gpu ? dm_distributed_reach(&from, backend, "a product") : DM_OK);
  if (!status) {
    if (turned) dm_distributed_transpose(&from);
    const dm_end source = dm_distributed_end(&from), destination = dm_distributed_end(to);
    const dm_move all = {.dtype = DM_F64, .from = &source, .to = &destination};
    status = dm_redistribute(p->run->world, &all);
  }
  dm_distributed_close(&from);
  return status;
}

dm_view dm_pairwise_view(const pairwise *p, double *rows, int64_t count, bool on_gpu) {
  dm_view view = dm_view_row_major(rows, DM_F64, count, p->n);
  view.space = on_gpu ? DM_DEVICE : DM_HOST;
  return view;
}

static dm_status pairwise_copy_rows(const pairwise *p, double *to, double *from, bool to_gpu) {
  const int64_t count = dm_range_size(p->own);
  if (count == 0) return DM_OK;
  return dm_backend_copy_now(p->gpu, dm_pairwise_view(p, to, count, to_gpu),
                             dm_pairwise_view(p, from, count, !to_gpu));
}

/* Rows I become the columns with these numbers; to GPUs through host memory. */
static dm_status bring_column(const pairwise *p, int i, double *host) {
  const dm_memory_matrix of =
      dm_pairwise_in_rows(p, p->rows[dm_pairwise_column_of(i)], p->gpu != NULL);
  const dm_memory_matrix columns = dm_pairwise_in_rows(p, host, false);
  dm_distributed to;
  dm_status status = dm_distributed_open(p->run->world, &columns, "a product", &to);
  if (!status) status = dm_pairwise_move(p, &of, p->gpu, true, &to);
  dm_distributed_close(&to);
  if (!status && p->gpu)
    status = dm_comm_agree(p->run->world, pairwise_copy_rows(p, p->rows[i], host, true));
  return status;
}

static dm_status bring_columns(const pairwise *p) {
  void *host = NULL;
  int64_t bytes, all;
  DM_TRY(dm_pairwise_bytes(p, &bytes, &all));
  if (p->gpu && p->run->ranks > 1)
    DM_TRY(dm_comm_agree(p->run->world, bytes > 0 ? dm_buffer_alloc(bytes, &host) : DM_OK));
  dm_status status = DM_OK;
  for (int i = OTHER_SUMS; i < arrays_of(p) && p->one && p->run->ranks > 1 && !status; i++)
    status = bring_column(p, i, p->gpu ? host : p->rows[i]);
  free(host);
  return status;
}

/* ---- GPU memory ---- */

enum { PAIRWISE_SPARE = 8 }; /* a part of the GPU's memory that is left to products */

/* Whether two copies of this rank's part of X and its rows of the products fit. */
static dm_status pairwise_fits(const pairwise *p, dm_view x, bool *does) {
  int64_t bytes, rows, all;
  dm_device device;
  DM_TRY(dm_backend_device(p->gpu, &device));
  DM_TRY(dm_pairwise_bytes(p, &bytes, &rows));
  DM_TRY(dm_bytes_of(x.rows + 2, x.cols + 2, sizeof(double), &bytes)); /* lines are rounded up */
  const int64_t limit = p->multiply->engine.memory_device;
  const int64_t has = limit > 0 ? dm_min(limit, device.memory_free) : device.memory_free;
  /* Several ranks move factors. */
  *does = !dm_mul_overflows(bytes, p->run->ranks > 1 ? 4 : 2, &all) &&
          !dm_add_overflows(all, rows, &all) && all <= has - has / PAIRWISE_SPARE;
  return DM_OK;
}

static void leave_gpu(pairwise *p) {
  for (int x = 0; x < 2; x++) dm_centered_room_release(&p->rooms[x]);
  dm_backend_close(p->gpu);
  p->gpu = NULL;
}

/* Collective: opens the GPU that has this rank's part of X, if each rank has one and all fits. */
static dm_status find_gpu(pairwise *p) {
  const dm_memory_matrix *stated = p->multiply->in_memory[DM_A];
  const char *name = p->multiply->engine.backend;
  dm_distributed x;
  bool does = false;
  if (p->relates || !p->in_place || !p->one || !stated || p->multiply->a.memory.base ||
      strcmp(name, "cpu") == 0)
    return DM_OK;
  DM_TRY(dm_distributed_open(p->run->world, stated, "A", &x));
  dm_status status = dm_distributed_open_backend(p->run, &p->multiply->engine, &x, "A", &p->gpu);
  if (!status && p->gpu) status = pairwise_fits(p, x.local, &does);
  dm_distributed_close(&x);
  int64_t lacks = !does;
  DM_TRY(dm_comm_agree(p->run->world, status));
  DM_TRY(dm_comm_max_i64(p->run->world, &lacks, 1));
  if (lacks) leave_gpu(p);
  for (int i = 0; i < 2; i++) p->rooms[i].backend = p->gpu;
  return DM_OK;
}

/* ---- rows of products ---- */

/* Relationships have no sums of their own; |z|^2 of each sample takes the place of squares. */
static void set_squares(const pairwise *p, int64_t first, dm_view views[PAIRWISE_FACTORS]) {
  static const double none = 0.0;
  const dm_view zero = {.base = (void *)(uintptr_t)&none, .dtype = DM_F64, .space = DM_HOST};
  for (int i = PAIRWISE_SUMS; i < PAIRWISE_FACTORS; i++) views[i] = zero;
  if (!p->diagonal) return;
  views[PAIRWISE_SQUARES].base = p->diagonal + first;
  views[PAIRWISE_SQUARES].row_stride = 1;
  views[OTHER_SQUARES].base = p->diagonal;
  views[OTHER_SQUARES].col_stride = 1;
}

dm_pairs dm_pairwise_pairs(const pairwise *p, int64_t first, int64_t at, int64_t count) {
  dm_view views[PAIRWISE_FACTORS] = {{.base = NULL}};
  for (int i = 0; i < PAIRWISE_FACTORS; i++) {
    if (p->rows[i])
      views[i] = dm_pairwise_view(p, p->rows[i] + at * p->n, count, p->gpu != NULL);
    else if (i >= OTHER_SUMS && p->rows[dm_pairwise_column_of(i)]) /* one rank has all */
      views[i] = dm_view_sub(dm_view_transpose(dm_pairwise_view(
                                 p, p->rows[dm_pairwise_column_of(i)], p->m, p->gpu != NULL)),
                             at, 0, count, p->n);
  }
  if (p->relates) set_squares(p, first, views);
  return (dm_pairs){.first = first,
                    .one = p->one,
                    .counts = views[COUNTS],
                    .products = views[PAIRWISE_PRODUCTS],
                    .sums = {views[PAIRWISE_SUMS], views[OTHER_SUMS]},
                    .squares = {views[PAIRWISE_SQUARES], views[OTHER_SQUARES]},
                    .exponents = {p->exponents[0] + first, p->exponents[1]}};
}

static void set_form(pairwise *p) {
  const dm_divide divide = p->multiply->equation.divide;
  if (p->relates) {
    p->form = (dm_pair_form){.mean = true, .alpha = p->multiply->equation.alpha[0]};
    return;
  }
  p->form = (dm_pair_form){.correlation = p->multiply->equation.standard[0].scale != DM_NO_LINES,
                           .divided = divide != DM_NO_DIVISION,
                           .less = divide == DM_DIVIDE_BY_N_LESS_1 ? 1.0 : 0.0,
                           .alpha = p->multiply->equation.alpha[0]};
}

/* ---- all ---- */

/* Collective: the diagonal of the products of which each rank has rows. */
static dm_status take_diagonal(pairwise *p) {
  DM_TRY(dm_comm_agree(p->run->world, dm_buffer_table(dm_max(1, p->n), &p->diagonal)));
  for (int64_t i = p->own.begin; i < p->own.end; i++)
    p->diagonal[i] = p->rows[PAIRWISE_PRODUCTS][(i - p->own.begin) * p->n + i];
  return dm_comm_sum_f64(p->run->world, p->diagonal, p->n);
}

static dm_status pairwise_multiply_all(pairwise *p) {
  const double start = dm_now();
  if (p->in_memory) DM_TRY(dm_comm_agree(p->run->world, pairwise_take_rows(p)));
  const bool alone = dm_pairwise_counts_alone(p);
  for (int i = alone ? COUNTS + 1 : COUNTS; i < p->count; i++) DM_TRY(multiply_roles(p, i));
  if (alone)
    DM_TRY(p->in_memory
               ? dm_pairwise_count_in_memory(p)
               : dm_pairwise_keep_counts(p, (dm_pairwise_share(p) - p->process_bytes) / 4));
  p->multiplied = dm_now() - start;
  if (p->relates && p->in_memory) DM_TRY(take_diagonal(p));
  return p->in_memory ? bring_columns(p) : DM_OK;
}

dm_status dm_pairwise_to_host(pairwise *p) {
  void *host = NULL;
  int64_t bytes, all;
  if (dm_range_size(p->own) == 0) {
    free_rows(p);
    return DM_OK;
  }
  DM_TRY(dm_pairwise_bytes(p, &bytes, &all));
  DM_TRY(dm_buffer_alloc(bytes, &host));
  dm_status status = pairwise_copy_rows(p, host, p->rows[COUNTS], false);
  free_rows(p);
  leave_gpu(p);
  p->rows[COUNTS] = host;
  return status;
}

dm_status dm_pairwise_leave_gpu(pairwise *p) {
  free_rows(p);
  leave_gpu(p);
  return pairwise_multiply_all(p);
}

/* A stop keeps the products before the one that was under way. */
static dm_status pairwise_report_resumable(const pairwise *p, dm_status status) {
  int kept = 0;
  for (int i = 0; i < p->count; i++) kept += p->made[i].at.file[0] != '\0';
  if (status->code != DM_E_STOPPED || kept == 0) return status;
  return dm_hint(status, "%d of %d products of pairs are kept: the same command resumes from them",
                 kept, p->count);
}

/* The exponents of the lines of A, or B, whose values were multiplied with powers of two. */
static dm_status pairwise_set_exponents(pairwise *p, int x) {
  const dm_centering *c = p->centering[x];
  const int64_t lines = x == 0 ? p->m : p->n;
  DM_TRY(dm_buffer_table(dm_max(1, lines), &p->exponents[x]));
  for (int64_t i = 0; i < lines; i++) { /* observations are standardised, not lines */
    if (p->relates) p->exponents[x][i] = DM_PAIR_NO_LINE;
    if (p->relates) continue;
    const double power = c->power ? c->power[i] : 1.0, factor = c->factor[i];
    p->exponents[x][i] = factor == 0.0 ? DM_PAIR_NO_LINE : (double)-(ilogb(power) + ilogb(factor));
  }
  return DM_OK;
}

/* Takes the means of the lines, of which in GPU memory the values less the means are kept. */
static dm_status take_means(pairwise *p, dm_centered *made) {
  DM_FREED dm_multiply *taken = NULL;
  DM_TRY(dm_comm_agree(p->run->world, dm_buffer_table(1, &taken)));
  *taken = *p->multiply;
  for (int x = 0; x < 2; x++) {
    const dm_lines lines = dm_standard_lines(&p->multiply->equation.standard[x]);
    if (p->relates) continue;
    taken->equation.standard[x] =
        (dm_standard){.center = lines, .scale = lines, .fills = true, .by_power = true};
  }
  taken->equation.symmetric = p->one;
  if (p->gpu) taken->equation.type = DM_F64;
  DM_TRY(dm_center_product(p->run, taken, p->gpu ? p->rooms : NULL, made));
  p->centering[0] = made->made[0];
  p->centering[1] = p->one ? made->made[0] : made->made[1];
  p->copies[0] = &made->copies[0];
  p->held[0] = DM_ROLE_VALUES;
  for (int x = 0; x < 2 && !p->gpu; x++) dm_centered_copy_free(&made->copies[x]);
  dm_status status = DM_OK;
  for (int x = 0; x < 2 && !status; x++) status = pairwise_set_exponents(p, x);
  return dm_comm_agree(p->run->world, status);
}

/* The copy in GPU memory of what is present. */
static dm_status open_present(pairwise *p, dm_centered_copy *copy) {
  const dm_centered_source from = {p->multiply->in_memory[DM_A], "A", &p->multiply->a, DM_F64};
  p->copies[1] = copy;
  p->held[1] = DM_ROLE_VALUES; /* not yet what it is for */
  return p->gpu ? dm_centered_copy_open(p->run, &p->multiply->engine, &p->rooms[1], &from, copy)
                : DM_OK;
}

/* Whether B is A, and its lines are those of A. */
static bool pairwise_is_one(const dm_multiply *m) {
  const dm_equation *e = &m->equation;
  const bool files = !m->in_memory[DM_A] && !m->in_memory[DM_B];
  return e->symmetric || (files && dm_dataset_is_same(&m->a, &m->b) &&
                          e->standard[0].center == e->standard[1].center);
}

static void pairwise_describe(pairwise *p, const dm_multiply *m) {
  const dm_equation *e = &m->equation;
  const bool rows[2] = {e->op_a == DM_OP_N, e->op_b != DM_OP_N}; /* are lines */
  p->relates = e->standard[0].relates;
  p->one = pairwise_is_one(m);
  p->count = p->relates ? PAIRWISE_SUMS : p->one ? OTHER_SUMS : PAIRWISE_FACTORS;
  p->m = rows[0] ? m->a.rows : m->a.cols;
  p->n = rows[1] ? m->b.rows : m->b.cols;
  p->k = rows[0] ? m->a.cols : m->a.rows;
  p->own = dm_split(p->m, p->run->ranks, p->run->rank, 1);
}

static void free_all(pairwise *p, dm_centered *made, dm_centered_copy *present) {
  free_rows(p);
  for (int x = 0; x < 2; x++) free(p->exponents[x]);
  free(p->diagonal);
  dm_pair_list_free(&p->doubtful);
  dm_pair_list_free(&p->sample);
  dm_centered_copy_free(present);
  dm_centered_free(made);
  leave_gpu(p);
}

dm_status dm_pairwise_make(pairwise *p, const dm_multiply *m, dm_status (*work)(pairwise *)) {
  DM_FREED dm_multiply *own = NULL;
  dm_centered made = {.made = {NULL, NULL}};
  dm_centered_copy present = {.room = NULL};
  DM_TRY(dm_comm_agree(p->run->world, dm_buffer_table(1, &own)));
  *own = *m;
  pairwise_describe(p, m);
  p->process_bytes = dm_setup_process_bytes(p->run);
  const dm_dtype type =
      own->equation.type == DM_DTYPE_NONE ? dm_dataset_type(&m->a) : own->equation.type;
  if (own->equation.type_c == DM_DTYPE_NONE)
    own->equation.type_c = dm_dtype_is_integer(type) ? DM_F64 : dm_compute_sum(type);
  p->multiply = own;
  set_form(p);
  dm_status status = DM_OK;
  if (!p->in_memory)
    status = dm_comm_agree(p->run->world, p->run->rank == 0 ? dm_pairwise_check_space(p) : DM_OK);
  if (!status) status = find_gpu(p);
  if (!status) status = take_means(p, &made);
  if (!status) status = open_present(p, &present);
  if (!status) status = pairwise_multiply_all(p);
  if (!status) status = work(p);
  /* With checkpoints an interrupted run resumes from the products that it has made. */
  if (status && p->multiply->checkpoint)
    status = pairwise_report_resumable(p, status);
  else if (status)
    dm_pairwise_remove_all(p);
  free_all(p, &made, &present);
  return status;
}

void dm_pair_list_free(dm_pair_list *list) {
  free(list->list);
  *list = (dm_pair_list){.list = NULL};
}

const dm_pair_again *dm_pair_list_row(const dm_pair_list *list, int64_t row, int64_t *count) {
  int64_t low = 0, high = list->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (list->list[middle].row < row)
      low = middle + 1;
    else
      high = middle;
  }
  for (high = low; high < list->count && list->list[high].row == row;) high++;
  *count = high - low;
  return list->list + low;
}
