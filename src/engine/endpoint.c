#include "engine/endpoint.h"

enum { LARGEST_I8 = 8 };

static const double least_scaled = 0.75; /* magnitude, of at most 1, where elements are scaled */

static dm_status generated_load(void *state, dm_rank_state *local, dm_matrix matrix,
                                int64_t panel) {
  const dm_generated_source *source = state;
  return dm_backend_fill(local->backend, dm_rank_piece(local, matrix, panel),
                         &source->generators[matrix],
                         dm_rank_piece_rows(local, matrix, panel).begin,
                         dm_rank_piece_cols(local, matrix, panel).begin);
}

static double generated_largest(const void *state, dm_matrix matrix) {
  const dm_generated_source *source = state;
  const dm_generator *generator = &source->generators[matrix];
  return generator->kind == DM_INTEGER ? generator->parameter : 128;
}

const dm_source_ops dm_source_generated = {.load = generated_load, .largest = generated_largest};

dm_generated_source dm_generated_random(const dm_problem *problem, uint64_t seed) {
  const bool scaled = problem->compute.scans;
  dm_generator random = {.kind = scaled ? DM_LEVEL : DM_UNIFORM, .parameter = least_scaled};
  if (problem->work == DM_I8) random = (dm_generator){.kind = DM_INTEGER, .parameter = LARGEST_I8};
  dm_generated_source source;
  for (int x = 0; x < 2; x++) {
    source.generators[x] = random;
    source.generators[x].seed = seed + (uint64_t)x;
  }
  return source;
}
