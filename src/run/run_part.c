/* A part of a run: its first ranks, whole nodes before others. */
#include <stdlib.h>

#include "core/buffer.h"
#include "run/run.h"

typedef struct standing {
  int64_t node, rank; /* the node's number is the lowest of its ranks */
} standing;

static dm_status find_place(const dm_run *run, int64_t *place) {
  standing own = {run->rank, run->rank}, *all;
  DM_TRY(dm_comm_broadcast(run->node, &own.node, sizeof own.node, 0));
  DM_TRY(dm_comm_agree(run->world, dm_buffer_zeroed(run->ranks, sizeof *all, (void **)&all)));
  dm_status status = dm_comm_gather(run->world, &own, sizeof own, all, 0);
  if (!status) status = dm_comm_broadcast(run->world, all, run->ranks * (int64_t)sizeof own, 0);
  *place = 0;
  for (int r = 0; r < run->ranks; r++)
    *place += all[r].node < own.node || (all[r].node == own.node && all[r].rank < own.rank);
  free(all);
  return status;
}

/* The first of the ranks that count as one node in the whole run, pretended or not. */
static dm_status find_near(const dm_run *run, int64_t *first) {
  *first = run->rank;
  return dm_comm_broadcast(run->near, first, sizeof *first, 0);
}

static dm_status find_nodes(dm_run *part, int64_t near) {
  part->rank = dm_comm_rank(part->world);
  part->ranks = dm_comm_size(part->world);
  DM_TRY(dm_comm_split_node(part->world, &part->node));
  DM_TRY(dm_comm_split(part->node, (int)near, part->rank, &part->near));
  int64_t nodes[2] = {dm_comm_rank(part->near) == 0, dm_comm_rank(part->node) == 0};
  DM_TRY(dm_comm_sum_i64(part->world, nodes, 2));
  part->nodes = (int)nodes[0];
  part->pretends = nodes[0] > nodes[1];
  return DM_OK;
}

dm_status dm_run_part_open(const dm_run *run, int count, dm_run *part) {
  int64_t place, near;
  *part = *run;
  part->world = part->node = part->near = NULL;
  part->pretends = false;
  DM_TRY(find_place(run, &place));
  DM_TRY(find_near(run, &near));
  DM_TRY(dm_comm_split(run->world, place < count ? 0 : -1, (int)place, &part->world));
  return part->world ? find_nodes(part, near) : DM_OK;
}

void dm_run_part_close(dm_run *part) {
  if (!part->world) return;
  dm_comm_free(part->near);
  dm_comm_free(part->node);
  dm_comm_free(part->world);
}
