/* library_on_gpu: matrices for tests of the library, temporarily in GPU memory. */
#ifndef DM_TESTS_LIBRARY_ON_GPU_H
#define DM_TESTS_LIBRARY_ON_GPU_H

#include "gpu_ranks.h"
#include "library_matrices.h"

/* All zero: no copy. */
typedef struct gpu_copy {
  void *memory;
  int64_t bytes;
} gpu_copy;

static inline void copy_bytes(rank_test *test, dm_backend *gpu, dm_view to, dm_view from) {
  dm_event done;
  must(test, dm_backend_copy(gpu, to, from, &done));
  must(test, dm_backend_wait(gpu, done));
}

static inline dm_view bytes_at(void *memory, dm_space space, int64_t bytes) {
  return dm_view_strided(memory, DM_I8, space, 1, bytes, bytes);
}

/* Copies S's memory, including gaps, to the GPU; returns the matrix there. */
static inline damier_matrix put_on_gpu(rank_test *test, dm_backend *gpu, const spread *s,
                                       gpu_copy *copy) {
  copy->bytes = spread_bytes(s);
  must(test, dm_backend_alloc(gpu, DM_DEVICE, copy->bytes, &copy->memory));
  copy_bytes(test, gpu, bytes_at(copy->memory, DM_DEVICE, copy->bytes),
             bytes_at(s->m.data, DM_HOST, copy->bytes));
  damier_matrix there = s->m;
  there.data = copy->memory;
  return damier_in_gpu(there, NULL);
}

/* Copies back and frees the GPU's memory. */
static inline void take_from_gpu(rank_test *test, dm_backend *gpu, const spread *s,
                                 gpu_copy *copy) {
  if (!copy->memory) return;
  copy_bytes(test, gpu, bytes_at(s->m.data, DM_HOST, copy->bytes),
             bytes_at(copy->memory, DM_DEVICE, copy->bytes));
  dm_backend_release(gpu, DM_DEVICE, copy->memory);
  *copy = (gpu_copy){0};
}

/* ---- products ---- */

typedef struct placed {
  spread s;
  gpu_copy there;
  damier_matrix m;
} placed;

/* WHICH: as in fill; -1: not filled. In GPU memory of all ranks, some, or none. */
static inline placed place(gpu_test *t, random_state *r, damier_type type, int64_t rows,
                           int64_t cols, int which) {
  placed p = {.s = random_spread(&t->base, r, type, rows, cols)};
  const int64_t who = draw(r, 0, 3);
  if (which >= 0) fill(&t->base, &p.s, which);
  p.m = p.s.m;
  if (who < 2 || (int)who - 2 == t->base.run.rank % 2)
    p.m = put_on_gpu(&t->base, t->gpu, &p.s, &p.there);
  return p;
}

static inline void drop(gpu_test *t, placed *p) {
  take_from_gpu(&t->base, t->gpu, &p->s, &p->there);
  free(p->s.m.data);
}

/* Resets the options of products to their defaults. */
static inline void set_plain(damier_context *context) {
  static const char *const options[] = {"op-a", "op-b", "alpha", "beta"};
  for (int i = 0; i < 4; i++) damier_set(context, options[i], NULL, NULL);
  damier_old_c(context, NULL, NULL);
}

#endif
