#include "engine/dataset_source.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/dataset_input.h"
#include "plan/triangle.h"

/* Rows of a band, on average, from which products of bands are as fast as those of whole panels: of
 * A at most as many as C has columns, since BLAS packs B again for each band. */
static const int64_t least_rows[2] = {16, 256};

/* Whether BLAS can use the file's layout, and no other rank reads this share. Results that are to
 * be reproducible must not depend on bands. */
static bool may_map(const dm_rank_state *local, const dm_factor *factor, dm_matrix matrix,
                    const dm_dataset_input *input) {
  const dm_plan *plan = local->plan;
  const dm_dtype work = plan->problem.work;
  const bool plain = dm_dtype_real(work) == DM_F64 || dm_dtype_real(work) == DM_F32;
  const int64_t rows = matrix == DM_A ? plan->problem.m : dm_problem_b_rows(&plan->problem);
  const int64_t enough =
      matrix == DM_A ? dm_min(least_rows[DM_A], plan->problem.n) : least_rows[DM_B];
  const int64_t least = plan->reproducible ? rows : enough;
  const dm_residence residence = matrix == DM_A ? plan->a : plan->b;
  return input->reader && plan->read_first && plain && input->op == DM_OP_N &&
         residence == DM_IN_HOST && !local->coords.idle && factor->route.operand == DM_SHARE &&
         !factor->route.fetched && dm_reader_may_map(input->reader, work, least);
}

/* Maps both inputs or neither: the read-ahead covers both. */
static void map_inputs(dm_dataset_source *source, dm_rank_state *local) {
  dm_dataset_input *in = source->inputs;
  if (source->copies || !may_map(local, &local->a, DM_A, &in[DM_A]) ||
      !may_map(local, &local->b, DM_B, &in[DM_B]))
    return;
  const dm_band *bands[2];
  int64_t count[2];
  for (int x = 0; x < 2; x++) dm_reader_map(in[x].reader, &bands[x], &count[x]);
  if (count[DM_A] == 0 || count[DM_B] == 0) return;
  memcpy(local->mapped, bands, sizeof bands);
  memcpy(local->bands, count, sizeof count);
}

static dm_status open_turned(dm_dataset_source *source, const dm_rank_state *local) {
  const int64_t panels = dm_range_size(local->panels);
  source->turned = NULL;
  source->asked = false;
  for (int x = 0; x < 2; x++)
    source->prefetch.made[x] = dm_triangle_turns(local->plan, (dm_matrix)x);
  if (local->coords.idle || (!source->prefetch.made[DM_A] && !source->prefetch.made[DM_B]))
    return DM_OK;
  DM_TRY(dm_buffer_zeroed(panels, sizeof *source->turned, (void **)&source->turned));
  for (int64_t q = 0; q < panels; q++) source->turned[q] = UINT64_MAX;
  return DM_OK;
}

static dm_status open_inputs(void *state, dm_rank_state *local) {
  dm_dataset_source *source = state;
  map_inputs(source, local);
  DM_TRY(dm_prefetch_open(local, source->inputs, &source->prefetch));
  return open_turned(source, local);
}

static void close_prefetch(void *state) {
  dm_dataset_source *source = state;
  dm_prefetch_close(&source->prefetch);
  free(source->turned);
  source->turned = NULL;
}

/* When the other matrix's piece of PANEL is there, it is transposed to MATRIX's. */
static dm_status turn(dm_dataset_source *source, dm_rank_state *local, dm_matrix matrix,
                      int64_t panel, bool *done) {
  const dm_matrix other = matrix == DM_A ? DM_B : DM_A;
  dm_event *turned = &source->turned[panel - local->panels.begin];
  if (*turned == UINT64_MAX) {
    DM_TRY(dm_prefetch_loaded(&source->prefetch, other, panel, done));
    if (!*done) return DM_OK;
    DM_TRY(dm_backend_transpose(local->backend, dm_rank_piece(local, matrix, panel),
                                dm_rank_piece(local, other, panel),
                                local->plan->problem.symmetry == DM_HERMITIAN, turned));
  }
  return dm_backend_test(local->backend, *turned, done);
}

static dm_status load(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  dm_dataset_source *source = state;
  if (local->mapped[matrix]) {
    const int64_t elements = dm_range_size(dm_rank_piece_rows(local, matrix, panel)) *
                             dm_range_size(dm_rank_piece_cols(local, matrix, panel));
    dm_reader_note(source->inputs[matrix].reader,
                   elements * dm_dtype_size(local->plan->problem.work));
    return DM_OK;
  }
  if (source->prefetch.made[matrix] && source->asked) return DM_OK;
  source->asked = true;
  return dm_prefetch_load(&source->prefetch, matrix, panel);
}

static dm_status loaded(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  dm_dataset_source *source = state;
  *done = true;
  if (local->mapped[matrix]) return DM_OK;
  if (source->prefetch.made[matrix]) return turn(source, local, matrix, panel, done);
  return dm_prefetch_loaded(&source->prefetch, matrix, panel, done);
}

static dm_status read_b(void *state, int64_t row, int64_t col, dm_view view) {
  dm_dataset_source *source = state;
  return dm_dataset_input_read(&source->inputs[DM_B], row, col, view);
}

static dm_status pass(void *state, dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                      void *context) {
  dm_dataset_source *source = state;
  return dm_file_pass(&source->inputs[matrix], local, matrix, take, context);
}

static bool has_lines(const void *state, const dm_rank_state *local, dm_matrix matrix) {
  const dm_dataset_source *source = state;
  return dm_file_pass_has_lines(&source->inputs[matrix], local, matrix);
}

static double largest(const void *state, dm_matrix matrix) {
  const dm_dataset_source *source = state;
  const bool made = source->prefetch.made[matrix];
  return source->inputs[made ? !(int)matrix : (int)matrix].largest;
}

static void set_keepalive(void *state, const dm_keepalive *keepalive) {
  dm_dataset_source *source = state;
  for (int x = 0; x < 2; x++)
    if (source->inputs[x].reader) dm_reader_keepalive(source->inputs[x].reader, keepalive);
}

const dm_source_ops dm_source_datasets = {
    .name = "datasets",
    .open = open_inputs,
    .close = close_prefetch,
    .load = load,
    .loaded = loaded,
    .read_b = read_b,
    .pass = pass,
    .has_lines = has_lines,
    .largest = largest,
    .set_keepalive = set_keepalive,
};

int64_t dm_dataset_source_bytes(const dm_dataset_source *source) {
  int64_t bytes = 0;
  for (int x = 0; x < 2; x++)
    if (source->inputs[x].reader) bytes += dm_reader_bytes(source->inputs[x].reader);
  return bytes;
}
