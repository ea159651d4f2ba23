/* The sizes of rows of B, whose squares were summed: a number for each of k, of which tall matrices
 * have more than elements of C. */
#include <float.h>
#include <math.h>

#include "check/freivalds_impl.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "core/wide_vectors.h"

enum {
  FREIVALDS_LANES = 4,
  FREIVALDS_ROOTS_TURN = 1 << 14,
  /* numbers of a thread's turn; */ FREIVALDS_TURNS = 8 /* with fewer, one has all */
};

/* At least 2^-1000: a probe skips columns with factor 0, but must see NaN in A. */
static const double least_size = 0x1p-1000;

/* Of one turn. */
typedef struct sizes_found {
  double squares; /* their sum */
  int64_t odd;    /* that overflowed, or vanished although T did not */
} sizes_found;

typedef struct sizing {
  const double *t;
  int parts;
  double *sizes;
  int64_t count;
  sizes_found *found;
} sizing;

DM_INLINE double sum_loop(const double *values, int64_t count) {
  double sums[FREIVALDS_LANES] = {0.0};
  int64_t i = 0;
  for (; i + FREIVALDS_LANES <= count; i += FREIVALDS_LANES)
    for (int l = 0; l < FREIVALDS_LANES; l++) sums[l] += values[i + l];
  for (; i < count; i++) sums[0] += values[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

DM_INLINE int64_t root_loop(const double *t, int parts, int64_t count, double *restrict sizes) {
  int64_t odd = 0;
  for (int64_t i = 0; i < count; i++) {
    const double squares = sizes[i], root = sqrt(squares);
    const double t_size = parts == 1 ? fabs(t[i]) : fabs(t[2 * i]) + fabs(t[2 * i + 1]);
    odd += (squares > DBL_MAX) | (squares != squares) |
           ((squares < DM_LEAST_SQUARES) & (t_size != 0.0));
    sizes[i] = root > least_size ? root : least_size; /* also of NaN */
  }
  return odd;
}

DM_INLINE void take_sizes_loop(const double *t, int parts, int64_t count, double *sizes,
                               sizes_found *found) {
  found->squares = sum_loop(sizes, count);
  found->odd = parts == 1 ? root_loop(t, 1, count, sizes) : root_loop(t, 2, count, sizes);
}

DM_BOTH_WIDTHS(take_sizes,
               (const double *t, int parts, int64_t count, double *sizes, sizes_found *found),
               (t, parts, count, sizes, found))

static dm_status size_turn(void *context, int64_t turn) {
  const sizing *s = context;
  const int64_t first = turn * FREIVALDS_ROOTS_TURN,
                count = dm_min(FREIVALDS_ROOTS_TURN, s->count - first);
  take_sizes(s->t + first * s->parts, s->parts, count, s->sizes + first, &s->found[turn]);
  return DM_OK;
}

dm_status dm_freivalds_take_roots(dm_freivalds *check, int64_t row, int64_t count) {
  const int64_t turns = dm_ceil_div(count, FREIVALDS_ROOTS_TURN);
  DM_FREED sizes_found *found = NULL;
  DM_TRY(dm_buffer_table(dm_max(1, turns), &found));
  for (int g = 0; g < check->groups; g++) {
    const int64_t first = dm_freivalds_at(check, g, row);
    sizing s = {check->t + first * check->parts, check->parts, check->sizes + first, count, found};
    DM_TRY(dm_fork_each(turns, turns < FREIVALDS_TURNS ? 1 : 0, size_turn, &s));
    for (int64_t i = 0; i < turns; i++) {
      check->strained |= found[i].odd > 0;
      check->spread += found[i].squares;
    }
  }
  return DM_OK;
}
