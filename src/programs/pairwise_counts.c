/* Counts of variants that two samples have, from the missing genotypes alone. */
#include <stdlib.h>
#include <string.h>

#include "check/freivalds.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "io/genotype_pairs.h"
#include "product/provenance.h"
#include "product/rows_file.h"
#include "programs/pairwise_impl.h"

bool dm_pairwise_counts_alone(const pairwise *p) {
  const dm_centering *c = p->centering[0];
  return p->relates && p->one && p->multiply->a.cols == p->m &&
         dm_genotype_pairs_suit(p->k - c->left_out, p->m, c->filled);
}

/* COUNT rows, from sample FIRST on. */
static dm_status count_rows(const pairwise *p, int64_t first, int64_t count, double *rows) {
  const dm_check_seed *stated = &p->multiply->seed;
  dm_centering present = *p->centering[0];
  dm_dataset set = p->multiply->a;
  present.role = DM_ROLE_PRESENT;
  set.centering = &present;
  dm_genotype_pairs pairs = {.set = &set,
                             .weights = p->centering[0]->weight,
                             .first = first,
                             .count = count,
                             .threads = p->run->cores.threads,
                             .verify = p->multiply->verify,
                             .seed = stated->value,
                             .keepalive = &p->run->of_thread};
  if (count == 0) return DM_OK;
  if (!stated->stated) DM_TRY(dm_freivalds_draw_seed(&pairs.seed));
  return dm_genotype_pairs_count(&pairs, rows);
}

/* Rows are counted as many at a time as there is memory for, since all variants are passed for
 * them. */
typedef struct counted_rows {
  const pairwise *p;
  int64_t most, first, count;
  double *rows;
} counted_rows;

static dm_status counts_bring(void *context, dm_view rows, int64_t row) {
  counted_rows *c = context;
  for (int64_t i = 0; i < rows.rows; i++) {
    const int64_t at = row + i;
    if (at < c->first || at >= c->first + c->count) {
      c->first = at;
      c->count = dm_min(c->most, c->p->own.end - at);
      DM_TRY(count_rows(c->p, c->first, c->count, c->rows));
    }
    memcpy(dm_view_at(rows, i, 0), c->rows + (at - c->first) * c->p->n,
           (size_t)c->p->n * sizeof *c->rows);
  }
  return DM_OK;
}

static dm_status counts_describe(void *context, const dm_run *run, dm_attributes *list) {
  const pairwise *p = ((const counted_rows *)context)->p;
  list->count = 0;
  DM_TRY(dm_provenance_inputs(list, run, p->multiply, false));
  DM_TRY(dm_provenance_notes(list, run));
  DM_TRY(dm_attributes_add(list, "product", "pairwise counts"));
  return dm_attributes_add(list, "verified", "%s", p->multiply->verify ? "PASS" : "no");
}

static dm_status write_counts(pairwise *p, const dm_location *at, counted_rows *counted) {
  const dm_multiply *m = p->multiply;
  dm_rows_file file = {.out = *at,
                       .rows = p->m,
                       .cols = p->n,
                       .dtype = DM_F64,
                       .io_threads = m->engine.io_threads,
                       .write_by = m->engine.write_by,
                       .force = true,
                       .sums = true,
                       .bring = counts_bring,
                       .describe = counts_describe,
                       .context = counted};
  dm_status status = dm_output_form_complete(&file.form, file.dtype, p->m, p->n);
  if (!status)
    status =
        dm_buffer_alloc(counted->most * p->n * (int64_t)sizeof(double), (void **)&counted->rows);
  DM_TRY(dm_comm_agree(p->run->world, status));
  return dm_rows_file_write(p->run, &file);
}

dm_status dm_pairwise_count_to_file(pairwise *p, const dm_location *at, int64_t room) {
  const int64_t fit = room / (p->n * (int64_t)sizeof(double));
  counted_rows counted = {.p = p, .most = dm_max(1, dm_min(fit, dm_range_size(p->own)))};
  dm_status status = write_counts(p, at, &counted);
  free(counted.rows);
  return status;
}

dm_status dm_pairwise_count_in_memory(pairwise *p) {
  const int64_t own = dm_range_size(p->own);
  return dm_comm_agree(p->run->world, count_rows(p, p->own.begin, own, p->rows[COUNTS]));
}
