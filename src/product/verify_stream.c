/* The passes of A, B and C that verifications take, through files or memory. */
#include <string.h>

#include "check/freivalds.h"
#include "core/buffer.h"
#include "io/read.h"
#include "product/verify.h"

/* ---- a matrix in a file ---- */

/* PART of op(X), or all of it, of the entry to be passed, as rows and columns of DATASET. */
static dm_extent verify_extent_of(const dm_dataset *dataset, dm_op op, const dm_verify *v,
                                  const dm_extent *part) {
  const bool turned = op != DM_OP_N;
  dm_range rows = {0, turned ? dataset->cols : dataset->rows};
  dm_range cols = {0, turned ? dataset->rows : dataset->cols};
  if (v && v->entries > 1) rows = dm_split(rows.end, v->entries, v->entry, 1);
  if (part) {
    rows = (dm_range){rows.begin + part->rows.begin, rows.begin + part->rows.end};
    cols = part->cols;
  }
  return turned ? (dm_extent){cols, rows} : (dm_extent){rows, cols};
}

/* Numbers rows and columns from others on. */
typedef struct renumbering {
  dm_part_taker *take;
  void *context;
  int64_t row, col; /* to be added */
} renumbering;

static dm_status take_renumbered(void *context, dm_view part, int64_t row, int64_t col) {
  const renumbering *r = context;
  return r->take(r->context, part, row + r->row, col + r->col);
}

/* This rank's part of the rows or columns OF the file, which are PART (NULL: all) of op(X). */
static dm_status stream_file(dm_run *run, const dm_dataset *dataset, dm_extent of,
                             const dm_extent *part, const dm_reading *how, dm_part_taker *take,
                             void *context) {
  const bool turned = how->op != DM_OP_N;
  dm_extent mine = of;
  dm_range *divided = dm_file_divides_columns(dataset) ? &mine.cols : &mine.rows;
  *divided = dm_file_part(dataset, *divided, run->ranks, run->rank);
  renumbering inside = {take, context, part ? part->rows.begin : 0, part ? part->cols.begin : 0};
  *(turned ? &inside.col : &inside.row) -= of.rows.begin;
  *(turned ? &inside.row : &inside.col) += mine.cols.begin - of.cols.begin;
  return dm_file_stream(run, dataset, mine.rows, mine.cols, how, take_renumbered, &inside);
}

static dm_status take_nothing(void *context, dm_view part, int64_t row, int64_t col) {
  (void)context, (void)part, (void)row, (void)col;
  return DM_OK;
}

/* The smallest of all ranks' numbers. */
static dm_status find_least(const dm_run *run, int64_t *number) {
  int64_t negative = -*number;
  DM_TRY(dm_comm_max_i64(run->world, &negative, 1));
  *number = -negative;
  return DM_OK;
}

/* Collective: finds the missing values of SET. */
static dm_status verify_count_missing(dm_run *run, int threads, const dm_dataset *set,
                                      dm_missing_found *found) {
  *found = (dm_missing_found){.source = INT64_MAX, .first = INT64_MAX};
  dm_dataset counted = *set;
  counted.meaning.missing = DM_MISSING_NAN;
  const dm_reading how = {
      .as = DM_DTYPE_NONE, .work = DM_F64, .threads = threads, .missing = found};
  dm_status status = stream_file(run, &counted, verify_extent_of(&counted, DM_OP_N, NULL, NULL),
                                 NULL, &how, take_nothing, NULL);
  DM_TRY(dm_comm_agree(run->world, status));
  const int64_t mine = found->source;
  DM_TRY(dm_comm_sum_i64(run->world, &found->count, 1));
  DM_TRY(find_least(run, &found->source));
  if (mine > found->source) found->first = INT64_MAX;
  return find_least(run, &found->first);
}

dm_status dm_verify_missing(dm_run *run, int threads, const dm_dataset *const sets[3],
                            dm_status status) {
  if (!status || status->code != DM_E_INPUT || !status->agreed) return status;
  for (int i = 0; i < 3; i++) {
    const dm_dataset *set = sets[i];
    dm_missing_found found;
    if (!set || !set->meaning.found || set->meaning.missing != DM_MISSING_REFUSED) continue;
    dm_status counted = verify_count_missing(run, threads, set, &found);
    if (counted) {
      dm_status_free(counted);
      return status;
    }
    if (found.count == 0) continue;
    dm_status_free(status);
    status = dm_missing_refused(set, &found);
    status->agreed = true;
    return status;
  }
  return status;
}

/* ---- a matrix in memory ---- */

typedef struct memory_pass {
  dm_dataset of; /* its location only */
  dm_dtype as, work;
  bool conjugate;
  int64_t row, col; /* of the part's first element, as it is numbered */
  dm_part_taker *take;
  void *context;
} memory_pass;

static dm_status verify_take_memory(void *context, dm_view part, int64_t row, int64_t col) {
  const memory_pass *m = context;
  DM_FREED void *memory = NULL;
  if (dm_view_is_empty(part)) return DM_OK;
  DM_TRY(dm_buffer_alloc(part.rows * part.cols * dm_dtype_size(m->work), &memory));
  const dm_view read = dm_view_row_major(memory, m->work, part.rows, part.cols);
  DM_TRY(dm_read_memory(&m->of, part, m->as, read, m->conjugate));
  return m->take(m->context, read, m->row + row, m->col + col);
}

/* PART (NULL: all) of MATRIX, which is that of the entry to be passed. */
static dm_status stream_memory(dm_run *run, const dm_dataset *of, const dm_distributed *matrix,
                               const dm_extent *part, const dm_reading *how, dm_part_taker *take,
                               void *context) {
  dm_distributed passed;
  memory_pass m = {.of = {.at = of->at},
                   .as = how->as,
                   .work = how->work,
                   .conjugate = how->op == DM_OP_C,
                   .take = take,
                   .context = context};
  dm_run_phase(run, "reading", 1);
  if (!part) return dm_distributed_each(matrix, run->rank, verify_take_memory, &m);
  m.row = part->rows.begin;
  m.col = part->cols.begin;
  dm_status status = dm_distributed_part(matrix, *part, &passed);
  if (!status) status = dm_distributed_each(&passed, run->rank, verify_take_memory, &m);
  dm_distributed_close(&passed);
  return status;
}

dm_status dm_verify_stream_part(dm_run *run, const dm_verify *v, int matrix, const dm_extent *part,
                                dm_dtype work, dm_part_taker *take, void *context) {
  const dm_dataset *const sets[] = {&v->a, &v->b, &v->c, &v->c0};
  const bool is_c = matrix == DM_C || matrix == DM_OLD;
  const dm_reading how = {.op = is_c             ? DM_OP_N
                                : matrix == DM_A ? v->equation.op_a
                                                 : v->equation.op_b,
                          .as = is_c ? DM_DTYPE_NONE : v->equation.type,
                          .work = work,
                          .threads = v->io_threads,
                          .strip = v->strip};
  if (v->memory[matrix])
    return stream_memory(run, sets[matrix], v->memory[matrix], part, &how, take, context);
  return stream_file(run, sets[matrix], verify_extent_of(sets[matrix], how.op, v, part), part, &how,
                     take, context);
}

dm_status dm_verify_stream(dm_run *run, const dm_verify *v, int matrix, dm_dtype work,
                           dm_part_taker *take, void *context) {
  return dm_verify_stream_part(run, v, matrix, NULL, work, take, context);
}

/* ---- windows of k ---- */

bool dm_verify_next_window(const dm_problem *p, int64_t room, dm_verify_window *window) {
  const int64_t height = dm_problem_entry_rows(p), first = window->k.end / p->k;
  const int64_t entries = dm_max(1, dm_min(dm_problem_entries(p) - first, room / p->k));
  const dm_range k = {window->k.end % p->k, dm_min(p->k, window->k.end % p->k + room)};
  if (first == dm_problem_entries(p)) return false;
  window->a = (dm_extent){{first * height, (first + entries) * height}, k};
  window->b.rows = (dm_range){first * p->k + k.begin, (first + entries - 1) * p->k + k.end};
  window->b.cols = (dm_range){0, p->n};
  window->k = window->b.rows;
  return true;
}

/* Elements along k in a chunk of SET; of op(A), or op(B). */
static int64_t depth_of_chunk(const dm_dataset *set, dm_op op, bool is_a) {
  return is_a == (op == DM_OP_N) ? set->chunk_cols : set->chunk_rows;
}

int64_t dm_verify_room(const dm_verify *v, const dm_problem *p) {
  const int64_t a = v->memory[DM_A] ? 0 : depth_of_chunk(&v->a, v->equation.op_a, true);
  const int64_t b = v->memory[DM_B] ? 0 : depth_of_chunk(&v->b, v->equation.op_b, false);
  return dm_check_room(dm_problem_b_rows(p), dm_max(a, b));
}

/* The consumers of a part of a matrix. */
typedef struct verify_target {
  dm_freivalds *const *checks;
  int64_t count;
  dm_freivalds_part *add;
  dm_tile_sums *sums; /* checksums of C's tiles, or NULL */
} verify_target;

static dm_status verify_add(void *context, dm_view part, int64_t row, int64_t col) {
  const verify_target *to = context;
  dm_tile_sums_add(to->sums, part, row, col);
  for (int64_t i = 0; i < to->count; i++) DM_TRY(to->add(to->checks[i], NULL, part, row, col));
  return DM_OK;
}

static dm_status verify_pass(dm_run *run, const dm_verify *v, int matrix, const dm_extent *part,
                             dm_dtype work, verify_target *to, dm_freivalds_part *add_part) {
  to->add = add_part;
  return dm_comm_agree(run->world,
                       dm_verify_stream_part(run, v, matrix, part, work, verify_add, to));
}

/* ROWS: those of op(A) and C that are read. */
static dm_status gather_window(dm_run *run, const dm_verify *v, const dm_problem *p, dm_range rows,
                               verify_target *to, const dm_verify_window *window) {
  const dm_extent a = {dm_range_common(window->a.rows, rows), window->a.cols};
  if (dm_range_size(a.rows) == 0) return DM_OK;
  for (int64_t i = 0; i < to->count; i++) dm_freivalds_turn_to(to->checks[i], window->k);
  DM_TRY(verify_pass(run, v, DM_B, &window->b, p->work, to, dm_freivalds_add_b));
  for (int64_t i = 0; i < to->count; i++) DM_TRY(dm_freivalds_project(to->checks[i], run->world));
  return verify_pass(run, v, DM_A, &a, p->work, to, dm_freivalds_add_a);
}

dm_status dm_verify_gather(dm_run *run, const dm_verify *v, const dm_problem *p, dm_range rows,
                           dm_freivalds *const *checks, int64_t count) {
  const dm_extent of_c = {rows, {0, p->n}}, *part = dm_range_size(rows) < p->m ? &of_c : NULL;
  verify_target to = {.checks = checks, .count = count};
  dm_verify_window window = {0};
  DM_TRY(verify_pass(run, v, DM_B, NULL, p->work, &to, dm_freivalds_scan_b));
  for (int64_t i = 0; i < count; i++) DM_TRY(dm_freivalds_weigh(checks[i], run->world));
  while (dm_verify_next_window(p, dm_freivalds_room(checks[0]), &window))
    DM_TRY(gather_window(run, v, p, rows, &to, &window));
  to.sums = v->sums;
  DM_TRY(verify_pass(run, v, DM_C, part, p->c, &to, dm_freivalds_add_c));
  to.sums = NULL;
  if (!p->reads_c) return DM_OK;
  return verify_pass(run, v, DM_OLD, part, dm_dtype_widest(p->work), &to, dm_freivalds_add_c0);
}

dm_status dm_verify_range(dm_run *run, const dm_verify *v, const dm_problem *p) {
  const dm_dtype from[2] = {p->file_a, p->file_b};
  for (int x = 0; x < 2; x++)
    if (v->memory[x] && from[x] != p->work)
      DM_TRY(dm_comm_agree(run->world, dm_verify_stream(run, v, x, p->work, take_nothing, NULL)));
  return DM_OK;
}
