#include "plan/tiles.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/partition.h"

/* Whether all tiles of a line share MATRIX's band; else a line uses all bands. */
static bool is_slow(const dm_plan *plan, dm_matrix matrix) {
  return (matrix == DM_A) != plan->down;
}

static int64_t tiles_band_of(const dm_plan *plan, dm_matrix matrix, int64_t t) {
  dm_tile tile = dm_plan_tile(plan, t);
  return matrix == DM_A ? tile.r : dm_plan_part_of(plan, t) * plan->tiles_n + tile.c;
}

/* Of C, without images. */
static double area_of(const dm_plan *plan, int64_t t) {
  const dm_tile tile = dm_plan_tile(plan, t);
  if (dm_triangle_is_image(plan, t)) return 0.0;
  return (double)dm_range_size(tile.rows) * (double)dm_range_size(tile.cols);
}

static void measure_todo(const dm_plan *plan, dm_todo *todo) {
  double all = 0.0, complete = 0.0;
  for (int64_t t = 0; t < dm_plan_tiles(plan); t++) {
    all += area_of(plan, t);
    if (todo->place[t] < 0) complete += area_of(plan, t);
  }
  for (int64_t i = 0; i < todo->count; i++) {
    todo->before[i] = complete / all;
    complete += area_of(plan, todo->tiles[i]);
  }
  todo->before[todo->count] = complete / all;
}

double dm_plan_part_done(const dm_plan *plan, int64_t t, int l, int64_t q) {
  const double *before = plan->todo->before + t;
  if (q == 0) return before[0];
  const dm_range layer = dm_plan_layer_k(plan, l);
  const int64_t end = dm_plan_panel(plan, dm_plan_layer(plan, l).begin + q - 1).end;
  return before[0] +
         (before[1] - before[0]) * (double)(end - layer.begin) / (double)dm_range_size(layer);
}

const char *dm_residence_name(dm_residence residence) {
  return residence == DM_IN_FILE ? "file" : residence == DM_IN_DEVICE ? "device" : "host";
}

dm_residence dm_plan_residence(const dm_plan *plan, dm_matrix matrix) {
  return matrix == DM_A ? plan->a : plan->b;
}

int64_t dm_plan_held(const dm_plan *plan, dm_matrix matrix) {
  return matrix == DM_A ? plan->held_a : plan->held_b;
}

int64_t dm_plan_places(const dm_plan *plan, dm_matrix matrix, int64_t layer) {
  const int64_t bands = matrix == DM_A ? plan->tiles_m : plan->tiles_n * dm_plan_parts(plan);
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE) return bands * layer;
  int64_t held = dm_min(dm_plan_held(plan, matrix), layer);
  return held + (held < layer ? plan->reads : 0);
}

/* Index of the piece among those not held, counted over all tiles. */
static int64_t ring_turn(const dm_plan *plan, int64_t layer, int64_t held, int64_t t, int64_t q) {
  return dm_plan_todo_place(plan, t) * (layer - held) + q - held;
}

int64_t dm_plan_place_of(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q) {
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE)
    return tiles_band_of(plan, matrix, t) * layer + q;
  int64_t held = dm_min(dm_plan_held(plan, matrix), layer);
  return q < held ? q : held + ring_turn(plan, layer, held, t, q) % plan->reads;
}

/* The last tile before T with the same band among those that this run computes. */
static int64_t band_before(const dm_plan *plan, dm_matrix matrix, int64_t t) {
  const int64_t length = dm_plan_line(plan);
  const int64_t first = dm_plan_part_of(plan, t) * dm_plan_part_tiles(plan);
  do {
    const int64_t at = (t - first) % length;
    t = is_slow(plan, matrix) ? (at > 0 ? t - 1 : -1) : t - 2 * at - 1; /* in the previous line */
    if (t < first) return -1;
  } while (dm_plan_todo_place(plan, t) < 0);
  return t;
}

int64_t dm_plan_left_by(const dm_plan *plan, dm_matrix matrix, int64_t t, int64_t q) {
  const int64_t before = band_before(plan, matrix, t);
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE) return dm_max(before, -1);
  if (before < 0 || q >= dm_plan_held(plan, matrix)) return -1;
  return dm_plan_todo_place(plan, before) == dm_plan_todo_place(plan, t) - 1 ? before : -1;
}

bool dm_plan_is_first(const dm_plan *plan, dm_matrix matrix, int64_t t) {
  return band_before(plan, matrix, t) < 0;
}

bool dm_plan_is_last(const dm_plan *plan, dm_matrix matrix, int64_t t) {
  const int64_t length = dm_plan_line(plan), tiles = dm_plan_part_tiles(plan);
  const int64_t first = dm_plan_part_of(plan, t) * tiles;
  do {
    const int64_t left = length - 1 - (t - first) % length;
    if (is_slow(plan, matrix) && left == 0) return true;
    t += is_slow(plan, matrix) ? 1 : 2 * left + 1; /* in the next line */
  } while (t < first + tiles && dm_plan_todo_place(plan, t) < 0);
  return t >= first + tiles;
}

int64_t dm_plan_replaces(const dm_plan *plan, dm_matrix matrix, int64_t layer, int64_t t,
                         int64_t q) {
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE) return -1;
  const int64_t held = dm_min(dm_plan_held(plan, matrix), layer), pass = layer - held;
  const int64_t place = dm_plan_todo_place(plan, t);
  if (q < held) return place > 0 ? (place - 1) * layer + q : -1;
  const int64_t before = ring_turn(plan, layer, held, t, q) - plan->reads;
  return before < 0 ? -1 : before / pass * layer + held + before % pass;
}

double dm_plan_read_words(const dm_plan *plan, dm_matrix matrix) {
  const dm_problem *p = &plan->problem;
  const double elements =
      matrix == DM_A ? (double)p->m * (double)p->k : (double)dm_problem_b_rows(p) * (double)p->n;
  if (dm_triangle_reads_once(plan, matrix)) return 0;
  if (dm_plan_residence(plan, matrix) != DM_IN_FILE) return elements;
  const int64_t layer = dm_max(1, dm_range_size(dm_plan_layer(plan, 0)));
  const double lines = (double)(dm_plan_part_tiles(plan) / dm_plan_line(plan));
  const double held = (double)dm_min(dm_plan_held(plan, matrix), layer) / (double)layer;
  /* each line of tiles starts with the last band of the previous one */
  const bool half = p->symmetry != DM_NO_SYMMETRY; /* only tiles on and below the diagonal */
  const double all = is_slow(plan, matrix) ? (double)dm_plan_line(plan) : lines;
  const double again = half ? (all + 1) / 2 : all;
  const double kept = is_slow(plan, matrix) ? 1 : lines - (lines - 1) / (double)dm_plan_line(plan);
  return elements * (held * kept + (1 - held) * again);
}

dm_status dm_todo_new(int64_t tiles, const bool *there, dm_todo **todo) {
  dm_todo *new;
  *todo = NULL;
  DM_TRY(dm_buffer_table(1, &new));
  dm_status status = dm_buffer_table(tiles, &new->tiles);
  if (!status) status = dm_buffer_table(tiles, &new->place);
  if (!status) status = dm_buffer_table(tiles + 1, &new->before);
  if (status) {
    dm_todo_free(new);
    return status;
  }
  for (int64_t t = 0; t < tiles; t++) {
    new->place[t] = there[t] ? -1 : new->count;
    if (!there[t]) new->tiles[new->count++] = t;
  }
  *todo = new;
  return DM_OK;
}

void dm_todo_free(dm_todo *todo) {
  if (!todo) return;
  free(todo->tiles);
  free(todo->place);
  free(todo->before);
  free(todo);
}

int64_t dm_plan_todo(const dm_plan *plan) {
  return plan->todo ? plan->todo->count : dm_plan_tiles(plan);
}

int64_t dm_plan_todo_tile(const dm_plan *plan, int64_t place) {
  return plan->todo ? plan->todo->tiles[place] : place;
}

int64_t dm_plan_todo_place(const dm_plan *plan, int64_t tile) {
  return plan->todo ? plan->todo->place[tile] : tile;
}

/* ---- states ---- */

dm_status dm_tile_states_open(int64_t tiles, dm_tile_states *states) {
  *states = (dm_tile_states){.tiles = tiles};
  return dm_buffer_zeroed(tiles, 1, (void **)&states->state);
}

void dm_tile_states_close(dm_tile_states *states) {
  free(states->state);
  dm_todo_free(states->todo);
  *states = (dm_tile_states){0};
}

void dm_tile_reach(dm_tile_states *states, int64_t tile, unsigned state) {
  states->state[tile] = (uint8_t)(states->state[tile] | state);
}

void dm_tile_reach_all(dm_tile_states *states, unsigned state) {
  for (int64_t t = 0; t < states->tiles; t++) dm_tile_reach(states, t, state);
}

void dm_tile_give_back(dm_tile_states *states, int64_t tile) {
  states->state[tile] = 0;
}

dm_status dm_tile_states_choose(dm_tile_states *states, unsigned state, dm_plan *plan) {
  DM_FREED bool *there = NULL;
  dm_todo *todo = NULL;
  DM_TRY(dm_buffer_table(states->tiles, &there));
  for (int64_t t = 0; t < states->tiles; t++)
    there[t] =
        dm_triangle_is_image(plan, t) ||
        (dm_tile_has(states, t, state) && dm_tile_has(states, dm_triangle_twin(plan, t), state));
  DM_TRY(dm_todo_new(states->tiles, there, &todo));
  measure_todo(plan, todo);
  dm_todo_free(states->todo);
  plan->todo = states->todo = todo;
  return DM_OK;
}
