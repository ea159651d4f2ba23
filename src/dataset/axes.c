#include "dataset/axes.h"

#include "core/checked.h"

dm_side dm_axes_side(const dm_axes *axes, int side) {
  const int first = side == 0 ? 0 : axes->of_rows;
  return (dm_side){.count = (side == 0 ? axes->of_rows : axes->count) - first,
                   .extent = axes->extent + first,
                   .chunk = axes->chunk + first};
}

static int64_t axes_product(const int64_t *list, int count) {
  int64_t size = 1;
  for (int i = 0; i < count; i++)
    if (dm_mul_overflows(size, list[i], &size)) return -1;
  return size;
}

int64_t dm_side_size(dm_side side) {
  return axes_product(side.extent, side.count);
}

static void axes_place_of(const int64_t *extent, int count, int64_t index, int64_t *place) {
  for (int i = count - 1; i >= 0; i--) {
    place[i] = index % extent[i];
    index /= extent[i];
  }
}

/* The index of element INDEX of a side along its axes FIRST to END, and how many there are. */
static int64_t index_along(const dm_axes *axes, int from, int to, int first, int end, int64_t index,
                           int64_t *extent) {
  int64_t after = 1;
  *extent = 1;
  for (int i = to - 1; i >= from; i--) {
    if (i >= end) after *= axes->extent[i];
    if (i >= first && i < end) *extent *= axes->extent[i];
  }
  return index / after % *extent;
}

int64_t dm_axes_index(const dm_axes *axes, int axis, int count, int64_t row, int64_t col) {
  int64_t down, across;
  const int64_t i = index_along(axes, 0, axes->of_rows, axis, axis + count, row, &down);
  const int64_t j = index_along(axes, axes->of_rows, axes->count, axis, axis + count, col, &across);
  return i * across + j;
}

void dm_side_place(dm_side side, int64_t index, int64_t *place) {
  axes_place_of(side.extent, side.count, index, place);
}

void dm_line_clip(dm_line line, int64_t first, int64_t length, int64_t *from, int64_t *count) {
  const int64_t before = first - line.first, end = before + length;
  const int64_t low = before > 0 ? dm_ceil_div(before, line.step) : 0;
  const int64_t high = end > 0 ? dm_ceil_div(end, line.step) : 0;
  const int64_t last = dm_min(*from + *count, high);
  *from = dm_max(*from, low);
  *count = dm_max(0, last - *from);
}

int64_t dm_side_box(dm_side side, dm_line line, int64_t count, int64_t *start, int64_t *step,
                    int64_t *number) {
  int64_t stride = 1; /* elements of all axes after AXIS, which are taken whole */
  int axis = side.count - 1;
  if (axis < 0) return count; /* a single element */
  dm_side_place(side, line.first, start);
  for (int i = 0; i <= axis; i++) step[i] = number[i] = 1;
  while (axis > 0 && line.step == 1 && start[axis] == 0 && count >= stride * side.extent[axis]) {
    number[axis] = side.extent[axis];
    stride *= side.extent[axis--];
  }
  step[axis] = line.step;
  number[axis] = dm_min(count / stride, (side.extent[axis] - 1 - start[axis]) / line.step + 1);
  return number[axis] * stride;
}

/* ---- chunks ---- */

static int64_t chunks_along(dm_side side, int axis) {
  return dm_ceil_div(side.extent[axis], side.chunk[axis]);
}

int64_t dm_side_chunks(dm_side side) {
  int64_t chunks = 1;
  for (int i = 0; i < side.count; i++)
    if (dm_mul_overflows(chunks, chunks_along(side, i), &chunks)) return -1;
  return chunks;
}

int64_t dm_side_chunk_size(dm_side side) {
  return axes_product(side.chunk, side.count);
}

/* Where chunk NUMBER begins, and how much of it is in the dataset. */
static void corner_of(dm_side side, int64_t number, int64_t *first, int64_t *length) {
  for (int i = side.count - 1; i >= 0; i--) {
    first[i] = number % chunks_along(side, i) * side.chunk[i];
    length[i] = dm_min(side.chunk[i], side.extent[i] - first[i]);
    number /= chunks_along(side, i);
  }
}

int64_t dm_side_chunk_start(dm_side side, int64_t number) {
  int64_t first[DM_AXES], length[DM_AXES], start = 0;
  corner_of(side, number, first, length);
  for (int i = 0; i < side.count; i++) start = start * side.extent[i] + first[i];
  return start;
}

int64_t dm_side_chunk_elements(dm_side side, int64_t number, bool *partial) {
  int64_t first[DM_AXES], length[DM_AXES];
  corner_of(side, number, first, length);
  const int64_t elements = axes_product(length, side.count);
  *partial = elements < dm_side_chunk_size(side);
  return elements;
}

void dm_side_chunks_of(dm_side side, int64_t first, int64_t last, int64_t *chunk, int64_t *count) {
  int64_t from[DM_AXES], to[DM_AXES], end = 0;
  bool whole = false; /* an axis before takes more than one index: all chunks of this one */
  dm_side_place(side, first, from);
  dm_side_place(side, last, to);
  *chunk = 0;
  for (int i = 0; i < side.count; i++) {
    const int64_t along = chunks_along(side, i);
    *chunk = *chunk * along + (whole ? 0 : from[i] / side.chunk[i]);
    end = end * along + (whole ? along - 1 : to[i] / side.chunk[i]);
    whole |= from[i] != to[i];
  }
  *count = end - *chunk + 1;
}

bool dm_side_run(dm_side side, int64_t number, int64_t i, dm_stretch *run) {
  int64_t first[DM_AXES], length[DM_AXES], place[DM_AXES];
  int outer = side.count - 1; /* axes before this one are stepped through */
  corner_of(side, number, first, length);
  while (outer > 0 && side.chunk[outer] == side.extent[outer]) outer--;
  outer = (int)dm_max(0, outer);
  if (i >= axes_product(length, outer)) return false;
  axes_place_of(length, outer, i, place);
  *run = (dm_stretch){.length = 1};
  for (int a = 0; a < side.count; a++) {
    const int64_t at = a < outer ? place[a] : 0;
    run->first = run->first * side.extent[a] + first[a] + at;
    run->inside = run->inside * side.chunk[a] + at;
    if (a >= outer) run->length *= length[a];
  }
  return true;
}
