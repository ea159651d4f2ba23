#include "product/in_place.h"

#include <stdio.h>
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
  dm_extent at[3];     /* the place of this rank's part of each matrix */
  dm_travel travel;    /* with several ranks */
  dm_freivalds *check; /* NULL: the verification is the backend's, or off */
  void *stream;        /* of C, if the product is only posted */
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

static bool is_one_memory(const dm_multiply *m, int ranks) {
  const dm_memory_matrix *c = m->in_memory[DM_C], *old = m->in_memory[DM_OLD];
  if (!c || !m->in_memory[DM_A] || !m->in_memory[DM_B] || (m->has_c && old != c)) return false;
  for (int x = 0; x < 3 && ranks > 1; x++)
    if (m->in_memory[x]->data && !m->in_memory[x]->on_gpu) return false;
  return ranks > 1 ||
         (m->in_memory[DM_A]->on_gpu == c->on_gpu && m->in_memory[DM_B]->on_gpu == c->on_gpu);
}

/* On the host only without GPUs: with them, what is stated as host memory may be theirs. */
static bool is_for_backend(const dm_multiply *m, bool on_gpu) {
  const char *name = m->engine.backend;
  const bool automatic = strcmp(name, "auto") == 0;
  if (on_gpu) return automatic || strcmp(name, "cuda") == 0;
  return automatic ? !dm_backend_has_driver() : strcmp(name, "cpu") == 0;
}

/* The verification reads A and B as they are stored. */
static bool is_conjugated(const dm_multiply *m, const dm_problem *p) {
  return dm_dtype_is_complex(p->work) &&
         (m->equation.op_a == DM_OP_C || m->equation.op_b == DM_OP_C);
}

static bool is_native(const dm_multiply *m, const dm_problem *p, bool on_gpu) {
  if (m->verify && is_conjugated(m, p)) return false;
  if (m->verify && m->equation.alpha[0] == 0 && m->equation.alpha[1] == 0)
    return false; /* the bounds would vanish; the pipeline verifies before it applies alpha */
  /* A wrong C could not be computed again: on the host the pipeline keeps it until its verdict. */
  if (m->verify && p->reads_c && !on_gpu) return false;
  return dm_compute_is_plain(&p->compute) && !p->fastest && p->file_a == p->work &&
         p->file_b == p->work && (p->c == p->accumulator || p->c == p->work) &&
         (m->equation.type == DM_DTYPE_NONE || m->equation.type == p->work);
}

/* Several ranks must multiply on GPUs, and be counted as they are. */
static bool is_for_ranks(const dm_multiply *m, int ranks) {
  return ranks == 1 || (!m->engine.require_gpu_per_rank && m->engine.pretend_nodes < 2);
}

/* *takes: all ranks do. */
static dm_status agree_to_take(const dm_run *run, const dm_multiply *m, bool *takes) {
  int64_t refuses = !is_plain(m) || !is_one_memory(m, run->ranks) || !is_for_ranks(m, run->ranks);
  if (!refuses) refuses = !is_for_backend(m, run->ranks > 1 || m->in_memory[DM_C]->on_gpu);
  if (run->ranks > 1) DM_TRY(dm_comm_max_i64(run->world, &refuses, 1));
  *takes = !refuses;
  return DM_OK;
}

/* ---- opening ---- */

static dm_status open_backend(dm_in_place *kept, const dm_run *run, bool on_gpu,
                              dm_backend **backend) {
  dm_backend **one = on_gpu ? &kept->gpu : &kept->host;
  const dm_backend_ops *ops;
  const dm_backend_config config = {.local_rank = run->gpu,
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
  for (int x = 0; x < 3; x++)
    (void)dm_distribution_extent(&p->matrix[x].of, p->run->rank, &p->at[x]);
  return DM_OK;
}

/* Whether the matrices are multiplied where they are. */
static dm_status fit(dm_in_place *kept, product *p, bool *fits) {
  if (p->run->ranks > 1) {
    DM_TRY(dm_travel_open(&kept->workspace, p->run, p->backend, p->multiply->engine.transport,
                          p->matrix, &p->whole, &p->travel, fits));
    p->outcome->turned = p->travel.turned;
    p->outcome->both = p->travel.both;
    p->outcome->strips = dm_travel_items(&p->travel);
    p->outcome->transport = *fits ? kept->workspace.links.chosen->name : "";
    return DM_OK;
  }
  *fits = dm_backend_suits(p->backend, &p->whole); /* with one rank */
  return DM_OK;
}

/* Waits for the caller's streams, but not for that in which the product is posted. */
static dm_status reach(product *p) {
  static const char *const names[] = {"A", "B", "C"};
  const bool posts = !p->multiply->verify && p->run->ranks == 1;
  p->stream = posts ? p->matrix[DM_C].stream : NULL;
  for (int x = 0; x < 3; x++) {
    const bool awaited = x > 0 && p->matrix[x].stream == p->matrix[0].stream;
    if (awaited || (p->stream && p->matrix[x].stream == p->stream)) p->matrix[x].stream = NULL;
    DM_TRY(dm_distributed_reach(&p->matrix[x], p->backend, names[x]));
  }
  return DM_OK;
}

/* ---- multiplying ---- */

/* Waits for the sums posted with STATUS. */
static dm_status together(const product *p, dm_status status) {
  return dm_comm_agree(p->run->world, status ? status : dm_backend_settle(p->backend));
}

static dm_status add(const product *p, dm_freivalds_part *part, dm_view view, int matrix) {
  const dm_extent at = p->at[matrix];
  return together(p, part(p->check, p->backend, view, at.rows.begin, at.cols.begin));
}

static dm_status add_operands(void *context) {
  const product *p = context;
  const dm_comm *world = p->run->world;
  DM_TRY(add(p, dm_freivalds_scan_b, p->whole.b, DM_B));
  DM_TRY(dm_freivalds_weigh(p->check, world));
  DM_TRY(add(p, dm_freivalds_add_b, p->whole.b, DM_B));
  DM_TRY(dm_freivalds_project(p->check, world));
  return add(p, dm_freivalds_add_a, p->whole.a, DM_A);
}

/* Calls MEANWHILE, unless NULL, while a GPU multiplies. */
static dm_status multiply_all(product *p, dm_status (*meanwhile)(void *context)) {
  dm_event done;
  if (p->run->ranks > 1) return dm_stationary_multiply(&p->travel, meanwhile, p);
  DM_TRY(dm_backend_multiply(p->backend, &p->whole, NULL, &done));
  dm_status status = meanwhile ? meanwhile(p) : DM_OK;
  return dm_status_first(status, dm_backend_wait(p->backend, done));
}

/* The sums of A and B are taken while a GPU multiplies; a C that is replaced is summed before. */
static dm_status multiply_checked(product *p) {
  const bool reads_c = p->outcome->problem.reads_c;
  if (reads_c) DM_TRY(add_operands(p));
  if (reads_c) DM_TRY(add(p, dm_freivalds_add_c0, p->whole.c, DM_C));
  DM_TRY(multiply_all(p, reads_c ? NULL : add_operands));
  DM_TRY(add(p, dm_freivalds_add_c, p->whole.c, DM_C));
  return dm_freivalds_judge(p->check, p->run->world, &p->outcome->verdict);
}

/* With fewer columns, groups take more time than they are worth. */
enum { GROUPED = 512 };

static dm_status multiply_once(dm_in_place *kept, product *p, int draw) {
  const dm_problem *problem = &p->outcome->problem;
  const bool on_gpu = p->outcome->on_gpu;
  if (p->run->ranks == 1 && dm_backend_can_check(p->backend, &p->whole))
    return dm_freivalds_multiply(problem, p->multiply->seed, draw, p->run->world, p->backend,
                                 &p->whole, &p->outcome->verdict);
  DM_TRY(dm_comm_agree(p->run->world, dm_freivalds_reuse(problem, p->whole.alpha, p->whole.beta,
                                                         on_gpu, &kept->check)));
  if (on_gpu || problem->n < GROUPED) dm_freivalds_join_groups(kept->check);
  dm_freivalds_repeat(kept->check, p->multiply->seed, draw);
  p->check = kept->check;
  return multiply_checked(p);
}

static dm_status multiply_unchecked(product *p) {
  dm_event done;
  if (p->run->ranks > 1) return multiply_all(p, NULL);
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
  const dm_comm *world = p->run->world;
  dm_problem *problem = &p->outcome->problem;
  DM_TRY(dm_problem_of(&m->a, &m->b, m->has_c ? &m->c : NULL, &m->equation, problem));
  p->outcome->on_gpu = p->run->ranks > 1 || m->in_memory[DM_C]->on_gpu;
  if (!is_native(m, problem, p->outcome->on_gpu)) return DM_OK;
  DM_TRY(open_matrices(p));
  DM_TRY(dm_comm_agree(world, open_backend(kept, p->run, p->outcome->on_gpu, &p->backend)));
  DM_TRY(fit(kept, p, taken));
  if (!*taken) return DM_OK;
  DM_TRY(dm_comm_agree(world, reach(p)));
  p->outcome->verified = m->verify;
  memcpy(p->outcome->alpha, m->equation.alpha, sizeof m->equation.alpha);
  memcpy(p->outcome->beta, m->equation.beta, sizeof m->equation.beta);
  if (p->run->at) p->run->at(p->run->at_context, 0, 1);
  DM_TRY(dm_stop_agree(&p->run->stop, world));
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
  bool takes;
  DM_TRY(agree_to_take(run, multiply, &takes));
  if (!takes) return DM_OK;
  dm_status status = run_product(kept, &p, taken);
  dm_travel_close(&p.travel);
  for (int x = 0; x < 3; x++) dm_distributed_close(&p.matrix[x]);
  outcome->seconds = dm_now() - start;
  return status;
}

void dm_in_place_close(dm_in_place *kept) {
  dm_freivalds_free(kept->check); /* before the backend whose sums it may await */
  dm_workspace_close(&kept->workspace);
  dm_backend_close(kept->host);
  dm_backend_close(kept->gpu);
  *kept = (dm_in_place){0};
}

/* Ranks that keep their rows of C form a column of the grid. */
static void record_recipe(const dm_in_place_outcome *outcome, const dm_device *device,
                          const dm_run *run, dm_record *record) {
  char ways[80] = "";
  if (outcome->strips > 0)
    snprintf(ways, sizeof ways, ", %s in %lld strips by %s",
             outcome->both     ? "op(A) and op(B)"
             : outcome->turned ? "op(A)"
                               : "op(B)",
             (long long)outcome->strips, outcome->transport);
  dm_record_text(record, "plan.recipe", "recipe", "in place, by %s%s", device->library, ways);
  dm_record_text(record, "plan.grid", NULL, outcome->turned ? "1x%dx1" : "%dx1x1", run->ranks);
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
  record_recipe(outcome, device, run, record);
  dm_record_integer(record, "plan.tiles", NULL, DM_SHOWN_PLAIN, 1);
  dm_record_text(record, "machine.backend", NULL, "%s", outcome->on_gpu ? "cuda" : "cpu");
  dm_record_text(record, "machine.device", NULL, "%s", device->name);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, outcome->seconds);
  const dm_checked checked = {p, outcome->alpha, outcome->beta, false};
  if (outcome->verified) dm_verdict_record(&outcome->verdict, &checked, &run->log, record);
}
