#include "io/genotype_counts.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "dataset/composite.h"
#include "dataset/genotypes.h"
#include "io/read_impl.h"

enum { TASK = 1 << 14 /* variants of a thread's turn */, GENOTYPE_COUNTS_WORD = 8 /* bytes */ };

/* A part of the matrix that is a part of a file. */
typedef struct genotype_counts_counting {
  dm_reader *reader;
  dm_patch patch;
  const double *weights;   /* of the patch's columns, or NULL */
  uint64_t *mask;          /* 01 at each code that counts, from that of the first column on */
  int64_t words, in_mask;  /* codes that count */
  dm_allele_count *counts; /* of the patch's rows */
} genotype_counts_counting;

/* Some rows of it. */
typedef struct counting_task {
  const genotype_counts_counting *of;
  int64_t first, count;
} counting_task;

static bool counting_has(const genotype_counts_counting *c, int64_t col) {
  return !c->weights || c->weights[col] >= 0.0;
}

/* Codes begin in the middle of a byte. */
static dm_status counting_set_mask(genotype_counts_counting *c) {
  const dm_patch *p = &c->patch;
  const int64_t first = p->source_col % 4, codes = first + (p->cols - 1) * p->col_step + 1;
  c->words = dm_ceil_div(dm_genotype_bytes(codes), GENOTYPE_COUNTS_WORD);
  DM_TRY(dm_buffer_table(c->words, &c->mask));
  unsigned char *bytes = (unsigned char *)c->mask;
  for (int64_t j = 0; j < p->cols; j++) {
    const int64_t code = first + j * p->col_step;
    if (!counting_has(c, j)) continue;
    bytes[code / 4] |= (unsigned char)(1 << 2 * (code % 4));
    c->in_mask++;
  }
  return DM_OK;
}

/* A line of a variant. */
static void counting_take_variant(void *context, int64_t row, const uint8_t *line, int64_t first) {
  const counting_task *task = context;
  const genotype_counts_counting *c = task->of;
  const dm_patch *p = &c->patch;
  const int64_t bytes = dm_genotype_bytes(first + (p->cols - 1) * p->col_step + 1);
  int64_t one = 0, none = 0, missing = 0;
  for (int64_t i = 0; i < c->words; i++) {
    uint64_t word = 0;
    memcpy(&word, line + i * GENOTYPE_COUNTS_WORD,
           (size_t)dm_min(GENOTYPE_COUNTS_WORD, bytes - i * GENOTYPE_COUNTS_WORD));
    const uint64_t low = word & c->mask[i], high = word >> 1 & c->mask[i];
    none += __builtin_popcountll(low & high);
    one += __builtin_popcountll(high & ~low);
    missing += __builtin_popcountll(low & ~high);
  }
  dm_allele_count *count = &c->counts[task->first + row];
  count->called += c->in_mask - missing;
  count->copies += 2 * (c->in_mask - missing - none) - one;
}

/* A line of a sample, with the task's variants. */
static void counting_take_sample(void *context, int64_t col, const uint8_t *line, int64_t first) {
  const counting_task *task = context;
  const genotype_counts_counting *c = task->of;
  if (!counting_has(c, col)) return;
  for (int64_t i = 0; i < task->count; i++) {
    const int8_t number = dm_genotype_of(dm_genotype_code(line, first + i * c->patch.row_step));
    dm_allele_count *count = &c->counts[task->first + i];
    count->called += number != DM_GENOTYPE_MISSING;
    count->copies += number == DM_GENOTYPE_MISSING ? 0 : number;
  }
}

static dm_status counting_run(void *context, int64_t i) {
  const genotype_counts_counting *c = context;
  const dm_patch *p = &c->patch;
  counting_task task = {c, i * TASK, dm_min(TASK, p->rows - i * TASK)};
  const dm_line rows = {p->source_row + task.first * p->row_step, p->row_step};
  const dm_line cols = {p->source_col, p->col_step};
  dm_scratch scratch = {.memory = {NULL, NULL}};
  const bool by_columns = c->reader->dataset.by_columns;
  dm_status status = dm_reader_each_packed(
      c->reader,
      by_columns ? (dm_crossings){cols, rows, p->cols, task.count}
                 : (dm_crossings){rows, cols, task.count, p->cols},
      &scratch, by_columns ? counting_take_sample : counting_take_variant, &task);
  dm_scratch_free(&scratch);
  return status;
}

/* PATCH of SOURCE. */
static dm_status counting_patch(const dm_dataset *source, const dm_patch *patch,
                                const double *weights, int threads, dm_allele_count *counts) {
  genotype_counts_counting c = {.patch = *patch,
                                .weights = weights ? weights + patch->col : NULL,
                                .counts = counts + patch->row};
  if (patch->rows <= 0 || patch->cols <= 0) return DM_OK;
  DM_TRY(dm_reader_open(source, DM_DTYPE_NONE, &c.reader));
  dm_status status = counting_set_mask(&c);
  if (!status) status = dm_fork_each(dm_ceil_div(patch->rows, TASK), threads, counting_run, &c);
  free(c.mask);
  dm_reader_close(c.reader);
  return status;
}

/* Leaves of PATCH the rows BEGIN to END - 1 of the matrix. */
static void counting_clip(int64_t begin, int64_t end, dm_patch *patch) {
  const int64_t above = dm_max(0, begin - patch->row);
  const int64_t below = dm_max(0, patch->row + patch->rows - end);
  patch->row += above;
  patch->source_row += above * patch->row_step;
  patch->rows -= above + below;
}

dm_status dm_genotypes_count(const dm_dataset *set, int64_t begin, int64_t end,
                             const double *weights, int threads, dm_allele_count *counts) {
  const dm_composite *composite = set->composite;
  dm_patch all = {.rows = set->rows, .cols = set->cols, .row_step = 1, .col_step = 1};
  counting_clip(begin, end, &all);
  if (!composite) return counting_patch(set, &all, weights, threads, counts);
  for (int64_t i = 0; i < composite->patches; i++) {
    dm_patch patch = dm_composite_patches(composite)[i];
    dm_dataset source;
    dm_composite_source(composite, patch.source, &source);
    counting_clip(begin, end, &patch);
    DM_TRY(counting_patch(&source, &patch, weights, threads, counts));
  }
  return DM_OK;
}
