#include "product/center_product.h"

dm_status dm_center_product(dm_run *run, dm_multiply *m, dm_centered_room rooms[2],
                            dm_centered *centered) {
  const dm_factors f = {
      &m->vectors,
      &m->equation,
      {&m->a, &m->b},
      {m->a.memory.base ? NULL : m->in_memory[DM_A], m->b.memory.base ? NULL : m->in_memory[DM_B]},
      &m->engine,
      rooms,
      NULL};
  *centered = (dm_centered){.made = {NULL, NULL}};
  if (m->measurement) return DM_OK;
  DM_TRY(dm_center_factors(run, m->engine.io_threads, &f, &m->equation, centered));
  for (int x = 0; x < 2; x++)
    if (f.memory[x] && f.sets[x]->centering) m->in_memory[x] = &centered->copies[x].stated;
  return DM_OK;
}
