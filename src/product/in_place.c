#include "product/in_place.h"

#include <string.h>

#include "backend/checked_product.h"
#include "check/verdict.h"
#include "core/clock.h"
#include "engine/phases.h"
#include "run/facts.h"

/* One product. */
typedef struct product {
  dm_run *run;
  const dm_multiply *multiply;
  dm_in_place_outcome *outcome;
  dm_distributed matrix[3]; /* op(A), op(B), C */
  dm_backend *backend;
  dm_whole_product whole;
  void *stream; /* of C, if the product is only posted */
} product;

/* ---- which products ---- */

/* Whether nothing was asked for that takes the plan's shares and blocks. */
static bool is_plain(const dm_multiply *m) {
  const dm_wishes *w = &m->engine.wishes;
  return strcmp(m->engine.kernel, "auto") == 0 && !m->verify_files && !w->reproducible &&
         !m->equation.own && !m->equation.symmetric && w->pm == 0 && w->panel == 0 &&
         w->tiles_m == 0 && m->engine.memory_host == 0 && m->engine.memory_device == 0 &&
         m->engine.fill == 0;
}

static bool is_one_memory(const dm_multiply *m) {
  const dm_memory_matrix *c = m->in_memory[DM_C], *old = m->in_memory[DM_OLD];
  if (!c || !m->in_memory[DM_A] || !m->in_memory[DM_B] || (m->has_c && old != c)) return false;
  return m->in_memory[DM_A]->on_gpu == c->on_gpu && m->in_memory[DM_B]->on_gpu == c->on_gpu;
}

/* On the host only without GPUs: with them, what is stated as host memory may be theirs. */
static bool is_for_backend(const dm_multiply *m) {
  const char *name = m->engine.backend;
  const bool on_gpu = m->in_memory[DM_C]->on_gpu, automatic = strcmp(name, "auto") == 0;
  if (on_gpu) return automatic || strcmp(name, "cuda") == 0;
  return automatic ? !dm_backend_has_driver() : strcmp(name, "cpu") == 0;
}

/* The verification reads A and B as they are stored. */
static bool is_conjugated(const dm_multiply *m, const dm_problem *p) {
  return dm_dtype_is_complex(p->work) &&
         (m->equation.op_a == DM_OP_C || m->equation.op_b == DM_OP_C);
}

static bool is_native(const dm_multiply *m, const dm_problem *p) {
  if (m->verify && is_conjugated(m, p)) return false;
  /* A wrong C could not be computed again: on the host the pipeline keeps it until its verdict. */
  if (m->verify && p->reads_c && !m->in_memory[DM_C]->on_gpu) return false;
  return dm_compute_is_plain(&p->compute) && !p->fastest && p->file_a == p->work &&
         p->file_b == p->work && (p->c == p->accumulator || p->c == p->work) &&
         (m->equation.type == DM_DTYPE_NONE || m->equation.type == p->work);
}

/* ---- opening ---- */

static dm_status open_backend(dm_in_place *kept, const dm_run *run, bool on_gpu,
                              dm_backend **backend) {
  dm_backend **one = on_gpu ? &kept->gpu : &kept->host;
  const dm_backend_ops *ops;
  const dm_backend_config config = {.local_rank = run->local_rank,
                                    .local_ranks = run->local_ranks,
                                    .threads = run->cores.threads,
                                    .kernel = "auto"};
  if (!*one) {
    DM_TRY(dm_backend_find(on_gpu ? "cuda" : "cpu", &ops));
    DM_TRY(dm_backend_open(ops, &config, one));
    DM_TRY(dm_backend_device(*one, &kept->device[on_gpu]));
  }
  *backend = *one;
  return DM_OK;
}

static dm_status open_matrices(product *p) {
  static const char *const names[] = {"A", "B", "C"};
  const dm_equation *e = &p->multiply->equation;
  for (int x = 0; x < 3; x++)
    DM_TRY(dm_distributed_open(p->run->world, p->multiply->in_memory[x], names[x], &p->matrix[x]));
  if (e->op_a != DM_OP_N) dm_distributed_transpose(&p->matrix[DM_A]);
  if (e->op_b != DM_OP_N) dm_distributed_transpose(&p->matrix[DM_B]);
  p->whole = (dm_whole_product){.a = p->matrix[DM_A].local,
                                .b = p->matrix[DM_B].local,
                                .c = p->matrix[DM_C].local,
                                .conjugate_a = e->op_a == DM_OP_C,
                                .conjugate_b = e->op_b == DM_OP_C};
  memcpy(p->whole.alpha, e->alpha, sizeof e->alpha);
  memcpy(p->whole.beta, e->beta, sizeof e->beta);
  return DM_OK;
}

/* Waits for the caller's streams, but not for that in which the product is posted. */
static dm_status reach(product *p) {
  static const char *const names[] = {"A", "B", "C"};
  void *stream = p->matrix[DM_C].stream;
  p->stream = p->multiply->verify ? NULL : stream;
  for (int x = 0; x < 3; x++) {
    const bool awaited = x > 0 && p->matrix[x].stream == p->matrix[0].stream;
    if (awaited || (p->stream && p->matrix[x].stream == p->stream)) p->matrix[x].stream = NULL;
    DM_TRY(dm_distributed_reach(&p->matrix[x], p->backend, names[x]));
  }
  return DM_OK;
}

/* ---- multiplying ---- */

static dm_status add_operands(product *p, dm_freivalds *check) {
  const dm_comm *world = p->run->world;
  DM_TRY(dm_freivalds_scan_b(check, p->backend, p->whole.b, 0, 0));
  DM_TRY(dm_freivalds_weigh(check, world));
  DM_TRY(dm_freivalds_add_b(check, p->backend, p->whole.b, 0, 0));
  DM_TRY(dm_freivalds_project(check, world));
  return dm_freivalds_add_a(check, p->backend, p->whole.a, 0, 0);
}

/* The sums of A and B are taken while a GPU multiplies; a C that is replaced is summed before. */
static dm_status multiply_checked(product *p, dm_freivalds *check) {
  const bool reads_c = p->outcome->problem.reads_c;
  dm_event done;
  dm_status status = DM_OK;
  if (reads_c) status = add_operands(p, check);
  if (!status && reads_c) status = dm_freivalds_add_c0(check, p->backend, p->whole.c, 0, 0);
  if (!status && reads_c) status = dm_backend_settle(p->backend);
  DM_TRY(status);
  DM_TRY(dm_backend_multiply(p->backend, &p->whole, NULL, &done));
  if (!reads_c) DM_TRY(add_operands(p, check));
  DM_TRY(dm_backend_wait(p->backend, done));
  DM_TRY(dm_freivalds_add_c(check, p->backend, p->whole.c, 0, 0));
  return dm_freivalds_judge(check, p->run->world, &p->outcome->verdict);
}

/* With fewer columns, groups take more time than they are worth. */
enum { GROUPED = 512 };

static dm_status multiply_once(dm_in_place *kept, product *p, int draw) {
  const dm_problem *problem = &p->outcome->problem;
  const bool on_gpu = p->outcome->on_gpu;
  if (dm_backend_can_check(p->backend, &p->whole))
    return dm_freivalds_multiply(problem, p->multiply->seed, draw, p->run->world, p->backend,
                                 &p->whole, &p->outcome->verdict);
  DM_TRY(dm_freivalds_reuse(problem, p->whole.alpha, p->whole.beta, on_gpu, &kept->check));
  if (on_gpu || problem->n < GROUPED) dm_freivalds_join_groups(kept->check);
  dm_freivalds_repeat(kept->check, p->multiply->seed, draw);
  return multiply_checked(p, kept->check);
}

static dm_status multiply_unchecked(product *p) {
  dm_event done;
  p->outcome->posted = p->stream != NULL;
  DM_TRY(dm_backend_multiply(p->backend, &p->whole, p->stream, &done));
  return dm_backend_wait(p->backend, done);
}

static dm_status outcome_of(const product *p, int attempts) {
  const dm_verdict *verdict = &p->outcome->verdict;
  dm_status status = dm_verdict_status(verdict, "C", p->multiply->allow_unchecked);
  if (verdict->pass) return status;
  if (attempts > 1) status->code = DM_E_CORRUPT;
  return dm_hint(attempts > 1 ? dm_context(status, "computed a second time") : status,
                 "C holds wrong elements and must not be used");
}

/* A and B are intact, and so C can be computed again unless beta needs its old elements. */
static dm_status multiply_verified(dm_in_place *kept, product *p) {
  const dm_multiply *m = p->multiply;
  DM_TRY(multiply_once(kept, p, 0));
  const bool again = !p->outcome->verdict.pass && !p->outcome->problem.reads_c &&
                     m->on_corruption == DM_ON_CORRUPTION_REPAIR;
  if (!again) return outcome_of(p, 1);
  dm_status first = outcome_of(p, 1);
  dm_log_line(&p->run->log, DM_LOG_WARNING, "%s: it is computed again", first->message);
  dm_status_free(first);
  DM_TRY(multiply_once(kept, p, 1));
  p->outcome->verdict.repaired = 1;
  return outcome_of(p, 2);
}

static dm_status run_product(dm_in_place *kept, product *p, bool *taken) {
  const dm_multiply *m = p->multiply;
  dm_problem *problem = &p->outcome->problem;
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, problem));
  if (!is_native(m, problem) || !is_for_backend(m)) return DM_OK;
  p->outcome->on_gpu = m->in_memory[DM_C]->on_gpu;
  DM_TRY(open_matrices(p));
  DM_TRY(open_backend(kept, p->run, p->outcome->on_gpu, &p->backend));
  if (!dm_backend_suits(p->backend, &p->whole)) return DM_OK;
  *taken = true;
  DM_TRY(reach(p));
  p->outcome->verified = m->verify;
  memcpy(p->outcome->alpha, m->equation.alpha, sizeof m->equation.alpha);
  memcpy(p->outcome->beta, m->equation.beta, sizeof m->equation.beta);
  if (p->run->at) p->run->at(p->run->at_context, 0, 1);
  DM_TRY(dm_stop_check(&p->run->stop));
  DM_TRY(m->verify ? multiply_verified(kept, p) : multiply_unchecked(p));
  if (p->run->at) p->run->at(p->run->at_context, 1, 1);
  return DM_OK;
}

dm_status dm_in_place_run(dm_in_place *kept, dm_run *run, const dm_multiply *multiply,
                          dm_in_place_outcome *outcome, bool *taken) {
  product p = {.run = run, .multiply = multiply, .outcome = outcome};
  const double start = dm_now();
  *taken = false;
  *outcome = (dm_in_place_outcome){.on_gpu = false};
  if (run->ranks != 1 || !is_plain(multiply) || !is_one_memory(multiply)) return DM_OK;
  dm_status status = dm_comm_agree(run->world, run_product(kept, &p, taken));
  for (int x = 0; x < 3; x++) dm_distributed_close(&p.matrix[x]);
  outcome->seconds = dm_now() - start;
  return status;
}

void dm_in_place_close(dm_in_place *kept) {
  dm_freivalds_free(kept->check); /* before the backend whose sums it may await */
  dm_backend_close(kept->host);
  dm_backend_close(kept->gpu);
  *kept = (dm_in_place){0};
}

void dm_in_place_record(const dm_in_place *kept, const dm_in_place_outcome *outcome,
                        const dm_run *run, dm_record *record) {
  const dm_problem *p = &outcome->problem;
  const dm_device *device = &kept->device[outcome->on_gpu];
  dm_record_integer(record, "problem.m", NULL, DM_SHOWN_PLAIN, p->m);
  dm_record_integer(record, "problem.n", NULL, DM_SHOWN_PLAIN, p->n);
  dm_record_integer(record, "problem.k", NULL, DM_SHOWN_PLAIN, p->k);
  dm_record_text(record, "problem.work", NULL, "%s", dm_dtype_name(p->work));
  dm_record_text(record, "problem.c", NULL, "%s", dm_dtype_name(p->c));
  dm_record_text(record, "plan.recipe", "recipe", "in place, by %s", device->library);
  dm_record_text(record, "plan.grid", NULL, "1x1x1");
  dm_record_integer(record, "plan.tiles", NULL, DM_SHOWN_PLAIN, 1);
  dm_record_text(record, "machine.backend", NULL, "%s", outcome->on_gpu ? "cuda" : "cpu");
  dm_record_text(record, "machine.device", NULL, "%s", device->name);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, outcome->seconds);
  const dm_checked checked = {p, outcome->alpha, outcome->beta, false};
  if (outcome->verified) dm_verdict_record(&outcome->verdict, &checked, &run->log, record);
}
