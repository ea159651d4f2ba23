/* The recipe of a plan determines the bits of C; its hash must be equal on all ranks. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "plan/identity.h"
#include "plan/tiles.h"

static uint64_t hash_of_row(const dm_compute *row) {
  const int64_t fields[] = {row->inputs,   row->results,     row->work,         row->operand,
                            row->products, row->accumulator, row->accumulators, row->sum,
                            row->finish,   row->panel_bytes, row->tile_bytes,   row->truncates,
                            row->moduli,   row->falls_back};
  const double errors[] = {row->roundoff, row->shortening};
  return XXH3_64bits(fields, sizeof fields) ^ XXH3_64bits(errors, sizeof errors) ^
         XXH3_64bits(row->name, strlen(row->name));
}

static uint64_t hash_of_todo(const dm_plan *plan) {
  const dm_todo *todo = plan->todo;
  return todo ? XXH3_64bits(todo->tiles, (size_t)todo->count * sizeof *todo->tiles) : 0;
}

/* Every field that controls a rank, as numbers in a fixed order: structures have padding. */
uint64_t dm_plan_hash(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  const int64_t todo = dm_plan_todo(plan), tiles = (int64_t)hash_of_todo(plan);
  const int64_t compute = (int64_t)hash_of_row(&p->compute);
  const int64_t kernel = (int64_t)XXH3_64bits(plan->kernel, strlen(plan->kernel));
  /* clang-format off */
  const int64_t fields[] = {
      p->m, p->n, p->k, p->batch, p->file_a, p->file_b, p->work, p->accumulator, p->c, compute, p->reads_c,
      p->scales, p->home[DM_A], p->home[DM_B], p->home[DM_C], p->home[DM_OLD], p->verify, p->op_a, p->op_b, p->chunk_a, p->chunk_b, p->chunk_c,
      plan->ranks, plan->pm, plan->pn, plan->pk, plan->qm, plan->qn, plan->qk, plan->kb, plan->ramp[0],
      plan->ramp[1], plan->panels, plan->slots, plan->border, plan->tiles_m, plan->tiles_n,
      plan->blocks, plan->down, todo, tiles, plan->held_a, plan->held_b, plan->reads, plan->strips,
      plan->stretch, plan->reproducible, plan->overlap, plan->read_first, plan->gpu, plan->device_links,
      plan->in_place, plan->shared_a, plan->shared_b, plan->copies_a, plan->copies_b, plan->a,
      plan->b, plan->host_bytes, plan->device_bytes, plan->disk_bytes, kernel};
  /* clang-format on */
  return XXH3_64bits(fields, sizeof fields);
}

const char *dm_problem_batch_text(const dm_problem *problem, char text[32]) {
  text[0] = '\0';
  if (dm_problem_entries(problem) > 1)
    snprintf(text, 32, " batch=%lld", (long long)dm_problem_entries(problem));
  return text;
}

void dm_plan_ramp_text(const dm_plan *plan, char text[32]) {
  const long long first = plan->ramp[0], second = plan->ramp[1];
  text[0] = '\0';
  if (second > 0)
    snprintf(text, 32, "%lld,%lld", first, second);
  else if (first > 0)
    snprintf(text, 32, "%lld", first);
}

void dm_plan_recipe(const dm_plan *plan, char text[DM_RECIPE]) {
  const dm_problem *p = &plan->problem;
  char cuts[96];
  /* with fixed borders the bits do not depend on grid and tiles */
  if (plan->border > 0)
    snprintf(cuts, sizeof cuts, "border=%lld", (long long)plan->border);
  else if (dm_plan_tiles(plan) > 1)
    snprintf(cuts, sizeof cuts, "tiles=%lldx%lld grid=%dx%dx%d", (long long)plan->tiles_m,
             (long long)plan->tiles_n, plan->pm, plan->pn, plan->pk);
  else
    snprintf(cuts, sizeof cuts, "grid=%dx%dx%d", plan->pm, plan->pn, plan->pk);
  char ramp[32], end[32] = "";
  dm_plan_ramp_text(plan, ramp);
  if (plan->strips > 0 && plan->border == 0)
    snprintf(end, sizeof end, " end=%lldx%d", (long long)plan->stretch, plan->strips);
  snprintf(text, DM_RECIPE, "%s kb=%lld%s%s%s work=%s sums=%s c=%s%s%s", cuts, (long long)plan->kb,
           ramp[0] ? " ramp=" : "", ramp, end, dm_compute_products(&p->compute, p->work),
           dm_dtype_name(p->accumulator), dm_dtype_name(p->c), plan->kernel[0] ? " kernel=" : "",
           plan->kernel);
}
