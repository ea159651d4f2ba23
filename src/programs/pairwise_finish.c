/* C from the products of pairs: judged, then written to its file or moved to the caller's memory.
 */
#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "product/provenance.h"
#include "product/rows_file.h"
#include "programs/pairwise_impl.h"

/* ---- the verdict ---- */

/* By how much two results may differ, but for the rounding to C's type. Products of K terms differ
 * by (k + 8) u |Z| |Z| or less from exact ones, of which each sum of a pair is at most the root of
 * both lines' squares (Cauchy, Schwarz). */
static double bound_of(const pairwise *p, const dm_pair *of) {
  const double error = 8.0 * ((double)p->k + 8.0) * 0x1p-53;
  const double spread = sqrt(of->squares[0]) * sqrt(of->squares[1]);
  double ratios = 0.0, variances = 1.0;
  if (p->relates) return error * spread / of->count;
  if (!p->form.correlation)
    return dm_pair_unscaled(of, error * spread / dm_pair_divisor(&p->form, of));
  for (int i = 0; i < 2; i++) {
    const double variance = dm_pair_variance(of, i);
    ratios += of->squares[i] / variance;
    variances *= sqrt(variance);
  }
  return error * (spread / variances + ratios / 2.0);
}

double dm_pairwise_excess(const pairwise *p, const dm_pair *of, bool same, double value,
                          dm_dtype type) {
  const double want = dm_pair_element(&p->form, of, same);
  const double bound = fabs(p->form.alpha) * bound_of(p, of), difference = fabs(value - want);
  if ((isnan(want) && isnan(value)) || value == want) return 0.0;
  if (isinf(want) || fabs(want) > dm_dtype_largest(type)) return isfinite(value) ? INFINITY : 0.0;
  if (isnan(difference)) return (double)INFINITY;
  return difference /
         (bound + 2.0 * dm_dtype_roundoff(type) * fabs(want) + dm_dtype_smallest(type));
}

const char *dm_pairwise_name(const pairwise *p) {
  return p->relates ? "relationships" : p->form.correlation ? "correlations" : "covariances";
}

/* Compares what products gave with sums that were taken again. */
static void compare_sample(pairwise *p) {
  for (int64_t i = 0; i < p->sample.count; i++) {
    const dm_pair_again *one = &p->sample.list[i];
    const bool same = p->one && one->row == one->col;
    if (one->made.count < 0.0 || dm_pair_is_doubtful(&one->made)) continue; /* or replaced */
    const double value = dm_pair_element(&p->form, &one->made, same);
    const double off = one->made.count == one->of.count
                           ? dm_pairwise_excess(p, &one->of, same, value, DM_F64)
                           : (double)INFINITY;
    if (off <= p->verdict.residual) continue;
    p->verdict.residual = off;
    p->verdict.worst_row = one->row;
  }
}

dm_status dm_pairwise_judge(pairwise *p) {
  dm_verdict *v = &p->verdict;
  double worst = v->residual, squares = v->norm * v->norm;
  DM_TRY(dm_comm_max_f64(p->run->world, &worst, 1));
  DM_TRY(dm_comm_sum_f64(p->run->world, &squares, 1));
  if (v->residual < worst) v->worst_row = -1;
  DM_TRY(dm_comm_max_i64(p->run->world, &v->worst_row, 1));
  v->residual = v->relative = worst;
  v->norm = sqrt(squares);
  v->rows_checked = p->m;
  v->cols_checked = p->n;
  v->pass = worst <= 1.0;
  return DM_OK;
}

/* ---- C ---- */

/* What was taken again replaces what products gave. */
static void finish_doubtful(const pairwise *p, dm_view c, int64_t row) {
  for (int64_t i = 0; i < c.rows && p->doubtful.count > 0; i++) {
    int64_t count;
    const dm_pair_again *list = dm_pair_list_row(&p->doubtful, row + i, &count);
    for (int64_t j = 0; j < count; j++) {
      const bool same = p->one && list[j].row == list[j].col;
      const double value = dm_pair_element(&p->form, &list[j].of, same);
      dm_store_wide(dm_view_at(c, i, list[j].col), c.dtype, 1, &value, 1);
    }
  }
}

/* C, or COUNT rows of it from ROW on, which take the place of those of the counts. *DOUBTFUL: sums
 * in GPU memory are. */
static dm_status pairwise_finish_rows(const pairwise *p, int64_t row, int64_t count,
                                      const dm_view *c, bool *doubtful) {
  const dm_pairs of = dm_pairwise_pairs(p, row, 0, count);
  const dm_view to = c ? *c : of.counts;
  *doubtful = false;
  if (count == 0) return DM_OK;
  if (p->gpu) return dm_backend_pairs(p->gpu, to, &of, &p->form, doubtful);
  DM_TRY(dm_pairs_finish(p->run->cores.threads, to, &of, &p->form));
  finish_doubtful(p, to, row);
  return DM_OK;
}

static dm_status pairwise_bring(void *context, dm_view rows, int64_t row) {
  pairwise *p = context;
  const int64_t first = p->in_memory ? row - p->own.begin : 0;
  bool doubtful;
  if (!p->in_memory) {
    DM_TRY(dm_pairwise_read(p, row, rows.rows));
    DM_TRY(pairwise_finish_rows(p, row, rows.rows, NULL, &doubtful));
  }
  dm_copy(rows, dm_view_row_major(p->rows[COUNTS] + first * p->n, DM_F64, rows.rows, p->n), false);
  return DM_OK;
}

static dm_status pairwise_finish_describe(void *context, const dm_run *run, dm_attributes *list) {
  pairwise *p = context;
  list->count = 0;
  DM_TRY(dm_pairwise_name_kept_counts(p));
  DM_TRY(dm_provenance_inputs(list, run, p->multiply, false));
  DM_TRY(dm_provenance_divide(list, p->multiply->equation.divide));
  DM_TRY(dm_provenance_notes(list, run));
  DM_TRY(dm_attributes_add(list, "product", "pairwise %s", dm_pairwise_name(p)));
  return dm_attributes_add(list, "verified", "%s",
                           p->multiply->verify ? dm_verdict_word(&p->verdict) : "no");
}

/* Bytes of a strip of C: two of them, and the rows of the products, have to fit in memory. */
static int64_t pairwise_strip_bytes(const pairwise *p, int64_t size) {
  const int64_t arrays = p->in_memory ? 0 : p->relates ? p->count : PAIRWISE_FACTORS;
  const int64_t share = dm_pairwise_share(p) - p->process_bytes;
  const int64_t most = share / (2 * size + arrays * (int64_t)sizeof(double)) * size;
  return dm_max(1, most);
}

static dm_status pairwise_write_file(pairwise *p) {
  const dm_multiply *m = p->multiply;
  dm_rows_file file = {.out = m->out,
                       .rows = p->m,
                       .cols = p->n,
                       .dtype = m->equation.type_c,
                       .form = m->form,
                       .io_threads = m->engine.io_threads,
                       .write_by = m->engine.write_by,
                       .strip_bytes = pairwise_strip_bytes(p, dm_dtype_size(m->equation.type_c)),
                       .force = m->force,
                       .bring = pairwise_bring,
                       .describe = pairwise_finish_describe,
                       .clear = dm_pairwise_remove_products,
                       .context = p};
  dm_status status = dm_output_form_complete(&file.form, file.dtype, p->m, p->n);
  if (!status && !p->in_memory) status = dm_pairwise_open_readers(p);
  status = dm_comm_agree(p->run->world, status);
  if (!status) status = dm_rows_file_write(p->run, &file);
  dm_pairwise_close_readers(p);
  return status;
}

/* Whether the GPU that has all has C, too: then C becomes what it is there. */
static dm_status finish_there(pairwise *p, bool *done, bool *doubtful) {
  const dm_memory_matrix *stated = p->multiply->in_memory[DM_C];
  dm_distributed c;
  *done = p->gpu && p->run->ranks == 1 && stated && stated->on_gpu;
  if (!*done) return DM_OK;
  DM_TRY(dm_distributed_open(p->run->world, stated, "C", &c));
  dm_status status = dm_distributed_reach(&c, p->gpu, "C");
  if (!status) status = pairwise_finish_rows(p, 0, p->m, &c.local, doubtful);
  dm_distributed_close(&c);
  return status;
}

/* This rank's rows of C, in host memory from now on unless a GPU has doubtful ones. */
static dm_status finish_own(pairwise *p, bool *doubtful) {
  DM_TRY(pairwise_finish_rows(p, p->own.begin, dm_range_size(p->own), NULL, doubtful));
  return p->gpu && !*doubtful ? dm_pairwise_to_host(p) : DM_OK;
}

/* Moves C to the caller's memory. */
static dm_status pairwise_give(const pairwise *p) {
  const dm_memory_matrix rows = dm_pairwise_in_rows(p, p->rows[COUNTS], false);
  dm_distributed to;
  dm_backend *backend = NULL;
  dm_status status = dm_distributed_open(p->run->world, p->multiply->in_memory[DM_C], "C", &to);
  if (!status)
    status = dm_comm_agree(p->run->world, dm_distributed_open_backend(p->run, &p->multiply->engine,
                                                                      &to, "C", &backend));
  if (!status) status = dm_pairwise_move(p, &rows, NULL, false, &to);
  dm_backend_close(backend);
  dm_distributed_close(&to);
  return status;
}

/* ---- all ---- */

/* Where relationships come from, and where their counts are. */
static void report_relation(const pairwise *p, dm_record *record) {
  char text[DM_CENTERING_TEXT], name[DM_NAME];
  if (!p->relates) return;
  dm_centering_text(p->centering[0], text);
  dm_record_text(record, "files.a_centering", "standardised", "%s", text);
  if (!p->in_memory)
    dm_record_text(record, "files.counts", "counts of variants", "%s",
                   dm_location_name(&p->made[COUNTS].at, name));
}

static void report_verdict(const pairwise *p, dm_record *record) {
  const dm_verdict *v = &p->verdict;
  const char *word = dm_verdict_word(v);
  if (p->relates)
    dm_record_text(record, "verification.method", "verified", "products and counts of pairs: %s",
                   word);
  else
    dm_record_text(record, "verification.method", "verified",
                   "%s of pairs, each product, and %lld pairs in two passes, residual %.2g of the "
                   "bound: %s",
                   dm_pairwise_name(p), (long long)p->sample.count, v->residual, word);
  dm_record_text(record, "verification.verdict", NULL, "%s", word);
  dm_record_real(record, "verification.residual", NULL, DM_SHOWN_PLAIN, v->residual);
}

static void pairwise_report(const pairwise *p) {
  dm_record *record = p->record;
  const dm_multiply *m = p->multiply;
  const dm_verdict *v = &p->verdict;
  char name[DM_NAME] = "in memory", seed[DM_SEED_TEXT];
  const double seconds = dm_now() - p->started;
  const char *word = m->verify ? dm_verdict_word(v) : "UNVERIFIED";
  const int products = p->count - dm_pairwise_counts_alone(p);
  const int64_t missing = p->centering[0]->filled + (p->one ? 0 : p->centering[1]->filled);
  if (!m->in_memory[DM_C]) dm_location_name(&m->out, name);
  dm_record_text(record, "files.c", "C", "%s, from %d product%s of pairs", name, products,
                 products > 1 ? "s" : "");
  if (p->doubtful.count > 0)
    dm_record_integer(record, "problem.doubtful_pairs", "pairs computed again", DM_SHOWN_PLAIN,
                      p->doubtful.count);
  report_relation(p, record);
  if (m->verify) report_verdict(p, record);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_verdict_seed(v, seed);
  dm_record_summary(record,
                    "m=%lld n=%lld k=%lld dtype=f64 missing=%lld pairwise ranks=%d time_s=%.3f "
                    "multiply_s=%.3f residual=%.2g%s%s %s",
                    (long long)p->m, (long long)p->n, (long long)p->k, (long long)missing,
                    p->run->ranks, seconds, p->multiplied, v->residual, seed[0] ? " seed=" : "",
                    seed, word);
}

/* C on the GPUs, if no sum there is doubtful: else hosts compute it. DONE: the caller has it. */
static dm_status finish_on_gpus(pairwise *p, bool *finished, bool *done) {
  bool doubtful = false;
  dm_status status = finish_there(p, done, &doubtful);
  if (!status && !*done) status = finish_own(p, &doubtful);
  DM_TRY(dm_comm_agree(p->run->world, status));
  int64_t any = doubtful;
  DM_TRY(dm_comm_max_i64(p->run->world, &any, 1));
  *finished = !any;
  *done = *done && !any;
  return any ? dm_pairwise_leave_gpu(p) : DM_OK;
}

/* Takes doubtful sums again, and compares some others. */
static dm_status pairwise_judge(pairwise *p) {
  if (!p->relates) DM_TRY(dm_pairwise_take_again(p)); /* sums of which nothing is subtracted */
  compare_sample(p);
  DM_TRY(dm_pairwise_judge(p));
  return p->multiply->verify ? dm_verdict_status(&p->verdict, "C", p->multiply->allow_unchecked)
                             : DM_OK;
}

dm_status dm_pairwise_deliver(pairwise *p) {
  bool finished = false, done = false, doubtful;
  if (p->gpu) DM_TRY(finish_on_gpus(p, &finished, &done));
  if (finished)
    DM_TRY(dm_pairwise_judge(p));
  else
    DM_TRY(pairwise_judge(p));
  if (!finished && p->in_memory) DM_TRY(dm_comm_agree(p->run->world, finish_own(p, &doubtful)));
  if (!done) DM_TRY(p->multiply->in_memory[DM_C] ? pairwise_give(p) : pairwise_write_file(p));
  if (p->record && p->run->rank == 0) pairwise_report(p);
  return DM_OK;
}

dm_status dm_pairwise_run(dm_in_place *kept, dm_run *run, const dm_multiply *m, dm_record *record) {
  pairwise p = {.run = run, .in_place = kept, .started = dm_now(), .record = record};
  p.in_memory = m->in_memory[DM_A] || m->in_memory[DM_B] || m->in_memory[DM_C];
  if (m->equation.half != DM_BOTH_HALVES)
    return dm_comm_agree(run->world,
                         dm_hint(dm_fail(DM_E_USAGE, "--missing pairwise makes both halves of C"),
                                 "leave out --triangle"));
  return dm_pairwise_make(&p, m, dm_pairwise_deliver);
}
