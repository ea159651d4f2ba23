/* Sums of some pairs again, from the elements that both lines have. Products of values less the
 * means of whole lines lose digits where what both lines have is far from these means, or much
 * smaller than the rest. Here each pair has its own means and powers of two (the corrected two-pass
 * formula: Chan, Golub, LeVeque 1983). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/crew.h"
#include "core/element.h"
#include "io/journal.h"
#include "plan/partition.h"
#include "programs/pairwise_impl.h"

enum {
  PAIRWISE_LANES = 8,       /* sums that a loop adds to */
  PANEL = 1024,             /* observations that are read together, at most */
  PAIRWISE_ROOM = 32 << 20, /* bytes of them */
  PAIRWISE_PAIRS = 64,      /* of a thread's turn */
  PAIRWISE_SAMPLED = 4096,  /* pairs, at most, and ... */
  PAIRWISE_LEAST = 16,      /* ... at least, as elements of pairs: */
  PAIRWISE_TERMS = 1 << 25,
};

/* What is known of a pair while observations are passed. */
typedef struct passed {
  double count, low[2], high[2];      /* of the first pass */
  double mean[2];                     /* of the second: times 2^-exponent */
  double sum[2], squares[2], product; /* of the third: less the means */
  int exponent[2];
} passed;

/* The observations of this rank, as rows of a matrix: in a file, or in memory as f64. */
typedef struct observed {
  const dm_dataset *set;
  bool turned; /* they are columns of the file */
  dm_reader *reader;
  double *memory;
  dm_centered_copy copy;
  int64_t lines;
} observed;

typedef struct again {
  pairwise *p;
  observed of[2];
  int sides; /* 1: both lines of a pair are of the first */
  dm_range own;
  int64_t height;
  double *read, *lines[2]; /* as read, and by lines: HEIGHT numbers of each */
  int64_t rows;            /* observations in LINES */
  dm_pair_list *list;
  passed *passed;
  int pass;
} again;

/* ---- observations ---- */

/* Elements in memory become rows of this rank, what is missing NaN. */
static dm_status bring_memory(again *a, int x) {
  const pairwise *p = a->p;
  observed *o = &a->of[x];
  const dm_multiply *m = p->multiply;
  static const char *const names[] = {"A", "B"};
  const dm_dataset *set = x == 0 ? &m->a : &m->b;
  const dm_centering none = {.lines = DM_COLUMN_LINES, .parts = 1};
  const dm_centered_source from = {m->in_memory[x], names[x], set, DM_F64};
  const int64_t count = dm_range_size(a->own);
  const dm_memory_matrix rows = {.division = DM_BY_ROWS,
                                 .dtype = DM_F64,
                                 .rows = p->k,
                                 .cols = o->lines,
                                 .data = o->memory,
                                 .row_stride = o->lines,
                                 .col_stride = 1,
                                 .own_rows = count};
  dm_distributed to;
  DM_TRY(dm_centered_copy_open(p->run, &m->engine, NULL, &from, &o->copy));
  DM_TRY(dm_centered_copy_change(p->run, &o->copy, &none));
  dm_status status = dm_distributed_open(p->run->world, &rows, "observations", &to);
  if (!status) status = dm_pairwise_move(p, &o->copy.stated, o->copy.room->backend, o->turned, &to);
  dm_distributed_close(&to);
  dm_centered_copy_free(&o->copy);
  return status;
}

static dm_status pairwise_open_file(const dm_dataset *set, dm_reader **reader) {
  dm_dataset read = *set;
  read.centering = NULL;
  read.meaning.missing = DM_MISSING_NAN;
  return dm_reader_open(&read, DM_DTYPE_NONE, reader);
}

static dm_status pairwise_open_observed(again *a, int x) {
  const dm_multiply *m = a->p->multiply;
  const dm_dataset *set = x == 0 ? &m->a : &m->b;
  const bool in_memory = m->in_memory[x] && !set->memory.base;
  observed *o = &a->of[x];
  void *memory = NULL;
  *o = (observed){.set = set, .lines = x == 0 ? a->p->m : a->p->n};
  o->turned = dm_standard_lines(&m->equation.standard[x]) == DM_ROW_LINES;
  dm_status status = in_memory
                         ? dm_buffer_alloc(dm_max(1, dm_range_size(a->own) * o->lines) * 8, &memory)
                         : pairwise_open_file(set, &o->reader);
  o->memory = memory;
  DM_TRY(dm_comm_agree(a->p->run->world, status));
  return in_memory ? bring_memory(a, x) : DM_OK;
}

/* Observations from FIRST on by lines, NaN where they are missing. */
static dm_status read_panel(const again *a, int x, int64_t first) {
  const observed *o = &a->of[x];
  dm_view rows = dm_view_row_major(a->read, DM_F64, a->rows, o->lines);
  if (o->reader) {
    const dm_view view = o->turned ? dm_view_transpose(rows) : rows;
    DM_TRY(
        dm_reader_read(o->reader, o->turned ? 0 : first, o->turned ? first : 0, &view, 1, false));
  } else {
    rows.base = o->memory + (first - a->own.begin) * o->lines;
  }
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t l = 0; l < o->lines; l++)
      a->lines[x][l * a->height + i] = ((const double *)rows.base)[i * o->lines + l];
  return DM_OK;
}

/* ---- passes ---- */

static bool has_both(double x, double y) {
  return (x == x) & (y == y);
}

static void pairwise_find_extremes(const double *x, const double *y, int64_t rows, passed *of) {
  for (int64_t i = 0; i < rows; i++) {
    if (!has_both(x[i], y[i])) continue;
    of->count += 1.0;
    of->low[0] = fmin(of->low[0], x[i]);
    of->high[0] = fmax(of->high[0], x[i]);
    of->low[1] = fmin(of->low[1], y[i]);
    of->high[1] = fmax(of->high[1], y[i]);
  }
}

static double pairwise_total(const double lanes[PAIRWISE_LANES]) {
  double sum = 0.0;
  for (int l = 0; l < PAIRWISE_LANES; l++) sum += lanes[l];
  return sum;
}

/* 2^-exponent may be larger than any number: it is multiplied in two steps. */
static void powers_of(int exponent, double by[2]) {
  by[0] = scalbn(1.0, -exponent / 2);
  by[1] = scalbn(1.0, -(exponent - exponent / 2));
}

static void add_means(const double *x, const double *y, int64_t rows, passed *of) {
  double sums[2][PAIRWISE_LANES] = {{0.0}}, by[2][2];
  for (int s = 0; s < 2; s++) powers_of(of->exponent[s], by[s]);
  for (int64_t i = 0; i < rows; i++) {
    if (!has_both(x[i], y[i])) continue;
    sums[0][i % PAIRWISE_LANES] += x[i] * by[0][0] * by[0][1];
    sums[1][i % PAIRWISE_LANES] += y[i] * by[1][0] * by[1][1];
  }
  for (int s = 0; s < 2; s++) of->sum[s] += pairwise_total(sums[s]);
}

static void pairwise_add_squares(const double *x, const double *y, int64_t rows, passed *of) {
  double sums[5][PAIRWISE_LANES] = {{0.0}}, by[2][2];
  for (int s = 0; s < 2; s++) powers_of(of->exponent[s], by[s]);
  for (int64_t i = 0; i < rows; i++) {
    if (!has_both(x[i], y[i])) continue;
    const double dx = x[i] * by[0][0] * by[0][1] - of->mean[0];
    const double dy = y[i] * by[1][0] * by[1][1] - of->mean[1];
    const int l = (int)(i % PAIRWISE_LANES);
    sums[0][l] += dx;
    sums[1][l] += dy;
    sums[2][l] += dx * dx;
    sums[3][l] += dy * dy;
    sums[4][l] += dx * dy;
  }
  for (int s = 0; s < 2; s++) {
    of->sum[s] += pairwise_total(sums[s]);
    of->squares[s] += pairwise_total(sums[2 + s]);
  }
  of->product += pairwise_total(sums[4]);
}

static void pass_pairs(void *context, int64_t turn) {
  static void (*const add[])(const double *, const double *, int64_t,
                             passed *) = {pairwise_find_extremes, add_means, pairwise_add_squares};
  const again *a = context;
  const int64_t end = dm_min(a->list->count, (turn + 1) * PAIRWISE_PAIRS);
  for (int64_t i = turn * PAIRWISE_PAIRS; i < end; i++) {
    const dm_pair_again *pair = &a->list->list[i];
    add[a->pass](a->lines[0] + pair->row * a->height,
                 a->lines[a->sides - 1] + pair->col * a->height, a->rows, &a->passed[i]);
  }
}

static dm_status pairwise_pass_all(again *a, dm_crew *crew) {
  for (int64_t first = a->own.begin; first < a->own.end; first += a->height) {
    a->rows = dm_min(a->height, a->own.end - first);
    for (int x = 0; x < a->sides; x++) DM_TRY(read_panel(a, x, first));
    dm_crew_run(crew, pass_pairs, a, dm_ceil_div(a->list->count, PAIRWISE_PAIRS));
    DM_TRY(dm_run_beat(a->p->run));
  }
  return DM_OK;
}

/* ---- what the ranks have together ---- */

/* Adds COUNT numbers of each pair at OFFSET; with MOST their largest. */
static dm_status pairwise_join(const again *a, size_t offset, int count, bool most) {
  const dm_comm *world = a->p->run->world;
  double *numbers;
  dm_status status = dm_buffer_table(dm_max(1, a->list->count * count), &numbers);
  DM_TRY(dm_comm_agree(world, status));
  for (int64_t i = 0; i < a->list->count; i++)
    memcpy(numbers + i * count, (char *)&a->passed[i] + offset, (size_t)count * sizeof *numbers);
  status = (most ? dm_comm_max_f64 : dm_comm_sum_f64)(world, numbers, a->list->count * count);
  for (int64_t i = 0; i < a->list->count; i++)
    memcpy((char *)&a->passed[i] + offset, numbers + i * count, (size_t)count * sizeof *numbers);
  free(numbers);
  return status;
}

/* After the first pass: the power of two of each line that makes its elements at most 1. */
static dm_status pairwise_join_extremes(const again *a) {
  for (int64_t i = 0; i < a->list->count; i++)
    for (int s = 0; s < 2; s++) a->passed[i].low[s] = -a->passed[i].low[s];
  DM_TRY(pairwise_join(a, offsetof(passed, count), 1, false));
  DM_TRY(pairwise_join(a, offsetof(passed, low), 4, true));
  for (int64_t i = 0; i < a->list->count; i++)
    for (int s = 0; s < 2; s++) {
      passed *of = &a->passed[i];
      of->low[s] = -of->low[s];
      of->exponent[s] = 0;
      const double largest = fmax(fabs(of->low[s]), fabs(of->high[s]));
      if (isfinite(largest)) (void)frexp(largest, &of->exponent[s]);
    }
  return DM_OK;
}

static dm_status join_means(const again *a) {
  DM_TRY(pairwise_join(a, offsetof(passed, sum), 2, false));
  for (int64_t i = 0; i < a->list->count; i++)
    for (int s = 0; s < 2; s++) {
      passed *of = &a->passed[i];
      of->mean[s] = of->sum[s] / fmax(1.0, of->count);
      of->sum[s] = 0.0;
    }
  return DM_OK;
}

/* Lines without a difference are exactly so. */
static dm_status join_squares(const again *a) {
  DM_TRY(pairwise_join(a, offsetof(passed, sum), 5, false));
  for (int64_t i = 0; i < a->list->count; i++) {
    const passed *of = &a->passed[i];
    dm_pair pair = {.count = of->count, .product = of->product};
    for (int s = 0; s < 2; s++) {
      const bool constant = of->low[s] == of->high[s];
      if (constant) pair.product = 0.0;
      pair.sum[s] = constant ? 0.0 : of->sum[s];
      pair.squares[s] = constant ? 0.0 : of->squares[s];
      pair.exponent[s] = constant ? DM_PAIR_NO_LINE : of->exponent[s];
    }
    a->list->list[i].of = pair;
  }
  return DM_OK;
}

static dm_status three_passes(again *a, dm_crew *crew) {
  static dm_status (*const joins[])(const again *) = {pairwise_join_extremes, join_means,
                                                      join_squares};
  for (int64_t i = 0; i < a->list->count; i++)
    a->passed[i] = (passed){.low = {(double)INFINITY, (double)INFINITY},
                            .high = {-(double)INFINITY, -(double)INFINITY}};
  for (a->pass = 0; a->pass < 3; a->pass++) {
    DM_TRY(dm_comm_agree(a->p->run->world, pairwise_pass_all(a, crew)));
    DM_TRY(joins[a->pass](a));
  }
  return DM_OK;
}

static dm_status pairwise_open_all(again *a, dm_crew **crew) {
  const pairwise *p = a->p;
  const int64_t lines = dm_max(p->m, p->n);
  a->height = dm_max(1, dm_min(PANEL, PAIRWISE_ROOM / (24 * lines)));
  dm_status status = dm_buffer_table(a->height * lines, &a->read);
  if (!status) status = dm_buffer_table(a->height * p->m, &a->lines[0]);
  if (!status && a->sides == 2) status = dm_buffer_table(a->height * p->n, &a->lines[1]);
  if (!status) status = dm_buffer_table(dm_max(1, a->list->count), &a->passed);
  if (!status) status = dm_crew_new(p->run->cores.threads, crew);
  DM_TRY(dm_comm_agree(p->run->world, status));
  for (int x = 0; x < a->sides; x++) DM_TRY(pairwise_open_observed(a, x));
  return DM_OK;
}

/* Collective: takes the sums of LIST, the same on all ranks. */
static dm_status pairwise_take_sums(pairwise *p, dm_pair_list *list) {
  again a = {.p = p,
             .sides = p->one ? 1 : 2,
             .own = dm_split(p->k, p->run->ranks, p->run->rank, 1),
             .list = list};
  dm_crew *crew = NULL;
  if (list->count == 0) return DM_OK;
  dm_run_phase(p->run, "comparing pairs", 1);
  dm_status status = pairwise_open_all(&a, &crew);
  if (!status) status = three_passes(&a, crew);
  dm_crew_free(crew);
  for (int x = 0; x < 2; x++) {
    dm_reader_close(a.of[x].reader);
    dm_centered_copy_free(&a.of[x].copy);
    free(a.of[x].memory);
    free(a.lines[x]);
  }
  free(a.read);
  free(a.passed);
  return status;
}

/* ---- which pairs ---- */

static dm_status pairwise_append(dm_pair_list *list, int64_t *room, int64_t row, int64_t col) {
  if (list->count == *room) {
    const int64_t more = dm_max(1024, 2 * *room);
    dm_pair_again *larger;
    DM_TRY(dm_buffer_table(more, &larger));
    if (list->count > 0) memcpy(larger, list->list, (size_t)list->count * sizeof *larger);
    free(list->list);
    list->list = larger;
    *room = more;
  }
  list->list[list->count++] = (dm_pair_again){.row = row, .col = col, .made = {.count = -1.0}};
  return DM_OK;
}

static dm_status find_in_rows(pairwise *p, int64_t row, int64_t count, int64_t *room) {
  const dm_pairs of = dm_pairwise_pairs(p, row, p->in_memory ? row - p->own.begin : 0, count);
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < p->n; j++) {
      const dm_pair pair = dm_pair_at(&of, i, j);
      if (dm_pair_is_doubtful(&pair)) DM_TRY(pairwise_append(&p->doubtful, room, row + i, j));
    }
  for (int64_t s = 0; s < p->sample.count; s++) {
    dm_pair_again *one = &p->sample.list[s];
    if (one->row >= row && one->row < row + count)
      one->made = dm_pair_at(&of, one->row - row, one->col);
  }
  return DM_OK;
}

/* The doubtful pairs of this rank's rows. */
static dm_status find_doubtful(pairwise *p) {
  const int64_t height = dm_max(1, PAIRWISE_ROOM / (8 * PAIRWISE_FACTORS * dm_max(1, p->n)));
  int64_t room = 0;
  dm_status status = p->in_memory ? DM_OK : dm_pairwise_open_readers(p);
  for (int64_t row = p->own.begin; row < p->own.end && !status; row += height) {
    const int64_t count = dm_min(height, p->own.end - row);
    if (!p->in_memory) status = dm_pairwise_read(p, row, count);
    if (!status) status = find_in_rows(p, row, count, &room);
  }
  if (!p->in_memory) dm_pairwise_close_readers(p);
  return status;
}

static int compare_places(const void *x, const void *y) {
  const dm_pair_again *a = x, *b = y;
  return dm_place_order(a->row, a->col, b->row, b->col);
}

/* Random pairs, which nobody knows before C is computed; all if they are few. */
static dm_status append_sample(pairwise *p) {
  const uint64_t seed = p->verdict.seed;
  int64_t all, room = 0;
  if (dm_mul_overflows(p->m, p->n, &all)) all = INT64_MAX;
  const int64_t most =
      dm_min(PAIRWISE_SAMPLED, dm_max(PAIRWISE_LEAST, PAIRWISE_TERMS / dm_max(1, p->k)));
  for (int64_t i = 0; i < dm_min(all, most); i++) {
    const uint64_t drawn = dm_mix(seed + (uint64_t)i);
    const int64_t row = (int64_t)(drawn % (uint64_t)p->m);
    const int64_t col = (int64_t)((drawn >> 32) % (uint64_t)p->n);
    DM_TRY(all <= most ? pairwise_append(&p->sample, &room, i / p->n, i % p->n)
                       : pairwise_append(&p->sample, &room, row, col));
  }
  if (all > most)
    qsort(p->sample.list, (size_t)p->sample.count, sizeof *p->sample.list, compare_places);
  return DM_OK;
}

/* Collective. */
static dm_status draw_sample(pairwise *p) {
  const dm_check_seed stated = p->multiply->seed;
  const bool draws = !stated.stated && p->run->rank == 0;
  p->verdict.drawn = true;
  p->verdict.seed = stated.value;
  DM_TRY(dm_comm_agree(p->run->world, draws ? dm_freivalds_draw_seed(&p->verdict.seed) : DM_OK));
  DM_TRY(dm_comm_broadcast(p->run->world, &p->verdict.seed, sizeof p->verdict.seed, 0));
  return dm_comm_agree(p->run->world, append_sample(p));
}

/* Collective: all ranks' doubtful pairs, then the sample. */
static dm_status pairwise_gather(const pairwise *p, int64_t *first, dm_pair_list *all) {
  const dm_comm *world = p->run->world;
  int64_t *counts, *places, total = 0;
  dm_status status = dm_buffer_table(p->run->ranks, &counts);
  DM_TRY(dm_comm_agree(world, status));
  counts[p->run->rank] = p->doubtful.count;
  status = dm_comm_sum_i64(world, counts, p->run->ranks);
  for (int r = 0; r < p->run->ranks; r++) {
    if (r == p->run->rank) *first = total;
    total += counts[r];
  }
  free(counts);
  DM_TRY(status);
  status = dm_buffer_table(dm_max(1, 2 * total), &places);
  if (!status) status = dm_buffer_table(dm_max(1, total + p->sample.count), &all->list);
  DM_TRY(dm_comm_agree(world, status));
  for (int64_t i = 0; i < p->doubtful.count; i++) {
    places[2 * (*first + i)] = p->doubtful.list[i].row;
    places[2 * (*first + i) + 1] = p->doubtful.list[i].col;
  }
  status = dm_comm_sum_i64(world, places, 2 * total);
  for (int64_t i = 0; i < total; i++)
    all->list[i] = (dm_pair_again){.row = places[2 * i], .col = places[2 * i + 1]};
  free(places);
  if (p->sample.count > 0)
    memcpy(all->list + total, p->sample.list, (size_t)p->sample.count * sizeof *all->list);
  all->count = total + p->sample.count;
  return status;
}

dm_status dm_pairwise_take_again(pairwise *p) {
  dm_pair_list all = {.list = NULL};
  int64_t first = 0;
  if (p->multiply->verify) DM_TRY(draw_sample(p));
  DM_TRY(dm_comm_agree(p->run->world, find_doubtful(p)));
  dm_status status = pairwise_gather(p, &first, &all);
  if (!status) status = pairwise_take_sums(p, &all);
  if (!status && p->doubtful.count > 0)
    memcpy(p->doubtful.list, all.list + first, (size_t)p->doubtful.count * sizeof *all.list);
  if (!status && p->sample.count > 0)
    memcpy(p->sample.list, all.list + all.count - p->sample.count,
           (size_t)p->sample.count * sizeof *all.list);
  dm_pair_list_free(&all);
  return status;
}
