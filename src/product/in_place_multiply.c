/* Multiplies matrices that are multiplied where they are, and judges C. */
#include <string.h>

#include "backend/verify_sums.h"
#include "check/verdict.h"
#include "core/buffer.h"
#include "plan/buffers.h"
#include "product/in_place_impl.h"
#include "product/verify.h"

typedef dm_in_place_product in_place_product;

/* Adds this rank's part of MATRIX to the sums of the check, and waits for them. */
static dm_status in_place_add(const in_place_product *p, dm_freivalds_part *part, dm_view view,
                              int matrix) {
  const dm_extent at = p->places->at[matrix];
  dm_status status = part(p->check, p->backend, view, at.rows.begin, at.cols.begin);
  return dm_comm_agree(p->run->world, status ? status : dm_backend_settle(p->backend));
}

/* Weights from every STEP-th row of op(B); stops as soon as they turn out to be useless. */
static dm_status add_factors(const in_place_product *p, int64_t step) {
  const dm_comm *world = p->run->world;
  const dm_view sample = dm_sample(p->whole.b, p->places->at[DM_B].rows.begin, step);
  dm_freivalds_sample(p->check, step);
  DM_TRY(in_place_add(p, dm_freivalds_scan_b, sample, DM_B));
  DM_TRY(dm_freivalds_weigh(p->check, world));
  for (int64_t k = 0; dm_freivalds_turn_to_row(p->check, k); k += dm_freivalds_room(p->check)) {
    DM_TRY(in_place_add(p, dm_freivalds_add_b, p->whole.b, DM_B));
    DM_TRY(dm_freivalds_project(p->check, world));
    if (!dm_freivalds_is_sound(p->check)) return DM_OK;
    DM_TRY(in_place_add(p, dm_freivalds_add_a, p->whole.a, DM_A));
  }
  return DM_OK;
}

/* The sums of A, B and of the C that is replaced. */
static dm_status in_place_add_operands(void *context) {
  const in_place_product *p = context;
  const int64_t step = dm_dtype_is_integer(p->whole.b.dtype)
                           ? 1
                           : dm_sample_step(dm_problem_b_rows(&p->outcome->problem));
  DM_TRY(add_factors(p, step));
  if (!dm_freivalds_is_sound(p->check)) DM_TRY(add_factors(p, 1));
  return p->outcome->problem.reads_c ? in_place_add(p, dm_freivalds_add_c0, p->whole.c, DM_C)
                                     : DM_OK;
}

/* Calls BEFORE, unless NULL, while the first strips travel; what was started is finished. */
static dm_status multiply_stationary(in_place_product *p, dm_status (*before)(void *context)) {
  dm_stationary_c stationary;
  dm_stationary_c_start(&p->places->arranged.broadcast, before != NULL, before != NULL,
                        &stationary);
  dm_status status = before ? before(p) : DM_OK;
  return dm_status_first(status, dm_stationary_c_finish(&stationary));
}

/* One GPU multiplies PART meanwhile, all rows or those of the check, unless that would replace C;
 * with several, the first strips travel: each sum would wait for room beside a product. */
static dm_status multiply_with_sums(in_place_product *p, const dm_whole_product *part) {
  const bool first = p->outcome->problem.reads_c;
  dm_event done;
  if (p->run->ranks > 1) return multiply_stationary(p, in_place_add_operands);
  if (first) DM_TRY(in_place_add_operands(p));
  DM_TRY(dm_backend_multiply(p->backend, part, NULL, &done));
  dm_status status = first ? DM_OK : in_place_add_operands(p);
  return dm_status_first(status, dm_backend_wait(p->backend, done));
}

static dm_status multiply_and_compare(in_place_product *p, const dm_whole_product *part,
                                      dm_verdict *verdict) {
  DM_TRY(multiply_with_sums(p, part));
  DM_TRY(in_place_add(p, dm_freivalds_add_c, p->whole.c, DM_C));
  return dm_freivalds_judge(p->check, p->run->world, verdict);
}

/* ---- several ranks, each with rows of C ---- */

/* The squares of columns, op(B) w, those of a divided op(A), and what the ranks found. */
enum { IN_PLACE_SUMS = 4, OF_K = 1 };

static dm_status sum_ranks(void *context, dm_status mine, void *values, int64_t count,
                           bool integers) {
  in_place_product *p = context;
  const bool of_k = p->summed++ % IN_PLACE_SUMS == OF_K;
  if (of_k && p->places->arranged.broadcast.split_k.parts)
    return dm_comm_agree(p->run->world, mine);
  return dm_comm_agree_sum(p->run->world, mine, values, count, integers);
}

static bool begin_rows(void *context, bool products) {
  in_place_product *p = context;
  if (!p->started || p->begun) return false;
  p->begun = true;
  dm_stationary_c_start(&p->places->arranged.broadcast, false, !products, p->started);
  return products;
}

static void advance_rows(void *context) {
  const in_place_product *p = context;
  if (p->started && p->begun) dm_stationary_c_poll(p->started);
}

static dm_status in_place_finish_rows(void *context) {
  in_place_product *p = context;
  dm_stationary_c *started = p->started;
  (void)begin_rows(p, false);
  p->started = NULL;
  return started ? dm_stationary_c_finish(started) : DM_OK;
}

static dm_extent transposed(dm_extent extent) {
  return (dm_extent){extent.cols, extent.rows};
}

static void turn_verdict(dm_verdict *v) {
  const dm_verdict of = *v;
  v->rows_left_out = of.cols_left_out;
  v->cols_left_out = of.rows_left_out;
  v->rows_checked = of.cols_checked;
  v->cols_checked = of.rows_checked;
  v->of_columns = true;
}

/* All vectors stay on the GPUs, but for two sums over the ranks. If ranks have columns of C, C^T is
 * verified, of which they have rows. */
static dm_status in_place_multiply_rows(in_place_product *p, int draw) {
  const dm_extent *at = p->places->at;
  dm_broadcast *broadcast = &p->places->arranged.broadcast;
  const bool turned = broadcast->turned;
  const dm_extent of_a = turned ? transposed(at[DM_B]) : at[DM_A];
  const dm_extent of_b = turned ? transposed(at[DM_A]) : at[DM_B];
  const dm_extent of_c = turned ? transposed(at[DM_C]) : at[DM_C];
  dm_problem problem = p->outcome->problem;
  if (turned) problem.m = p->outcome->problem.n, problem.n = p->outcome->problem.m;
  const dm_verified_ranks ranks = {.rows = problem.m,
                                   .first = of_c.rows.begin,
                                   .depth = problem.k,
                                   .row = of_b.rows.begin,
                                   .col = of_b.cols.begin,
                                   .part = broadcast->both,
                                   .parts_of_k = broadcast->split_k.parts ? p->run->ranks : 0,
                                   .row_of_a = of_a.rows.begin,
                                   .col_of_a = of_a.cols.begin,
                                   .sum = sum_ranks,
                                   .begin = begin_rows,
                                   .advance = advance_rows,
                                   .multiply = in_place_finish_rows,
                                   .context = p};
  dm_verdict *verdict = &p->outcome->verdict;
  dm_stationary_c stationary;
  p->started = &stationary;
  p->begun = false;
  p->summed = 0;
  dm_status status = dm_freivalds_multiply_rows(&problem, p->multiply->seed, draw, p->run->world,
                                                p->backend, &broadcast->whole, &ranks, verdict);
  if (turned) turn_verdict(verdict);
  return dm_status_first(status, in_place_finish_rows(p));
}

/* ---- lines that are NaN, because they are constant ---- */

bool dm_in_place_has_nan(const in_place_product *p) {
  if (!p->centered) return false;
  const dm_centering *const of[2] = {p->centered->a.centering, p->centered->b.centering};
  for (int x = 0; x < 2; x++)
    if (of[x] && of[x]->constant + of[x]->empty > 0) return true;
  return false;
}

/* The matrices as they were multiplied, for a verification from memory. */
static dm_verify in_place_describe(const in_place_product *p, int draw, dm_distributed matrix[3]) {
  const dm_multiply *m = p->multiply;
  const dm_distributed *from = p->run->ranks > 1 ? p->places->arranged.used : p->places->matrix;
  const dm_view views[3] = {p->whole.a, p->whole.b, p->whole.c};
  dm_verify verify = {.a = m->a,
                      .b = m->b,
                      .equation = m->equation,
                      .from_gpu = p->outcome->on_gpu,
                      .seed = m->seed,
                      .draw = draw};
  for (int x = 0; x < 3; x++) {
    matrix[x] = from[x];
    matrix[x].local = views[x];
    matrix[x].backend = p->outcome->on_gpu ? p->backend : NULL;
    verify.memory[x] = &matrix[x];
  }
  return verify;
}

/* ---- NaN, Inf and extreme exponents anywhere ---- */

/* A, B and C are read again, and scaled: of a batch the entries STRAINED, unless NULL. The old C
 * was replaced. */
static dm_status judge_again(const in_place_product *p, int draw, const uint8_t *strained) {
  dm_distributed matrix[3];
  if (p->outcome->problem.reads_c) return DM_OK;
  dm_verify verify = in_place_describe(p, draw, matrix);
  verify.strained = strained;
  return dm_verify_each_entry(p->run, &verify, &p->outcome->problem, dm_verify_scaled,
                              &p->outcome->verdict);
}

/* With fewer columns, groups take more time than they are worth. */
enum { IN_PLACE_GROUPED = 512 };

static dm_status multiply_entries(in_place_product *p, int draw) {
  const int64_t entries = p->whole.entries;
  DM_FREED uint8_t *strained = NULL;
  DM_TRY(dm_buffer_table(entries, &strained));
  DM_TRY(dm_freivalds_multiply_entries(&p->outcome->problem, p->multiply->seed, draw, p->run->world,
                                       p->backend, &p->whole, strained, &p->outcome->verdict));
  return memchr(strained, 1, (size_t)entries) ? judge_again(p, draw, strained) : DM_OK;
}

static void prepare_check(const in_place_product *p, dm_check_seed seed, int draw,
                          dm_freivalds *check) {
  if (p->outcome->on_gpu || p->outcome->problem.n < IN_PLACE_GROUPED)
    dm_freivalds_join_groups(check);
  dm_freivalds_conjugate(check, p->whole.conjugate_a, p->whole.conjugate_b);
  dm_freivalds_repeat(check, seed, draw);
}

/* ---- so many rows that sums for all of them would take more memory than few columns do ---- */

/* Multiplies and judges some rows after others, with the same random vector. */
static dm_status multiply_windows(in_place_product *p, int draw) {
  const dm_problem *problem = &p->outcome->problem;
  const int64_t most = dm_verify_rows_together(problem, 0);
  const dm_extent first = {{0, most}, {0, problem->n}};
  dm_verdict *verdict = &p->outcome->verdict, found;
  dm_check_seed seed = p->multiply->seed;
  dm_freivalds *check = NULL;
  dm_status status = dm_freivalds_new_part(problem, p->whole.alpha, p->whole.beta, false, first,
                                           dm_check_room(dm_problem_b_rows(problem), 0), &check);
  for (int64_t row = 0; row < problem->m && !status; row += most) {
    const dm_range rows = {row, dm_min(problem->m, row + most)};
    dm_freivalds_turn_to_rows(check, rows);
    prepare_check(p, seed, draw, check);
    p->check = check;
    dm_whole_product part = p->whole;
    part.a = dm_view_sub(p->whole.a, row, 0, dm_range_size(rows), p->whole.a.cols);
    part.c = dm_view_sub(p->whole.c, row, 0, dm_range_size(rows), p->whole.c.cols);
    status = multiply_and_compare(p, &part, &found);
    if (status) break;
    if (row == 0)
      *verdict = found;
    else
      dm_verify_join_rows(verdict, &found);
    seed = (dm_check_seed){.stated = true, .value = verdict->seed - (uint64_t)draw};
  }
  dm_freivalds_free(check);
  p->check = NULL;
  return status;
}

/* By sums that are taken once. */
static dm_status multiply_and_judge(dm_in_place *cached, in_place_product *p, int draw) {
  const dm_problem *problem = &p->outcome->problem;
  const bool on_gpu = p->outcome->on_gpu, nan = dm_in_place_has_nan(p);
  const bool checks = dm_backend_checks(p->backend) && !nan;
  if (p->run->ranks == 1 && checks)
    return dm_freivalds_multiply(problem, p->multiply->seed, draw, p->run->world, p->backend,
                                 &p->whole, &p->outcome->verdict);
  if (p->whole.entries > 1) return multiply_entries(p, draw);
  if (p->run->ranks > 1 && checks && dm_broadcast_has_rows(&p->places->arranged.broadcast))
    return in_place_multiply_rows(p, draw);
  if (p->run->ranks == 1 && !on_gpu && !p->centered &&
      dm_verify_rows_together(problem, 0) < problem->m)
    return multiply_windows(p, draw);
  DM_TRY(dm_comm_agree(p->run->world, dm_freivalds_reuse(problem, p->whole.alpha, p->whole.beta,
                                                         on_gpu, &cached->check)));
  prepare_check(p, p->multiply->seed, draw, cached->check);
  if (nan)
    dm_verify_expect_nan(&p->centered->a, &p->centered->b, &p->centered->equation, cached->check);
  p->check = cached->check;
  DM_TRY(multiply_and_compare(p, &p->whole, &p->outcome->verdict));
  if (nan) {
    dm_distributed matrix[3];
    const dm_verify verify = in_place_describe(p, 0, matrix);
    DM_TRY(dm_verify_nan(p->run, &verify, problem, &p->outcome->verdict));
  }
  dm_freivalds_expect_nan(p->check, NULL, NULL); /* the lines live no longer than this call */
  return DM_OK;
}

/* A, B and C are read again, and rows above the bound are multiplied again, with the same weights.
 */
static dm_status judge_doubts(const in_place_product *p) {
  dm_distributed matrix[3];
  dm_verify verify = in_place_describe(p, 0, matrix);
  verify.seed = (dm_check_seed){.stated = true, .value = p->outcome->verdict.seed};
  return dm_verify_each_entry(p->run, &verify, &p->outcome->problem, dm_verify_residual,
                              &p->outcome->verdict);
}

static dm_status multiply_once(dm_in_place *cached, in_place_product *p, int draw) {
  dm_verdict *verdict = &p->outcome->verdict;
  const dm_problem *problem = &p->outcome->problem;
  DM_TRY(multiply_and_judge(cached, p, draw));
  const bool replaced = problem->reads_c; /* the old C is gone */
  if (!verdict->pass && !verdict->exact && !p->outcome->on_gpu && !replaced &&
      verdict->residual <= (double)problem->k)
    DM_TRY(judge_doubts(p));
  if (verdict->pass && verdict->suspect && !replaced && p->whole.entries <= 1) {
    dm_distributed matrix[3];
    const dm_verify verify = in_place_describe(p, 0, matrix);
    DM_TRY(dm_verify_suspect(p->run, &verify, problem, verdict)); /* the row that stands out */
  }
  if (!verdict->pass || !verdict->strained || dm_in_place_has_nan(p)) return DM_OK;
  return judge_again(p, draw, NULL);
}

static dm_status multiply_unverified(in_place_product *p) {
  dm_event done;
  if (p->run->ranks > 1) return multiply_stationary(p, NULL);
  p->outcome->posted = p->stream != NULL;
  DM_TRY(dm_backend_multiply(p->backend, &p->whole, p->stream, &done));
  return dm_backend_wait(p->backend, done);
}

static dm_status in_place_outcome_of(const in_place_product *p, int attempts) {
  const dm_verdict *verdict = &p->outcome->verdict;
  if (verdict->pass) dm_verdict_say(verdict, p->multiply->equation.alpha, &p->run->log);
  dm_status status = dm_verdict_status(verdict, "C", p->multiply->allow_unchecked);
  if (verdict->pass) return status;
  if (attempts > 1) status->code = DM_E_CORRUPT;
  return dm_hint(attempts > 1 ? dm_context(status, "computed a second time") : status,
                 p->outcome->moved[DM_C] ? "C is as it was before the call"
                                         : "C holds wrong elements and must not be used");
}

/* A and B are intact, and so C can be computed again unless beta needs elements that it replaced.
 */
static dm_status multiply_verified(dm_in_place *cached, in_place_product *p) {
  const dm_multiply *m = p->multiply;
  DM_TRY(multiply_once(cached, p, 0));
  const bool reads_c = p->outcome->problem.reads_c;
  const bool again = !p->outcome->verdict.pass && (!reads_c || p->outcome->moved[DM_C]) &&
                     m->on_corruption == DM_ON_CORRUPTION_REPAIR;
  if (!again) return in_place_outcome_of(p, 1);
  dm_status first = in_place_outcome_of(p, 1);
  dm_log_line(&p->run->log, DM_LOG_WARNING, "%s: it is computed again", first->message);
  dm_status_free(first);
  if (reads_c) DM_TRY(dm_layout_choice_bring(&p->places->arranged, true));
  DM_TRY(multiply_once(cached, p, 1));
  p->outcome->verdict.repaired = 1;
  return in_place_outcome_of(p, 2);
}

dm_status dm_in_place_multiply(dm_in_place *cached, in_place_product *p) {
  dm_layout_choice *arranged = &p->places->arranged;
  const bool several = p->run->ranks > 1;
  if (several && !p->brought) DM_TRY(dm_layout_choice_bring(arranged, p->outcome->problem.reads_c));
  dm_status status = p->multiply->verify ? multiply_verified(cached, p) : multiply_unverified(p);
  const bool complete = !status || status->code == DM_E_UNCHECKED;
  return several && complete ? dm_status_first(status, dm_layout_choice_deliver(arranged)) : status;
}
