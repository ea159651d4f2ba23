#include "dataset/entries.h"

#include <string.h>

#include "core/checked.h"
#include "dataset/composite.h"
#include "dataset/naming.h"

/* The extent of dimension I of C's leading ones in LEADS, which may have fewer. */
static int64_t extent_at(const dm_leads *leads, const dm_leads *of_c, int i) {
  const int at = i - (of_c->count - leads->count);
  return at < 0 ? 1 : leads->extent[at];
}

static dm_status unlike(const dm_dataset *a, const dm_dataset *b) {
  const dm_dataset *const sets[2] = {a, b};
  char shape[2][DM_SHAPE_TEXT];
  for (int x = 0; x < 2; x++) {
    dm_axes axes = {.count = sets[x]->leads.count};
    memcpy(axes.extent, sets[x]->leads.extent, sizeof axes.extent);
    dm_axes_text(&axes, shape[x]);
  }
  return dm_hint(
      dm_fail(DM_E_INPUT, "the leading dimensions of A are %s, those of B %s", shape[0], shape[1]),
      "they must be equal, or 1, or absent, as in NumPy's matmul");
}

static dm_status entries_broadcast(const dm_dataset *a, const dm_dataset *b, dm_leads *leads) {
  const dm_leads *longer = a->leads.count > b->leads.count ? &a->leads : &b->leads;
  int64_t entries = 1;
  *leads = *longer;
  for (int i = 0; i < leads->count; i++) {
    const int64_t of_a = extent_at(&a->leads, leads, i), of_b = extent_at(&b->leads, leads, i);
    if (of_a != of_b && of_a != 1 && of_b != 1) return unlike(a, b);
    leads->extent[i] = dm_max(of_a, of_b);
    if (dm_mul_overflows(entries, leads->extent[i], &entries))
      return dm_fail(DM_E_INPUT, "A and B have more entries than 64 bits can count");
  }
  return DM_OK;
}

/* The entry of a dataset with leading dimensions OWN for entry E of C. */
static int64_t entry_for(const dm_leads *own, const dm_leads *of_c, int64_t e) {
  int64_t entry = 0, stride = 1;
  for (int i = of_c->count - 1; i >= 0; i--) {
    const int64_t extent = extent_at(own, of_c, i);
    if (extent > 1) entry += e % of_c->extent[i] * stride;
    stride *= extent;
    e /= of_c->extent[i];
  }
  return entry;
}

/* Entries side by side are one below the other once they are transposed. */
static dm_status entries_compose(dm_dataset *d, bool turned, const dm_leads *order) {
  const int64_t count = dm_leads_entries(order), own = dm_leads_entries(&d->leads);
  const int64_t rows = d->rows / own, cols = d->cols;
  dm_dataset whole = *d;
  dm_composer made = {NULL};
  int64_t all;
  if (dm_mul_overflows(count, turned ? cols : rows, &all) || dm_mul_overflows(all, 16, &all))
    return dm_fail_at(DM_E_INPUT, &d->at, "has more elements than 64 bits can count");
  if (dm_dataset_is_empty(d)) { /* k is 0 */
    d->rows = turned ? rows : count * rows;
    d->cols = turned ? count * cols : cols;
    d->leads.count = 0;
    return DM_OK;
  }
  dm_status status = DM_OK;
  for (int64_t e = 0; e < count && !status; e++) {
    const dm_patch patch = {.row = turned ? 0 : e * rows,
                            .col = turned ? e * cols : 0,
                            .rows = rows,
                            .cols = cols,
                            .source_row = entry_for(&d->leads, order, e) * rows};
    status = dm_composer_add_part(&made, &whole, &patch);
  }
  if (!status)
    status = dm_composer_finish_dataset(&made, turned ? rows : count * rows,
                                        turned ? count * cols : cols, &whole, d);
  dm_composer_free(&made);
  d->leads.count = 0; /* it counts as one matrix now */
  if (!status) dm_dataset_free(&whole);
  return dm_file_named(status, &whole.at);
}

static dm_status entries_arrange(dm_dataset *d, bool turned, const dm_leads *order) {
  const int64_t count = dm_leads_entries(order);
  const bool in_order = dm_leads_entries(&d->leads) == count;
  return in_order && (count == 1 || !turned) ? DM_OK : entries_compose(d, turned, order);
}

dm_status dm_entries_arrange(dm_dataset *a, bool a_turned, dm_dataset *b, bool b_turned,
                             dm_leads *leads) {
  DM_TRY(entries_broadcast(a, b, leads));
  const bool one_b = dm_leads_entries(&b->leads) == 1;
  if (leads->count == 0) return DM_OK;
  DM_TRY(entries_arrange(a, a_turned, leads));
  if (!one_b) DM_TRY(entries_arrange(b, b_turned, leads));
  a->batch = b->batch = one_b ? 1 : dm_leads_entries(leads);
  return DM_OK;
}
