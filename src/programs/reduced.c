#include "programs/reduced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/verdict.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/units.h"
#include "dataset/naming.h"
#include "layout/host_copy.h"
#include "plan/partition.h"
#include "product/multiply.h"
#include "programs/cut.h"
#include "programs/inner.h"
#include "programs/reduced_gpu.h"
#include "programs/reduced_impl.h"
#include "transform/centered.h"

enum {
  REDUCED_SHARE = 4, /* a part of a rank's memory for its rows of a tile, and at most */
  DIAGONAL_STEP = 1024,
  TILE_BYTES = 1 << 28,        /* so many: more would only take longer to clear */
  REPRODUCIBLE_BYTES = 1 << 26 /* of a tile, on all ranks together */
};

/* The lines of A, or B, that C's rows, or columns, are of. */
dm_lines dm_reduced_lines_of(const reduced *r, int x) {
  const dm_equation *e = &r->multiply->equation;
  const bool turned = (x == 0 ? e->op_a : e->op_b) != DM_OP_N;
  return turned == (x == 0) ? DM_COLUMN_LINES : DM_ROW_LINES;
}

/* Bytes of what is kept so far. */
int64_t dm_reduced_kept_bytes(const reduced *r) {
  int64_t all = 0;
  for (int i = 0; i < r->multiply->kept.count; i++) all += dm_reducer_bytes(r->reducer[i]);
  return all;
}

/* ---- tiles ---- */

static dm_memory_matrix reduced_memory_of(const reduced *r, int64_t rows, int64_t cols) {
  return (dm_memory_matrix){.division = DM_BY_ROWS,
                            .dtype = r->tile,
                            .rows = rows,
                            .cols = cols,
                            .data = r->rows,
                            .row_stride = cols,
                            .col_stride = 1,
                            .own_rows =
                                dm_range_size(dm_split(rows, r->run->ranks, r->run->rank, 1))};
}

/* Adds PART of C to what is kept; of a symmetric C, MIRRORED, also its columns. */
static dm_status reduced_keep(const reduced *r, dm_view part, int64_t row, int64_t col,
                              bool mirrored) {
  const bool by_columns = !r->symmetric && dm_reduced_by_columns(r);
  const int threads = r->run->cores.threads;
  for (int i = 0; i < r->multiply->kept.count; i++) {
    DM_TRY(dm_reducer_add(r->reducer[i], part, row, col, by_columns, threads));
    if (mirrored) DM_TRY(dm_reducer_add(r->reducer[i], part, row, col, true, threads));
  }
  return DM_OK;
}

static dm_status reduced_store(reduced *r, dm_view part, int64_t row, int64_t col, bool mirrored) {
  DM_TRY(dm_stored_tiles_add(&r->stored, part, false, row, col));
  return mirrored ? dm_stored_tiles_add(&r->stored, part, true, col, row) : DM_OK;
}

/* Adds this rank's rows of the tile of A and B; of a symmetric C, beside the diagonal, also its
 * columns. */
static dm_status reduced_add_tile(reduced *r, const dm_dataset *a, const dm_dataset *b,
                                  dm_range rows, dm_range cols) {
  const dm_range own = dm_split(dm_range_size(rows), r->run->ranks, r->run->rank, 1);
  const dm_view part = dm_view_row_major(r->rows, r->tile, dm_range_size(own), dm_range_size(cols));
  const int64_t row = rows.begin + own.begin;
  const bool mirrored = r->symmetric && rows.begin != cols.begin;
  if (r->distances.run)
    DM_TRY(dm_distances_finish(&r->distances, a, b, part, own.begin, row, cols.begin));
  return r->stores_all ? reduced_store(r, part, row, cols.begin, mirrored)
                       : reduced_keep(r, part, row, cols.begin, mirrored);
}

static dm_reduced_c reduced_c(const reduced *r) {
  return (dm_reduced_c){r->run, r->multiply, r->reducer, r->multiply->kept.count};
}

/* The state of all rows, or which tiles of C are on the disk, if it is time. */
static dm_status reduced_record(reduced *r, bool now) {
  bool due;
  DM_TRY(dm_reduced_state_is_due(r->run, &r->state, r->tiles, now, &due));
  if (!due) return DM_OK;
  if (r->stores_all) DM_TRY(dm_stored_tiles_sync(&r->stored));
  return dm_reduced_state_keep(reduced_c(r), r->tiles, r->step, r->unchecked, &r->state);
}

int64_t dm_reduced_tile_count(const reduced *r) {
  const int64_t down = dm_ceil_div(r->problem.m, r->step),
                across = dm_ceil_div(r->problem.n, r->step);
  return r->diagonal ? down : r->symmetric ? down * (down + 1) / 2 : down * across;
}

/* "12000 of 20000 rows, 31402 elements kept": of those that lists of this rank have. */
static void reduced_show_progress(reduced *r, dm_range rows, dm_range cols) {
  const dm_problem *p = &r->problem;
  const bool by_rows = r->symmetric || r->diagonal || !dm_reduced_by_columns(r);
  int64_t kept = 0;
  char text[96], elements[48] = "";
  if (!dm_progress_is_due(&r->progress)) return;
  for (int i = 0; i < r->multiply->kept.count; i++) {
    const dm_reduction_kind kind = r->multiply->kept.list[i].kind;
    if (kind == DM_REDUCE_TOP || kind == DM_REDUCE_BEYOND) kept += dm_reducer_kept(r->reducer[i]);
  }
  if (kept > 0)
    snprintf(elements, sizeof elements, ", %lld elements kept%s", (long long)kept,
             r->run->ranks > 1 ? " by rank 0" : "");
  if (by_rows)
    snprintf(text, sizeof text, "%lld of %lld rows%s",
             (long long)(r->diagonal || cols.end == p->n ? rows.end : rows.begin), (long long)p->m,
             elements);
  else
    snprintf(text, sizeof text, "%lld of %lld tiles%s", (long long)r->tiles,
             (long long)dm_reduced_tile_count(r), elements);
  dm_progress_show(&r->progress, (dm_standing){.done = r->done / r->all, .note = text});
}

/* What could not be verified is for the end to say, and progress is that of all tiles. */
static dm_status reduced_multiplied(reduced *r, dm_range rows, dm_range cols, dm_status status) {
  if (status && status->code == DM_E_STOPPED)
    dm_hint(status, r->state.file.on ? "the same command goes on after the last tile"
                                     : "its tiles are not recorded: the same command begins again");
  r->done += (double)dm_range_size(rows) * (double)dm_range_size(cols);
  return status;
}

void dm_reduced_pose_tile(const reduced *r, const dm_dataset *a, const dm_dataset *b, dm_range rows,
                          dm_range cols, dm_reduced_tile *job) {
  dm_multiply *m = &job->multiply;
  job->c = reduced_memory_of(r, dm_range_size(rows), dm_range_size(cols));
  job->in[0] = dm_inner_memory(a);
  job->in[1] = dm_inner_memory(b);
  *m = *r->multiply;
  m->a = *a;
  m->b = *b;
  m->equation.symmetric = r->symmetric && rows.begin == cols.begin;
  m->in_memory[DM_A] = a->memory.base ? &job->in[0] : NULL;
  m->in_memory[DM_B] = b->memory.base ? &job->in[1] : NULL;
  m->in_memory[DM_C] = &job->c;
  if (r->run->ranks == 1)
    m->seen_c = dm_view_row_major(r->rows, job->c.dtype, job->c.rows, job->c.cols);
  m->engine.process_bytes = m->engine.beside = /* the tile, and a copy that is verified */
      r->process + 2 * r->tile_bytes + dm_reduced_kept_bytes(r);
  m->checkpoint = false;
  m->scratch = true;
}

static dm_status reduced_compute_tile(reduced *r, const dm_dataset *a, const dm_dataset *b,
                                      dm_range rows, dm_range cols) {
  DM_FREED dm_reduced_tile *job = NULL;
  DM_TRY(dm_comm_agree(r->run->world, dm_buffer_table(1, &job)));
  dm_reduced_pose_tile(r, a, b, rows, cols, job);
  DM_TRY(
      reduced_multiplied(r, rows, cols, dm_inner_multiply(r->run, &job->multiply, &r->unchecked)));
  DM_TRY(dm_comm_agree(r->run->world, reduced_add_tile(r, a, b, rows, cols)));
  r->tiles++;
  reduced_show_progress(r, rows, cols);
  return reduced_record(r, false);
}

/* The same on a GPU: what was kept of the tile before is merged while this one is multiplied. */
static dm_status reduced_compute_there(reduced *r, const dm_dataset *a, const dm_dataset *b,
                                       dm_range rows, dm_range cols) {
  const bool diagonal = r->symmetric && rows.begin == cols.begin;
  const dm_comm *world = r->run->world;
  DM_TRY(reduced_multiplied(r, rows, cols,
                            dm_comm_agree(world, dm_reduced_gpu_multiply(r, a, b, diagonal))));
  DM_TRY(dm_comm_agree(world, dm_reduced_gpu_settle(r)));
  reduced_show_progress(r, rows, cols);
  DM_TRY(reduced_record(r, false));
  DM_TRY(dm_comm_agree(world, dm_reduced_gpu_keep(r, rows, cols, r->symmetric && !diagonal)));
  r->tiles++;
  return DM_OK;
}

/* Whether an earlier run has merged the next tile, of ROWS and COLS. */
static bool reduced_was_merged(reduced *r, dm_range rows, dm_range cols) {
  if (r->tiles >= r->taken) return false;
  r->tiles++;
  r->done += (double)dm_range_size(rows) * (double)dm_range_size(cols);
  return true;
}

static dm_range reduced_tile_range(const reduced *r, int64_t i, int64_t all) {
  return (dm_range){i * r->step, dm_min((i + 1) * r->step, all)};
}

static dm_status reduced_cut(const reduced *r, int x, dm_range lines, dm_cut *cut) {
  const dm_dataset *whole = r->gpu   ? dm_reduced_gpu_factor(r, x)
                            : x == 0 ? &r->multiply->a
                                     : &r->multiply->b;
  return dm_comm_agree(r->run->world, dm_cut_lines(whole, dm_reduced_lines_of(r, x), lines, cut));
}

/* The tiles of one row of tiles: in the order of their columns. */
static dm_status reduced_compute_row(reduced *r, int64_t i) {
  const dm_problem *p = &r->problem;
  const dm_range rows = reduced_tile_range(r, i, p->m);
  dm_cut a, b;
  DM_TRY(reduced_cut(r, 0, rows, &a));
  dm_status status = DM_OK;
  const int64_t first = r->symmetric || r->diagonal ? i : 0;
  for (int64_t j = first; j * r->step < p->n && !status && (!r->diagonal || j == i); j++) {
    const dm_range cols = reduced_tile_range(r, j, p->n);
    const bool same = r->symmetric && i == j;
    const dm_dataset *factor = same ? &a.dataset : &b.dataset;
    if (reduced_was_merged(r, rows, cols)) continue;
    if (!same) status = reduced_cut(r, 1, cols, &b);
    if (status) break;
    status = r->gpu ? reduced_compute_there(r, &a.dataset, factor, rows, cols)
                    : reduced_compute_tile(r, &a.dataset, factor, rows, cols);
    if (!same) dm_cut_free(&b);
  }
  dm_cut_free(&a);
  return status;
}

/* ---- memory ---- */

/* Rows and columns of most tiles of which none has more than BYTES on any of RANKS. */
static int64_t reduced_step_of(const reduced *r, int64_t bytes, int ranks) {
  const dm_problem *p = &r->problem;
  const int64_t size = dm_dtype_size(r->tile), longest = dm_max(p->m, p->n);
  int64_t step = r->diagonal ? dm_min(longest, DIAGONAL_STEP) : longest;
  while (step > 1 && (double)dm_ceil_div(dm_min(step, p->m), ranks) * (double)dm_min(step, p->n) *
                             (double)size >
                         (double)dm_max(bytes, size))
    step = dm_ceil_div(step, 2);
  const int64_t even = dm_ceil_div(longest, dm_ceil_div(longest, step)); /* alike, and aligned */
  return step < longest ? dm_round_up(even, 8) : longest;
}

/* With --reproducible whatever the memory and the ranks: bits of C follow from its tiles. */
dm_status dm_reduced_choose_step(reduced *r) {
  const dm_problem *p = &r->problem;
  const bool reproducible = r->multiply->engine.wishes.reproducible;
  r->step = reproducible
                ? reduced_step_of(r, REPRODUCIBLE_BYTES, 1)
                : reduced_step_of(r, dm_min(TILE_BYTES, r->share / REDUCED_SHARE), r->run->ranks);
  if (r->gpu) r->step = 0;
  if (r->state.step > 0) r->step = r->state.step; /* that of the tiles that are taken */
  DM_TRY(dm_comm_max_i64(r->run->world, &r->step, 1));
  if (r->gpu) return dm_comm_agree(r->run->world, dm_reduced_gpu_choose_step(r));
  DM_TRY(dm_bytes_of(dm_ceil_div(dm_min(r->step, p->m), r->run->ranks), dm_min(r->step, p->n),
                     (int)dm_dtype_size(r->tile), &r->tile_bytes));
  dm_status status = DM_OK;
  if (reproducible && r->tile_bytes > r->share / 2)
    status =
        dm_hint(dm_fail(DM_E_FIT, "the tiles of a reproducible reduction do not fit in memory"),
                "more memory, or more ranks; without --reproducible tiles are as small as "
                "needed");
  if (!status) status = dm_buffer_alloc(dm_max(1, r->tile_bytes), &r->rows);
  return dm_comm_agree(r->run->world, status);
}

static dm_status reduced_open_one(reduced *r, int which, int64_t room) {
  const dm_reduction *what = &r->multiply->kept.list[which];
  const bool columns = dm_reduced_by_columns(r);
  int64_t lines = columns ? r->problem.n : r->problem.m;
  int64_t length = columns ? r->problem.m : r->problem.n;
  if (what->kind == DM_REDUCE_DIAGONAL) lines = length = dm_min(lines, length);
  return dm_reducer_new(what, lines, length, room, r->folder[0] ? r->folder : NULL,
                        &r->reducer[which]);
}

/* Lists of unknown length share what the others leave; more of them go to the disk of the result.
 */
dm_status dm_reduced_open_reducers(reduced *r) {
  const bool spills = !r->kept && r->multiply->out.file[0];
  if (spills) dm_path_directory(r->multiply->out.file, r->folder);
  const dm_reductions *kept = &r->multiply->kept;
  int64_t room = r->share / 2;
  int unknown = 0;
  dm_status status = DM_OK;
  for (int i = 0; i < kept->count && !status; i++) {
    unknown += kept->list[i].kind == DM_REDUCE_BEYOND;
    if (kept->list[i].kind == DM_REDUCE_BEYOND) continue;
    status = reduced_open_one(r, i, room);
    if (!status) room -= dm_reducer_bytes(r->reducer[i]);
  }
  for (int i = 0; i < kept->count && !status; i++)
    if (kept->list[i].kind == DM_REDUCE_BEYOND)
      status = reduced_open_one(r, i, dm_max(0, room) / unknown);
  return dm_comm_agree(r->run->world, status);
}

void dm_reduced_say_tiles(reduced *r) {
  const dm_problem *p = &r->problem;
  const int64_t tiles = dm_reduced_tile_count(r);
  char text[DM_REDUCED_TEXT], bytes[2][32];
  const double whole = (double)p->m * (double)p->n;
  r->all = r->diagonal    ? (double)p->m * (double)dm_min(r->step, p->n)
           : r->symmetric ? (whole + (double)p->m * (double)r->step) / 2.0
                          : whole;
  dm_log_line(&r->run->log, DM_LOG_DETAIL,
              "C, %lld x %lld, is %s: %lld %s of up to %lld x %lld; kept: %s", (long long)p->m,
              (long long)p->n, r->stores_all ? "stored whole" : "not stored", (long long)tiles,
              tiles == 1 ? "tile" : "tiles", (long long)dm_min(r->step, p->m),
              (long long)dm_min(r->step, p->n), dm_reduced_text(r, text));
  dm_log_line(&r->run->log, DM_LOG_DETAIL,
              "needs per rank: %s for a tile%s, %s for what is kept so far",
              dm_format_bytes(r->tile_bytes, bytes[0]), r->gpu ? " on the GPU" : "",
              dm_format_bytes(dm_reduced_kept_bytes(r), bytes[1]));
}

static dm_status reduced_compute_all(reduced *r) {
  const dm_problem *p = &r->problem;
  dm_reduced_say_tiles(r);
  if (r->taken > 0)
    dm_log_line(&r->run->log, DM_LOG_NOTE, "resuming: %lld tiles are taken from an earlier run",
                (long long)r->taken);
  dm_progress_start(&r->progress, r->run, "multiplying", 2.0 * r->all * (double)p->k, 0.0,
                    r->run->ranks);
  dm_status status = DM_OK;
  for (int64_t i = 0; i * r->step < p->m && !status; i++) status = reduced_compute_row(r, i);
  if (r->gpu) status = dm_status_first(status, dm_reduced_gpu_settle(r));
  if (status && status->code == DM_E_STOPPED && status->agreed)
    status = dm_status_first(status, reduced_record(r, true));
  dm_progress_end(&r->progress);
  return status;
}

static dm_status reduced_unchanged(const reduced *r) {
  if (!r->multiply->in_memory[DM_A]) DM_TRY(dm_dataset_unchanged(&r->multiply->a));
  return r->multiply->in_memory[DM_B] ? DM_OK : dm_dataset_unchanged(&r->multiply->b);
}

/* ---- all ---- */

/* What an earlier run has kept. Its tiles need memory, too. */
static dm_status reduced_resume(reduced *r) {
  const dm_problem *p = &r->problem;
  char metric[DM_DISTANCE_TEXT];
  const double width = (double)dm_ceil_div(dm_min(p->m, p->n), r->run->ranks);
  const double fits = (double)r->share / 2.0 / (double)dm_dtype_size(r->tile);
  int64_t most = dm_max(p->m, p->n);
  if (width * (double)most > fits && !r->gpu) most = (int64_t)sqrt(fits * (double)r->run->ranks);
  if (r->kept) return DM_OK;
  DM_TRY(dm_reduced_state_open(
      reduced_c(r), p, dm_distance_text(&r->stated->equation.distance, metric), most, &r->state));
  r->taken = r->state.tiles;
  r->unchecked = r->state.unchecked;
  return DM_OK;
}

/* Of what is kept: joins what the ranks have, and writes it. */
static dm_status reduced_join(reduced *r) {
  for (int i = 0; i < r->multiply->kept.count; i++)
    DM_TRY(dm_reducer_join(r->reducer[i], r->run->world));
  DM_TRY(dm_comm_agree(r->run->world, reduced_unchanged(r)));
  dm_run_phase(r->run, "writing", DM_SYNC_PATIENCE);
  dm_status status = r->run->rank == 0 ? dm_reduced_deliver(r) : DM_OK;
  if (!status && r->run->rank == 0) dm_reduced_state_remove(r->multiply, &r->state);
  return dm_comm_agree(r->run->world, status);
}

/* The file with the tiles of an earlier run is gone. */
static void reduced_begin_again(reduced *r) {
  r->taken = r->state.tiles = 0;
  r->unchecked = false;
  if (r->run->rank == 0) dm_state_refuse(r->run, &r->multiply->out);
}

/* Stores all of C. */
static dm_status reduced_store_all(reduced *r) {
  const dm_problem *p = &r->problem;
  const dm_stored_matrix c = {.rows = p->m,
                              .cols = p->n,
                              .dtype = p->c,
                              .room = r->tile_bytes / dm_dtype_size(r->tile),
                              .earlier = r->taken > 0 ? &r->state.part : NULL,
                              .describe = dm_reduced_describe_whole,
                              .context = r};
  dm_status status = dm_stored_tiles_open(r->run, r->stated, &c, &r->stored);
  if (!status && r->taken > 0 && !r->stored.taken) reduced_begin_again(r);
  if (!status) r->state.part = r->stored.making.file;
  if (!status) status = reduced_compute_all(r);
  if (!status) status = dm_comm_agree(r->run->world, reduced_unchanged(r));
  const bool stays = status && status->code == DM_E_STOPPED && r->state.tiles > 0;
  status = dm_stored_tiles_close(&r->stored, stays, status);
  if (!status && r->run->rank == 0) dm_reduced_state_remove(r->multiply, &r->state);
  return status;
}

static dm_status reduced_make(reduced *r, dm_record *record) {
  DM_TRY(dm_reduced_open_reducers(r));
  DM_TRY(reduced_resume(r));
  DM_TRY(dm_reduced_choose_step(r));
  if (r->stores_all) {
    DM_TRY(reduced_store_all(r));
  } else {
    DM_TRY(reduced_compute_all(r));
    DM_TRY(reduced_join(r));
  }
  int64_t again = r->distances.again;
  DM_TRY(dm_comm_sum_i64(r->run->world, &again, 1));
  if (record && r->run->rank == 0) dm_reduced_report(r, again, record);
  if (!r->unchecked || r->multiply->allow_unchecked) return DM_OK;
  dm_status unchecked =
      dm_hint(dm_fail(DM_E_UNCHECKED, "part of C could not be verified: it holds NaN or Inf"),
              "the result is complete; --allow-unchecked exits with 0");
  unchecked->agreed = true;
  return unchecked;
}

/* Finds means and deviations once, for all tiles. */
static dm_status reduced_center(reduced *r, dm_centered *made) {
  dm_multiply *m = r->multiply;
  if (m->equation.distance.kind != DM_NO_DISTANCE)
    return dm_distances_open(r->run, m, r->share / REDUCED_SHARE, &r->distances);
  if (!dm_multiply_centers(m)) return DM_OK;
  DM_TRY(dm_center_inputs(r->run, m->engine.io_threads, &m->vectors, &m->equation, &m->a, &m->b,
                          made));
  m->vectors = (dm_vectors){.weights = {.rows = 0}};
  for (int x = 0; x < 2; x++) m->equation.standard[x] = (dm_standard){.fills = false};
  return DM_OK;
}

static dm_status reduced_check(const dm_multiply *m, const dm_problem *p) {
  const bool whole = m->kept.count == 0;
  if (whole && m->in_memory[DM_C] && !m->seen_c.base)
    return dm_hint(dm_fail(DM_E_USAGE, "distances go to a file, or to host memory of one process"),
                   "name a file for C");
  if (m->in_memory[DM_C] && !whole)
    return dm_hint(dm_fail(DM_E_USAGE, "what is kept of C is not C"),
                   "name a file for the result; damier_kept() keeps it in memory");
  if (p->batch > 1)
    return dm_hint(dm_fail(DM_E_USAGE, "a batch of products is not reduced"),
                   "name one matrix of each stack: A.h5:/a[0]");
  if (dm_problem_is_integral(p))
    return dm_hint(
        dm_fail(DM_E_USAGE, "what is kept of C is not written as %s", dm_dtype_name(p->c)),
        "--type f64 keeps numbers of f64");
  if (dm_dtype_is_complex(p->c))
    return dm_fail(DM_E_USAGE, "complex elements have no order: C is not reduced");
  if (m->has_c)
    return dm_hint(dm_fail(DM_E_USAGE, "a product is reduced without an old C"),
                   "leave out --beta");
  return DM_OK;
}

/* Brings what ranks have in GPU memory, or in parts, to where each sees it whole. */
static dm_status reduced_bring(reduced *r) {
  static const char *const names[] = {"A", "B"};
  dm_multiply *m = r->multiply;
  dm_dataset *const sets[2] = {&m->a, &m->b};
  for (int x = 0; x < 2; x++) {
    if (!m->in_memory[x] || sets[x]->memory.base || dm_dataset_is_empty(sets[x])) continue;
    if (x == 1 && m->equation.symmetric && m->a.memory.base) {
      dm_dataset_set_memory(sets[1], m->a.memory);
      continue;
    }
    DM_TRY(dm_host_copy(r->run, &m->engine, m->in_memory[x], names[x], r->share / 2, sets[x],
                        &r->copies[x]));
    const int64_t bytes =
        sets[x]->rows * sets[x]->cols * dm_dtype_size(sets[x]->memory.dtype); /* it was allocated */
    r->process += bytes;
    r->share -= bytes;
  }
  return DM_OK;
}

/* All that needs no reading. OWN: room for what R multiplies. */
dm_status dm_reduced_begin(reduced *r, dm_multiply *own) {
  dm_run *run = r->run;
  *own = *r->stated;
  r->multiply = own;
  dm_status status = dm_problem_of(&own->a, &own->b, NULL, &own->equation, &r->problem);
  if (!status) status = reduced_check(own, &r->problem);
  DM_TRY(dm_comm_agree(run->world, status));
  own->equation.type_c = r->problem.c;
  r->stores_all = own->kept.count == 0;
  r->tile = own->equation.distance.kind == DM_NO_DISTANCE ? r->problem.c : DM_F64;
  r->symmetric = own->equation.symmetric;
  r->diagonal = own->kept.count == 1 && own->kept.list[0].kind == DM_REDUCE_DIAGONAL;
  if (r->diagonal) r->problem.m = r->problem.n = dm_min(r->problem.m, r->problem.n);
  r->process = dm_setup_process_bytes(run);
  r->share = dm_max(
      0, dm_setup_share(own->engine.memory_host, (double)dm_memory_available() / run->local_ranks) -
             r->process);
  own->engine.once = false;
  return DM_OK;
}

void dm_reduced_end(reduced *r, dm_status status) {
  const bool delivered = r->kept && r->kept->reducer[0];
  dm_reduced_gpu_free(r);
  for (int i = 0; i < DM_REDUCTIONS && !delivered && (!status || status->agreed); i++)
    dm_reducer_free(r->reducer[i]);
  if (!status || status->agreed) {
    free(r->rows);
    for (int x = 0; x < 2; x++) free(r->copies[x]);
    dm_distances_close(&r->distances);
  }
}

dm_status dm_reduced_run(dm_run *run, const dm_multiply *multiply, dm_reduced_kept *kept,
                         dm_record *record) {
  reduced r = {.run = run, .stated = multiply, .kept = kept, .started = dm_now()};
  dm_centered made = {.made = {NULL, NULL}};
  DM_FREED dm_multiply *own = NULL;
  DM_TRY(dm_comm_agree(run->world, dm_buffer_table(1, &own)));
  DM_TRY(dm_reduced_begin(&r, own));
  dm_status status = dm_reduced_gpu_open(&r);
  if (!status && !r.gpu) status = reduced_bring(&r);
  if (!status && !r.gpu) status = reduced_center(&r, &made);
  if (!status) status = reduced_make(&r, record);
  dm_centered_free(&made);
  dm_reduced_end(&r, status);
  return status;
}
