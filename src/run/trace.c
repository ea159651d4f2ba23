#include "run/trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/nvtx.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "run/run.h"

/* Maximum number of spans, of all ranks together and per rank; 40 bytes each in memory, about 120
 * in the file. */
enum { ALL_SPANS = 1 << 22, RANK_SPANS = 1 << 16 };

/* CHECK and KEEP have no row: they are not shown. */
static const dm_row rows[DM_STEP_KINDS] = {
    [DM_STEP_LOAD_A] = DM_ROW_READ,       [DM_STEP_LOAD_B] = DM_ROW_READ,
    [DM_STEP_FETCH_A] = DM_ROW_TRANSPORT, [DM_STEP_FETCH_B] = DM_ROW_TRANSPORT,
    [DM_STEP_UPLOAD_A] = DM_ROW_COPY,     [DM_STEP_UPLOAD_B] = DM_ROW_COPY,
    [DM_STEP_GEMM] = DM_ROW_COMPUTE,      [DM_STEP_STRIP] = DM_ROW_COMPUTE,
    [DM_STEP_FINISH] = DM_ROW_COMPUTE,    [DM_STEP_REDUCE] = DM_ROW_TRANSPORT,
    [DM_STEP_STORE] = DM_ROW_WRITE};

const char *dm_row_name(dm_row row) {
  static const char *const names[DM_ROWS] = {"phase",     "compute", "copy",
                                             "transport", "read",    "write"};
  return row < DM_ROWS ? names[row] : "none";
}

/* ---- seconds ---- */

/* The time since the last change counts for the first of these rows with work under way. */
static const dm_row order[] = {DM_ROW_COMPUTE, DM_ROW_TRANSPORT, DM_ROW_COPY, DM_ROW_READ,
                               DM_ROW_WRITE};

static void count(dm_trace *trace, double now) {
  const double passed = now - trace->since;
  bool hidden = false;
  trace->since = now;
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    if (trace->under_way[order[i]] == 0) continue;
    trace->busy[order[i]] += passed;
    if (!hidden) trace->exposed[order[i]] += passed;
    hidden = true;
  }
}

void dm_trace_count_anew(dm_trace *trace) {
  memset(trace->busy, 0, sizeof trace->busy);
  memset(trace->exposed, 0, sizeof trace->exposed);
}

/* ---- spans ---- */

static void keep(dm_trace *trace, dm_row row, int what, int64_t panel, double begin, double end) {
  if (!trace->spans) return;
  if (trace->count == trace->room)
    trace->lost++;
  else
    trace->spans[trace->count++] = (dm_span){begin, end, panel, (int32_t)row, what};
}

static bool is_shown(const dm_step *step) {
  return rows[step->kind] != DM_ROW_PHASE;
}

void dm_trace_begin(dm_trace *trace, const dm_step *step) {
  if (!is_shown(step)) return;
  const double now = dm_now();
  count(trace, now);
  trace->under_way[rows[step->kind]]++;
  trace->posted[step->index % DM_TRACE_WINDOW] = now;
  trace->ranges[step->index % DM_TRACE_WINDOW] =
      dm_nvtx_begin(dm_step_name(step->kind), step->panel);
}

void dm_trace_end(dm_trace *trace, const dm_step *step) {
  if (!is_shown(step)) return;
  const double now = dm_now();
  const dm_row row = rows[step->kind];
  double begin = trace->posted[step->index % DM_TRACE_WINDOW];
  count(trace, now);
  dm_nvtx_end(trace->ranges[step->index % DM_TRACE_WINDOW]);
  trace->under_way[row]--;
  /* Work of a row runs in sequence: a step posted while another was running had to wait for it. */
  if (row == DM_ROW_COMPUTE || row == DM_ROW_COPY) begin = fmax(begin, trace->last_end[row]);
  trace->last_end[row] = now;
  keep(trace, row, (int)step->kind, step->panel, begin, now);
}

/* The index of NAME in the phases' names; the last index stands for all that do not fit. */
static int place_of(dm_trace *trace, const char *name) {
  for (int i = 0; i < trace->phases; i++)
    if (strcmp(trace->names[i], name) == 0) return i;
  if (trace->phases == DM_TRACE_PHASES) return DM_TRACE_PHASES - 1;
  snprintf(trace->names[trace->phases], DM_TRACE_NAME, "%s", name);
  return trace->phases++;
}

void dm_trace_phase(dm_trace *trace, const char *name) {
  const double now = dm_now();
  if (trace->phase > 0) keep(trace, DM_ROW_PHASE, trace->phase - 1, -1, trace->phase_begin, now);
  if (trace->phase > 0) dm_nvtx_end(trace->phase_range);
  trace->phase = name ? 1 + place_of(trace, name) : 0;
  if (name) trace->phase_range = dm_nvtx_begin(name, -1);
  trace->phase_begin = now;
}

/* ---- the file ---- */

static dm_status make_file(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return dm_fail(DM_E_IO, "%s: cannot be written: %s", path, strerror(errno));
  return fclose(file) == 0 ? DM_OK : dm_fail(DM_E_IO, "%s: %s", path, strerror(errno));
}

dm_status dm_trace_open(dm_run *run, const char *path) {
  dm_trace *trace = &run->trace;
  trace->room = dm_min(RANK_SPANS, ALL_SPANS / run->ranks);
  dm_status status = dm_buffer_zeroed(trace->room, sizeof *trace->spans, (void **)&trace->spans);
  if (!status && run->rank == 0) status = make_file(path);
  status = dm_comm_agree(run->world, status);
  if (!status) return DM_OK;
  free(trace->spans);
  trace->spans = NULL;
  return status;
}

void dm_trace_drop(dm_run *run, const char *path) {
  free(run->trace.spans);
  run->trace.spans = NULL;
  if (run->rank == 0) unlink(path);
}
