/* ranks: 2 4 8. Moves matrices between all divisions, from GPU to GPU, in many small rounds; at
 * one end ranks may have host memory. */
#include "layout/relocation.h"
#include "library_moves.h"

enum { CASES = 60 };

static dm_status open_spread(gpu_test *t, const damier_matrix *m, dm_distributed *all) {
  const dm_memory_matrix memory = dm_memory_of(m);
  DM_TRY(dm_distributed_open(t->base.run.world, &memory, "X", all));
  return dm_distributed_reach(all, t->gpu, "X");
}

static dm_status move_all(gpu_test *t, dm_workspace *space, const damier_matrix m[2],
                          int64_t per_round) {
  dm_distributed ends[2];
  dm_relocation relocation;
  bool there;
  for (int i = 0; i < 2; i++) DM_TRY(open_spread(t, &m[i], &ends[i]));
  DM_TRY(dm_relocation_open(&t->base.run, &ends[0], &ends[1], m[0].row_stride == 1, per_round,
                            &relocation));
  DM_TRY(dm_workspace_open(space, &t->base.run, t->gpu, "auto", 512 + relocation.rounds.bytes,
                           &there));
  CHECK(&t->base, there, "no workspace");
  dm_status status = there ? dm_relocation_run(&relocation, space, 512) : DM_OK;
  dm_relocation_close(&relocation);
  for (int i = 0; i < 2; i++) dm_distributed_close(&ends[i]);
  return status;
}

static void try_relocation(gpu_test *t, random_state *r, dm_workspace *space, int number) {
  static const damier_type types[] = {DAMIER_F64, DAMIER_F32, DAMIER_C128, DAMIER_I8};
  const int64_t rows = draw(r, 1, 90), cols = draw(r, 1, 90), who = draw(r, 0, 3);
  const damier_type type = types[draw(r, 0, 3)];
  moved x = {.extent = {{0, rows}, {0, cols}}};
  gpu_copy there[2] = {{0}};
  x.from = random_spread(&t->base, r, type, rows, cols);
  x.to = random_spread(&t->base, r, type, rows, cols);
  const bool by_columns = x.from.m.row_stride == 1;
  x.to.m.row_stride = by_columns ? 1 : cols + draw(r, 0, 3);
  x.to.m.col_stride = by_columns ? rows + draw(r, 0, 3) : 1;
  spread *const spreads[2] = {&x.from, &x.to};
  damier_matrix m[2];
  for (int i = 0; i < 2; i++) {
    fill(&t->base, spreads[i], i);
    m[i] = spreads[i]->m;
    if (who != i || t->base.run.rank % 2 == 0)
      m[i] = put_on_gpu(&t->base, t->gpu, spreads[i], &there[i]);
  }
  must(&t->base, move_all(t, space, m, draw(r, 1, 20000)));
  for (int i = 0; i < 2; i++) take_from_gpu(&t->base, t->gpu, spreads[i], &there[i]);
  const int64_t wrong = count_unlike(&t->base, &x);
  CHECK(&t->base, wrong == 0, "move %d (%lld x %lld, divisions %d and %d): %lld wrong", number,
        (long long)rows, (long long)cols, x.from.m.division, x.to.m.division, (long long)wrong);
  free(x.from.m.data);
  free(x.to.m.data);
}

TEST_PROGRAM(test_relocate_gpu) {
  gpu_test test;
  dm_workspace space = {0};
  if (!gpu_test_start(&test, false)) return SKIPPED;
  random_state r = {20261126};
  for (int i = 0; i < CASES; i++) try_relocation(&test, &r, &space, i);
  dm_workspace_close(&space);
  return gpu_test_end(&test);
}
