/* The search beside its result (state_file.h): the basis, the vectors of the pass that goes on, and
 * what the rows of X multiplied so far have made of them; or, before the first pass, G of those
 * rows. */
#include <stdio.h>

#include "product/provenance.h"
#include "programs/components_impl.h"

/* What the file begins with. */
typedef struct search_header {
  int64_t small, tall, method, width;
  int64_t used, best, single; /* of the basis */
  int64_t count, proving, passes, row, unchecked;
  double squares;
} search_header;

typedef struct search_moving {
  dm_components_state *c;
  search_header header;
  bool taken;
} search_moving;

static dm_status search_numbers(dm_state_file *file, double *numbers, int64_t count) {
  return dm_state_move(file, numbers, count * (int64_t)sizeof *numbers);
}

/* All that HEADER counts, in or out. */
static dm_status search_move(const dm_components_state *c, const search_header *h,
                             dm_state_file *file) {
  const dm_basis *b = &c->basis;
  if (h->count == 0) return search_numbers(file, c->g, c->small * c->small);
  const int64_t some = h->row > 0 ? h->count : 0;
  DM_TRY(search_numbers(file, b->q, h->used * b->size));
  DM_TRY(search_numbers(file, b->gq, h->used * b->size));
  DM_TRY(search_numbers(file, b->v, h->best * b->size));
  DM_TRY(search_numbers(file, b->gv, h->best * b->size));
  DM_TRY(search_numbers(file, b->values, h->best));
  DM_TRY(search_numbers(file, b->residuals, h->best));
  DM_TRY(search_numbers(file, c->p, h->count * b->size));
  DM_TRY(search_numbers(file, c->z, some * b->size));
  return search_numbers(file, c->pairs, some * some);
}

/* ---- taking it up ---- */

/* Memory may have become less, or the other method the better one. */
static bool search_fits(const dm_components_state *c, const search_header *h) {
  return h->small == c->small && h->tall == c->tall && h->method == (int64_t)c->method &&
         h->width == c->width && h->used >= 0 && h->used <= c->basis.room && h->best >= 0 &&
         h->best <= c->width && h->count >= 0 && h->count <= c->width && h->row >= 0 &&
         h->row < c->tall && (h->count > 0 || (c->method == DM_METHOD_GRAM && h->row > 0));
}

static dm_status search_load(void *context, dm_state_file *file) {
  search_moving *m = context;
  dm_components_state *c = m->c;
  DM_TRY(dm_state_move(file, &m->header, sizeof m->header));
  m->taken = search_fits(c, &m->header);
  if (!m->taken) {
    dm_state_refuse(c->run, &c->job->multiply.out);
    return DM_OK;
  }
  if (m->header.count == 0) DM_TRY(dm_buffer_table(c->small * c->small, &c->g));
  c->basis.used = m->header.used;
  c->basis.best = m->header.best;
  c->basis.single = m->header.single != 0;
  return search_move(c, &m->header, file);
}

/* What must be equal besides X and how it is centered. */
static dm_status search_open(dm_components_state *c) {
  const dm_components *job = c->job;
  const dm_multiply *m = &job->multiply;
  dm_equation equation = m->equation;
  dm_problem problem;
  char text[160];
  equation.type = c->work;
  DM_TRY(dm_comm_agree(c->run->world, dm_problem_of(&m->a, &m->b, NULL, &equation, &problem)));
  snprintf(text, sizeof text, "components %lld of %s, oversampling %lld, seed %llu, by %s",
           (long long)job->count, dm_dtype_name(c->work), (long long)job->oversampling,
           (unsigned long long)job->seed, dm_components_method_name(job->method));
  return dm_state_open(c->run, m, &problem, text, &c->state);
}

dm_status dm_components_resume(dm_components_state *c) {
  search_moving m = {.c = c};
  DM_TRY(search_open(c));
  dm_status status = c->run->rank == 0
                         ? dm_state_read(c->run, &c->job->multiply.out, &c->state, search_load, &m)
                         : DM_OK;
  DM_TRY(dm_comm_agree(c->run->world, status));
  DM_TRY(dm_comm_broadcast(c->run->world, &m.taken, sizeof m.taken, 0));
  if (!m.taken) return DM_OK;
  DM_TRY(dm_comm_broadcast(c->run->world, &m.header, sizeof m.header, 0));
  c->count = m.header.count;
  c->proving = m.header.proving != 0;
  c->passes = m.header.passes;
  c->row = m.header.row;
  c->squares = m.header.squares;
  c->unchecked = m.header.unchecked != 0;
  c->recorded = true;
  if (c->count == 0)
    dm_log_line(
        &c->run->log, DM_LOG_NOTE,
        "resuming: products of all pairs in %lld of %lld lines are taken from an earlier run",
        (long long)c->row, (long long)c->tall);
  else
    dm_log_line(&c->run->log, DM_LOG_NOTE,
                "resuming: %lld passes, and %lld of %lld lines of the next one, are taken from an "
                "earlier run",
                (long long)c->passes, (long long)c->row, (long long)c->tall);
  return DM_OK;
}

/* ---- recording ---- */

static dm_status search_save(void *context, dm_state_file *file) {
  search_moving *m = context;
  DM_TRY(dm_state_move(file, &m->header, sizeof m->header));
  return search_move(m->c, &m->header, file);
}

dm_status dm_components_record(dm_components_state *c, bool now) {
  const dm_basis *b = &c->basis;
  bool due;
  DM_TRY(dm_state_is_due(c->run, &c->state, now, &due));
  const bool of_g = c->count == 0 && c->method == DM_METHOD_GRAM && c->row > 0;
  if (!due || (c->count == 0 && !of_g)) return DM_OK;
  search_moving m = {.c = c,
                     .header = {.small = c->small,
                                .tall = c->tall,
                                .method = (int64_t)c->method,
                                .width = c->width,
                                .used = b->used,
                                .best = b->best,
                                .single = b->single,
                                .count = c->count,
                                .proving = c->proving,
                                .passes = c->passes,
                                .row = c->row,
                                .unchecked = c->unchecked,
                                .squares = c->squares}};
  dm_run_phase(c->run, "recording", DM_SYNC_PATIENCE);
  DM_TRY(dm_state_write(c->run, &c->job->multiply.out, &c->state, search_save, &m));
  c->recorded = c->state.on;
  return DM_OK;
}
