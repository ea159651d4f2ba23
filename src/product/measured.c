#include "product/measured.h"

#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/element.h"
#include "plan/partition.h"

static dm_rank_state *local_of(const dm_measured *measured) {
  return &measured->product->local;
}

static dm_status measured_copy(dm_backend *backend, dm_view dst, dm_view src) {
  if (dm_view_is_empty(src)) return DM_OK;
  return dm_backend_copy_now(backend, dst, src);
}

/* ---- operands ---- */

/* For dm_memory_source. */
static dm_view measured_piece_of(void *context, const dm_rank_state *local, dm_matrix matrix,
                                 int64_t panel) {
  (void)context;
  return dm_memory_piece(local, matrix, panel);
}

/* Copies the pieces in the shares that will be loaded from host memory from now on. */
static dm_status measured_take_pieces(dm_rank_state *local, dm_matrix matrix) {
  DM_TRY(dm_memory_pieces_take(local, matrix));
  for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
    const dm_view piece = dm_memory_piece(local, matrix, p),
                  share = dm_rank_piece(local, matrix, p);
    if (piece.base != share.base) DM_TRY(measured_copy(local->backend, piece, share));
  }
  return DM_OK;
}

/* ---- C ---- */

/* Whether C leaves the block, for host memory or for another type. */
static bool measured_takes(const dm_plan *plan) {
  return dm_plan_returns(plan) || plan->problem.c != plan->problem.accumulator;
}

/* On the GPU if C leaves the block only for its type and the sums are there. */
static dm_space measured_space_of(const dm_plan *plan) {
  const bool summed_on_host = plan->pk > 1 && !plan->device_links;
  return plan->gpu && !summed_on_host && !dm_plan_returns(plan) ? DM_DEVICE : DM_HOST;
}

static dm_range measured_rows_of(const dm_rank_state *local) {
  return dm_plan_c_share(local->plan, local->tile, local->coords.i, local->coords.l);
}

static int64_t stride_of(const dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  return measured_space_of(plan) == DM_HOST ? local->c.cols
                                            : dm_device_stride(local->c.cols, plan->problem.c);
}

dm_view dm_measured_part(const dm_measured *measured) {
  const dm_rank_state *local = local_of(measured);
  if (!measured->c) return (dm_view){0};
  return dm_view_strided(measured->c + measured->at[local->tile], local->plan->problem.c,
                         measured_space_of(local->plan), dm_range_size(measured_rows_of(local)),
                         local->c.cols, stride_of(local));
}

/* For dm_memory_sink. */
static dm_view measured_part_of(void *context, const dm_rank_state *local) {
  (void)local;
  return dm_measured_part(context);
}

static dm_status place_tiles(dm_measured *measured, int64_t *all) {
  dm_rank_state *local = local_of(measured);
  *all = 0;
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    int64_t bytes;
    dm_rank_turn_to(local, t);
    DM_TRY(dm_bytes_of(dm_range_size(measured_rows_of(local)), stride_of(local),
                       dm_dtype_size(local->plan->problem.c), &bytes));
    measured->at[t] = *all;
    if (dm_add_overflows(*all, dm_round_up(bytes, DM_TILE_STEP), all))
      return dm_fail(DM_E_FIT, "the size of C overflows 64 bits");
  }
  return DM_OK;
}

static dm_status take_result(dm_measured *measured) {
  dm_rank_state *local = local_of(measured);
  int64_t bytes;
  if (!measured_takes(local->plan)) return DM_OK;
  DM_TRY(dm_buffer_table(dm_plan_tiles(local->plan), &measured->at));
  DM_TRY(place_tiles(measured, &bytes));
  return dm_rank_memory_take_bytes(
      &local->memory, dm_plan_returns(local->plan) ? DM_BUFFER_HOME_C : DM_BUFFER_ROUNDED, bytes,
      (void **)&measured->c);
}

/* Where C is for the verification: the memory of the sums or, with several tiles, as many rows of
 * the block. */
static dm_view landing_of(const dm_rank_state *local) {
  const dm_plan *plan = local->plan;
  if (plan->pk > 1 && dm_plan_tiles(plan) == 1 && local->c_sum.base) return local->c_sum;
  return dm_view_sub(local->c, 0, 0, dm_range_size(measured_rows_of(local)), local->c.cols);
}

/* C of the current tile, in the memory that the backend reads fastest, and its rows of C. */
static dm_status measured_show(const dm_measured *measured, dm_view *c, dm_range *rows) {
  const dm_rank_state *local = local_of(measured);
  if (!measured->c) {
    *c = dm_rank_result(local, rows);
    return DM_OK;
  }
  *rows = measured_rows_of(local);
  *c = landing_of(local);
  return measured_copy(local->backend, *c, dm_measured_part(measured));
}

/* ---- opening and closing ---- */

dm_status dm_measured_check(const dm_plan *plan) {
  const dm_dtype sums = plan->problem.accumulator;
  if (plan->problem.c == sums || !dm_plan_returns(plan)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "C can return to host memory only in its accumulator type, %s",
                         dm_dtype_name(sums)),
                 "leave out --type-c, or keep all matrices on the GPUs: --from device");
}

static dm_status measured_take_memory(dm_measured *measured) {
  dm_rank_state *local = local_of(measured);
  if (local->coords.idle) return DM_OK;
  DM_TRY(measured_take_pieces(local, DM_A));
  DM_TRY(measured_take_pieces(local, DM_B));
  return take_result(measured);
}

dm_status dm_measured_open(dm_measured *measured, dm_product *product,
                           const dm_measurement *wanted) {
  const dm_plan *plan = &product->setup->plan;
  *measured = (dm_measured){.product = product,
                            .generated = dm_generated_random(&plan->problem, wanted->seed)};
  measured->source = (dm_memory_source){.piece = measured_piece_of, .context = measured};
  measured->sink = (dm_memory_sink){.part = measured_part_of, .context = measured};
  product->source[DM_A] = product->source[DM_B] =
      (dm_source){&dm_source_generated, &measured->generated};
  if (measured_takes(plan)) product->sink = (dm_sink){&dm_sink_memory, &measured->sink};
  DM_TRY(dm_product_open(product));
  DM_TRY(dm_product_load(product));
  DM_TRY(dm_comm_agree(product->run->world, measured_take_memory(measured)));
  if (!dm_plan_brings(plan, DM_A) && !dm_plan_brings(plan, DM_B)) return DM_OK;
  return dm_product_set_source(product, (dm_source){&dm_source_memory, &measured->source});
}

void dm_measured_close(dm_measured *measured) {
  free(measured->at);
  measured->at = NULL;
}

/* ---- repetitions ---- */

static const dm_generator other = {.kind = DM_CONSTANT, .parameter = 3.0};

static dm_status spoil_operand(const dm_rank_state *local, dm_matrix matrix) {
  const dm_factor *factor = matrix == DM_A ? &local->a : &local->b;
  for (int64_t p = local->panels.begin; p < local->panels.end; p++) {
    if (!dm_plan_brings(local->plan, matrix)) break;
    const int slot = (int)((p - local->panels.begin) % local->plan->slots);
    DM_TRY(dm_backend_fill(local->backend, dm_rank_piece(local, matrix, p), &other, 0, 0));
    if (factor->route.operand == DM_DEVICE_RING)
      DM_TRY(dm_backend_fill(local->backend, dm_rank_slot(local, matrix, DM_DEVICE_RING, p, slot),
                             &other, 0, 0));
  }
  return DM_OK;
}

/* Overwrites copies of loaded operands and the memory for C, so that no old result can pass as
 * correct. */
static dm_status spoil(const dm_measured *measured) {
  dm_rank_state *local = local_of(measured);
  if (local->coords.idle) return DM_OK;
  DM_TRY(spoil_operand(local, DM_A));
  DM_TRY(spoil_operand(local, DM_B));
  for (int64_t t = 0; t < dm_plan_tiles(local->plan) && measured->c; t++) {
    dm_rank_turn_to(local, t);
    DM_TRY(dm_backend_fill(local->backend, landing_of(local), &other, 0, 0));
    DM_TRY(dm_backend_fill(local->backend, dm_measured_part(measured), &other, 0, 0));
  }
  return DM_OK;
}

/* Seconds of the loop without a product under way. */
static double uncovered(const dm_phases *p) {
  return p->read + p->multiply - p->gemm;
}

dm_status dm_measured_run(dm_measured *measured, double *seconds, double *exposed) {
  const dm_run *run = measured->product->run;
  const dm_phases *phases = &local_of(measured)->phases;
  DM_TRY(spoil(measured));
  DM_TRY(dm_comm_barrier(run->world));
  const double before = uncovered(phases), start = dm_now();
  DM_TRY(dm_product_run(measured->product));
  const double end = dm_now();
  *exposed = uncovered(phases) - before;
  DM_TRY(dm_comm_max_f64(run->world, exposed, 1));
  return dm_run_span(run, start, end, seconds);
}

/* Adds this rank's part of C. */
static dm_status add_c(const dm_measured *measured) {
  dm_rank_state *local = local_of(measured);
  for (int64_t t = 0; t < dm_plan_tiles(local->plan); t++) {
    dm_view c;
    dm_range rows;
    dm_rank_turn_to(local, t);
    DM_TRY(measured_show(measured, &c, &rows));
    DM_TRY(dm_freivalds_add_c(measured->product->check, local->backend, c, rows.begin,
                              local->cols.begin));
    DM_TRY(dm_backend_settle(local->backend));
  }
  return DM_OK;
}

dm_status dm_measured_verify(dm_measured *measured, double *seconds, dm_verdict *verdict) {
  const dm_product *product = measured->product;
  const double start = dm_now();
  dm_freivalds_reset_c(product->check);
  if (!product->local.coords.idle) DM_TRY(add_c(measured));
  *seconds = dm_now() - start;
  return dm_freivalds_judge(product->check, product->run->world, verdict);
}
