#include "run/stop.h"

#include <signal.h>
#include <stdio.h>

#include "core/clock.h"

/* Reasons are numbers, so that a maximum selects one: signals, and these above them. */
enum { STOP_LIMIT = 1000, ALLOCATION = 1001, FAILURE = 2000 };

static const double between_rounds = 0.2; /* seconds */

/* Why this rank should stop, or 0. */
static int64_t reason_of(const dm_stop *stop) {
  if (!stop->on) return 0;
  if (stop->limit > 0 || stop->allocation > 0) {
    double now = dm_now();
    if (stop->allocation > 0 && now >= stop->allocation) return ALLOCATION;
    if (stop->limit > 0 && now >= stop->limit) return STOP_LIMIT;
  }
  return stop->arrived ? *stop->arrived : 0;
}

static dm_status stopped(int64_t reason) {
  char why[80];
  if (reason == STOP_LIMIT)
    snprintf(why, sizeof why, "--time-limit is reached");
  else if (reason == DM_STOP_BY_CALLER)
    snprintf(why, sizeof why, "the program asked for it");
  else if (reason == ALLOCATION)
    snprintf(why, sizeof why, "the Slurm job's time limit is near");
  else
    snprintf(why, sizeof why, "%s arrived",
             reason == SIGTERM  ? "SIGTERM"
             : reason == SIGINT ? "SIGINT"
                                : "SIGUSR1");
  const bool asked = reason == SIGTERM || reason == SIGINT; /* otherwise the time was too short */
  return dm_hint(dm_fail(DM_E_STOPPED, "stopped early: %s", why),
                 asked ? "nothing was kept: the same command starts over"
                       : "run it again with more time: nothing was kept, so it starts over");
}

dm_status dm_stop_check(const dm_stop *stop) {
  int64_t reason = reason_of(stop);
  return reason ? stopped(reason) : DM_OK;
}

static dm_status agreed(int64_t reason) {
  dm_status status = stopped(reason);
  status->agreed = true;
  return status;
}

dm_status dm_stop_agree(const dm_stop *stop, const dm_comm *world) {
  int64_t reason = reason_of(stop);
  if (!stop->on) return DM_OK;
  DM_TRY(dm_comm_max_i64(world, &reason, 1));
  return reason ? agreed(reason) : DM_OK;
}

void dm_halt_start(dm_halt *halt, const dm_stop *stop, const dm_comm *world) {
  *halt = (dm_halt){.stop = stop && stop->on ? stop : NULL,
                    .world = world,
                    .next = dm_now() + between_rounds,
                    .limit = INT64_MAX};
}

static dm_status begin_round(dm_halt *halt, int64_t begun, bool finished) {
  int64_t values[DM_MAXIMA] = {halt->failed ? FAILURE : reason_of(halt->stop), !finished};
  if (halt->state == DM_HALT_DECIDING) values[0] = halt->limit = begun;
  return dm_comm_max_start(halt->world, values, &halt->round);
}

static void end_round(dm_halt *halt, const int64_t values[DM_MAXIMA]) {
  halt->round = NULL;
  if (halt->state == DM_HALT_DECIDING) {
    halt->state = DM_HALT_DECIDED;
    halt->limit = values[0];
  } else if (values[1] == 0 && values[0] != FAILURE) {
    halt->state = DM_HALT_OVER; /* too late to stop: everything is there */
  } else if (values[0] != 0) {
    halt->state = DM_HALT_DECIDING;
    halt->reason = values[0];
  }
}

dm_status dm_halt_poll(dm_halt *halt, int64_t begun, bool finished) {
  if (!halt->stop || halt->state >= DM_HALT_DECIDED) return DM_OK;
  if (!halt->round) {
    double now = dm_now();
    if (!finished && halt->state == DM_HALT_WATCHING && now < halt->next) return DM_OK;
    halt->next = now + between_rounds;
    DM_TRY(begin_round(halt, begun, finished));
  }
  bool done;
  int64_t values[DM_MAXIMA];
  DM_TRY(dm_comm_max_test(halt->round, &done, values));
  if (done) end_round(halt, values);
  return DM_OK;
}

bool dm_halt_leaves(const dm_halt *halt) {
  return !halt->stop || halt->state >= DM_HALT_DECIDED;
}

dm_status dm_halt_status(const dm_halt *halt, int64_t whole) {
  return halt->state == DM_HALT_DECIDED && halt->limit < whole ? agreed(halt->reason) : DM_OK;
}

dm_status dm_halt_keep_error(dm_halt *halt, dm_status status, dm_status *failure) {
  if (!status || !halt->stop || status->agreed || status->code == DM_E_MPI) return status;
  *failure = dm_status_first(*failure, status);
  halt->failed = true;
  return DM_OK;
}
