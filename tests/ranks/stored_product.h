/* stored_product: computes a small product like a job, on CPUs or GPUs: fills shares, skips tiles
 * of an earlier run, and passes each complete element of C to the test. */
#ifndef DM_TESTS_STORED_PRODUCT_H
#define DM_TESTS_STORED_PRODUCT_H

#include "engine/scaling.h"
#include "small_product.h"

/* Receives element (row, col) of C, in parts if C is complex. */
typedef void stored_element(void *context, const product *p, int64_t row, int64_t col,
                            double value);

typedef struct storage {
  product *p;
  stored_element *take;
  void *context;
  const dm_source *sources; /* of the scaling; NULL: the shares */
  int64_t stored;
} storage;

static dm_status storage_fill(void *context, dm_rank_state *local, dm_matrix matrix,
                              int64_t panel) {
  const product *p = ((storage *)context)->p;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel),
                         matrix == DM_A ? &p->a : &p->b,
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

static dm_status storage_store(void *context, dm_rank_state *local, dm_range rows, bool *done) {
  storage *s = context;
  rank_test *test = s->p->test;
  dm_range all;
  const dm_view c = dm_view_parts(dm_rank_result(local, &all));
  const dm_view sums = dm_view_sub(c, rows.begin, 0, dm_range_size(rows), c.cols);
  const dm_view got =
      dm_view_row_major(memory_of(test, sums.rows * sums.cols * dm_dtype_size(sums.dtype)),
                        sums.dtype, sums.rows, sums.cols);
  const int64_t parts = dm_dtype_is_complex(local->plan->problem.work) ? 2 : 1;
  dm_event copied;
  must(test, dm_backend_copy(local->backend, got, sums, &copied));
  must(test, dm_backend_wait(local->backend, copied));
  for (int64_t i = 0; i < got.rows; i++)
    for (int64_t j = 0; j < got.cols; j++, s->stored++) {
      const void *value = dm_view_at(got, i, j);
      s->take(s->context, s->p, all.begin + rows.begin + i, parts * local->cols.begin + j,
              got.dtype == DM_F32 ? *(const float *)value : *(const double *)value);
    }
  free(got.base);
  *done = true;
  return DM_OK;
}

/* The number of elements that all ranks store. */
static int64_t elements_of(const dm_plan *plan) {
  int64_t elements = 0;
  for (int64_t place = 0; place < dm_plan_todo(plan); place++)
    for (int i = 0; i < plan->pm; i++)
      for (int j = 0; j < plan->pn; j++) {
        const int64_t tile = dm_plan_todo_tile(plan, place);
        elements +=
            dm_range_size(dm_plan_rows(plan, tile, i)) * dm_range_size(dm_plan_cols(plan, tile, j));
      }
  return elements * (dm_dtype_is_complex(plan->problem.work) ? 2 : 1);
}

static void storage_run(storage *s) {
  product *p = s->p;
  rank_test *test = p->test;
  static const dm_source_ops source = {.load = storage_fill};
  static const dm_sink_ops sink = {.store = storage_store};
  const dm_step_calls loads = {.source = {{&source, s}, {&source, s}}};
  const dm_step_calls calls = {.source = {{&source, s}, {&source, s}}, .sink = {&sink, s}};
  const bool streams = dm_plan_streams(&p->plan);
  must(test, dm_rank_open(&test->run, &p->plan, p->backend, p->transport, &p->local));
  if (!streams) must(test, dm_execute(&p->local, DM_LOADS, &loads));
  must(test, dm_comm_barrier(test->run.world));
  if (p->plan.problem.compute.moduli > 0) {
    must(test, dm_rank_scale(&p->local, s->sources));
    CHECK(test, isfinite(p->local.scaling.factor), "f is %g", p->local.scaling.factor);
  }
  must(test, dm_execute(&p->local, streams ? DM_ALL_STEPS : DM_ALL_STEPS & ~DM_LOADS, &calls));
  must(test, dm_comm_sum_i64(test->run.world, &s->stored, 1));
  CHECK(test, s->stored == elements_of(&p->plan), "%lld elements of C are stored, of %lld",
        (long long)s->stored, (long long)elements_of(&p->plan));
}

/* Uses STRIPS if positive; skips the first DONE tiles. Closes P. */
static inline void product_store(product *p, int strips, int64_t done, stored_element *take,
                                 void *context) {
  storage s = {.p = p, .take = take, .context = context};
  bool there[64] = {false};
  dm_todo *todo;
  if (strips > 0) p->plan.strips = strips, p->plan.stretch = 1;
  CHECK(p->test, done < dm_plan_tiles(&p->plan), "nothing is left to compute");
  for (int64_t t = 0; t < done; t++) there[t] = true;
  must(p->test, dm_todo_new(dm_plan_tiles(&p->plan), there, &todo));
  p->plan.todo = todo;
  storage_run(&s);
  dm_todo_free(todo);
  product_close(p);
}

#endif
