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
#include "core/version.h"
#include "run/record.h"

/* Maximum number of spans, of all ranks together and per rank; 40 bytes each in memory, about 120
 * in the file. */
enum { ALL_SPANS = 1 << 22, RANK_SPANS = 1 << 16 };

/* CHECK and KEEP have no row: they are not shown. */
static const dm_row trace_rows[DM_STEP_KINDS] = {
    [DM_STEP_LOAD_A] = DM_ROW_READ,       [DM_STEP_LOAD_B] = DM_ROW_READ,
    [DM_STEP_FETCH_A] = DM_ROW_TRANSPORT, [DM_STEP_FETCH_B] = DM_ROW_TRANSPORT,
    [DM_STEP_UPLOAD_A] = DM_ROW_COPY,     [DM_STEP_UPLOAD_B] = DM_ROW_COPY,
    [DM_STEP_GEMM] = DM_ROW_COMPUTE,      [DM_STEP_STRIP] = DM_ROW_COMPUTE,
    [DM_STEP_FINISH] = DM_ROW_COMPUTE,    [DM_STEP_REDUCE] = DM_ROW_TRANSPORT,
    [DM_STEP_STORE] = DM_ROW_WRITE};

static const char *row_name(dm_row row) {
  static const char *const names[DM_ROWS] = {"phase",     "compute", "copy",
                                             "transport", "read",    "write"};
  return row < DM_ROWS ? names[row] : "none";
}

/* ---- seconds ---- */

/* The time since the last change counts for the first of these rows with work under way. */
static const dm_row trace_order[] = {DM_ROW_COMPUTE, DM_ROW_TRANSPORT, DM_ROW_COPY, DM_ROW_READ,
                                     DM_ROW_WRITE};

static void trace_count(dm_trace *trace, double now) {
  const double passed = now - trace->since;
  bool hidden = false;
  trace->since = now;
  for (size_t i = 0; i < sizeof trace_order / sizeof trace_order[0]; i++) {
    if (trace->under_way[trace_order[i]] == 0) continue;
    trace->busy[trace_order[i]] += passed;
    if (!hidden) trace->exposed[trace_order[i]] += passed;
    hidden = true;
  }
}

void dm_trace_count_anew(dm_trace *trace) {
  memset(trace->busy, 0, sizeof trace->busy);
  memset(trace->exposed, 0, sizeof trace->exposed);
}

/* ---- spans ---- */

static void trace_keep(dm_trace *trace, dm_row row, int what, int64_t panel, double begin,
                       double end) {
  if (!trace->spans) return;
  if (trace->count == trace->room)
    trace->lost++;
  else
    trace->spans[trace->count++] = (dm_span){begin, end, panel, (int32_t)row, what};
}

static bool trace_is_shown(const dm_step *step) {
  return trace_rows[step->kind] != DM_ROW_PHASE;
}

void dm_trace_begin(dm_trace *trace, const dm_step *step) {
  if (!trace_is_shown(step)) return;
  const double now = dm_now();
  trace_count(trace, now);
  trace->under_way[trace_rows[step->kind]]++;
  trace->posted[step->index % DM_TRACE_WINDOW] = now;
  trace->ranges[step->index % DM_TRACE_WINDOW] =
      dm_nvtx_begin(dm_step_name(step->kind), step->panel);
}

void dm_trace_end(dm_trace *trace, const dm_step *step) {
  if (!trace_is_shown(step)) return;
  const double now = dm_now();
  const dm_row row = trace_rows[step->kind];
  double begin = trace->posted[step->index % DM_TRACE_WINDOW];
  trace_count(trace, now);
  dm_nvtx_end(trace->ranges[step->index % DM_TRACE_WINDOW]);
  trace->under_way[row]--;
  /* Work of a row runs in sequence: a step posted while another was running had to wait for it. */
  if (row == DM_ROW_COMPUTE || row == DM_ROW_COPY) begin = fmax(begin, trace->last_end[row]);
  trace->last_end[row] = now;
  trace_keep(trace, row, (int)step->kind, step->panel, begin, now);
}

/* The index of NAME in the phases' names; the last index stands for all that do not fit. */
static int trace_place_of(dm_trace *trace, const char *name) {
  for (int i = 0; i < trace->phases; i++)
    if (strcmp(trace->names[i], name) == 0) return i;
  if (trace->phases == DM_TRACE_PHASES) return DM_TRACE_PHASES - 1;
  snprintf(trace->names[trace->phases], DM_TRACE_NAME, "%s", name);
  return trace->phases++;
}

void dm_trace_phase(dm_trace *trace, const char *name) {
  const double now = dm_now();
  if (trace->phase > 0)
    trace_keep(trace, DM_ROW_PHASE, trace->phase - 1, -1, trace->phase_begin, now);
  if (trace->phase > 0) dm_nvtx_end(trace->phase_range);
  trace->phase = name ? 1 + trace_place_of(trace, name) : 0;
  if (name) trace->phase_range = dm_nvtx_begin(name, -1);
  trace->phase_begin = now;
}

/* ---- the file ---- */

/* An earlier trace stays until there is another one. */
static dm_status trace_make_file(dm_trace *trace, const char *path) {
  DM_TRY(dm_report_replaces(path, "{", "a trace"));
  trace->made = access(path, F_OK) != 0;
  FILE *file = fopen(path, "a");
  if (!file) return dm_fail(DM_E_IO, "%s: cannot be written: %s", path, strerror(errno));
  return fclose(file) == 0 ? DM_OK : dm_fail(DM_E_IO, "%s: %s", path, strerror(errno));
}

dm_status dm_trace_open(dm_trace *trace, const dm_comm *world, const char *path) {
  trace->room = dm_min(RANK_SPANS, ALL_SPANS / dm_comm_size(world));
  dm_status status = dm_buffer_table(trace->room, &trace->spans);
  if (!status && dm_comm_rank(world) == 0) status = trace_make_file(trace, path);
  status = dm_comm_agree(world, status);
  if (!status) return DM_OK;
  free(trace->spans);
  trace->spans = NULL;
  return status;
}

void dm_trace_drop(dm_trace *trace, const dm_comm *world, const char *path) {
  free(trace->spans);
  trace->spans = NULL;
  if (dm_comm_rank(world) == 0 && trace->made) unlink(path);
}

/* ---- the file of a trace; rank 0 holds the spans of one rank at a time ---- */

enum { TRACE_ROUNDS = 8, TRACE_LANES = DM_TRACE_WINDOW, TAG_CLOCK = 1, TAG_SPANS = 2 };

/* Precedes a rank's spans. */
typedef struct trace_header {
  int64_t count, lost, phases;
  double offset; /* offset of its clock, to subtract */
  char host[64];
  char names[DM_TRACE_PHASES][DM_TRACE_NAME];
} trace_header;

static dm_status trace_pass(const dm_comm *world, void *data, int64_t bytes, int peer, bool send,
                            int tag) {
  dm_messages *messages;
  DM_TRY(dm_messages_new(&messages));
  dm_status status = send ? dm_messages_send(messages, world, data, bytes, peer, tag)
                          : dm_messages_receive(messages, world, data, bytes, peer, tag);
  if (!status) status = dm_messages_wait(messages);
  dm_messages_free(messages);
  return status;
}

/* ---- clocks ---- */

/* Rank 0: how much PEER's clock is ahead. PEER's answer is taken as halfway between question and
 * arrival, in the fastest of several rounds (Cristian 1989). */
static dm_status ask_clock(const dm_comm *world, int peer, double *ahead) {
  double shortest = INFINITY;
  for (int i = 0; i < TRACE_ROUNDS; i++) {
    double answer = 0;
    const double asked = dm_now();
    DM_TRY(trace_pass(world, &answer, sizeof answer, peer, true, TAG_CLOCK));
    DM_TRY(trace_pass(world, &answer, sizeof answer, peer, false, TAG_CLOCK));
    const double arrived = dm_now();
    if (arrived - asked >= shortest) continue;
    shortest = arrived - asked;
    *ahead = answer - (asked + arrived) / 2;
  }
  return DM_OK;
}

static dm_status answer_clock(const dm_comm *world) {
  for (int i = 0; i < TRACE_ROUNDS; i++) {
    double now;
    DM_TRY(trace_pass(world, &now, sizeof now, 0, false, TAG_CLOCK));
    now = dm_now();
    DM_TRY(trace_pass(world, &now, sizeof now, 0, true, TAG_CLOCK));
  }
  return DM_OK;
}

/* ---- JSON ---- */

static double microseconds(double seconds) {
  return 1e6 * seconds;
}

/* The row of a span: overlapping spans of the same kind get separate lanes. */
static int lane_of(double ends[DM_ROWS][TRACE_LANES], const dm_span *span) {
  double *end = ends[span->row];
  int lane = 0;
  while (lane < TRACE_LANES - 1 && end[lane] > span->begin) lane++;
  end[lane] = fmax(end[lane], span->end);
  return span->row * TRACE_LANES + lane;
}

static int by_begin(const void *a, const void *b) {
  const double x = ((const dm_span *)a)->begin, y = ((const dm_span *)b)->begin;
  return (x > y) - (x < y);
}

static void write_names(FILE *file, int rank, const trace_header *h, const bool used[]) {
  fprintf(file,
          ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"rank %d on "
          "%s\"}}",
          rank, rank, h->host);
  fprintf(
      file,
      ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%d}}",
      rank, rank);
  if (h->lost > 0)
    fprintf(file, ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"lost\",\"args\":{\"spans\":%lld}}", rank,
            (long long)h->lost);
  for (int tid = 0; tid < DM_ROWS * TRACE_LANES; tid++) {
    if (!used[tid]) continue;
    const int lane = tid % TRACE_LANES;
    fprintf(
        file,
        ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s",
        rank, tid, row_name((dm_row)(tid / TRACE_LANES)));
    if (lane > 0) fprintf(file, " %d", lane + 1);
    fputs("\"}}", file);
  }
}

static void write_rank(FILE *file, int rank, const trace_header *h, dm_span *spans, double zero) {
  double ends[DM_ROWS][TRACE_LANES];
  bool used[DM_ROWS * TRACE_LANES] = {false};
  for (int row = 0; row < DM_ROWS; row++)
    for (int lane = 0; lane < TRACE_LANES; lane++) ends[row][lane] = -INFINITY;
  qsort(spans, (size_t)h->count, sizeof *spans, by_begin);
  for (int64_t i = 0; i < h->count; i++) {
    const dm_span *s = &spans[i];
    const int tid = lane_of(ends, s);
    const char *name = s->row == DM_ROW_PHASE ? h->names[s->what % DM_TRACE_PHASES]
                                              : dm_step_name((dm_step_kind)s->what);
    used[tid] = true;
    fprintf(file,
            ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\","
            "\"cat\":\"%s\"",
            rank, tid, microseconds(s->begin - h->offset - zero), microseconds(s->end - s->begin),
            name, row_name((dm_row)s->row));
    if (s->panel >= 0) fprintf(file, ",\"args\":{\"panel\":%lld}", (long long)s->panel);
    fputc('}', file);
  }
  write_names(file, rank, h, used);
}

/* ---- collecting ---- */

static trace_header header_of(const dm_trace *trace, const dm_comm *world) {
  trace_header h = {.count = trace->count, .lost = trace->lost, .phases = trace->phases};
  snprintf(h.host, sizeof h.host, "%s", dm_comm_host(world));
  memcpy(h.names, trace->names, sizeof h.names);
  return h;
}

static dm_status take_rank(const dm_comm *world, FILE *file, int peer, double zero, dm_span *spans,
                           int64_t *lost) {
  trace_header h;
  double offset = 0;
  DM_TRY(ask_clock(world, peer, &offset));
  DM_TRY(trace_pass(world, &h, sizeof h, peer, false, TAG_SPANS));
  h.offset = offset;
  if (h.count > 0)
    DM_TRY(trace_pass(world, spans, h.count * (int64_t)sizeof *spans, peer, false, TAG_SPANS));
  write_rank(file, peer, &h, spans, zero);
  *lost += h.lost;
  return DM_OK;
}

static dm_status give_rank(const dm_trace *trace, const dm_comm *world) {
  trace_header h = header_of(trace, world);
  DM_TRY(answer_clock(world));
  DM_TRY(trace_pass(world, &h, sizeof h, 0, true, TAG_SPANS));
  if (h.count == 0) return DM_OK;
  return trace_pass(world, trace->spans, h.count * (int64_t)sizeof *trace->spans, 0, true,
                    TAG_SPANS);
}

/* All ranks have as much room for spans as rank 0, whose own are written first. */
static dm_status write_all(const dm_trace *mine, const dm_comm *world, const dm_log *log,
                           FILE *file) {
  trace_header h = header_of(mine, world);
  int64_t lost = h.lost;
  double zero = INFINITY;
  for (int64_t i = 0; i < mine->count; i++) zero = fmin(zero, mine->spans[i].begin);
  if (mine->count == 0) zero = dm_now();
  fprintf(file,
          "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"damier-trace/1\",\"version\":"
          "\"%s\",\"git\":\"%s\",\"ranks\":%d},\n\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"damier\"}}",
          DM_VERSION, DM_GIT, dm_comm_size(world));
  write_rank(file, 0, &h, mine->spans, zero);
  for (int peer = 1; peer < dm_comm_size(world); peer++)
    DM_TRY(take_rank(world, file, peer, zero, mine->spans, &lost));
  fputs("\n]}\n", file);
  if (lost > 0)
    dm_log_line(log, DM_LOG_WARNING, "the trace was full: %lld spans are missing", (long long)lost);
  return DM_OK;
}

dm_status dm_trace_write(dm_trace *trace, const dm_comm *world, const dm_log *log,
                         const char *path) {
  FILE *file = NULL;
  dm_status status = DM_OK;
  dm_trace_phase(trace, NULL);
  if (dm_comm_rank(world) == 0) {
    file = fopen(path, "w");
    if (!file) status = dm_fail(DM_E_IO, "%s: cannot be written: %s", path, strerror(errno));
  }
  DM_TRY(dm_comm_agree(world, status));
  status = dm_comm_rank(world) == 0 ? write_all(trace, world, log, file) : give_rank(trace, world);
  if (file) {
    const bool failed = ferror(file) != 0;
    if ((fclose(file) != 0 || failed) && !status)
      status = dm_fail(DM_E_IO, "%s: writing failed: %s", path, strerror(errno));
  }
  free(trace->spans);
  trace->spans = NULL;
  return dm_comm_agree(world, status);
}
