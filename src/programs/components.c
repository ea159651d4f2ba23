/* How components are found: which method, how many passes, and when they are good enough. */
#include "programs/components.h"

#include <limits.h>
#include <math.h>

#include "backend/dense.h"
#include "core/clock.h"
#include "core/units.h"
#include "layout/host_copy.h"
#include "programs/components_impl.h"
#include "transform/centered.h"
#include "transform/terms.h"

enum {
  STRIP_BYTES = 1 << 27, /* of op(X), that is read once and multiplied twice */
  EXPECTED_PASSES = 8,
  COMPONENTS_PRODUCTS = 3, /* of a pass */
  DENSE_COST = 12,         /* n^3 operations of an eigenproblem, at the speed of products */
  SURE = 2 /* so many times the work is worth a method that cannot fail to converge */
};

/* Operations in the time that an element takes to be read, and to be unpacked. */
static const double read_flops = 100, unpack_flops = 2000;

static const double components_call_flops = 1e8; /* that a product takes besides */
static const double components_margin =
    0.5; /* of the tolerance, that the search leaves to the last pass */

/* ---- what is asked for ---- */

static dm_status components_check_x(const dm_components *job) {
  const dm_multiply *m = &job->multiply;
  char name[DM_NAME];
  dm_location_name(&m->a.at, name);
  if (dm_dtype_is_complex(dm_dataset_type(&m->a)))
    return dm_hint(dm_fail(DM_E_USAGE, "%s is complex; components are of real matrices", name),
                   "the eigenvectors of what damier cov writes are those of complex ones "
                   "(numpy.linalg.eigh)");
  if (m->a.leads.count > 0 || dm_dataset_is_empty(&m->a))
    return dm_fail(DM_E_INPUT, "%s is not a matrix with elements", name);
  if (m->a.rows > INT_MAX || m->a.cols > INT_MAX)
    return dm_fail(DM_E_FIT, "%s has more rows or columns than LAPACK can count", name);
  return DM_OK;
}

static bool components_center(const dm_multiply *m) {
  return m->equation.standard[0].center != DM_NO_LINES && !m->equation.standard[0].center_by;
}

static dm_status components_check_count(const dm_components_state *c) {
  const bool centers = components_center(&c->job->multiply);
  const int64_t most = dm_min(c->observations - centers, c->variables);
  if (c->job->count >= 1 && c->job->count <= most) return DM_OK;
  return dm_hint(dm_fail(DM_E_INPUT,
                         "%lld observations of %lld variables have at most %lld "
                         "components%s, not %lld",
                         (long long)c->observations, (long long)c->variables, (long long)most,
                         centers ? " once they are centered" : "", (long long)c->job->count),
                 most >= 1 ? "--rank %lld asks for all" : "", (long long)most);
}

/* Products are in f32 or f64; the small problems in f64. */
static dm_status components_choose_type(dm_components_state *c) {
  const dm_multiply *m = c->multiply;
  const dm_dtype stated = m->equation.type, type = dm_dataset_type(&m->a);
  c->work =
      c->beyond || dm_dtype_is_integer(type) || !dm_dtype_holds(DM_F32, type) ? DM_F64 : DM_F32;
  if (stated == DM_DTYPE_NONE) return DM_OK;
  if (stated != DM_F32 && stated != DM_F64)
    return dm_hint(dm_fail(DM_E_USAGE, "components are not computed in %s", dm_dtype_name(stated)),
                   "--type f32 or f64");
  c->work = stated;
  return DM_OK;
}

/* ---- the method ---- */

/* Of one reading of X, as operations. */
static double components_reading(const dm_components_state *c) {
  const dm_dataset *x = &c->multiply->a;
  const double element = x->memory.base ? 0 : x->filters ? unpack_flops : read_flops;
  return (double)c->tall * (double)c->small * element;
}

/* Operations of both methods, at the speed of products, reading included. */
static double components_cost(const dm_components_state *c, dm_components_method method) {
  const double t = (double)c->tall, s = (double)c->small, k = (double)c->job->count;
  const double pass = 4.0 * t * s;
  const double reading = components_reading(c);
  const double last = pass * k + COMPONENTS_PRODUCTS * components_call_flops + reading;
  if (method == DM_METHOD_GRAM)
    return t * s * s + DENSE_COST * s * s * s + components_call_flops + reading + last;
  return EXPECTED_PASSES * (pass * (double)dm_components_pass_width(c) +
                            COMPONENTS_PRODUCTS * components_call_flops + reading) +
         last;
}

static dm_status components_choose_method(dm_components_state *c) {
  const bool fits =
      3.0 * (double)c->small * (double)c->small * sizeof(double) <= (double)c->share / 2.0;
  char bytes[32];
  c->method = c->job->method;
  if (c->method == DM_METHOD_GRAM && !fits)
    return dm_hint(dm_fail(DM_E_FIT,
                           "the products of all pairs of %lld lines and their "
                           "eigenvectors do not fit in half of %s",
                           (long long)c->small, dm_format_bytes(c->share, bytes)),
                   "--method passes needs less memory");
  if (c->method == DM_METHOD_AUTO)
    c->method =
        fits && components_cost(c, DM_METHOD_GRAM) <= SURE * components_cost(c, DM_METHOD_PASSES)
            ? DM_METHOD_GRAM
            : DM_METHOD_PASSES;
  c->width = c->method == DM_METHOD_GRAM ? c->job->count : dm_components_pass_width(c);
  return DM_OK;
}

/* Rows of op(X) at a time, the same on all ranks; with --reproducible whatever the memory. */
static dm_status components_choose_step(dm_components_state *c) {
  const double row = (double)(c->small + c->width) * (double)dm_dtype_size(c->work);
  const double room = c->multiply->engine.wishes.reproducible
                          ? STRIP_BYTES
                          : fmin(STRIP_BYTES, (double)c->share * (double)c->run->ranks / 8.0);
  int64_t step = dm_max(1, (int64_t)(room / row));
  if (step < c->tall) {
    const int64_t even = dm_ceil_div(c->tall, dm_ceil_div(c->tall, step));
    step = dm_min(c->tall, dm_round_up(even, 8));
  } else {
    step = c->tall;
  }
  step = -step; /* the smallest of all ranks */
  DM_TRY(dm_comm_max_i64(c->run->world, &step, 1));
  c->step = -step;
  return DM_OK;
}

/* X in GPU memory, or in parts, is multiplied from host memory that each rank sees whole. */
static dm_status components_bring(dm_components_state *c) {
  dm_multiply *m = c->multiply;
  if (!m->in_memory[DM_A] || m->a.memory.base) return DM_OK;
  DM_TRY(dm_host_copy(c->run, &m->engine, m->in_memory[DM_A], "X", c->share / 2, &m->a, &c->copy));
  m->in_memory[DM_B] = m->in_memory[DM_A];
  dm_dataset_set_memory(&m->b, m->a.memory);
  const int64_t bytes = m->a.rows * m->a.cols * dm_dtype_size(m->a.memory.dtype);
  c->process += bytes;
  c->share = dm_max(0, c->share - bytes);
  return DM_OK;
}

dm_status dm_components_begin(dm_components_state *c, dm_multiply *own) {
  dm_run *run = c->run;
  *own = c->job->multiply;
  c->multiply = own;
  dm_status status = dm_dense_check();
  if (!status) status = components_check_x(c->job);
  if (!status) status = components_choose_type(c);
  DM_TRY(dm_comm_agree(run->world, status));
  const dm_dataset *x = &own->a;
  const bool of_columns = own->equation.op_a != DM_OP_N;
  c->variables = of_columns ? x->cols : x->rows;
  c->observations = of_columns ? x->rows : x->cols;
  const bool tall = c->proves ? of_columns : x->rows >= x->cols;
  c->op = tall ? DM_OP_N : DM_OP_T;
  c->small = tall ? x->cols : x->rows;
  c->tall = tall ? x->rows : x->cols;
  c->over_variables = tall == of_columns;
  c->squares = -1.0;
  c->unscale = 1.0;
  c->process = dm_setup_process_bytes(run);
  c->share = dm_max(
      0, dm_setup_share(own->engine.memory_host, (double)dm_memory_available() / run->local_ranks) -
             c->process);
  DM_TRY(dm_components_open_gpu(c));
  if (!c->gpu) DM_TRY(components_bring(c));
  status = components_check_count(c);
  c->method = DM_METHOD_PASSES;
  if (!status && run->rank == 0 && !c->proves) status = components_choose_method(c);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_broadcast(run->world, &c->method, sizeof c->method, 0));
  c->width = c->method == DM_METHOD_GRAM || c->proves ? c->job->count : dm_components_pass_width(c);
  c->step = c->tall;
  if (!c->gpu) DM_TRY(components_choose_step(c));
  own->engine.once = false;
  own->equation.correlates = 0.0;
  own->kept.count = 0;
  own->form = (dm_output_form){.chunk_rows = 0};
  own->existing = (dm_dataset){.rows = 0};
  own->only_done = false;
  return DM_OK;
}

/* ---- centering ---- */

/* Collective: products in f32 lose what is below its range, or overflow, where the mean of squares
 * of X, which rank 0 knows, is too small or too large; unless the user wants them, f64 has them. */
static dm_status components_check_range(dm_components_state *c, double mean) {
  static const double least = 1e-24, most = 1e26;
  if (c->work != DM_F32 || c->multiply->equation.type != DM_DTYPE_NONE) return DM_OK;
  DM_TRY(dm_comm_broadcast(c->run->world, &mean, sizeof mean, 0));
  if (mean >= least && mean <= most) return DM_OK;
  c->beyond = true;
  dm_status status = dm_fail(DM_E_INPUT, "the squares of X are beyond the range of f32");
  status->agreed = true;
  return status;
}

/* Weights are multiplied with a power of two before their roots are taken. */
static dm_status components_find_scale(dm_components_state *c, const double *roots) {
  DM_FREED double *list = NULL;
  DM_TRY(dm_read_vector(c->run, &c->multiply->vectors.weights, &list));
  for (int64_t i = 0; i < c->observations; i++) {
    if (!(roots[i] > 0.0)) continue;
    c->unscale = sqrt(list[i]) / roots[i];
    break;
  }
  return DM_OK;
}

static dm_status components_check_lines(const dm_components_state *c, const dm_centering *by) {
  const long long lost = (long long)(by->constant + by->empty);
  if (lost == 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_INPUT, "%lld of %lld variables %s", lost, (long long)c->variables,
                         by->empty > 0 ? "have no values" : "are constant, and cannot be scaled"),
                 by->empty > 0 ? "leave them out: X.h5:/x[:, LIST]"
                               : "without --scale they change nothing; or leave them out");
}

dm_status dm_components_center(dm_components_state *c, dm_centered *made) {
  dm_multiply *m = c->multiply;
  const bool divides =
      m->equation.divide != DM_NO_DIVISION || m->equation.divided != DM_NO_DIVISION;
  if (dm_multiply_centers(m)) {
    DM_TRY(c->gpu ? dm_components_center_gpu(c, made)
                  : dm_center_inputs(c->run, m->engine.io_threads, &m->vectors, &m->equation, &m->a,
                                     &m->b, made));
    const dm_centering *by = m->a.centering;
    DM_TRY(dm_comm_agree(c->run->world, components_check_lines(c, by)));
    if (by->lines != DM_NO_LINES && by->shift && by->squares > 0.0) c->squares = by->squares;
    if (by->weight && by->complete < 0) DM_TRY(components_find_scale(c, by->weight));
    m->vectors = (dm_vectors){.weights = {.rows = 0}};
    for (int x = 0; x < 2; x++) m->equation.standard[x] = (dm_standard){.fills = false};
  }
  c->divisor = divides ? 1.0 / m->equation.alpha[0] : 0.0;
  m->equation.alpha[0] = 1.0;
  m->equation.divided = DM_NO_DIVISION;
  return c->squares > 0.0
             ? components_check_range(c, c->squares / ((double)c->tall * (double)c->small))
             : DM_OK;
}

/* ---- the search ---- */

static void components_start_clock(dm_components_state *c) {
  const double t = (double)c->tall, s = (double)c->small;
  c->all = c->method == DM_METHOD_GRAM ? t * s * s + 4.0 * t * s * (double)c->width
                                       : components_cost(c, DM_METHOD_PASSES);
  dm_progress_start(&c->progress, c->run, "multiplying", c->all, 0.0, c->run->ranks);
}

static double components_trace(int64_t rows, const double *g) {
  double trace = 0.0;
  for (int64_t i = 0; g && i < rows; i++) trace += g[i * rows + i];
  return trace;
}

/* The largest eigenvectors of G, in P. */
static dm_status components_solve_gram(dm_components_state *c) {
  DM_FREED double *values = NULL;
  const double trace = components_trace(c->small, c->g);
  if (!isfinite(trace)) return dm_basis_not_finite(c);
  c->squares = trace;
  DM_TRY(dm_buffer_table(c->small, &values));
  dm_status status = dm_dense_eigen(c->small, c->g, c->width, values, c->p);
  dm_components_close_gram(c);
  return status;
}

static dm_status components_begin_with_gram(dm_components_state *c) {
  const double started = dm_now();
  DM_TRY(dm_components_open_gram(c));
  DM_TRY(dm_components_gram(c));
  c->gram_s = dm_now() - started;
  DM_TRY(components_check_range(c, components_trace(c->small, c->g) /
                                       ((double)c->tall * (double)c->small)));
  dm_run_phase(c->run, "eigenvectors", DM_SYNC_PATIENCE);
  return dm_comm_agree(c->run->world, c->run->rank == 0 ? components_solve_gram(c) : DM_OK);
}

/* What comes after a pass. */
typedef struct components_next {
  int64_t count; /* vectors of the next one; 0: the search ends */
  bool converged;
  double largest; /* residual */
} components_next;

/* Whether small values that were found from vectors of no meaning lost their digits. */
static bool components_are_rough(const dm_components_state *c) {
  static const double enough = 0x1p-26;
  const dm_basis *b = &c->basis;
  const int64_t last = dm_min(c->job->count, b->best) - 1;
  return c->method == DM_METHOD_PASSES && last >= 0 && b->values[last] < enough * b->values[0];
}

/* Rank 0. The vectors that the search ends with have a pass of their own, the last one. */
static dm_status components_judge(dm_components_state *c, int64_t count, bool *proves,
                                  components_next *next) {
  DM_TRY(dm_basis_add(c, count));
  const double largest = dm_basis_largest_residual(c);
  dm_log_line(&c->run->log, DM_LOG_NOTE,
              "pass %lld, of %lld vectors: largest residual %.1e of s1, %.0e is asked for",
              (long long)c->passes, (long long)count, largest, c->job->tolerance);
  *next = (components_next){.converged = largest <= c->job->tolerance, .largest = largest};
  const bool enough = c->passes > c->job->passes;
  const bool found = next->converged && !components_are_rough(c);
  if (c->basis.single && (found || *proves || enough)) return DM_OK;
  if (largest > components_margin * c->job->tolerance && !enough) {
    DM_TRY(dm_basis_grow(c, &next->count));
    if (next->count > 0) return DM_OK;
  }
  *proves = true;
  next->count = dm_min(c->job->count, c->basis.best);
  dm_basis_restart(c, next->count);
  return DM_OK;
}

/* Goes on with a pass of COUNT vectors, and those that follow. */
static dm_status components_search(dm_components_state *c) {
  components_next next = {.count = c->count};
  while (c->count > 0) {
    const double started = dm_now();
    DM_TRY(dm_components_record(c, false));
    DM_TRY(dm_components_pass(c, c->count));
    c->passes_s += dm_now() - started;
    if (c->passes == 1 && c->method == DM_METHOD_PASSES)
      DM_TRY(components_check_range(c, components_trace(c->count, c->pairs) /
                                           ((double)c->tall * (double)c->count)));
    dm_run_phase(c->run, "eigenvectors", DM_SYNC_PATIENCE);
    DM_TRY(dm_comm_agree(c->run->world, c->run->rank == 0
                                            ? components_judge(c, c->count, &c->proving, &next)
                                            : DM_OK));
    DM_TRY(dm_comm_broadcast(c->run->world, &next, sizeof next, 0));
    c->count = next.count;
  }
  c->converged = next.converged;
  c->largest = next.largest;
  return DM_OK;
}

dm_status dm_components_open(dm_components_state *c) {
  DM_TRY(dm_basis_open(c));
  int64_t bytes = 0;
  DM_TRY(dm_comm_agree(c->run->world, dm_components_room(c, &bytes)));
  c->multiply->engine.process_bytes = c->multiply->engine.beside = c->process + bytes;
  dm_dense_threads(c->multiply->engine.wishes.reproducible ? 1 : c->run->cores.threads);
  dm_log_line(&c->run->log, DM_LOG_DETAIL, "%lld strips of X, of %lld of its %lld lines",
              (long long)dm_ceil_div(c->tall, c->step), (long long)c->step, (long long)c->tall);
  return DM_OK;
}

static dm_status components_begin_search(dm_components_state *c) {
  if (c->method == DM_METHOD_GRAM)
    DM_TRY(components_begin_with_gram(c));
  else /* with random vectors */
    DM_TRY(dm_comm_agree(c->run->world, c->run->rank == 0 ? dm_basis_begin(c, c->width) : DM_OK));
  c->count = c->width;
  return DM_OK;
}

static dm_status components_find(dm_components_state *c) {
  DM_TRY(dm_components_open(c));
  DM_TRY(dm_components_resume(c));
  components_start_clock(c);
  dm_status status = c->count > 0 ? DM_OK : components_begin_search(c);
  if (!status) status = components_search(c);
  dm_progress_end(&c->progress);
  if (status && status->code == DM_E_STOPPED && status->agreed)
    status = dm_status_first(status, dm_components_record(c, true));
  return status;
}

/* ---- all of it ---- */

static dm_status components_end_status(const dm_components_state *c) {
  if (c->converged || c->multiply->allow_unchecked) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_UNCHECKED,
              "the components did not converge: residuals are up to %.1e of the "
              "largest singular value, %.0e is asked for",
              c->largest, c->job->tolerance),
      "the result is complete, with its residuals; --passes %lld goes on longer, --oversampling "
      "helps where singular values are close, --tolerance or --allow-unchecked accepts it; flat "
      "spectra never converge",
      (long long)(2 * c->job->passes));
  status->agreed = true;
  return status;
}

static dm_status components_make(dm_components_state *c, dm_components_result *result,
                                 dm_record *record) {
  dm_components_result own = {.count = 0}, *to = result ? result : &own;
  DM_TRY(components_find(c));
  dm_status status = dm_components_finish(c, to);
  if (!status && c->unchecked)
    status = dm_fail(DM_E_INPUT, "X holds NaN or Inf, which have no components");
  if (!status) status = dm_components_write(c, result ? NULL : to);
  if (!status && c->run->rank == 0 && c->recorded) dm_state_remove(&c->job->multiply.out);
  if (!status && record && c->run->rank == 0) dm_components_report(c, to, record);
  dm_components_result_free(&own);
  return status;
}

void dm_components_close(dm_components_state *c) {
  dm_components_close_gpu(c);
  dm_in_place_close(&c->in_place);
  dm_basis_close(&c->basis);
  free(c->p);
  free(c->z);
  free(c->pairs);
  free(c->g);
  free(c->rounded);
  free(c->y);
  free(c->x);
  free(c->copy);
}

static dm_status components_on(dm_components_state *c, dm_components_result *result,
                               dm_record *record) {
  DM_FREED dm_multiply *own = NULL;
  dm_centered made = {.made = {NULL, NULL}};
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(1, &own)));
  dm_status status = dm_components_begin(c, own);
  if (!status) status = dm_components_center(c, &made);
  if (!status) status = components_make(c, result, record);
  dm_centered_free(&made);
  if (!status || status->agreed) dm_components_close(c);
  if (status && result) dm_components_result_free(result);
  if (status && status->code == DM_E_STOPPED)
    dm_hint(status, c->recorded ? "the same command goes on where the search was recorded last"
                                : "nothing was recorded yet: the same command begins again");
  return status ? status : components_end_status(c);
}

dm_status dm_components_run(dm_run *run, const dm_components *job, dm_components_result *result,
                            dm_record *record) {
  dm_components_state c = {.run = run, .job = job, .started = dm_now()};
  dm_status status = components_on(&c, result, record);
  if (!c.beyond) return status;
  dm_log_line(&run->log, DM_LOG_NOTE, "%s: multiplied in f64", status->message);
  dm_status_free(status);
  c = (dm_components_state){.run = run, .job = job, .started = c.started, .beyond = true};
  return components_on(&c, result, record);
}

void dm_components_done(const dm_run *run, const dm_components *job, dm_record *record) {
  const dm_multiply *m = &job->multiply;
  const bool of_columns = m->equation.op_a != DM_OP_N;
  char name[DM_NAME];
  if (run->rank == 0)
    dm_log_line(&run->log, DM_LOG_NOTE,
                "%s is already the result of this command: nothing was computed", m->out.file);
  if (!record) return;
  dm_record_text(record, "files.c", "components", "%s, made by an earlier run",
                 dm_location_name(&m->out, name));
  dm_record_summary(record, "observations=%lld variables=%lld rank=%lld ranks=%d DONE",
                    (long long)(of_columns ? m->a.rows : m->a.cols),
                    (long long)(of_columns ? m->a.cols : m->a.rows), (long long)job->count,
                    run->ranks);
}

/* ---- only planned ---- */

/* Seconds: products with their reading, one more reading for means, and eigenvectors on rank 0. */
static dm_status components_predict(dm_components_state *c, double *seconds) {
  const double t = (double)c->tall, s = (double)c->small, flops = 4.0 * t * s;
  const bool gram = c->method == DM_METHOD_GRAM;
  dm_forecast pass, all, last;
  DM_TRY(dm_components_open(c));
  DM_TRY(dm_components_forecast_pass(c, c->job->count, &last));
  DM_TRY(dm_components_forecast_pass(c, c->width, &pass));
  const double rate = flops * (double)c->width / fmax(pass.gemm, 1e-9) / (double)c->run->ranks;
  *seconds = last.total + (components_center(&c->job->multiply) ? last.read : 0.0);
  if (!gram) {
    *seconds += EXPECTED_PASSES * pass.total;
    return DM_OK;
  }
  DM_TRY(dm_components_forecast_gram(c, &all));
  *seconds += all.total + DENSE_COST * s * s * s / rate;
  return DM_OK;
}

static void components_report_plan(const dm_components_state *c, double seconds,
                                   dm_record *record) {
  const bool gram = c->method == DM_METHOD_GRAM;
  const double flops = components_cost(c, c->method);
  const int64_t basis = dm_sat_mul(c->small, dm_sat_mul(16, c->width)), count = c->job->count;
  dm_record_text(record, "components.method", "method", "%s", dm_components_method_name(c->method));
  dm_record_integer(record, "components.count", "components", DM_SHOWN_PLAIN, count);
  dm_record_integer(record, "components.width", "vectors of a pass", DM_SHOWN_PLAIN, c->width);
  dm_record_integer(record, "components.passes", gram ? "passes over X besides" : "passes over X",
                    DM_SHOWN_PLAIN, gram ? 1 : EXPECTED_PASSES + 1);
  dm_record_integer(record, "components.small_bytes", "memory of rank 0 for small problems",
                    DM_SHOWN_BYTES,
                    gram ? dm_sat_mul(c->small, dm_sat_mul(c->small, 8)) + basis : 3 * basis);
  dm_record_integer(record, "components.host_bytes", "memory, together", DM_SHOWN_BYTES,
                    dm_sat_add(c->host_bytes, dm_basis_bytes(c)));
  dm_record_integer(record, "components.strip_rows", NULL, DM_SHOWN_PLAIN, c->step);
  dm_record_text(record, "components.type", "products in", "%s", dm_dtype_name(c->work));
  dm_record_real(record, "components.flop", "operations", DM_SHOWN_PLAIN, flops);
  dm_record_real(record, "components.predicted_s", "predicted", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "observations=%lld variables=%lld rank=%lld method=%s flop=%.3g PLAN",
                    (long long)c->observations, (long long)c->variables, (long long)count,
                    dm_components_method_name(c->method), flops);
}

dm_status dm_components_plan(dm_run *run, const dm_components *job, dm_record *record) {
  dm_components_state c = {.run = run, .job = job, .plans = true, .started = dm_now()};
  DM_FREED dm_multiply *own = NULL;
  double seconds = 0.0;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &own)));
  dm_status status = dm_components_begin(&c, own);
  if (!status) status = components_predict(&c, &seconds);
  if (!status && record && run->rank == 0) components_report_plan(&c, seconds, record);
  if (!status || status->agreed) dm_components_close(&c);
  return status;
}
