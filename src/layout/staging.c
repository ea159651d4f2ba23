#include "layout/staging.h"

#include "core/checked.h"
#include "core/copy.h"

static const int64_t stage_bytes = 16 << 20;
enum { STAGING_MOST_THREADS = 8, STAGING_PARTS = 4 /* of a stage for each thread */ };

static dm_status staging_open(dm_staging *s, dm_backend *backend) {
  if (s->backend == backend) return DM_OK;
  dm_staging_close(s);
  s->backend = backend;
  dm_status status = dm_crew_new((int)dm_min(STAGING_MOST_THREADS, dm_cores()), &s->crew);
  for (int i = 0; i < DM_STAGES && !status; i++)
    status = dm_backend_alloc(backend, DM_HOST, stage_bytes, &s->memory[i]);
  if (status) dm_staging_close(s);
  return status;
}

void dm_staging_close(dm_staging *s) {
  for (int i = 0; i < DM_STAGES; i++) {
    if (!s->memory[i]) continue;
    dm_status_free(dm_backend_wait(s->backend, s->busy[i]));
    dm_backend_release(s->backend, DM_HOST, s->memory[i]);
  }
  dm_crew_free(s->crew);
  *s = (dm_staging){.backend = NULL};
}

/* ROWS rows of all columns that are copied, dense in a stage. */
typedef struct staging_stage {
  dm_view host, dense;
  const dm_copy_runs *of;
  bool outward;        /* to the host */
  int64_t row, device; /* places of its first row, on the host and on the GPU */
  int64_t height;      /* of a part */
} staging_stage;

/* Between the host and the stage. */
static void copy_part(void *context, int64_t part) {
  const staging_stage *s = context;
  const int64_t first = part * s->height, rows = dm_min(s->height, s->dense.rows - first);
  int64_t col = 0;
  for (int64_t i = 0; i < s->of->col_count; col += s->of->cols[i++].size) {
    const dm_copy_run *c = &s->of->cols[i];
    const dm_view here =
        dm_view_sub(s->host, s->row + first, s->outward ? c->to : c->from, rows, c->size);
    const dm_view there = dm_view_sub(s->dense, first, col, rows, c->size);
    dm_copy(s->outward ? here : there, s->outward ? there : here, false);
  }
}

static void copy_stage(const dm_staging *staging, staging_stage *s) {
  s->height = dm_max(1, dm_ceil_div(s->dense.rows, STAGING_MOST_THREADS * STAGING_PARTS));
  dm_crew_run(staging->crew, copy_part, s, dm_ceil_div(s->dense.rows, s->height));
}

/* Between the stage and the GPU. */
static dm_status staging_post(const dm_staging *staging, const staging_stage *s, dm_view device,
                              dm_event *done) {
  int64_t col = 0;
  *done = 0;
  for (int64_t i = 0; i < s->of->col_count; col += s->of->cols[i++].size) {
    const dm_copy_run *c = &s->of->cols[i];
    const int64_t at = s->outward ? c->from : c->to;
    const dm_view there = dm_view_sub(device, s->device, at, s->dense.rows, c->size);
    const dm_view here = dm_view_sub(s->dense, 0, col, s->dense.rows, c->size);
    DM_TRY(dm_backend_copy(staging->backend, s->outward ? here : there, s->outward ? there : here,
                           done));
  }
  return DM_OK;
}

typedef struct staged_copy {
  dm_staging *staging;
  dm_view device;
  staging_stage stages[DM_STAGES];
  int64_t count; /* stages so far */
} staged_copy;

/* What stage NUMBER brings to the host has arrived. */
static dm_status land(staged_copy *c, int64_t number) {
  const int which = (int)(number % DM_STAGES);
  DM_TRY(dm_backend_wait(c->staging->backend, c->staging->busy[which]));
  copy_stage(c->staging, &c->stages[which]);
  return DM_OK;
}

static dm_status staging_copy_rows(staged_copy *c, const staging_stage *rows) {
  const int which = (int)(c->count % DM_STAGES);
  dm_staging *staging = c->staging;
  staging_stage *s = &c->stages[which];
  *s = *rows;
  DM_TRY(dm_backend_wait(staging->backend, staging->busy[which]));
  if (!s->outward) copy_stage(staging, s);
  DM_TRY(staging_post(staging, s, c->device, &staging->busy[which]));
  return c->count++ > 0 && s->outward ? land(c, c->count - 2) : DM_OK;
}

dm_status dm_staging_copy_runs(dm_staging *staging, dm_backend *backend, dm_view dst, dm_view src,
                               const dm_copy_runs *of, dm_event *done) {
  const bool outward = dst.space == DM_HOST;
  const int64_t size = dm_dtype_size(src.dtype);
  int64_t width = 0;
  *done = 0;
  for (int64_t i = 0; i < of->col_count; i++) width += of->cols[i].size;
  const int64_t height = stage_bytes / dm_max(1, width * size);
  if (height == 0) return dm_backend_copy_runs(backend, dst, src, of, done);
  DM_TRY(staging_open(staging, backend));
  staged_copy c = {.staging = staging, .device = outward ? src : dst};
  for (const dm_copy_run *r = of->rows; r < of->rows + of->row_count; r++)
    for (int64_t at = 0; at < r->size; at += height) {
      const int64_t rows = dm_min(height, r->size - at);
      void *memory = staging->memory[c.count % DM_STAGES];
      const staging_stage one = {.host = outward ? dst : src,
                                 .dense = dm_view_row_major(memory, src.dtype, rows, width),
                                 .of = of,
                                 .outward = outward,
                                 .row = (outward ? r->to : r->from) + at,
                                 .device = (outward ? r->from : r->to) + at};
      DM_TRY(staging_copy_rows(&c, &one));
    }
  if (c.count == 0) return DM_OK;
  if (outward) return land(&c, c.count - 1);
  *done = staging->busy[(c.count - 1) % DM_STAGES];
  return DM_OK;
}
