/* trace: a timeline of each rank (--trace), and how much of the work was hidden.
 *
 * A step is traced from posting until it is known to be done; queued products and copies start when
 * the previous ones end.  Spans are kept in memory, as many as fit; rank 0 collects and writes them
 * at the end. */
#ifndef DM_RUN_TRACE_H
#define DM_RUN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "core/log.h"
#include "core/status.h"
#include "plan/steps.h"

typedef enum dm_row {
  DM_ROW_PHASE,
  DM_ROW_COMPUTE,
  DM_ROW_COPY,
  DM_ROW_TRANSPORT,
  DM_ROW_READ,
  DM_ROW_WRITE,
  DM_ROWS
} dm_row;

enum { DM_TRACE_WINDOW = 64, DM_TRACE_PHASES = 32, DM_TRACE_NAME = 32 };

typedef struct dm_span {
  double begin, end; /* seconds of dm_now */
  int64_t panel;     /* -1: none */
  int32_t row;
  int32_t what; /* dm_step_kind; in the row of phases an index into names */
} dm_span;

/* The trace of this rank. All zero: only counts seconds. */
typedef struct dm_trace {
  dm_span *spans; /* NULL: spans are not kept */
  int64_t count, room, lost;
  char names[DM_TRACE_PHASES][DM_TRACE_NAME]; /* names of phases */
  int phases, phase;                          /* number of phases; 1 + the current one, or 0 */
  double phase_begin;
  double posted[DM_TRACE_WINDOW]; /* times of the steps under way, at index % DM_TRACE_WINDOW */
  uint64_t ranges[DM_TRACE_WINDOW], phase_range; /* for Nsight (backend/nvtx.h) */
  double last_end[DM_ROWS];
  int under_way[DM_ROWS];
  double since; /* time of the last change */
  bool made;    /* the file, by this run */
  /* Seconds with a step of the row under way; and the part of them without a product and, for
   * copies, without a gather: each moment counts once. */
  double busy[DM_ROWS], exposed[DM_ROWS];
} dm_trace;

/* STEP is posted; STEP is done. Steps under way are at most DM_TRACE_WINDOW apart. */
void dm_trace_begin(dm_trace *trace, const dm_step *step);
void dm_trace_end(dm_trace *trace, const dm_step *step);

/* Ends the current phase and starts NAME, which is copied; NULL: only ends it. */
void dm_trace_phase(dm_trace *trace, const char *name);

/* Restarts the counting of seconds. */
void dm_trace_count_anew(dm_trace *trace);

/* Collective in WORLD: from now on TRACE keeps spans; rank 0 creates the file. DM_E_IO;
 * DM_E_USAGE: it exists and holds something else. */
dm_status dm_trace_open(dm_trace *trace, const dm_comm *world, const char *path);

/* Collective: rank 0 converts all times to its clock and writes PATH in the JSON of Chrome's trace
 * event format, which Perfetto reads, too; one process per rank. LOG is told of lost spans. */
dm_status dm_trace_write(dm_trace *trace, const dm_comm *world, const dm_log *log,
                         const char *path);

/* Not collective: discards the spans, and removes the file if the run made it. */
void dm_trace_drop(dm_trace *trace, const dm_comm *world, const char *path);

#endif
