/* A compute mode: products with even and odd k are summed in accumulators of their own. */
#include "extensions/toys.h"

static void multiply(void *context, const dm_view *c, dm_view a, dm_view b, bool accumulate,
                     dm_exponents exponents) {
  (void)context;
  (void)exponents;
  for (int64_t i = 0; i < c[0].rows; i++)
    for (int64_t j = 0; j < c[0].cols; j++) {
      double sum[2] = {0, 0};
      for (int x = 0; x < 2 && accumulate; x++) sum[x] = *(double *)dm_view_at(c[x], i, j);
      for (int64_t l = 0; l < a.cols; l++)
        sum[l % 2] += *(double *)dm_view_at(a, i, l) * *(double *)dm_view_at(b, l, j);
      for (int x = 0; x < 2; x++) *(double *)dm_view_at(c[x], i, j) = sum[x];
    }
}

static void finish(void *context, void *sums, const void *const *accumulators, int64_t count,
                   dm_exponents exponents) {
  (void)context;
  (void)exponents;
  const double *even = accumulators[0], *odd = accumulators[1];
  for (int64_t i = 0; i < count; i++) ((double *)sums)[i] = even[i] + odd[i];
}

const dm_compute toy_mode = {.name = "toy",
                             .inputs = 1 << DM_F64,
                             .results = 1 << DM_F64,
                             .work = DM_F64,
                             .operand = DM_F64,
                             .products = 2,
                             .accumulator = DM_F64,
                             .accumulators = 2,
                             .sum = DM_F64,
                             .finish = DM_FINISH_LAST,
                             .roundoff = 0x1p-53};
const dm_compute_calls toy_calls = {.product = multiply, .finish = finish};
