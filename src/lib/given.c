#include "lib/given.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "io/read.h"

static dm_status open_file(dm_run *run, const dm_given_facts *facts, dm_given *given) {
  given->dataset = *facts->dataset;
  given->input = (dm_dataset_input){.op = facts->op, .ahead = facts->ahead};
  DM_TRY(dm_reader_open(facts->dataset, facts->as, &given->input.reader));
  dm_reader_keepalive(given->input.reader, &run->keepalive);
  dm_reader_lean_on(given->input.reader, facts->ahead);
  return DM_OK;
}

dm_status dm_given_open(dm_run *run, const dm_given_facts *facts, dm_given *given) {
  given->in_file = facts->stated->division == DAMIER_IN_FILE;
  given->op = facts->op;
  if (given->in_file) return dm_comm_agree(run->world, open_file(run, facts, given));
  DM_TRY(dm_distributed_open(run->world, facts->stated, facts->name, &given->memory));
  if (facts->op != DM_OP_N) dm_distributed_transpose(&given->memory);
  return DM_OK;
}

void dm_given_close(dm_given *given) {
  dm_reader_close(given->input.reader);
  dm_distributed_close(&given->memory);
  *given = (dm_given){0};
}

dm_status dm_given_unchanged(const dm_given *given) {
  return given->in_file ? dm_io_unchanged(&given->dataset) : DM_OK;
}

/* ---- from memory ---- */

static dm_status take_plain(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, false);
  return DM_OK;
}

static dm_status take_conjugate(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, true);
  return DM_OK;
}

static dm_status redistribute(dm_given *given, const dm_run *run, dm_extent extent,
                              const dm_end *to) {
  dm_distributed part;
  dm_status status = dm_comm_agree(run->world, dm_distributed_part(&given->memory, extent, &part));
  if (!status) {
    const dm_end from = dm_distributed_end(&part);
    const dm_move move = {.dtype = part.local.dtype,
                          .from = &from,
                          .to = to,
                          .taker = {given->op == DM_OP_C ? take_conjugate : take_plain, NULL}};
    status = dm_redistribute(run->world, &move);
  }
  dm_distributed_close(&part);
  return status;
}

/* ---- from a file ---- */

/* This rank's runs that are adjacent in a row of the file are read together: those along INNER, at
 * run OUTER of the other axis. */
typedef struct strip {
  const dm_end *to;
  bool plain; /* INNER are columns */
  const dm_axis *inner, *outer;
  int64_t inner_begin, outer_begin; /* start of the extent in op(X) */
  dm_view *views;                   /* room for one view per run of INNER */
} strip;

static dm_view view_of(const strip *s, int64_t outer, int64_t inner) {
  const int64_t row = s->plain ? outer : inner, col = s->plain ? inner : outer;
  const dm_view view = s->to->at(s->to->context, row, col);
  return s->plain ? view : dm_view_transpose(view);
}

static dm_status read_strip(dm_given *given, const strip *s, int64_t outer, int part) {
  const dm_axis *inner = s->inner;
  const int64_t row = s->outer_begin + s->outer->runs[outer].begin;
  for (int64_t i = 0; i < inner->count;) {
    const int64_t first = i;
    int64_t count = 0;
    while (i < inner->count && inner->runs[i].part == part)
      s->views[count++] = view_of(s, outer, i++);
    if (count > 0)
      DM_TRY(dm_reader_read(given->input.reader, row, s->inner_begin + inner->runs[first].begin,
                            s->views, count, given->op == DM_OP_C));
    else
      i++;
  }
  return DM_OK;
}

static dm_status read_runs(dm_given *given, const dm_run *run, dm_extent extent, const dm_end *to) {
  const bool plain = given->op == DM_OP_N;
  const dm_distribution *of = to->of;
  strip s = {.to = to,
             .plain = plain,
             .inner = plain ? &of->cols : &of->rows,
             .outer = plain ? &of->rows : &of->cols,
             .inner_begin = plain ? extent.cols.begin : extent.rows.begin,
             .outer_begin = plain ? extent.rows.begin : extent.cols.begin};
  int row_part, col_part;
  if (!dm_distribution_parts(of, run->rank, &row_part, &col_part)) return DM_OK;
  DM_TRY(dm_buffer_table(dm_max(1, s.inner->count), &s.views));
  dm_status status = DM_OK;
  for (int64_t i = 0; i < s.outer->count && !status; i++)
    if (s.outer->runs[i].part == (plain ? row_part : col_part))
      status = read_strip(given, &s, i, plain ? col_part : row_part);
  free(s.views);
  return status;
}

dm_status dm_given_bring(dm_given *given, const dm_run *run, dm_extent extent, const dm_end *to) {
  if (!given->in_file) return redistribute(given, run, extent, to);
  return dm_comm_agree(run->world, read_runs(given, run, extent, to));
}
