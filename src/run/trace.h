/* trace: a timeline of each rank (--trace), and how much of the work was hidden.
 *
 * A step is followed from the moment it is posted until it is known to be done; products and copies
 * that queue up behind others begin when those end.  Times are kept in memory, in as many spans as
 * there is room for; rank 0 collects and writes them at the end. */
#ifndef DM_RUN_TRACE_H
#define DM_RUN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"
#include "plan/steps.h"

typedef struct dm_run dm_run;

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
  double begin, end; /* seconds, of dm_now */
  int64_t panel;     /* -1: none */
  int32_t row;
  int32_t what; /* dm_step_kind; in the row of phases their place in names */
} dm_span;

/* Of this rank.  All zero is a trace that only counts seconds. */
typedef struct dm_trace {
  dm_span *spans; /* NULL: none are kept */
  int64_t count, room, lost;
  char names[DM_TRACE_PHASES][DM_TRACE_NAME]; /* of phases */
  int phases, phase;                          /* how many; 1 + the one that goes on, or 0 */
  double phase_begin;
  double posted[DM_TRACE_WINDOW]; /* of the steps under way, at index % DM_TRACE_WINDOW */
  uint64_t ranges[DM_TRACE_WINDOW], phase_range; /* for Nsight (backend/nvtx.h) */
  double last_end[DM_ROWS];
  int under_way[DM_ROWS];
  double since; /* of the last change */
  /* Seconds with a step of the row under way; and those of them in which no product was, and, for
   * copies, no gather either: every moment counts once. */
  double busy[DM_ROWS], exposed[DM_ROWS];
} dm_trace;

/* STEP is posted; is done.  What is under way is at most DM_TRACE_WINDOW steps apart. */
void dm_trace_begin(dm_trace *trace, const dm_step *step);
void dm_trace_end(dm_trace *trace, const dm_step *step);

/* A new phase begins and the last one ends; NULL: only that.  NAME is copied. */
void dm_trace_phase(dm_trace *trace, const char *name);

/* Begins to count seconds anew. */
void dm_trace_count_anew(dm_trace *trace);

/* Collective: from now on RUN's trace keeps spans; rank 0 makes the file.  DM_E_IO. */
dm_status dm_trace_open(dm_run *run, const char *path);

/* Collective: rank 0 puts all ranks' clocks on its own, and writes PATH: the JSON of Chrome's trace
 * event format, which Perfetto reads too; one process for each rank.  (trace_write.c) */
dm_status dm_trace_write(dm_run *run, const char *path);

/* Not collective: forgets what was kept, and removes the file that was begun. */
void dm_trace_drop(dm_run *run, const char *path);

/* "compute", ... */
const char *dm_row_name(dm_row row);

#endif
