/* Sums and generated elements of matrices in host memory, on all cores of this rank. */
#include <stdatomic.h>

#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"

enum {
  GRAIN = 4 << 20, /* bytes per strip of a thread, about; */
  LINES = 1 << 20, /* the same for line statistics, whose strips are smaller, */
  COLUMNS = 64     /* and at least so many columns, to keep runs long */
};

typedef struct loop loop;

/* A matrix that threads process strip by strip, of rows or, if UPRIGHT, of columns. */
struct loop {
  dm_view view;
  bool upright;
  int64_t each;         /* rows or columns per strip */
  _Atomic int64_t next; /* first row or column of the next strip */
  void (*part)(const loop *s, dm_view part, int64_t first);
  const void *x;
  const double *sizes;
  double *y, *squares;
  const dm_probe_groups *groups;
  const dm_probe_vectors *vectors;
  const dm_generator *generator;
  int64_t row, col; /* origin in the generated matrix; or the first row that is mirrored, */
  bool conjugate;   /* and how */
  double *extremes;
  int64_t *sums;
  bool lines; /* line statistics */
};

static void take(void *context) {
  loop *s = context;
  const dm_view v = s->view;
  const int64_t all = s->upright ? v.cols : v.rows;
  for (;;) {
    const int64_t first = atomic_fetch_add(&s->next, s->each);
    if (first >= all) return;
    const int64_t count = dm_min(s->each, all - first);
    s->part(s,
            s->upright ? dm_view_sub(v, 0, first, v.rows, count)
                       : dm_view_sub(v, first, 0, count, v.cols),
            first);
  }
}

static void run(loop *s) {
  const dm_view v = s->view;
  const int64_t line = dm_max(1, (s->upright ? v.rows : v.cols) * dm_dtype_size(v.dtype));
  s->each = dm_max(1, GRAIN / line);
  if (s->lines) s->each = dm_max(s->upright ? COLUMNS : 1, LINES / line);
  const int64_t count = dm_ceil_div(s->upright ? v.cols : v.rows, s->each);
  if (count == 1)
    take(s);
  else
    (void)dm_fork_join((int)dm_min(count, dm_cores()), take, s);
}

/* The host's functions cannot fail. */
static void probe(const loop *s, dm_view part, int64_t first) {
  const int64_t values = dm_dtype_is_complex(part.dtype) ? 2 : 1;
  dm_status_free(dm_host_probe(NULL, part, s->x, s->y + first * values,
                               s->squares ? s->squares + first : NULL));
}

dm_status dm_host_probe_parallel(dm_view matrix, const void *x, void *y, double *squares) {
  run(&(loop){.view = matrix, .part = probe, .x = x, .y = y, .squares = squares});
  return DM_OK;
}

static void probe_groups(const loop *s, dm_view part, int64_t first) {
  dm_probe_groups g = *s->groups;
  g.y += first * (dm_dtype_is_complex(part.dtype) ? 2 : 1);
  if (g.squares) g.squares += first;
  if (g.norms) g.norms += first;
  dm_host_probe_groups(part, &g);
}

void dm_host_probe_groups_parallel(dm_view matrix, const dm_probe_groups *groups) {
  run(&(loop){.view = matrix, .part = probe_groups, .groups = groups});
}

static void probe_vectors(const loop *s, dm_view part, int64_t first) {
  dm_probe_vectors v = *s->vectors;
  v.y += first;
  v.norms += first;
  dm_host_probe_vectors(part, &v);
}

void dm_host_probe_vectors_parallel(dm_view matrix, const dm_probe_vectors *vectors) {
  run(&(loop){.view = matrix, .part = probe_vectors, .vectors = vectors});
}

static void scan(const loop *s, dm_view part, int64_t first) {
  dm_status_free(dm_host_scan(NULL, part, s->squares + first));
}

dm_status dm_host_scan_parallel(dm_view matrix, double *col_squares) {
  run(&(loop){.view = matrix, .upright = true, .part = scan, .squares = col_squares});
  return DM_OK;
}

static void fill(const loop *s, dm_view part, int64_t first) {
  dm_status_free(dm_host_fill(NULL, part, s->generator, s->row + first, s->col));
}

dm_status dm_host_fill_parallel(dm_view view, const dm_generator *generator, int64_t row,
                                int64_t col) {
  run(&(loop){.view = view, .part = fill, .generator = generator, .row = row, .col = col});
  return DM_OK;
}

static void mirror(const loop *s, dm_view part, int64_t first) {
  dm_mirror(s->view, s->row, first, part.rows, s->conjugate);
}

void dm_host_mirror_parallel(dm_view square, int64_t first, bool conjugate) {
  run(&(loop){.view = square, .part = mirror, .row = first, .conjugate = conjugate});
}

static void transpose(const loop *s, dm_view part, int64_t first) {
  const dm_view from = dm_view_transpose(*(const dm_view *)s->x);
  dm_copy(part, dm_view_sub(from, first, 0, part.rows, from.cols), s->conjugate);
}

void dm_host_transpose_parallel(dm_view to, dm_view from, bool conjugate) {
  run(&(loop){.view = to, .part = transpose, .x = &from, .conjugate = conjugate});
}

static void extremes_of(const loop *s, dm_view part, int64_t first) {
  dm_host_extremes(part, !s->upright, s->extremes + 2 * first);
}

dm_status dm_host_extremes_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                    double *extremes) {
  (void)backend;
  run(&(loop){.view = matrix,
              .upright = !by_row,
              .part = extremes_of,
              .extremes = extremes,
              .lines = true});
  return DM_OK;
}

static void line_sums(const loop *s, dm_view part, int64_t first) {
  dm_host_line_sums(part, !s->upright, s->sizes + 2 * first, s->sums + DM_LINE_SUMS * first);
}

dm_status dm_host_line_sums_parallel(dm_backend *backend, dm_view matrix, bool by_row,
                                     const double *extremes, int64_t *sums) {
  (void)backend;
  run(&(loop){.view = matrix,
              .upright = !by_row,
              .part = line_sums,
              .sizes = extremes,
              .sums = sums,
              .lines = true});
  return DM_OK;
}
