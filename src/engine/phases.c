#include "engine/phases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"
#include "engine/execute.h"
#include "plan/grid_cost.h"

dm_status dm_phases_worst(const dm_run *run, const dm_rank_state *local, dm_phases *worst) {
  const dm_phases *p = &local->phases;
  int64_t bytes[] = {0, p->uploaded, p->from_files, 0}, resident = dm_memory_own_peak();
  if (local->transport) bytes[0] = dm_transport_received(local->transport);
  if (local->plan && local->plan->problem.compute.falls_back) /* no plan: all tiles were complete */
    DM_TRY(dm_comm_agree(run->world, dm_backend_native_lines(local->backend, &bytes[3])));
  *worst = *p;
  DM_TRY(dm_comm_max_f64(run->world, worst->seconds, DM_PHASE_SECONDS));
  DM_TRY(dm_comm_sum_i64(run->world, bytes, 4));
  DM_TRY(dm_comm_max_i64(run->world, &resident, 1));
  worst->received = bytes[0];
  worst->uploaded = bytes[1];
  worst->from_files = bytes[2];
  worst->natively = bytes[3];
  worst->resident = resident;
  return DM_OK;
}

/* BAND_ROWS: that a thread claims at a time. */
enum { BY_RANK = 16, MOST_LISTED = 1024, BAND_ROWS = 128 };

static void list_of(const dm_phases *p, double seconds[BY_RANK]) {
  const double all[BY_RANK] = {p->read,
                               p->multiply,
                               p->gemm,
                               fmax(0.0, p->multiply - p->gemm),
                               p->fetch,
                               p->upload,
                               p->exposed_fetch,
                               p->exposed_upload,
                               p->reduce,
                               p->write,
                               p->check + p->verify,
                               p->start,
                               p->plan,
                               p->open,
                               p->commit,
                               p->wait};
  memcpy(seconds, all, sizeof all);
}

static void record_by_rank(const double *all, int ranks, dm_record *record) {
  static const char *const names[BY_RANK] = {
      "read",          "multiply",       "gemm",   "exposed", "fetch",  "upload",
      "exposed_fetch", "exposed_upload", "reduce", "write",   "verify", "start",
      "plan",          "open",           "commit", "wait"};
  double one[MOST_LISTED];
  for (int i = 0; i < BY_RANK; i++) {
    double most = all[i], least = all[i], sum = 0.0;
    char path[64];
    for (int r = 0; r < ranks; r++) {
      const double seconds = all[r * BY_RANK + i];
      if (r < MOST_LISTED) one[r] = seconds;
      most = fmax(most, seconds);
      least = fmin(least, seconds);
      sum += seconds;
    }
    snprintf(path, sizeof path, "phases.%s.max_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, most);
    snprintf(path, sizeof path, "phases.%s.mean_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, sum / ranks);
    snprintf(path, sizeof path, "phases.%s.min_s", names[i]);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, least);
    snprintf(path, sizeof path, "ranks.%s_s", names[i]);
    if (ranks <= MOST_LISTED) dm_record_series(record, path, one, ranks);
  }
}

dm_status dm_phases_by_rank(const dm_run *run, const dm_phases *mine, dm_record *record) {
  double seconds[BY_RANK];
  DM_FREED double *all = NULL;
  dm_status status = DM_OK;
  list_of(mine, seconds);
  if (run->rank == 0) status = dm_buffer_table((int64_t)run->ranks * BY_RANK, &all);
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_gather(run->world, seconds, sizeof seconds, all, 0));
  if (record) record_by_rank(all, run->ranks, record);
  return DM_OK;
}

/* The phase for idle time in a round of steps of KINDS. */
static double *rest_of(dm_phases *phases, unsigned kinds) {
  if (kinds & (1u << DM_STEP_GEMM | 1u << DM_STEP_STRIP)) return &phases->multiply;
  return kinds & DM_LOADS ? &phases->read : &phases->write;
}

void dm_phases_take(const dm_trace *trace, unsigned kinds, double seconds, double others,
                    dm_phases *phases) {
  const double reads = trace->exposed[DM_ROW_READ], writes = trace->exposed[DM_ROW_WRITE];
  others = phases->check + phases->verify - others;
  phases->read += reads;
  phases->write += fmax(0.0, writes - others);
  *rest_of(phases, kinds) += fmax(0.0, seconds - reads - fmax(writes, others));
  phases->gemm += trace->busy[DM_ROW_COMPUTE];
  phases->fetch += trace->busy[DM_ROW_TRANSPORT];
  phases->upload += trace->busy[DM_ROW_COPY];
  phases->exposed_fetch += trace->exposed[DM_ROW_TRANSPORT];
  phases->exposed_upload += trace->exposed[DM_ROW_COPY];
}

double dm_product_flops(const dm_problem *problem) {
  double each = dm_dtype_is_complex(problem->work) ? 8.0 : 2.0;
  return each * (double)problem->m * (double)problem->n * (double)problem->k;
}

double dm_phases_flops(const dm_phases *worst, const dm_plan *plan) {
  double seconds = worst->multiply + worst->reduce;
  return seconds > 0 ? dm_product_flops(&plan->problem) / seconds : 0.0;
}

double dm_phases_sum(const dm_phases *p) {
  double sum = 0.0;
  for (int i = 0; i < DM_PHASES; i++) sum += p->seconds[i];
  return sum;
}

dm_status dm_phases_mean(const dm_run *run, const dm_phases *mine, dm_phases *mean) {
  *mean = *mine;
  DM_TRY(dm_comm_sum_f64(run->world, mean->seconds, DM_PHASE_SECONDS));
  for (int i = 0; i < DM_PHASE_SECONDS; i++) mean->seconds[i] /= run->ranks;
  return DM_OK;
}

static void record_times(const dm_phases *mean, const dm_plan *plan, double total,
                         dm_record *record) {
  const struct {
    const char *path, *label;
    double seconds;
    bool shown;
  } lines[] = {
      {"times.total_s", "total", total, true},
      {"times.start_s", "  starting", mean->start, true},
      {"times.plan_s", "  planning", mean->plan, true},
      {"times.open_s", "  opening files and memory", mean->open, true},
      {"times.read_s", "  reading", mean->read, true},
      {"times.multiply_s", "  multiplying", mean->multiply, true},
      {"times.exposed_s", "    not hidden behind products", fmax(0.0, mean->multiply - mean->gemm),
       true},
      {"times.reduce_s", "  summing layers", mean->reduce, plan->pk > 1},
      {"times.write_s", "  writing", mean->write, true},
      {"times.verify_s", "  verifying", mean->check + mean->verify, true},
      {"times.commit_s", "  committing C", mean->commit, true},
      {"times.wait_s", "  waiting for other ranks", mean->wait, dm_plan_used(plan) > 1},
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    dm_record_real(record, lines[i].path, lines[i].shown ? lines[i].label : NULL, DM_SHOWN_SECONDS,
                   lines[i].seconds);
}

void dm_phases_record_natively(const dm_phases *worst, const dm_plan *plan, dm_record *record) {
  if (plan->problem.compute.falls_back)
    dm_record_integer(record, "problem.natively", "rows and columns not split", DM_SHOWN_PLAIN,
                      worst->natively);
}

void dm_phases_record(const dm_phases *worst, const dm_phases *mean, const dm_plan *plan,
                      double total, dm_record *record) {
  record_times(mean, plan, total, record);
  dm_record_real(record, "rates.multiply_flops", "rate", DM_SHOWN_FLOPS,
                 dm_phases_flops(worst, plan));
  dm_phases_record_natively(worst, plan, record);
  dm_record_integer(record, "moved.between_ranks_bytes",
                    dm_plan_used(plan) > 1 ? "moved between ranks" : NULL, DM_SHOWN_BYTES,
                    worst->received);
  dm_record_integer(record, "moved.to_devices_bytes", NULL, DM_SHOWN_BYTES, worst->uploaded);
  dm_record_integer(record, "moved.from_files_bytes", NULL, DM_SHOWN_BYTES, worst->from_files);
  dm_record_integer(record, "memory.host_process_bytes", NULL, DM_SHOWN_BYTES, plan->process_bytes);
  dm_record_integer(record, "memory.host_peak_bytes", NULL, DM_SHOWN_BYTES, worst->resident);
}

/* Passes this rank's piece from ROW on; if panels use slots on the device, as a copy in a slot: the
 * device sums as fast as the host copies, the host alone at a twentieth of that. */
static dm_status show_piece(const dm_rank_state *local, dm_matrix matrix, int64_t panel,
                            int64_t row, dm_view *piece) {
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  if (dm_triangle_shares(local->plan, matrix)) {
    DM_TRY(show_piece(local, dm_other_matrix(matrix), panel, 0, piece));
    *piece = dm_view_transpose(*piece);
    return DM_OK;
  }
  *piece = dm_rank_piece_from(local, matrix, panel, row);
  if (!factor->route.uploaded) return DM_OK;
  const dm_view host = *piece;
  *piece =
      dm_view_strided(dm_rank_slot(local, matrix, DM_DEVICE_RING, panel, 0).base, host.dtype,
                      DM_DEVICE, host.rows, host.cols, dm_device_stride(host.cols, host.dtype));
  return dm_backend_copy_now(local->backend, *piece, host);
}

/* Of PANELS together. */
static void phases_share_of(const dm_rank_state *local, dm_matrix matrix, dm_range panels,
                            dm_range *rows, dm_range *cols) {
  const int64_t first = panels.begin, last = panels.end - 1;
  *rows = (dm_range){dm_rank_piece_rows(local, matrix, first).begin,
                     dm_rank_piece_rows(local, matrix, last).end};
  *cols = (dm_range){dm_rank_piece_cols(local, matrix, first).begin,
                     dm_rank_piece_cols(local, matrix, last).end};
}

/* Whole bands: a panel of a small matrix has no work for many cores. */
static dm_status pass_mapped(const dm_rank_state *local, dm_matrix matrix, dm_range panels,
                             dm_piece_taker *take, void *context) {
  const bool turned = dm_triangle_shares(local->plan, matrix);
  const dm_matrix held = turned ? dm_other_matrix(matrix) : matrix;
  dm_range rows, cols;
  phases_share_of(local, held, panels, &rows, &cols);
  while (rows.begin < rows.end) {
    const dm_view band = dm_rank_mapped(local, held, rows, cols);
    const dm_view piece = turned ? dm_view_transpose(band) : band;
    DM_TRY(take(context, local->backend, piece, panels.begin, turned ? cols.begin : rows.begin,
                turned ? rows.begin : cols.begin));
    DM_TRY(dm_run_beat(local->run));
    rows.begin += band.rows;
  }
  return DM_OK;
}

/* The piece of one panel; if it was copied to a slot, no sum is pending when it returns. */
static dm_status pass_panel(dm_rank_state *local, dm_matrix matrix, int64_t panel,
                            dm_piece_taker *take, void *context) {
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  const dm_range rows = dm_rank_piece_rows(local, matrix, panel);
  const int64_t col = dm_rank_piece_cols(local, matrix, panel).begin;
  dm_view piece;
  for (int64_t row = rows.begin; row < rows.end; row += piece.rows) {
    DM_TRY(show_piece(local, matrix, panel, row - rows.begin, &piece));
    DM_TRY(take(context, local->backend, piece, panel, row, col));
    if (factor->route.uploaded) DM_TRY(dm_backend_settle(local->backend)); /* before the next */
  }
  return dm_run_beat(local->run);
}

/* The resident pieces of PANELS, not empty, that tile T is the first to need. */
static dm_status pass_tile(dm_rank_state *local, dm_matrix matrix, int64_t t, dm_range panels,
                           dm_piece_taker *take, void *context) {
  if (!dm_plan_is_first(local->plan, matrix, t)) return DM_OK;
  dm_rank_turn_to(local, t);
  if (dm_rank_is_mapped(local, matrix)) return pass_mapped(local, matrix, panels, take, context);
  for (int64_t p = panels.begin; p < panels.end; p++)
    DM_TRY(pass_panel(local, matrix, p, take, context));
  return DM_OK;
}

dm_status dm_each_piece(dm_rank_state *local, dm_matrix matrix, dm_piece_taker *take,
                        void *context) {
  if (local->coords.idle || dm_range_size(local->panels) == 0) return DM_OK;
  for (int64_t i = 0; i < dm_plan_todo(local->plan); i++)
    DM_TRY(
        pass_tile(local, matrix, dm_plan_todo_tile(local->plan, i), local->panels, take, context));
  return DM_OK;
}

dm_status dm_check_new(const dm_run *run, const dm_plan *plan, const double alpha[2],
                       const double beta[2], dm_freivalds **check) {
  const int64_t room = dm_check_room(dm_problem_b_rows(&plan->problem), dm_plan_width(plan));
  DM_TRY(dm_comm_agree(run->world,
                       dm_freivalds_new(&plan->problem, alpha, beta, plan->gpu, room, check)));
  if (plan->gpu) dm_freivalds_join_groups(*check);
  return DM_OK;
}

typedef struct phases_checking {
  dm_rank_state *local;
  dm_freivalds *check;
  dm_share_sums *sums; /* or NULL */
  dm_matrix matrix;
  dm_freivalds_part *take;
} phases_checking;

static dm_status phases_scan_piece(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                   int64_t row, int64_t col) {
  const phases_checking *c = context;
  if (c->sums && dm_share_sums_scanned(c->sums, c->local, panel)) return DM_OK;
  return dm_freivalds_scan_b(c->check, backend, piece, row, col);
}

static dm_status phases_add_piece(void *context, dm_backend *backend, dm_view piece, int64_t panel,
                                  int64_t row, int64_t col) {
  const phases_checking *c = context;
  bool shown = false;
  if (c->sums)
    DM_TRY(dm_share_sums_show(c->sums, c->local, c->matrix, panel, c->take, c->check, &shown));
  return shown ? DM_OK : c->take(c->check, backend, piece, row, col);
}

/* Many bands of op(A), which may be small: threads share its rows. */
typedef struct phases_bands {
  const phases_checking *checking;
  dm_range rows, cols;
} phases_bands;

static dm_status phases_add_rows(void *context, int64_t turn) {
  const phases_bands *b = context;
  int64_t row = b->rows.begin + turn * BAND_ROWS;
  const int64_t end = dm_min(row + BAND_ROWS, b->rows.end);
  while (row < end) {
    const dm_view part = dm_rank_mapped(b->checking->local, DM_A, (dm_range){row, end}, b->cols);
    DM_TRY(dm_freivalds_add_a(b->checking->check, NULL, part, row, b->cols.begin));
    row += part.rows;
  }
  return DM_OK;
}

/* Adds PANELS of op(A), which is multiplied in the page cache. */
static dm_status add_bands(const phases_checking *c, int64_t t, dm_range panels) {
  dm_rank_state *local = c->local;
  if (!dm_plan_is_first(local->plan, DM_A, t)) return DM_OK;
  dm_rank_turn_to(local, t);
  phases_bands all = {.checking = c};
  phases_share_of(local, DM_A, panels, &all.rows, &all.cols);
  DM_TRY(dm_fork_each(dm_ceil_div(dm_range_size(all.rows), BAND_ROWS), 0, phases_add_rows, &all));
  return dm_run_beat(local->run);
}

/* Tiles of this run, by their places (plan/tiles.h), and panels, that are added together. */
typedef struct lot {
  dm_range places, panels;
} lot;

static dm_status add_lot(phases_checking *c, dm_matrix matrix, lot of) {
  dm_rank_state *local = c->local;
  c->matrix = matrix;
  c->take = matrix == DM_A ? dm_freivalds_add_a : dm_freivalds_add_b;
  if (local->coords.idle || dm_range_size(of.panels) == 0) return DM_OK;
  for (int64_t i = of.places.begin; i < of.places.end; i++) {
    const int64_t t = dm_plan_todo_tile(local->plan, i);
    DM_TRY(matrix == DM_A && local->bands[DM_A] > 1
               ? add_bands(c, t, of.panels)
               : pass_tile(local, matrix, t, of.panels, phases_add_piece, c));
  }
  return DM_OK;
}

/* Of B; of A nothing is wanted before the verdict. */
static dm_status phases_arrived(const phases_checking *c, const dm_comm *ranks, dm_status status) {
  if (!status) status = dm_backend_settle(c->local->backend);
  return dm_comm_agree(ranks, status);
}

/* Collective in RANKS, which have all pieces of the window. */
static dm_status check_window(phases_checking *c, const dm_comm *ranks, lot of) {
  DM_TRY(phases_arrived(c, ranks, add_lot(c, DM_B, of)));
  DM_TRY(dm_freivalds_project(c->check, ranks));
  return dm_comm_agree(ranks, add_lot(c, DM_A, of));
}

/* The tiles from PLACE on that are of the same entry. */
static dm_range tiles_of_entry(const dm_plan *plan, int64_t place) {
  const int64_t part = dm_plan_part_of(plan, dm_plan_todo_tile(plan, place));
  int64_t end = place + 1;
  while (end < dm_plan_todo(plan) && dm_plan_part_of(plan, dm_plan_todo_tile(plan, end)) == part)
    end++;
  return (dm_range){place, end};
}

/* As many panels from FIRST on as have room in a window, and their rows of op(B). */
static dm_range panels_of_window(const phases_checking *c, int64_t tile, int64_t first,
                                 dm_range *rows) {
  const dm_rank_state *local = c->local;
  int64_t end = first + 1;
  *rows = dm_plan_b_panel(local->plan, tile, first);
  for (; end < local->panels.end; end++) {
    const int64_t next = dm_plan_b_panel(local->plan, tile, end).end;
    if (next - rows->begin > dm_freivalds_room(c->check)) break;
    rows->end = next;
  }
  return (dm_range){first, end};
}

/* This layer's panels, entry by entry and window by window; layers do not wait for each other. */
static dm_status check_layer(phases_checking *c) {
  const dm_rank_state *local = c->local;
  dm_range places, panels, rows;
  if (local->coords.idle) return DM_OK;
  for (int64_t i = 0; i < dm_plan_todo(local->plan); i = places.end) {
    places = tiles_of_entry(local->plan, i);
    for (int64_t p = local->panels.begin; p < local->panels.end; p = panels.end) {
      panels = panels_of_window(c, dm_plan_todo_tile(local->plan, i), p, &rows);
      dm_freivalds_turn_to(c->check, rows);
      DM_TRY(check_window(c, local->side, (lot){places, panels}));
    }
  }
  return DM_OK;
}

dm_status dm_check_operands(dm_rank_state *local, dm_freivalds *check, dm_share_sums *sums) {
  double start = dm_now();
  const dm_comm *world = local->run->world;
  phases_checking c = {.local = local, .check = check, .sums = sums};
  DM_TRY(phases_arrived(&c, world, dm_each_piece(local, DM_B, phases_scan_piece, &c)));
  DM_TRY(dm_freivalds_weigh(check, world));
  if (dm_freivalds_holds_all(check))
    DM_TRY(check_window(&c, world, (lot){{0, dm_plan_todo(local->plan)}, local->panels}));
  else
    DM_TRY(dm_comm_agree(world, check_layer(&c)));
  local->phases.check += dm_now() - start;
  return DM_OK;
}

void dm_forecast_record(const dm_plan *plan, const dm_machine *machine, dm_record *record) {
  const dm_forecast *f = &plan->forecast;
  const dm_limits by = dm_plan_limits(plan, machine);
  const struct {
    const char *name;
    double seconds;
    dm_resource bound;
  } phases[] = {{"total", f->total, by.total},    {"read", f->read, by.read},
                {"upload", f->upload, by.upload}, {"fetch", f->fetch, by.fetch},
                {"gemm", f->gemm, by.gemm},       {"exposed", f->exposed, by.exposed},
                {"reduce", f->reduce, by.reduce}, {"write", f->write, by.write}};
  if (machine->slower > 0)
    dm_record_real(record, "forecast.slower", NULL, DM_SHOWN_PLAIN, machine->slower);
  dm_record_real(record, "forecast.start_s", NULL, DM_SHOWN_SECONDS, f->start);
  dm_record_real(record, "forecast.command_s", NULL, DM_SHOWN_SECONDS, f->start + f->total);
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "forecast.%s_s", phases[i].name);
    dm_record_real(record, path, NULL, DM_SHOWN_SECONDS, phases[i].seconds);
    snprintf(path, sizeof path, "bound.%s", phases[i].name);
    dm_record_text(record, path, NULL, "%s", dm_resource_name(phases[i].bound));
  }
}
