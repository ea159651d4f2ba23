/* Keeps what is good of a wrong C for the run that repairs it: the journal names the good tiles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "job/checkpoint_impl.h"
#include "plan/partition.h"
#include "run/aside.h"

enum { MOST_TILES = 16, FEWEST_ROWS = 64 /* per rank and tile */ };

/* The parts that are good, as tiles of CUT. */
typedef struct leftover {
  dm_plan cut;
  int64_t tiles;
  dm_tile_record *list;
  bool *good;
  uint64_t *sums;
} leftover;

static bool is_wrong(const dm_tile_record *r, const dm_wrong_part *wrong, int64_t count) {
  const dm_range rows = {r->row, r->row + r->rows}, cols = {r->col, r->col + r->cols};
  bool is = false;
  for (int64_t i = 0; i < count; i++)
    is |= dm_range_meets(rows, wrong[i].rows) && dm_range_meets(cols, wrong[i].cols);
  return is;
}

/* Cuts a single tile, so that only part of it must be computed again. */
static void choose_cut(const dm_checkpoint *c, leftover *l) {
  const dm_plan *plan = c->plan;
  l->cut = *plan;
  l->cut.todo = NULL;
  if (c->tiles == 1) {
    const int64_t least = dm_max(FEWEST_ROWS, plan->border) * plan->pm * plan->pk;
    l->cut.tiles_m = dm_max(1, dm_min(MOST_TILES, plan->problem.m / least));
  }
  l->tiles = dm_plan_tiles(&l->cut);
}

static dm_status open_list(dm_checkpoint *c, const dm_wrong_part *wrong, int64_t count,
                           leftover *l) {
  DM_TRY(dm_buffer_table(l->tiles, &l->list));
  DM_TRY(dm_buffer_table(l->tiles, &l->good));
  DM_TRY(dm_buffer_table(dm_max(l->tiles, c->tiles), &l->sums));
  for (int64_t t = 0; t < l->tiles; t++) {
    l->list[t] = l->tiles == c->tiles ? c->records[t] : dm_trust_record(&l->cut, t);
    if (l->tiles != c->tiles) l->list[t].run = c->records[0].run;
    l->good[t] = !is_wrong(&l->list[t], wrong, count);
  }
  return DM_OK;
}

/* Collective: computes checksums of the smaller tiles if the whole still has the checksum it was
 * written with. */
static dm_status sum_anew(dm_checkpoint *c, leftover *l) {
  const dm_comm *world = c->run->world;
  DM_TRY(dm_comm_agree(world, dm_trust_sums(c, &c->file, c->records, c->tiles, NULL, l->sums)));
  DM_TRY(dm_comm_sum_i64(world, (int64_t *)l->sums, c->tiles));
  int64_t as_written = l->sums[0] == c->records[0].checksum; /* only rank 0 knows */
  DM_TRY(dm_comm_broadcast(world, &as_written, sizeof as_written, 0));
  if (!as_written) memset(l->good, 0, (size_t)l->tiles * sizeof *l->good);
  memset(l->sums, 0, (size_t)l->tiles * sizeof *l->sums);
  DM_TRY(dm_comm_agree(world, dm_trust_sums(c, &c->file, l->list, l->tiles, l->good, l->sums)));
  DM_TRY(dm_comm_sum_i64(world, (int64_t *)l->sums, l->tiles));
  for (int64_t t = 0; t < l->tiles; t++) l->list[t].checksum = l->sums[t];
  return DM_OK;
}

static void name_cut(const leftover *l, dm_attributes *fields) {
  for (int i = 0; i < fields->count; i++)
    if (strcmp(fields->list[i].name, "tiles_m") == 0)
      snprintf(fields->list[i].text, sizeof fields->list[i].text, "%lld",
               (long long)l->cut.tiles_m);
}

/* The leftover and its checkpoint. */
typedef struct leaving {
  dm_checkpoint *checkpoint;
  leftover *leftover;
} leaving;

static dm_status record_good(void *context, const dm_keepalive *keepalive) {
  dm_checkpoint *c = ((leaving *)context)->checkpoint;
  leftover *l = ((leaving *)context)->leftover;
  int64_t count = 0;
  (void)keepalive; /* writes few bytes */
  for (int64_t t = 0; t < l->tiles; t++)
    if (l->good[t]) l->list[count++] = l->list[t];
  name_cut(l, &c->fields);
  DM_TRY(dm_journal_begin(c->journal, &c->fields));
  DM_TRY(dm_journal_append(c->journal, l->list, count));
  c->written = c->complete = count; /* wrong tiles are not recorded later, either */
  return DM_OK;
}

static dm_status give_back(dm_checkpoint *c, const dm_wrong_part *wrong, int64_t count,
                           leftover *l) {
  choose_cut(c, l);
  DM_TRY(dm_comm_agree(c->run->world, open_list(c, wrong, count, l)));
  if (l->tiles != c->tiles) DM_TRY(sum_anew(c, l));
  leaving one = {c, l};
  dm_status status = c->run->rank == 0 ? dm_run_aside(c->run, record_good, &one) : DM_OK;
  return dm_comm_agree(c->run->world, status);
}

/* This run removes a part file of which nothing is kept, whoever created it. */
dm_status dm_checkpoint_give_back(dm_checkpoint *c, const dm_wrong_part *wrong, int64_t count,
                                  int64_t *good, int64_t *tiles) {
  leftover l = {.tiles = c->tiles};
  c->taken = c->written = c->complete = 0;
  dm_status status = c->on ? give_back(c, wrong, count, &l) : DM_OK;
  free(l.list);
  free(l.good);
  free(l.sums);
  DM_TRY(status);
  *good = c->written;
  DM_TRY(dm_comm_broadcast(c->run->world, good, sizeof *good, 0));
  *tiles = *good > 0 ? l.tiles : c->tiles;
  c->created |= *good == 0;
  return DM_OK;
}
