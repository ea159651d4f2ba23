#include "dataset/stretches.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"

dm_status dm_stretches_one(dm_stretches *all) {
  all->count = 0;
  DM_TRY(dm_buffer_table(1, &all->list));
  all->list[all->count++] = (dm_run_of_line){{0, 1}, 1};
  return DM_OK;
}

int64_t dm_stretches_total(const dm_stretches *all) {
  int64_t sum = 0;
  for (int64_t i = 0; i < all->count; i++) sum += all->list[i].count;
  return sum;
}

/* Each index of the axis stands before SIZE elements. */
dm_status dm_stretches_before(const dm_stretches *outer, int64_t size, dm_stretches *inner) {
  dm_stretches both = {NULL, 0};
  const dm_run_of_line *one = &inner->list[0];
  const bool all =
      inner->count == 1 && one->line.first == 0 && one->line.step == 1 && one->count == size;
  const bool point = inner->count == 1 && one->count == 1;
  int64_t count = 0;
  for (int64_t i = 0; i < outer->count; i++) {
    const dm_run_of_line *s = &outer->list[i];
    count += point || (all && s->line.step == 1) ? 1 : s->count * inner->count;
  }
  dm_status status = dm_buffer_table(count, &both.list);
  for (int64_t i = 0; i < outer->count && !status; i++) {
    const dm_run_of_line *s = &outer->list[i];
    if (all && s->line.step == 1 && !point) {
      both.list[both.count++] = (dm_run_of_line){{s->line.first * size, 1}, s->count * size};
      continue;
    }
    if (point) {
      both.list[both.count++] =
          (dm_run_of_line){{s->line.first * size + one->line.first, s->line.step * size}, s->count};
      continue;
    }
    for (int64_t k = 0; k < s->count; k++)
      for (int64_t j = 0; j < inner->count; j++) {
        both.list[both.count] = inner->list[j];
        both.list[both.count++].line.first += dm_line_at(s->line, k) * size;
      }
  }
  free(inner->list);
  *inner = both;
  return status;
}

/* A place in a list of stretches; NULL: 0, 1, ... */
typedef struct stretches_follower {
  const dm_stretches *of;
  int64_t at, used; /* stretch, and indices of it that were passed */
  int64_t plain;
} stretches_follower;

/* The next indices with equal steps, of the matrix only with steps of 1: how many, at most MOST. */
static int64_t next_of(const stretches_follower *f, bool neighbours, int64_t most, dm_line *line) {
  if (!f->of) {
    *line = (dm_line){f->plain, 1};
    return most;
  }
  const dm_run_of_line *s = &f->of->list[f->at];
  *line = (dm_line){dm_line_at(s->line, f->used), s->line.step};
  const int64_t left = neighbours && s->line.step != 1 ? 1 : s->count - f->used;
  return dm_min(left, most);
}

static void stretches_pass(stretches_follower *f, int64_t count) {
  f->plain += count;
  if (!f->of) return;
  f->used += count;
  if (f->used < f->of->list[f->at].count) return;
  f->at++;
  f->used = 0;
}

/* Neighbours in the matrix, and their places in a source. */
typedef struct stretches_pair {
  int64_t to, count;
  dm_line from;
} stretches_pair;

/* Advances along both lists, with TOTAL indices; false: they have ended. */
static bool next_pair(stretches_follower *to, stretches_follower *from, int64_t total,
                      stretches_pair *p) {
  dm_line line;
  if (from->plain == total) return false;
  p->count = next_of(from, false, total - from->plain, &p->from);
  p->count = next_of(to, true, p->count, &line);
  p->to = line.first;
  stretches_pass(to, p->count);
  stretches_pass(from, p->count);
  return true;
}

dm_status dm_stretches_compose(const dm_dataset *whole, const dm_stretches *to_rows,
                               const dm_stretches *to_cols, const dm_stretches *rows,
                               const dm_stretches *cols, dm_composer *made) {
  const int64_t tall = dm_stretches_total(rows), wide = dm_stretches_total(cols);
  stretches_follower to = {.of = to_rows}, from = {.of = rows};
  stretches_pair r, c;
  while (next_pair(&to, &from, tall, &r)) {
    stretches_follower to_col = {.of = to_cols}, from_col = {.of = cols};
    while (next_pair(&to_col, &from_col, wide, &c)) {
      const dm_patch p = {.row = r.to,
                          .rows = r.count,
                          .source_row = r.from.first,
                          .row_step = r.from.step,
                          .col = c.to,
                          .cols = c.count,
                          .source_col = c.from.first,
                          .col_step = c.from.step};
      DM_TRY(dm_composer_add_part(made, whole, &p));
    }
  }
  return DM_OK;
}
