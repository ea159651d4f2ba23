#include "product/centered_copy.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "file/read.h"
#include "plan/partition.h"

enum { RUN = 256, ROWS = 16 }; /* elements that are changed at once; rows of a thread's turn */

static const int64_t band_bytes = 32 << 20; /* that come from a GPU at once */

/* ---- elements ---- */

typedef struct copying {
  dm_view from, to;
} copying;

static void copy_rows(void *context, int64_t turn) {
  const copying *c = context;
  const int64_t row = turn * ROWS, rows = dm_min(ROWS, c->to.rows - row);
  dm_copy(dm_view_sub(c->to, row, 0, rows, c->to.cols),
          dm_view_sub(c->from, row, 0, rows, c->to.cols), false);
}

/* TO = FROM, what MEANING says is missing as NaN, or 0. */
static dm_status read_view(const dm_meaning *meaning, dm_view from, dm_view to) {
  dm_dataset read = {
      .rows = from.rows, .cols = from.cols, .dtype = from.dtype, .meaning = *meaning};
  dm_reader *reader;
  if (meaning->missing != DM_MISSING_ZERO) read.meaning.missing = DM_MISSING_NAN;
  dm_dataset_set_memory(&read, from);
  DM_TRY(dm_reader_open(&read, DM_DTYPE_NONE, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &to, 1, false);
  dm_reader_close(reader);
  return status;
}

/* FROM in host memory; on the threads of CREW if nothing is missing. */
static dm_status copy_view(dm_crew *crew, const dm_meaning *meaning, dm_view from, dm_view to) {
  copying c = {from, to};
  if (meaning->found) return read_view(meaning, from, to);
  dm_crew_run(crew, copy_rows, &c, dm_ceil_div(to.rows, ROWS));
  return DM_OK;
}

static dm_status copy_bands(dm_crew *crew, const dm_meaning *meaning, dm_backend *backend,
                            dm_view from, dm_view to) {
  dm_band *band;
  const int64_t height = dm_max(1, band_bytes / (from.cols * dm_dtype_size(from.dtype)));
  DM_TRY(dm_band_open(backend, from, (dm_range){0, from.cols}, height, &band));
  dm_status status = DM_OK;
  for (int64_t row = 0; row < from.rows && !status; row += height) {
    const int64_t rows = dm_min(height, from.rows - row);
    status = dm_band_turn(band, (dm_range){row, row + rows}, true);
    if (!status)
      status = copy_view(crew, meaning, dm_band_part(band, row, 0, rows, from.cols),
                         dm_view_sub(to, row, 0, rows, to.cols));
  }
  dm_band_close(band);
  return status;
}

/* ---- this rank's part ---- */

static dm_status copy_part(dm_run *run, const dm_distributed *from, const dm_meaning *meaning,
                           dm_centered_copy *copy) {
  dm_memory_matrix *to = &copy->stated;
  const dm_view part = from->local;
  int64_t bytes;
  dm_crew *crew;
  if (to->division == DM_REPLICATED) to->division = DM_BY_ROWS;
  to->own_rows = part.rows;
  to->row_stride = dm_max(1, part.cols);
  to->col_stride = 1;
  to->on_gpu = false;
  to->data = to->stream = NULL;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_bytes_of(part.rows, part.cols, dm_dtype_size(to->dtype), &bytes));
  DM_TRY(dm_buffer_alloc(bytes, &copy->memory));
  to->data = copy->memory;
  const dm_view view = dm_view_row_major(copy->memory, to->dtype, part.rows, part.cols);
  DM_TRY(dm_crew_new(run->cores.threads, &crew));
  dm_status status = from->backend ? copy_bands(crew, meaning, from->backend, part, view)
                                   : copy_view(crew, meaning, part, view);
  dm_crew_free(crew);
  return status;
}

dm_status dm_centered_copy_make(dm_run *run, const dm_engine *engine,
                                const dm_memory_matrix *stated, const char *name,
                                const dm_meaning *meaning, dm_dtype type, dm_centered_copy *copy) {
  dm_distributed from;
  dm_backend *backend = NULL;
  *copy = (dm_centered_copy){.stated = *stated};
  copy->stated.dtype = type;
  dm_status status = dm_distributed_open(run->world, stated, name, &from);
  if (!status) {
    status = dm_distributed_open_backend(run, engine, &from, name, &backend);
    if (!status) status = copy_part(run, &from, meaning, copy);
    status = dm_comm_agree(run->world, status);
  }
  dm_backend_close(backend);
  dm_distributed_close(&from);
  return status;
}

void dm_centered_copy_free(dm_centered_copy *copy) {
  free(copy->memory);
  copy->memory = NULL;
}

/* ---- centering ---- */

typedef struct changing {
  const dm_centering *centering;
  dm_crew *crew;
  dm_view part;
  int64_t row, col;
} changing;

static void change_row(void *context, int64_t i) {
  const changing *c = context;
  const dm_dtype type = c->part.dtype;
  double values[2 * RUN];
  for (int64_t j = 0; j < c->part.cols; j += RUN) {
    const int64_t count = dm_min(RUN, c->part.cols - j);
    void *at = dm_view_at(c->part, i, j);
    dm_load_wide(values, at, type, 1, count);
    dm_centering_apply(c->centering, c->row + i, c->col + j, false, values,
                       dm_dtype_is_complex(type), count);
    dm_store_wide(at, type, 1, values, count);
  }
}

static dm_status change_part(void *context, dm_view part, int64_t row, int64_t col) {
  changing *c = context;
  c->part = part;
  c->row = row;
  c->col = col;
  dm_crew_run(c->crew, change_row, c, part.rows);
  return DM_OK;
}

dm_status dm_centered_copy_change(dm_run *run, const dm_distributed *matrix,
                                  const dm_centering *centering) {
  changing c = {.centering = centering};
  dm_status status = dm_crew_new(run->cores.threads, &c.crew);
  if (!status) status = dm_distributed_each(matrix, run->rank, change_part, &c);
  dm_crew_free(c.crew);
  return dm_comm_agree(run->world, status);
}
