#include "backend/probe.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/residues.h"

enum { ROOM = 32 << 20 }; /* bytes for the threads' rows of sums; at least one row */

/* Rows for threads to process one by one. */
typedef struct rows {
  const dm_moduli *moduli;
  dm_view sums, c, more;
  int64_t plane;
  dm_exponents exponents;
  double *made; /* a row for each thread */
  _Atomic int64_t next;
  _Atomic int threads; /* threads started */
} rows;

/* ---- sums of layers ---- */

static void join_row(const rows *r, int64_t i) {
  int8_t *to = dm_view_at(r->c, i, 0);
  const int8_t *from = dm_view_at(r->more, i, 0);
  for (int x = 0; x < r->moduli->count; x++, to += r->plane, from += r->plane)
    for (int64_t j = 0; j < r->c.cols; j++)
      to[j] = dm_residue(r->moduli, x, (double)to[j] + from[j]);
}

static void join_rows(void *context) {
  rows *r = context;
  for (int64_t i; (i = atomic_fetch_add(&r->next, 1)) < r->c.rows;) join_row(r, i);
}

void dm_host_join_residues(const dm_moduli *moduli, dm_view c, dm_view more, int64_t plane) {
  rows r = {.moduli = moduli, .c = c, .more = more, .plane = plane};
  (void)dm_fork_join((int)dm_min(c.rows, dm_cores()), join_rows, &r);
}

/* ---- numbers ---- */

/* The sums overwrite their row's accumulators: all of these are read first. */
static void finish_row(const rows *r, int64_t i, double *made) {
  const int8_t *residues = dm_view_at(r->c, i, 0);
  for (int64_t j = 0; j < r->c.cols; j++)
    made[j] = dm_residues_value(r->moduli, residues + j, r->plane,
                                -(r->exponents.rows[i] + r->exponents.cols[j]));
  dm_store_wide(dm_view_at(r->sums, i, 0), r->sums.dtype, 1, made, r->c.cols);
}

static void finish_rows(void *context) {
  rows *r = context;
  double *made = r->made + atomic_fetch_add(&r->threads, 1) * r->c.cols;
  for (int64_t i; (i = atomic_fetch_add(&r->next, 1)) < r->c.rows;) finish_row(r, i, made);
}

dm_status dm_host_finish_residues(const dm_moduli *moduli, dm_view sums, dm_view c, int64_t plane,
                                  dm_exponents exponents) {
  rows r = {.moduli = moduli,
            .sums = dm_view_parts(sums),
            .c = c,
            .plane = plane,
            .exponents = exponents};
  const int64_t row = c.cols * (int64_t)sizeof *r.made;
  const int threads = (int)dm_min(dm_min(c.rows, dm_cores()), dm_max(1, ROOM / row));
  void *made;
  DM_TRY(dm_buffer_alloc(threads * row, &made));
  r.made = made;
  (void)dm_fork_join(threads, finish_rows, &r);
  free(made);
  return DM_OK;
}
