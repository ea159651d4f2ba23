/* Writes the file of a trace. Rank 0 holds the spans of one rank at a time. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/clock.h"
#include "core/version.h"
#include "run/run.h"

enum { ROUNDS = 8, LANES = DM_TRACE_WINDOW, TAG_CLOCK = 1, TAG_SPANS = 2 };

/* Precedes a rank's spans. */
typedef struct header {
  int64_t count, lost, phases;
  double offset; /* offset of its clock, to subtract */
  char host[64];
  char names[DM_TRACE_PHASES][DM_TRACE_NAME];
} header;

static dm_status pass(const dm_run *run, void *data, int64_t bytes, int peer, bool send, int tag) {
  dm_messages *messages;
  DM_TRY(dm_messages_new(&messages));
  dm_status status = send ? dm_messages_send(messages, run->world, data, bytes, peer, tag)
                          : dm_messages_receive(messages, run->world, data, bytes, peer, tag);
  if (!status) status = dm_messages_wait(messages);
  dm_messages_free(messages);
  return status;
}

/* ---- clocks ---- */

/* Rank 0: how much PEER's clock is ahead. PEER's answer is taken as halfway between question and
 * arrival, in the fastest of several rounds (Cristian 1989). */
static dm_status ask_clock(const dm_run *run, int peer, double *ahead) {
  double shortest = INFINITY;
  for (int i = 0; i < ROUNDS; i++) {
    double answer = 0;
    const double asked = dm_now();
    DM_TRY(pass(run, &answer, sizeof answer, peer, true, TAG_CLOCK));
    DM_TRY(pass(run, &answer, sizeof answer, peer, false, TAG_CLOCK));
    const double arrived = dm_now();
    if (arrived - asked >= shortest) continue;
    shortest = arrived - asked;
    *ahead = answer - (asked + arrived) / 2;
  }
  return DM_OK;
}

static dm_status tell_clock(const dm_run *run) {
  for (int i = 0; i < ROUNDS; i++) {
    double now;
    DM_TRY(pass(run, &now, sizeof now, 0, false, TAG_CLOCK));
    now = dm_now();
    DM_TRY(pass(run, &now, sizeof now, 0, true, TAG_CLOCK));
  }
  return DM_OK;
}

/* ---- JSON ---- */

static double microseconds(double seconds) {
  return 1e6 * seconds;
}

/* The row of a span: overlapping spans of the same kind get separate lanes. */
static int lane_of(double ends[DM_ROWS][LANES], const dm_span *span) {
  double *end = ends[span->row];
  int lane = 0;
  while (lane < LANES - 1 && end[lane] > span->begin) lane++;
  end[lane] = fmax(end[lane], span->end);
  return span->row * LANES + lane;
}

static int by_begin(const void *a, const void *b) {
  const double x = ((const dm_span *)a)->begin, y = ((const dm_span *)b)->begin;
  return (x > y) - (x < y);
}

static void write_names(FILE *file, int rank, const header *h, const bool used[]) {
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
  for (int tid = 0; tid < DM_ROWS * LANES; tid++) {
    if (!used[tid]) continue;
    const int lane = tid % LANES;
    fprintf(
        file,
        ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s",
        rank, tid, dm_row_name((dm_row)(tid / LANES)));
    if (lane > 0) fprintf(file, " %d", lane + 1);
    fputs("\"}}", file);
  }
}

static void write_rank(FILE *file, int rank, const header *h, dm_span *spans, double zero) {
  double ends[DM_ROWS][LANES];
  bool used[DM_ROWS * LANES] = {false};
  for (int row = 0; row < DM_ROWS; row++)
    for (int lane = 0; lane < LANES; lane++) ends[row][lane] = -INFINITY;
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
            name, dm_row_name((dm_row)s->row));
    if (s->panel >= 0) fprintf(file, ",\"args\":{\"panel\":%lld}", (long long)s->panel);
    fputc('}', file);
  }
  write_names(file, rank, h, used);
}

/* ---- collecting ---- */

static header header_of(const dm_run *run) {
  const dm_trace *trace = &run->trace;
  header h = {.count = trace->count, .lost = trace->lost, .phases = trace->phases};
  snprintf(h.host, sizeof h.host, "%s", dm_comm_host(run->world));
  memcpy(h.names, trace->names, sizeof h.names);
  return h;
}

static dm_status take_rank(const dm_run *run, FILE *file, int peer, double zero, dm_span *spans,
                           int64_t *lost) {
  header h;
  double offset = 0;
  DM_TRY(ask_clock(run, peer, &offset));
  DM_TRY(pass(run, &h, sizeof h, peer, false, TAG_SPANS));
  h.offset = offset;
  if (h.count > 0)
    DM_TRY(pass(run, spans, h.count * (int64_t)sizeof *spans, peer, false, TAG_SPANS));
  write_rank(file, peer, &h, spans, zero);
  *lost += h.lost;
  return DM_OK;
}

static dm_status give_rank(const dm_run *run) {
  header h = header_of(run);
  DM_TRY(tell_clock(run));
  DM_TRY(pass(run, &h, sizeof h, 0, true, TAG_SPANS));
  if (h.count == 0) return DM_OK;
  return pass(run, run->trace.spans, h.count * (int64_t)sizeof *run->trace.spans, 0, true,
              TAG_SPANS);
}

/* All ranks have as much room for spans as rank 0, whose own are written first. */
static dm_status write_all(const dm_run *run, FILE *file) {
  const dm_trace *mine = &run->trace;
  header h = header_of(run);
  int64_t lost = h.lost;
  double zero = INFINITY;
  for (int64_t i = 0; i < mine->count; i++) zero = fmin(zero, mine->spans[i].begin);
  if (mine->count == 0) zero = dm_now();
  fprintf(file,
          "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"damier-trace/1\",\"version\":"
          "\"%s\",\"git\":\"%s\",\"ranks\":%d},\n\"traceEvents\":[\n"
          "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"damier\"}}",
          DM_VERSION, DM_GIT, run->ranks);
  write_rank(file, 0, &h, mine->spans, zero);
  for (int peer = 1; peer < run->ranks; peer++)
    DM_TRY(take_rank(run, file, peer, zero, mine->spans, &lost));
  fputs("\n]}\n", file);
  if (lost > 0)
    dm_log_line(&run->log, DM_LOG_WARNING, "the trace was full: %lld spans are missing",
                (long long)lost);
  return DM_OK;
}

dm_status dm_trace_write(dm_run *run, const char *path) {
  FILE *file = NULL;
  dm_status status = DM_OK;
  dm_trace_phase(&run->trace, NULL);
  if (run->rank == 0) {
    file = fopen(path, "w");
    if (!file) status = dm_fail(DM_E_IO, "%s: cannot be written: %s", path, strerror(errno));
  }
  DM_TRY(dm_comm_agree(run->world, status));
  status = run->rank == 0 ? write_all(run, file) : give_rank(run);
  if (file) {
    const bool failed = ferror(file) != 0;
    if ((fclose(file) != 0 || failed) && !status)
      status = dm_fail(DM_E_IO, "%s: writing failed: %s", path, strerror(errno));
  }
  free(run->trace.spans);
  run->trace.spans = NULL;
  return dm_comm_agree(run->world, status);
}
