#include "io/genotype_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"
#include "core/element.h"
#include "io/read.h"

/* Genotypes that are unpacked at a time: their lists stay in the cache. */
enum { PAIRS_ROOM = 1 << 21, PAIRS_ROWS = 16 /* samples of a thread's turn */ };

/* Some variants that follow each other, and who misses them. */
typedef struct pairs_block {
  dm_reader *reader;
  uint16_t *genotypes; /* as f16 */
  int32_t *samples;    /* that miss a variant, ascending; of all variants one after another, ... */
  int64_t *of_variant; /* ... whose lists begin here */
  int32_t *variants;   /* that a sample misses; of all samples, ... */
  int64_t *of_sample;  /* ... whose lists begin here */
  int64_t count;       /* of variants that count */
} pairs_block;

typedef struct pairs_counting {
  const dm_genotype_pairs *of;
  int64_t samples, each, next;
  pairs_block *blocks;
  int64_t block_count, filled; /* blocks; those that have variants in this round */
  int64_t *missed;             /* by each sample */
  /* The verification: a random vector, its sum, and its products with the variants, which are sums
   * over those who know them: the sum of these, and of those that a sample misses. */
  uint64_t *weights, sum_of_weights, sum, *sums;
  int64_t variants; /* that count */
  double *numbers;
} pairs_counting;

/* The place in memory of the one of four numbers that has bit BIT of their word. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PAIRS_PLACE(bit) ((bit) / 16)
#else
#define PAIRS_PLACE(bit) (3 - (bit) / 16)
#endif

/* ---- lists ---- */

/* Appends to TO the numbers of those of COUNT genotypes that are missing, 0, where others are 1;
 * returns how many. */
static int64_t list_missing(const uint16_t *genotypes, int64_t count, int32_t *to) {
  const uint64_t ones = 0x3c003c003c003c00u, lowest = 0x0400040004000400u;
  int64_t listed = 0;
  for (int64_t j = 0; j < count; j += 4) {
    uint64_t four = ones;
    memcpy(&four, genotypes + j, (size_t)dm_min(4, count - j) * sizeof *genotypes);
    for (uint64_t left = ~four & lowest; left; left &= left - 1)
      to[listed++] = (int32_t)(j + PAIRS_PLACE(__builtin_ctzll(left)));
  }
  return listed;
}

/* The lists of variants from those of samples. */
static void turn_lists(const pairs_counting *c, pairs_block *b) {
  memset(b->of_sample, 0, (size_t)(c->samples + 2) * sizeof *b->of_sample);
  for (int64_t i = 0; i < b->of_variant[b->count]; i++) b->of_sample[b->samples[i] + 2]++;
  for (int64_t j = 1; j <= c->samples; j++) b->of_sample[j + 1] += b->of_sample[j];
  for (int64_t v = 0; v < b->count; v++)
    for (int64_t i = b->of_variant[v]; i < b->of_variant[v + 1]; i++)
      b->variants[b->of_sample[b->samples[i] + 1]++] = (int32_t)v;
}

static dm_status pairs_fill(void *context, int64_t i) {
  pairs_counting *c = context;
  pairs_block *b = &c->blocks[i];
  const int64_t first = c->next + i * c->each, rows = dm_min(c->each, c->of->set->rows - first);
  const dm_view view = dm_view_row_major(b->genotypes, DM_F16, rows, c->samples);
  if (!b->reader) DM_TRY(dm_reader_open(c->of->set, DM_DTYPE_NONE, &b->reader));
  DM_TRY(dm_reader_read(b->reader, first, 0, &view, 1, false));
  b->count = 0;
  for (int64_t v = 0, at = 0; v < rows; v++) {
    if (c->of->weights && c->of->weights[first + v] < 0.0) continue;
    at += list_missing(b->genotypes + v * c->samples, c->samples, b->samples + at);
    b->of_variant[++b->count] = at;
  }
  turn_lists(c, b);
  return DM_OK;
}

/* ---- counts ---- */

/* Adds to a row of numbers who misses the same variants as sample I, up to its own number if HALF.
 */
static void add_both(const pairs_block *b, int64_t i, bool half, double *row) {
  for (int64_t x = b->of_sample[i]; x < b->of_sample[i + 1]; x++) {
    const int64_t v = b->variants[x], end = b->of_variant[v + 1];
    for (int64_t at = b->of_variant[v]; at < end && (!half || b->samples[at] <= i); at++)
      row[b->samples[at]] += 1.0;
  }
}

/* Whether all samples are counted, so that one half of the numbers follows from the other. */
static bool counts_half(const pairs_counting *c) {
  return c->of->count == c->samples;
}

static void add_sums(pairs_counting *c, const pairs_block *b) {
  for (int64_t v = 0; v < b->count; v++) {
    uint64_t known = c->sum_of_weights;
    for (int64_t at = b->of_variant[v]; at < b->of_variant[v + 1]; at++)
      known -= c->weights[b->samples[at]];
    for (int64_t at = b->of_variant[v]; at < b->of_variant[v + 1]; at++)
      c->sums[b->samples[at]] += known;
    c->sum += known;
  }
}

/* Turn 0 is that of one thread, the others have rows. */
static dm_status pairs_add(void *context, int64_t turn) {
  pairs_counting *c = context;
  const int64_t begin = (turn - 1) * PAIRS_ROWS, end = dm_min(begin + PAIRS_ROWS, c->of->count);
  for (int64_t i = 0; i < c->filled; i++) {
    const pairs_block *b = &c->blocks[i];
    if (turn == 0 && c->of->verify) add_sums(c, b);
    for (int64_t j = 0; turn == 0 && j < c->samples; j++)
      c->missed[j] += b->of_sample[j + 1] - b->of_sample[j];
    if (turn == 0) c->variants += b->count;
    for (int64_t j = begin; turn > 0 && j < end; j++)
      add_both(b, c->of->first + j, counts_half(c), c->numbers + j * c->samples);
  }
  return DM_OK;
}

/* Row I of the numbers, which has who misses the same variants. */
static dm_status pairs_finish(void *context, int64_t i) {
  const pairs_counting *c = context;
  const int64_t own = c->of->first + i, left = c->variants - c->missed[own];
  double *row = c->numbers + i * c->samples;
  uint64_t product = 0;
  for (int64_t j = 0; j < c->samples; j++) {
    row[j] += (double)(left - c->missed[j]);
    if (c->of->verify) product += (uint64_t)(int64_t)row[j] * c->weights[j];
  }
  if (!c->of->verify || product == c->sum - c->sums[own]) return DM_OK;
  return dm_fail(DM_E_VERIFY, "%s: the counts of the pairs of sample %lld are wrong",
                 c->of->set->at.file, (long long)own);
}

/* ---- all ---- */

static dm_status pairs_open_block(const pairs_counting *c, pairs_block *b) {
  const int64_t most = c->each * c->samples;
  DM_TRY(dm_buffer_table(most, &b->genotypes));
  DM_TRY(dm_buffer_table(most, &b->samples));
  DM_TRY(dm_buffer_table(most, &b->variants));
  DM_TRY(dm_buffer_table(c->each + 1, &b->of_variant));
  return dm_buffer_table(c->samples + 2, &b->of_sample);
}

static dm_status pairs_open(pairs_counting *c) {
  c->samples = c->of->set->cols;
  c->each = dm_max(1, PAIRS_ROOM / dm_max(1, c->samples));
  c->block_count = dm_max(1, dm_min(c->of->threads, dm_ceil_div(c->of->set->rows, c->each)));
  DM_TRY(dm_buffer_table(c->block_count, &c->blocks));
  for (int64_t i = 0; i < c->block_count; i++) DM_TRY(pairs_open_block(c, &c->blocks[i]));
  DM_TRY(dm_buffer_table(c->samples, &c->missed));
  DM_TRY(dm_buffer_table(c->samples, &c->weights));
  DM_TRY(dm_buffer_table(c->samples, &c->sums));
  for (int64_t j = 0; j < c->samples; j++) {
    c->weights[j] = dm_random_bits(c->of->seed, j, 0, 0);
    c->sum_of_weights += c->weights[j];
  }
  memset(c->numbers, 0, (size_t)(c->of->count * c->samples) * sizeof *c->numbers);
  return DM_OK;
}

static void pairs_close(pairs_counting *c) {
  for (int64_t i = 0; c->blocks && i < c->block_count; i++) {
    pairs_block *b = &c->blocks[i];
    dm_reader_close(b->reader);
    free(b->genotypes);
    free(b->samples);
    free(b->variants);
    free(b->of_variant);
    free(b->of_sample);
  }
  free(c->blocks);
  free(c->missed);
  free(c->weights);
  free(c->sums);
}

static dm_status pairs_count(pairs_counting *c) {
  const int threads = c->of->threads;
  const int64_t turns = 1 + dm_ceil_div(c->of->count, PAIRS_ROWS);
  for (; c->next < c->of->set->rows; c->next += c->block_count * c->each) {
    c->filled = dm_min(c->block_count, dm_ceil_div(c->of->set->rows - c->next, c->each));
    DM_TRY(dm_fork_each(c->filled, threads, pairs_fill, c));
    DM_TRY(dm_fork_each(turns, threads, pairs_add, c));
    DM_TRY(dm_keepalive_beat(c->of->keepalive));
  }
  if (counts_half(c))
    dm_mirror(dm_view_row_major(c->numbers, DM_F64, c->samples, c->samples), 0, 0, c->samples,
              false);
  return dm_fork_each(c->of->count, threads, pairs_finish, c);
}

dm_status dm_genotype_pairs_count(const dm_genotype_pairs *pairs, double *numbers) {
  pairs_counting c = {.of = pairs, .numbers = numbers};
  dm_status status = pairs_open(&c);
  if (!status) status = pairs_count(&c);
  pairs_close(&c);
  return status;
}
