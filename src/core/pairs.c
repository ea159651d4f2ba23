#include "core/pairs.h"

#include "core/copy.h"
#include "core/crew.h"

typedef struct finishing {
  dm_view c;
  const dm_pairs *pairs;
  const dm_pair_form *form;
} finishing;

static dm_status finish_row(void *context, int64_t i) {
  const finishing *f = context;
  for (int64_t j = 0; j < f->c.cols; j++) {
    const dm_pair of = dm_pair_at(f->pairs, i, j);
    const double value = dm_pair_element(f->form, &of, f->pairs->first + i == j);
    dm_store_wide(dm_view_at(f->c, i, j), f->c.dtype, 1, &value, 1);
  }
  return DM_OK;
}

dm_status dm_pairs_finish(int threads, dm_view c, const dm_pairs *pairs, const dm_pair_form *form) {
  finishing f = {c, pairs, form};
  return dm_fork_each(c.rows, threads, finish_row, &f);
}
