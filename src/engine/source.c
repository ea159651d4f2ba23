#include "engine/source.h"

enum { LARGEST_I8 = 8 };

static dm_status load(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  const dm_generated_source *source = state;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel),
                         &source->generators[matrix],
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

static double largest(const void *state, dm_matrix matrix) {
  const dm_generated_source *source = state;
  const dm_generator *generator = &source->generators[matrix];
  return generator->kind == DM_INTEGER ? generator->parameter : 128;
}

const dm_source_ops dm_source_generated = {.name = "generated", .load = load, .largest = largest};

dm_generated_source dm_generated_random(dm_dtype type, uint64_t seed) {
  dm_generated_source source;
  for (int x = 0; x < 2; x++)
    source.generators[x] = (dm_generator){.kind = type == DM_I8 ? DM_INTEGER : DM_UNIFORM,
                                          .seed = seed + (uint64_t)x,
                                          .parameter = type == DM_I8 ? LARGEST_I8 : 0};
  return source;
}
