#include "transform/marks.h"

#include "core/checked.h"
#include "core/copy.h"
#include "engine/dataset_input.h"
#include "plan/partition.h"

enum {
  MARKS_RUN = 256,  /* elements that are looked at together */
  MARKS_TERMS = 16, /* of a thread's turn */
};

typedef struct looking {
  dm_view part; /* its rows are terms, */
  int64_t *marks;
} looking;

static bool has_nan(dm_view part, int64_t row) {
  const int64_t parts = dm_dtype_is_complex(part.dtype) ? 2 : 1;
  double values[2 * MARKS_RUN];
  int64_t found = 0;
  for (int64_t col = 0; col < part.cols && found == 0; col += MARKS_RUN) {
    const int64_t count = dm_min(MARKS_RUN, part.cols - col);
    dm_load_wide(values, dm_view_at(part, row, col), part.dtype, part.col_stride, count);
    for (int64_t i = 0; i < parts * count; i++) found += values[i] != values[i];
  }
  return found > 0;
}

static void look_at(void *context, int64_t turn) {
  const looking *l = context;
  const int64_t end = dm_min(l->part.rows, (turn + 1) * MARKS_TERMS);
  for (int64_t i = turn * MARKS_TERMS; i < end; i++)
    if (!l->marks[i] && has_nan(l->part, i)) l->marks[i] = 1;
}

dm_status dm_mark_missing(void *context, dm_view part, int64_t row, int64_t col) {
  const dm_marking *m = context;
  looking l = {m->by_rows ? part : dm_view_transpose(part), m->marks + (m->by_rows ? row : col)};
  dm_crew_run(m->crew, look_at, &l, dm_ceil_div(l.part.rows, MARKS_TERMS));
  return DM_OK;
}

dm_status dm_mark_missing_file(dm_run *run, const dm_dataset *set, dm_dtype work, int io_threads,
                               dm_marking *marking) {
  dm_dataset read = *set;
  read.meaning.missing = DM_MISSING_NAN;
  const dm_reading how = {.as = DM_DTYPE_NONE, .work = work, .threads = io_threads};
  return dm_file_stream(run, &read, dm_split(set->rows, run->ranks, run->rank, 1),
                        (dm_range){0, set->cols}, &how, dm_mark_missing, marking);
}
