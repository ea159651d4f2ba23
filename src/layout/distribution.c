#include "layout/distribution.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

static dm_status axis_open(int64_t total, int parts, int64_t most, dm_axis *axis) {
  *axis = (dm_axis){.total = total, .parts = parts};
  return dm_buffer_table(dm_max(1, most), &axis->runs);
}

/* Adds SIZE elements of PART; omits empty runs. */
static void axis_add(dm_axis *axis, int64_t begin, int64_t size, int part, int64_t local) {
  if (size > 0) axis->runs[axis->count++] = (dm_axis_run){begin, part, local};
}

dm_status dm_axis_cyclic(int64_t total, int64_t block, int parts, int first, dm_axis *axis) {
  const int64_t blocks = dm_ceil_div(total, block);
  DM_TRY(axis_open(total, parts, blocks, axis));
  for (int64_t b = 0; b < blocks; b++)
    axis_add(axis, b * block, dm_min(block, total - b * block), (int)((b + first) % parts),
             b / parts * block);
  return DM_OK;
}

dm_status dm_axis_of_sizes(const int64_t *sizes, int parts, dm_axis *axis) {
  int64_t total = 0;
  for (int p = 0; p < parts; p++)
    if (sizes[p] < 0 || dm_add_overflows(total, sizes[p], &total))
      return dm_fail(DM_E_USAGE, "rank %d states %lld rows", p, (long long)sizes[p]);
  DM_TRY(axis_open(total, parts, parts, axis));
  for (int64_t p = 0, at = 0; p < parts; at += sizes[p++]) axis_add(axis, at, sizes[p], (int)p, 0);
  return DM_OK;
}

dm_status dm_axis_even(int64_t total, int parts, dm_axis *axis) {
  DM_TRY(axis_open(total, parts, parts, axis));
  for (int p = 0; p < parts; p++) {
    const dm_range part = dm_split(total, parts, p, 1);
    axis_add(axis, part.begin, dm_range_size(part), p, 0);
  }
  return DM_OK;
}

dm_status dm_distribution_ranks(dm_distribution *of) {
  of->row_step = of->cols.parts;
  of->col_step = 1;
  return dm_buffer_table((int64_t)of->rows.parts * of->cols.parts, &of->ranks);
}

/* ---- distributions of a plan ---- */

dm_extent dm_tile_extent(const dm_plan *plan, int matrix, int64_t tile) {
  const dm_tile t = dm_plan_tile(plan, tile);
  const int64_t origin = dm_plan_b_origin(plan, tile);
  const dm_range k = {0, plan->problem.k}, of_b = {origin, origin + k.end};
  return (dm_extent){matrix == DM_B ? of_b : t.rows, matrix == DM_A ? k : t.cols};
}

/* A's rows are divided among the ranks of a grid row, C's among the layers: COUNT parts of each of
 * the grid's rows, as SHARE tells. */
static dm_status distribution_rows_of(const dm_plan *plan, int64_t tile, dm_range of, int count,
                                      dm_range (*share)(const dm_plan *, int64_t, int, int),
                                      dm_axis *axis) {
  DM_TRY(axis_open(dm_range_size(of), plan->pm * count, (int64_t)plan->pm * count, axis));
  for (int i = 0; i < plan->pm; i++)
    for (int part = 0; part < count; part++) {
      const dm_range rows = share(plan, tile, i, part);
      axis_add(axis, rows.begin - of.begin, dm_range_size(rows), i * count + part, 0);
    }
  return DM_OK;
}

static dm_status cols_of_c(const dm_plan *plan, int64_t tile, dm_range of, dm_axis *axis) {
  DM_TRY(axis_open(dm_range_size(of), plan->pn, plan->pn, axis));
  for (int j = 0; j < plan->pn; j++) {
    const dm_range cols = dm_plan_cols(plan, tile, j);
    axis_add(axis, cols.begin - of.begin, dm_range_size(cols), j, 0);
  }
  return DM_OK;
}

/* Cuts k into layers, and each panel among SHARERS ranks. */
static dm_status along_k(const dm_plan *plan, int sharers, dm_axis *axis) {
  DM_TRY(axis_open(plan->problem.k, plan->pk * sharers, plan->panels * sharers, axis));
  for (int l = 0; l < plan->pk; l++) {
    const dm_range panels = dm_plan_layer(plan, l);
    for (int64_t p = panels.begin; p < panels.end; p++)
      for (int i = 0; i < sharers; i++) {
        const dm_range k = sharers > 1 ? dm_plan_b_share(plan, p, i) : dm_plan_panel(plan, p);
        axis_add(axis, k.begin, dm_range_size(k), l * sharers + i, p);
      }
  }
  return DM_OK;
}

static dm_status axes_of_tile(const dm_plan *plan, int matrix, int64_t tile, dm_distribution *of) {
  const dm_extent extent = dm_tile_extent(plan, matrix, tile);
  if (matrix == DM_A) {
    DM_TRY(distribution_rows_of(plan, tile, extent.rows, plan->pn, dm_plan_a_share, &of->rows));
    return along_k(plan, 1, &of->cols);
  }
  DM_TRY(cols_of_c(plan, tile, extent.cols, &of->cols));
  return matrix == DM_B
             ? along_k(plan, plan->pm, &of->rows)
             : distribution_rows_of(plan, tile, extent.rows, plan->pk, dm_plan_c_share, &of->rows);
}

static int rank_in_plan(const dm_plan *plan, int matrix, int row, int col) {
  if (matrix == DM_A) return dm_plan_rank(plan, row / plan->pn, row % plan->pn, col);
  if (matrix == DM_B) return dm_plan_rank(plan, row % plan->pm, col, row / plan->pm);
  return dm_plan_rank(plan, row / plan->pk, col, row % plan->pk);
}

dm_status dm_distribution_of_tile(const dm_plan *plan, int matrix, int64_t tile,
                                  dm_distribution *of) {
  DM_TRY(axes_of_tile(plan, matrix, tile, of));
  DM_TRY(dm_distribution_ranks(of));
  for (int r = 0; r < of->rows.parts; r++)
    for (int c = 0; c < of->cols.parts; c++)
      of->ranks[r * of->row_step + c] = rank_in_plan(plan, matrix, r, c);
  return DM_OK;
}

/* ---- parts ---- */

/* The run of AXIS that has LINE; with LINE at its end, the number of runs. */
static int64_t run_with(const dm_axis *axis, int64_t line) {
  int64_t low = 0, high = axis->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (dm_axis_end(axis, middle) <= line)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static dm_status axis_part(const dm_axis *of, dm_range range, dm_axis *part) {
  const int64_t first = run_with(of, range.begin),
                end = dm_min(of->count, run_with(of, range.end) + 1);
  DM_TRY(axis_open(dm_range_size(range), of->parts, end - first, part));
  for (int64_t i = first; i < end; i++) {
    const dm_axis_run *run = &of->runs[i];
    const int64_t begin = dm_max(run->begin, range.begin);
    const int64_t last = dm_min(dm_axis_end(of, i), range.end);
    axis_add(part, begin - range.begin, last - begin, run->part, run->local + begin - run->begin);
  }
  return DM_OK;
}

dm_status dm_distribution_part(const dm_distribution *of, dm_extent extent, dm_distribution *part) {
  const int64_t pairs = (int64_t)of->rows.parts * of->cols.parts;
  *part = (dm_distribution){.row_step = of->row_step, .col_step = of->col_step};
  DM_TRY(axis_part(&of->rows, extent.rows, &part->rows));
  DM_TRY(axis_part(&of->cols, extent.cols, &part->cols));
  DM_TRY(dm_buffer_table(pairs, &part->ranks));
  memcpy(part->ranks, of->ranks, (size_t)pairs * sizeof *of->ranks);
  return DM_OK;
}

/* ---- segments ---- */

dm_status dm_axis_cut(const dm_axis *from, const dm_axis *to, dm_segments *s) {
  s->from = from;
  s->to = to;
  DM_TRY(dm_buffer_table(from->count + to->count, &s->list));
  int64_t at = 0;
  for (int64_t f = 0, t = 0; f < from->count && t < to->count;) {
    const int64_t from_end = dm_axis_end(from, f), to_end = dm_axis_end(to, t);
    const int64_t end = dm_min(from_end, to_end);
    s->list[s->count++] = (dm_segment){at, end - at, f, t};
    at = end;
    f += end == from_end;
    t += end == to_end;
  }
  return DM_OK;
}

void dm_segments_free(dm_segments *segments) {
  free(segments->list);
  *segments = (dm_segments){0};
}

dm_overlap_piece dm_overlap_clip(dm_overlap_piece p, int64_t place, dm_range window) {
  const int64_t skip = dm_max(0, window.begin - place);
  p.size = dm_min(p.size, window.end - place) - skip;
  p.at += skip;
  p.from += skip;
  p.to += skip;
  return p;
}

bool dm_overlap_next(dm_overlap *o, dm_overlap_piece *piece) {
  for (; o->segment < o->segments->count; o->segment++) {
    const dm_segment s = o->segments->list[o->segment];
    const dm_axis_run *from = &o->segments->from->runs[s.from];
    const dm_axis_run *to = &o->segments->to->runs[s.to];
    if (from->part != o->from || to->part != o->to) continue;
    const dm_overlap_piece whole = {.size = s.size,
                                    .from = from->local + s.begin - from->begin,
                                    .to = to->local + s.begin - to->begin,
                                    .from_run = s.from,
                                    .to_run = s.to};
    const int64_t places[] = {o->passed, whole.from, whole.to};
    *piece = dm_overlap_clip(whole, places[o->counts], o->window);
    o->passed += s.size;
    if (piece->size <= 0) continue;
    piece->at = o->at;
    o->at += piece->size;
    o->segment++;
    return true;
  }
  return false;
}

int64_t dm_overlap_size(dm_overlap o) {
  const int64_t before = o.at;
  dm_overlap_piece piece;
  while (dm_overlap_next(&o, &piece)) continue;
  return o.at - before;
}

/* ---- elements of a rank ---- */

bool dm_distribution_parts(const dm_distribution *of, int rank, int *row_part, int *col_part) {
  for (int r = 0; r < of->rows.parts; r++)
    for (int c = 0; c < of->cols.parts; c++)
      if (dm_distribution_rank(of, r, c) == rank) {
        *row_part = r;
        *col_part = c;
        return true;
      }
  return false;
}

static bool range_of(const dm_axis *axis, int part, dm_range *range) {
  *range = (dm_range){0};
  for (int64_t r = 0; r < axis->count; r++) {
    const dm_axis_run *run = &axis->runs[r];
    if (run->part != part) continue;
    if (range->begin == range->end) range->begin = range->end = run->begin;
    if (run->begin != range->end || run->local != run->begin - range->begin) return false;
    range->end = dm_axis_end(axis, r);
  }
  return true;
}

bool dm_distribution_extent(const dm_distribution *of, int rank, dm_extent *extent) {
  int row, col;
  *extent = (dm_extent){0};
  if (!dm_distribution_parts(of, rank, &row, &col)) return true;
  const bool contiguous =
      range_of(&of->rows, row, &extent->rows) && range_of(&of->cols, col, &extent->cols);
  const bool empty =
      extent->rows.begin == extent->rows.end || extent->cols.begin == extent->cols.end;
  if (empty) *extent = (dm_extent){0};
  return contiguous;
}

int64_t dm_axis_size(const dm_axis *axis, int part) {
  int64_t size = 0;
  for (int64_t run = 0; run < axis->count; run++)
    if (axis->runs[run].part == part) size += dm_axis_end(axis, run) - axis->runs[run].begin;
  return size;
}

dm_range dm_axis_places(const dm_axis *axis, int part) {
  int64_t first = INT64_MAX;
  for (int64_t run = 0; run < axis->count; run++)
    if (axis->runs[run].part == part) first = dm_min(first, axis->runs[run].local);
  const int64_t size = dm_axis_size(axis, part);
  return size == 0 ? (dm_range){0} : (dm_range){first, first + size};
}

void dm_distribution_transpose(dm_distribution *of) {
  const dm_axis rows = of->rows;
  const int row_step = of->row_step;
  of->rows = of->cols;
  of->cols = rows;
  of->row_step = of->col_step;
  of->col_step = row_step;
}

void dm_distribution_free(dm_distribution *of) {
  free(of->rows.runs);
  free(of->cols.runs);
  free(of->ranks);
  *of = (dm_distribution){0};
}
