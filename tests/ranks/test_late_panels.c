/* ranks: 2 3 4 */
/* Panels that arrive in the wrong order must still be multiplied in ascending order: the transport
 * here holds back every second gather. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/freivalds.h"
#include "engine/phases.h"
#include "engine/rank_state.h"
#include "lib/test_program.h"
#include "plan/choose.h"

enum { SIZE = 300, PANEL = 64, PATIENCE = 40 };

typedef struct late_transport {
  dm_transport base;
  dm_transport *inner;
  int tests[DM_GATHERS];
  int posted;
} late_transport;

static dm_status late_post(dm_transport *transport, const dm_gather *gather, int *ticket) {
  late_transport *late = (late_transport *)transport;
  dm_status status = dm_transport_post(late->inner, gather, ticket);
  if (!status) late->tests[*ticket] = late->posted++ % 2 == 0 ? PATIENCE : 0;
  return status;
}

static dm_status late_test(dm_transport *transport, int ticket, bool *done) {
  late_transport *late = (late_transport *)transport;
  *done = false;
  if (late->tests[ticket]-- > 0) return DM_OK;
  return dm_transport_test(late->inner, ticket, done);
}

static void late_close(dm_transport *transport) {
  late_transport *late = (late_transport *)transport;
  dm_transport_close(late->inner);
  free(late);
}

static int64_t late_received(const dm_transport *transport) {
  return dm_transport_received(((const late_transport *)transport)->inner);
}

static const dm_transport_ops late_ops = {.name = "late",
                                          .close = late_close,
                                          .post = late_post,
                                          .test = late_test,
                                          .received = late_received};

static dm_status generate(void *context, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_generator random = {.kind = DM_UNIFORM, .seed = (uint64_t)matrix};
  (void)context;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel), &random,
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

static dm_status multiply(dm_run *run, dm_verdict *verdict) {
  dm_problem problem = {.m = SIZE,
                        .n = SIZE,
                        .k = SIZE,
                        .work = DM_F64,
                        .compute = *dm_compute_by(DM_F64),
                        .accumulator = DM_F64,
                        .c = DM_F64};
  dm_wishes wishes = {.pm = 1, .pn = run->ranks, .pk = 1, .panel = PANEL};
  dm_machine machine;
  dm_machine_stated(NULL, 1, &machine);
  machine.ranks_per_node = run->ranks;
  machine.host_bytes = INT64_C(1) << 30;
  dm_plan plan;
  DM_TRY(dm_plan_choose(&problem, &machine, run->ranks, &wishes, &plan));
  const dm_backend_ops *ops;
  dm_backend_config config = {.local_ranks = run->ranks, .kernel = "auto"};
  dm_backend *backend;
  DM_TRY(dm_backend_find("cpu", &ops));
  DM_TRY(dm_backend_open(ops, &config, &backend));

  dm_rank_state local;
  DM_TRY(dm_rank_open(run, &plan, backend, NULL, &local));
  late_transport *late = calloc(1, sizeof *late);
  late->base.ops = &late_ops;
  late->inner = local.transport;
  local.transport = &late->base;

  const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};
  const dm_step_calls calls = {.load = generate};
  dm_freivalds *check;
  DM_TRY(dm_freivalds_new(&problem, one, zero, false, &check));
  DM_TRY(dm_execute(&local, DM_LOADS, &calls));
  DM_TRY(dm_check_operands(&local, check));
  DM_TRY(dm_execute(&local, DM_PRODUCTS, &calls));
  DM_TRY(dm_freivalds_add_c(check, backend, local.c, local.rows.begin, local.cols.begin));
  DM_TRY(dm_freivalds_judge(check, run->world, verdict));
  dm_freivalds_free(check);
  dm_rank_close(&local);
  dm_backend_close(backend);
  return DM_OK;
}

TEST_PROGRAM(test_late_panels) {
  dm_run run;
  dm_verdict verdict = {0};
  dm_status status = dm_run_start(&run, DM_LOG_WARNING, DM_PROGRESS_NEVER, "test");
  if (!status) status = multiply(&run, &verdict);
  if (status) {
    fprintf(stderr, "%s (%s)\n", status->message, status->place);
    dm_comm_abort(NULL, 1);
  }
  if (!verdict.pass && run.rank == 0)
    fprintf(stderr, "row %lld is off by %g times the bound\n", (long long)verdict.worst_row,
            verdict.residual);
  dm_run_stop(&run);
  return !verdict.pass;
}
