/* What is predicted of a C that is not stored, or of distances, without computing it. */
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "product/multiply.h"
#include "programs/cut.h"
#include "programs/reduced_impl.h"

/* Elements of C that a thread compares, or makes distances of, in a second: assumed. */
static const double reduced_rate = 5e8;
static const double stored_rate = 1e9; /* bytes a second of a C that is stored whole */

/* Bytes of the result; -1: nobody knows before. */
static int64_t reduced_result_bytes(const reduced *r) {
  const dm_problem *p = &r->problem;
  const int64_t lines = dm_reduced_by_columns(r) ? p->n : p->m,
                length = dm_reduced_by_columns(r) ? p->m : p->n;
  int64_t all = 0;
  if (r->stores_all) return dm_laid_out(DM_HOST, p->m, p->n, dm_dtype_size(p->c));
  for (int i = 0; i < r->multiply->kept.count; i++) {
    const dm_reduction *what = &r->multiply->kept.list[i];
    if (what->kind == DM_REDUCE_BEYOND) return -1;
    all += what->kind == DM_REDUCE_TOP
               ? lines * dm_min(what->top, length) * (dm_dtype_size(p->c) + 8)
               : lines * 8;
  }
  return all;
}

/* What is predicted for the last tile of the first row, whose matrices are read as they are. */
static dm_status reduced_forecast_tile(reduced *r, const dm_cut *a, const dm_cut *b, dm_range rows,
                                       dm_range cols, double *seconds, int64_t *host_bytes) {
  DM_FREED dm_reduced_tile *job = NULL;
  dm_forecast forecast;
  DM_TRY(dm_comm_agree(r->run->world, dm_buffer_table(1, &job)));
  dm_reduced_pose_tile(r, &a->dataset, &b->dataset, rows, cols, job);
  dm_equation *e = &job->multiply.equation;
  if (e->distance.kind != DM_NO_DISTANCE) e->type = e->type_c = DM_F64;
  e->distance.kind = DM_NO_DISTANCE;
  for (int x = 0; x < 2; x++) e->standard[x] = (dm_standard){.fills = false};
  DM_TRY(dm_multiply_forecast(r->run, &job->multiply, &forecast, host_bytes));
  *seconds = forecast.total;
  *host_bytes += job->multiply.engine.beside;
  return DM_OK;
}

/* Seconds for all tiles, and to pass each element once; negative: they are not predicted. Bytes of
 * a rank while it multiplies. */
static dm_status reduced_forecast(reduced *r, double *seconds, int64_t *host_bytes) {
  const dm_problem *p = &r->problem;
  const dm_multiply *m = r->multiply;
  const int64_t last = r->diagonal ? 0 : (dm_ceil_div(p->n, r->step) - 1) * r->step;
  const dm_range rows = {0, dm_min(r->step, p->m)};
  const dm_range cols = {last, dm_min(last + r->step, p->n)};
  dm_cut a, b;
  *seconds = -1.0;
  if ((m->in_memory[DM_A] && !m->a.memory.base) || (m->in_memory[DM_B] && !m->b.memory.base))
    return DM_OK;
  dm_status status = dm_cut_lines(&m->a, dm_reduced_lines_of(r, 0), rows, &a);
  if (!status) {
    status = dm_cut_lines(&m->b, dm_reduced_lines_of(r, 1), cols, &b);
    if (status) dm_cut_free(&a);
  }
  DM_TRY(dm_comm_agree(r->run->world, status));
  status = reduced_forecast_tile(r, &a, &b, rows, cols, seconds, host_bytes);
  dm_cut_free(&a);
  dm_cut_free(&b);
  DM_TRY(status);
  const double elements = (double)dm_range_size(rows) * (double)dm_range_size(cols);
  *seconds *= r->all / elements;
  *seconds += r->all / r->run->ranks / r->run->cores.threads / reduced_rate;
  if (r->stores_all) *seconds += (double)reduced_result_bytes(r) / stored_rate;
  return DM_OK;
}

static void reduced_report_plan(const reduced *r, double seconds, int64_t host_bytes,
                                dm_record *record) {
  const dm_problem *p = &r->problem;
  const int64_t tiles = dm_reduced_tile_count(r), bytes = reduced_result_bytes(r);
  const double flops = 2.0 * r->all * (double)p->k;
  char text[DM_REDUCED_TEXT];
  dm_record_text(record, "reduction.what", "kept", "%s", dm_reduced_text(r, text));
  dm_record_integer(record, "problem.m", NULL, DM_SHOWN_PLAIN, p->m);
  dm_record_integer(record, "problem.n", NULL, DM_SHOWN_PLAIN, p->n);
  dm_record_integer(record, "problem.k", NULL, DM_SHOWN_PLAIN, p->k);
  dm_record_integer(record, "reduction.tiles", "tiles of C", DM_SHOWN_PLAIN, tiles);
  dm_record_text(record, "reduction.tile", "a tile has", "%lld x %lld",
                 (long long)dm_min(r->step, p->m), (long long)dm_min(r->step, p->n));
  dm_record_integer(record, "reduction.tile_bytes", "memory for its rows", DM_SHOWN_BYTES,
                    r->tile_bytes);
  dm_record_integer(record, "reduction.kept_bytes", "memory for what is kept", DM_SHOWN_BYTES,
                    dm_reduced_kept_bytes(r));
  if (seconds >= 0.0)
    dm_record_integer(record, "reduction.host_bytes", "memory, together", DM_SHOWN_BYTES,
                      host_bytes);
  if (bytes >= 0)
    dm_record_integer(record, "reduction.result_bytes", "size of the result", DM_SHOWN_BYTES,
                      bytes);
  else
    dm_record_text(record, "reduction.result", "size of the result",
                   "as many elements as are beyond the threshold");
  dm_record_real(record, "reduction.flop", "operations", DM_SHOWN_PLAIN, flops);
  if (seconds >= 0.0)
    dm_record_real(record, "reduction.predicted_s", "predicted", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record, "m=%lld n=%lld k=%lld dtype=%s tiles=%lld flop=%.3g ranks=%d PLAN",
                    (long long)p->m, (long long)p->n, (long long)p->k, dm_dtype_name(p->c),
                    (long long)tiles, flops, r->run->ranks);
}

dm_status dm_reduced_plan(dm_run *run, const dm_multiply *multiply, dm_record *record) {
  reduced r = {.run = run, .stated = multiply, .started = dm_now()};
  DM_FREED dm_multiply *own = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &own)));
  DM_TRY(dm_reduced_begin(&r, own));
  dm_status status = dm_reduced_open_reducers(&r);
  if (!status) status = dm_reduced_choose_step(&r);
  if (!status) dm_reduced_say_tiles(&r);
  double seconds = -1.0;
  int64_t host_bytes = 0;
  if (!status) status = reduced_forecast(&r, &seconds, &host_bytes);
  if (!status && record && run->rank == 0) reduced_report_plan(&r, seconds, host_bytes, record);
  dm_reduced_end(&r, status);
  return status;
}
