#include "programs/reduced_state.h"

#include <string.h>

#include "core/checked.h"

/* What the file begins with. */
typedef struct kept_header {
  int64_t tiles, step, reducers, unchecked;
  int64_t offset; /* of the part file, */
  char id[40];    /* and its id */
} kept_header;

typedef struct kept_moving {
  dm_reduced_c c;
  int64_t most;
  kept_header header;
} kept_moving;

/* What the reducers get. */
static dm_status kept_load(void *context, dm_state_file *file) {
  kept_moving *k = context;
  kept_header h;
  DM_TRY(dm_state_move(file, &h, sizeof h));
  if (h.reducers != k->header.reducers || h.step <= 0 || h.step > k->most) {
    dm_state_refuse(k->c.run, &k->c.m->out);
    return DM_OK;
  }
  k->header = h;
  for (int64_t i = 0; i < h.reducers; i++)
    DM_TRY(dm_reducer_load(k->c.reducer[i], dm_state_move, file));
  return DM_OK;
}

dm_status dm_reduced_state_open(dm_reduced_c c, const dm_problem *problem, const char *metric,
                                int64_t most, dm_reduced_state *state) {
  kept_moving k = {c, most, {.reducers = c.count}};
  *state = (dm_reduced_state){.tiles = 0};
  DM_TRY(dm_state_open(c.run, c.m, problem, metric, &state->file));
  dm_status status =
      c.run->rank == 0 ? dm_state_read(c.run, &c.m->out, &state->file, kept_load, &k) : DM_OK;
  DM_TRY(dm_comm_agree(c.run->world, status));
  state->tiles = k.header.tiles;
  state->step = k.header.step;
  state->unchecked = k.header.unchecked != 0;
  state->part.offset = k.header.offset;
  memcpy(state->part.id, k.header.id, DM_ID);
  return dm_comm_broadcast(c.run->world, state, sizeof *state, 0);
}

static dm_status kept_save(void *context, dm_state_file *file) {
  kept_moving *k = context;
  DM_TRY(dm_state_move(file, &k->header, sizeof k->header));
  for (int64_t i = 0; i < k->header.reducers; i++)
    DM_TRY(dm_reducer_save(k->c.reducer[i], dm_state_move, file));
  return DM_OK;
}

dm_status dm_reduced_state_is_due(dm_run *run, const dm_reduced_state *state, int64_t tiles,
                                  bool now, bool *due) {
  DM_TRY(dm_state_is_due(run, &state->file, now, due));
  *due &= tiles != state->tiles;
  return DM_OK;
}

dm_status dm_reduced_state_keep(dm_reduced_c c, int64_t tiles, int64_t step, bool unchecked,
                                dm_reduced_state *state) {
  dm_run_phase(c.run, "recording", DM_SYNC_PATIENCE);
  for (int i = 0; i < c.count; i++) DM_TRY(dm_reducer_gather(c.reducer[i], c.run->world));
  kept_moving k = {.c = c};
  k.header = (kept_header){.tiles = tiles,
                           .step = step,
                           .reducers = c.count,
                           .unchecked = unchecked,
                           .offset = state->part.offset};
  memcpy(k.header.id, state->part.id, DM_ID);
  DM_TRY(dm_state_write(c.run, &c.m->out, &state->file, kept_save, &k));
  if (state->file.on) state->tiles = tiles;
  return DM_OK;
}

void dm_reduced_state_remove(const dm_multiply *m, const dm_reduced_state *state) {
  if (state->file.on || state->tiles > 0) dm_state_remove(&m->out);
}
