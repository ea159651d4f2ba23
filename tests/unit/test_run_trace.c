/* Times and spans of a trace. */
#include "checks.h"
#include "core/clock.h"
#include "engine/execute.h"
#include "engine/phases.h"
#include "run/trace.h"

enum { MANY = 100000 };

static void pause_for(double seconds) {
  for (const double start = dm_now(); dm_now() - start < seconds;) continue;
}

static dm_step step_of(int64_t index, dm_step_kind kind) {
  return (dm_step){.index = index, .kind = kind, .panel = index};
}

/* A gather before, during and after a product: only the part outside of the product is exposed, and
 * a copy during the gather is not counted twice. */
TEST(every_moment_counts_once) {
  dm_trace trace = {0};
  dm_step fetch = step_of(2, DM_STEP_FETCH_A), upload = step_of(3, DM_STEP_UPLOAD_A);
  dm_step gemm = step_of(4, DM_STEP_GEMM);
  dm_trace_begin(&trace, &fetch);
  dm_trace_begin(&trace, &upload);
  pause_for(0.01);
  dm_trace_end(&trace, &upload);
  dm_trace_begin(&trace, &gemm);
  pause_for(0.02);
  dm_trace_end(&trace, &gemm);
  pause_for(0.01);
  dm_trace_end(&trace, &fetch);
  const double gathering = trace.busy[DM_ROW_TRANSPORT], product = trace.busy[DM_ROW_COMPUTE];
  assert_true(product >= 0.02 && gathering >= 0.04 && trace.busy[DM_ROW_COPY] >= 0.01);
  assert_true(fabs(trace.exposed[DM_ROW_TRANSPORT] - (gathering - product)) < 1e-9);
  assert_true(trace.exposed[DM_ROW_COPY] == 0);
  dm_trace_count_anew(&trace);
  assert_true(trace.busy[DM_ROW_COMPUTE] == 0);
}

/* Queued products do not overlap; their spans add up to the counted time. */
TEST(queued_products_do_not_overlap) {
  dm_span spans[4];
  dm_trace trace = {.spans = spans, .room = 4};
  dm_step steps[3];
  for (int i = 0; i < 3; i++) {
    steps[i] = step_of(i, DM_STEP_GEMM);
    dm_trace_begin(&trace, &steps[i]);
  }
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    pause_for(0.002);
    dm_trace_end(&trace, &steps[i]);
    sum += spans[i].end - spans[i].begin;
    assert_true(i == 0 || spans[i].begin >= spans[i - 1].end);
  }
  assert_true(fabs(sum - trace.busy[DM_ROW_COMPUTE]) < 1e-9);
}

/* A round that only reads may wait for another rank: that is not multiplying. */
TEST(a_round_without_products_is_not_multiplying) {
  dm_trace trace = {.exposed = {[DM_ROW_READ] = 2}};
  dm_phases read = {0}, write = {.check = 1}, product = {0};
  dm_phases_take(&trace, DM_LOADS, 5, 0, &read);
  assert_true(read.read == 5 && read.multiply == 0 && read.write == 0);
  trace = (dm_trace){.exposed = {[DM_ROW_WRITE] = 2}};
  dm_phases_take(&trace, 1u << DM_STEP_STORE, 5, 0, &write); /* one second of it was a check */
  assert_true(write.write == 4 && write.multiply == 0 && write.read == 0);
  dm_phases_take(&trace, DM_ALL_STEPS, 5, 0, &product);
  assert_true(product.multiply == 3 && product.write == 2 && product.read == 0);
}

TEST(memory_is_bounded) {
  dm_span *spans = calloc(100, sizeof *spans);
  dm_trace trace = {.spans = spans, .room = 100};
  assert_non_null(spans);
  const double start = dm_now();
  for (int64_t i = 0; i < MANY; i++) {
    dm_step step = step_of(i, DM_STEP_FETCH_B);
    dm_trace_begin(&trace, &step);
    dm_trace_end(&trace, &step);
  }
  print_message("a step costs %.0f ns\n", 1e9 * (dm_now() - start) / MANY);
  assert_int_equal(trace.count, 100);
  assert_int_equal(trace.lost, MANY - 100);
  for (int i = 0; i < 2 * DM_TRACE_PHASES; i++) { /* more names than there is room for */
    char name[64];
    snprintf(name, sizeof name, "phase %d of a name that is much too long to be kept", i);
    dm_trace_phase(&trace, name);
  }
  assert_int_equal(trace.phases, DM_TRACE_PHASES);
  free(spans);
}

RUN_ALL(test_run_trace)
