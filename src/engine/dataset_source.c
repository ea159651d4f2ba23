#include "engine/dataset_source.h"

static dm_status open_prefetch(void *state, dm_rank_state *local) {
  dm_dataset_source *source = state;
  return dm_prefetch_open(local, source->inputs, &source->prefetch);
}

static void close_prefetch(void *state) {
  dm_dataset_source *source = state;
  dm_prefetch_close(&source->prefetch);
}

static dm_status load(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel) {
  dm_dataset_source *source = state;
  (void)local;
  return dm_prefetch_load(&source->prefetch, matrix, panel);
}

static dm_status loaded(void *state, dm_rank_state *local, dm_matrix matrix, int64_t panel,
                        bool *done) {
  dm_dataset_source *source = state;
  (void)local;
  return dm_prefetch_loaded(&source->prefetch, matrix, panel, done);
}

static dm_status read_b(void *state, int64_t row, int64_t col, dm_view view) {
  dm_dataset_source *source = state;
  return dm_dataset_input_read(&source->inputs[DM_B], row, col, view);
}

static double largest(const void *state, dm_matrix matrix) {
  const dm_dataset_source *source = state;
  return source->inputs[matrix].largest;
}

static void set_keepalive(void *state, const dm_keepalive *keepalive) {
  dm_dataset_source *source = state;
  for (int x = 0; x < 2; x++) dm_reader_keepalive(source->inputs[x].reader, keepalive);
}

const dm_source_ops dm_source_datasets = {
    .name = "datasets",
    .open = open_prefetch,
    .close = close_prefetch,
    .load = load,
    .loaded = loaded,
    .read_b = read_b,
    .largest = largest,
    .set_keepalive = set_keepalive,
};

int64_t dm_dataset_source_bytes(const dm_dataset_source *source) {
  int64_t bytes = 0;
  for (int x = 0; x < 2; x++) bytes += dm_reader_bytes(source->inputs[x].reader);
  return bytes;
}
