/* reduction_impl: what the kinds of reductions implement. Private to src/reduce. */
#ifndef DM_REDUCE_REDUCTION_IMPL_H
#define DM_REDUCE_REDUCTION_IMPL_H

#include <math.h>

#include "reduce/reduction.h"

/* A part of C as numbers, COUNT of them: elements INDEX, INDEX + 1, ... of LINE; or, ACROSS,
 * elements INDEX of LINE, LINE + 1, .... Calls of different SLOTs come at the same time, and have
 * no line in common. */
typedef struct dm_piece {
  const double *values;
  int64_t count, line, index;
  bool across;
  int slot;
} dm_piece;

enum { DM_PIECE = 512, DM_REDUCE_STRETCH = 64, DM_REDUCE_SLOTS = 64, DM_REDUCE_STATES = 3 };

/* Memory that a kind keeps, as other ranks send it. */
typedef struct dm_reduce_state {
  void *data;
  int64_t bytes;
} dm_reduce_state;

/* A kind of reduction; KEPT is its own structure. */
typedef struct dm_reduce_ops {
  dm_status (*open)(dm_reducer *r, int64_t room);
  void (*close)(dm_reducer *r);
  /* Whether none of COUNT numbers, of LINE or ACROSS lines from it on, is kept or NaN:
   * said without making f64 of them. NULL: unknown. */
  bool (*skips)(const dm_reducer *r, const float *values, int64_t count, int64_t line, bool across);
  /* *NANS grows by those that are left out. */
  dm_status (*add)(dm_reducer *r, const dm_piece *piece, int64_t *nans);
  /* Of kinds with a sieve: takes an element of LINE, which may not be kept. NULL: none. SLOT: as of
   * a piece. LIMITS: of lines; NULL: all have that of LIMIT. */
  dm_status (*take)(dm_reducer *r, int64_t line, int64_t index, double value, int slot);
  const float *(*limits)(const dm_reducer *r);
  /* Before the states are sent or absorbed, and before the result is made. */
  dm_status (*settle)(dm_reducer *r);
  int (*states)(dm_reducer *r, dm_reduce_state states[DM_REDUCE_STATES]);
  /* Adds the states of a rank after this one. */
  dm_status (*absorb)(dm_reducer *r, const dm_reduce_state states[DM_REDUCE_STATES]);
  int64_t (*kept)(const dm_reducer *r);
  int64_t (*bytes)(const dm_reducer *r);
  /* All but the names of the arrays. */
  dm_status (*result)(dm_reducer *r, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS]);
} dm_reduce_ops;

extern const dm_reduce_ops dm_reduce_top, dm_reduce_beyond, dm_reduce_number;

struct dm_reducer {
  dm_reduction what;
  const dm_reduce_ops *ops;
  int64_t lines, length;
  int64_t room;
  const char *folder;            /* or NULL */
  int threads;                   /* that the last elements were added on, at most */
  int64_t nans[DM_REDUCE_SLOTS]; /* the first one also has those of other ranks */
  void *kept;
};

/* What elements are compared by. */
static inline double dm_reduce_score(dm_reduce_by by, double value) {
  return by == DM_BY_VALUE ? value : by == DM_BY_LEAST ? -value : value < 0.0 ? -value : value;
}

/* The largest number of f32 that is not above LIMIT: numbers of f32 are at most the one if they are
 * at most the other. */
static inline float dm_reduce_below(double limit) {
  const float near = (float)limit;
  return (double)near > limit ? nextafterf(near, -INFINITY) : near;
}

/* The line of element I of PIECE, and its index there. */
static inline int64_t dm_piece_line(const dm_piece *p, int64_t i) {
  return p->across ? p->line + i : p->line;
}
static inline int64_t dm_piece_index(const dm_piece *p, int64_t i) {
  return p->across ? p->index : p->index + i;
}

#endif
