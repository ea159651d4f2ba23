#include "transform/terms.h"

#include <math.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/centering.h"
#include "core/checksum.h"
#include "io/read.h"

/* ---- numbers of the user ---- */

dm_status dm_unsuitable_number(const dm_dataset *set, int64_t i, double value, const char *what) {
  char name[DM_NAME];
  return dm_fail(DM_E_INPUT, "%s: number %lld (counted from 0) is %g: %s",
                 dm_location_name(&set->at, name), (long long)i, value, what);
}

static dm_status read_numbers(const dm_dataset *set, double *list) {
  dm_reader *reader;
  const dm_view view = dm_view_row_major(list, DM_F64, set->rows, set->cols);
  DM_TRY(dm_reader_open(set, DM_F64, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  for (int64_t i = 0; i < set->rows * set->cols && !status; i++)
    if (!isfinite(list[i])) status = dm_unsuitable_number(set, i, list[i], "it must be finite");
  return status;
}

dm_status dm_read_vector(const dm_run *run, const dm_dataset *set, double **list) {
  const int64_t bytes = set->rows * set->cols * (int64_t)sizeof(double);
  *list = NULL;
  dm_status status = dm_buffer_alloc(bytes, (void **)list);
  if (!status && run->rank == 0) status = read_numbers(set, *list);
  DM_TRY(dm_comm_agree(run->world, status));
  return dm_comm_broadcast(run->world, *list, bytes, 0);
}

/* ---- weights ---- */

static dm_status check_weights(const dm_dataset *set, dm_weights_are are, const dm_terms *w) {
  double largest = 0.0;
  char name[DM_NAME];
  for (int64_t i = 0; i < w->count; i++) {
    const double weight = w->list[i];
    if (weight < 0.0) return dm_unsuitable_number(set, i, weight, "weights are not negative");
    if (are == DM_FREQUENCIES && weight != floor(weight))
      return dm_unsuitable_number(set, i, weight, "frequencies are whole numbers");
    largest = fmax(largest, weight);
  }
  if (largest > 0.0) return DM_OK;
  return dm_fail(DM_E_INPUT, "%s: all weights are 0", dm_location_name(&set->at, name));
}

static dm_status take_weights(const dm_run *run, const dm_equation *equation, const dm_dataset *set,
                              dm_terms *w) {
  const bool stated = equation->standard[0].weighted;
  if (stated) DM_TRY(dm_read_vector(run, set, &w->list));
  if (!stated) DM_TRY(dm_buffer_table(w->count, &w->list));
  for (int64_t i = 0; i < w->count && !stated; i++) w->list[i] = 1.0;
  DM_TRY(dm_buffer_table(w->count, &w->roots));
  return stated ? check_weights(set, equation->weights_are, w) : DM_OK;
}

dm_status dm_terms_open(const dm_run *run, const dm_equation *equation, const dm_dataset *set,
                        int64_t count, dm_terms *w) {
  *w = (dm_terms){.count = count, .complete = -1};
  return dm_comm_agree(run->world, take_weights(run, equation, set, w));
}

void dm_terms_close(dm_terms *w) {
  free(w->list);
  free(w->roots);
  *w = (dm_terms){.list = NULL};
}

/* The even power of two that weights are divided by; those that are left out do not count. */
static int terms_exponent_of(const dm_terms *w) {
  double largest = 0.0;
  int exponent = 0;
  for (int64_t i = 0; i < w->count; i++) largest = fmax(largest, w->list[i]);
  (void)frexp(largest, &exponent);
  return exponent - exponent % 2;
}

/* If sums are not DIVIDED, their terms have the weights as they are. */
static void terms_scale(dm_terms *w, dm_weights_are are, bool divided) {
  const int exponent = terms_exponent_of(w);
  double squares = 0.0;
  for (int64_t i = 0; i < w->count; i++) {
    double *weight = &w->list[i];
    w->roots[i] = DM_LEFT_OUT;
    if (*weight < 0.0) continue;
    w->roots[i] = sqrt(*weight);
    if (divided) w->roots[i] = scalbn(w->roots[i], -exponent / 2);
    *weight = scalbn(*weight, -exponent);
    w->sum += *weight;
    squares += *weight * *weight;
  }
  w->less_one = w->sum - (are == DM_FREQUENCIES ? scalbn(1.0, -exponent) : squares / w->sum);
}

static dm_status too_few(const dm_terms *w, const char *why) {
  return dm_hint(dm_fail(DM_E_INPUT, "%lld of %lld observations are complete%s",
                         (long long)w->complete, (long long)w->count, why),
                 "--missing pairwise and mean use the others, too");
}

dm_status dm_terms_complete(dm_terms *w, dm_equation *equation) {
  const bool less = equation->divide == DM_DIVIDE_BY_N_LESS_1;
  w->user_sum = dm_checksum_bytes(w->list, w->count * (int64_t)sizeof(double),
                                  (uint64_t)equation->weights_are + 1);
  terms_scale(w, equation->weights_are, equation->divide != DM_NO_DIVISION);
  const double by = less ? w->less_one : w->sum;
  if (!(w->sum > 0.0)) return too_few(w, w->complete > 0 ? ", and have no weight" : "");
  if (equation->divide != DM_NO_DIVISION && !(by > 0.0))
    return w->complete >= 0
               ? too_few(w, ": sums cannot be divided by n-1")
               : dm_fail(DM_E_INPUT,
                         "sums with these weights cannot be divided by n-1, which is %g", by);
  dm_equation_divide_by(by, equation);
  return DM_OK;
}
