/* library_moves: redistributes parts of matrices over the ranks, from or to GPU memory, in many
 * small rounds. */
#ifndef DM_TESTS_LIBRARY_MOVES_H
#define DM_TESTS_LIBRARY_MOVES_H

#include "api/library.h"
#include "layout/distributed.h"
#include "library_on_gpu.h"

typedef struct moved {
  spread from, to;
  gpu_copy there; /* GPU memory of one of them */
  dm_extent extent;
  bool adds;
} moved;

static dm_status take_copy(void *context, dm_view into, dm_view arrived) {
  (void)context;
  dm_copy(into, arrived, false);
  return DM_OK;
}

static dm_status take_sum(void *context, dm_view into, dm_view arrived) {
  (void)context;
  for (int64_t i = 0; i < into.rows; i++)
    for (int64_t j = 0; j < into.cols; j++)
      *(double *)dm_view_at(into, i, j) += *(double *)dm_view_at(arrived, i, j);
  return DM_OK;
}

static inline dm_range random_range(random_state *r, int64_t size) {
  const int64_t begin = draw(r, 0, size - 1);
  return (dm_range){begin, draw(r, begin + 1, size)};
}

static inline void open_part(rank_test *test, const damier_matrix *m, dm_backend *gpu,
                             dm_extent extent, dm_distributed *all, dm_distributed *part) {
  const dm_memory_matrix memory = dm_memory_of(m);
  must(test, dm_distributed_open(test->run.world, &memory, "X", all));
  if (gpu) must(test, dm_distributed_reach(all, gpu, "X"));
  must(test, dm_distributed_part(all, extent, part));
}

static inline void move_part(rank_test *test, const moved *x, const damier_matrix *m,
                             dm_backend *gpu, int64_t per_round) {
  dm_distributed all[2], part[2];
  for (int i = 0; i < 2; i++) open_part(test, &m[i], gpu, x->extent, &all[i], &part[i]);
  const dm_end from = dm_distributed_end(&part[0]), to = dm_distributed_end(&part[1]);
  const dm_move move = {.dtype = (dm_dtype)x->from.m.type,
                        .from = &from,
                        .to = &to,
                        .taker = {x->adds ? take_sum : take_copy, NULL},
                        .reads = x->adds,
                        .per_round = per_round};
  must(test, dm_redistribute(test->run.world, &move));
  for (int i = 0; i < 2; i++) dm_distributed_close(&part[i]), dm_distributed_close(&all[i]);
}

static inline bool is_in(dm_range range, int64_t i) {
  return range.begin <= i && i < range.end;
}

static inline int64_t count_unlike(rank_test *test, const moved *x) {
  const damier_matrix *m = &x->to.m;
  int64_t wrong = 0, row, col;
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t j = 0; j < m->cols; j++) {
      const bool in = is_in(x->extent.rows, i) && is_in(x->extent.cols, j);
      const double want = (in ? value(0, i, j, 0) : 0) + (!in || x->adds ? value(1, i, j, 0) : 0);
      if (owner(&x->to, i, j, &row, &col) == test->run.rank)
        wrong += get(element(&x->to, row, col), m->type, 0) != want;
    }
  return wrong;
}

/* GPU: NULL, or this rank's GPU, which on some ranks holds one of the two matrices. */
static inline void try_move(rank_test *test, random_state *r, dm_backend *gpu, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32, DAMIER_C128, DAMIER_I8};
  const bool large = number % 40 == 39; /* several threads copy a message */
  const int64_t most = large ? 1500 : 60, rows = draw(r, 1, most), cols = draw(r, most / 2, most);
  moved x = {.extent = {random_range(r, rows), random_range(r, cols)}, .adds = draw(r, 0, 1)};
  const damier_type type = x.adds ? DAMIER_F64 : types[draw(r, 0, 3)];
  x.from = random_spread(test, r, type, rows, cols);
  x.to = random_spread(test, r, type, rows, cols);
  fill(test, &x.from, 0);
  fill(test, &x.to, 1);
  const int64_t end = draw(r, 0, 1), who = draw(r, 0, 2);
  const int64_t per_round = large ? 0 : draw(r, 1, 3000);
  damier_matrix m[2] = {x.from.m, x.to.m};
  if (gpu && (who == 0 || (int)who - 1 == test->run.rank % 2))
    m[end] = put_on_gpu(test, gpu, end ? &x.to : &x.from, &x.there);
  move_part(test, &x, m, gpu, per_round);
  if (x.there.memory) take_from_gpu(test, gpu, end ? &x.to : &x.from, &x.there);
  const int64_t wrong = count_unlike(test, &x);
  CHECK(test, wrong == 0, "move %d (%lld x %lld, divisions %d and %d): %lld wrong", number,
        (long long)rows, (long long)cols, x.from.m.division, x.to.m.division, (long long)wrong);
  free(x.from.m.data);
  free(x.to.m.data);
}

#endif
