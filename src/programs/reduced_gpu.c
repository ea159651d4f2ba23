#include "programs/reduced_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "plan/partition.h"
#include "product/center_product.h"
#include "product/multiply.h"
#include "programs/gpu_memory.h"
#include "programs/inner.h"
#include "programs/reduced_gpu_impl.h"

typedef struct dm_reduced_gpu reduced_gpu;

static const int64_t gpu_tile_bytes = INT64_C(1) << 34; /* at most */
enum {
  GPU_TILE_SHARE = 4, /* a part of the GPU's memory for a tile, at most */
  GPU_SPARE = 8,      /* a part that is left to products */
  GPU_HOST_SHARE = 16 /* a part of the host's memory for strips that are read, at most */
};

/* ---- which jobs ---- */

static bool gpu_keeps(const dm_reductions *kept) {
  for (int i = 0; i < kept->count; i++)
    if (kept->list[i].kind != DM_REDUCE_TOP && kept->list[i].kind != DM_REDUCE_BEYOND) return false;
  return kept->count > 0;
}

/* Elements are multiplied as they are stored. */
static bool gpu_takes_matrices(const reduced *r) {
  const dm_multiply *m = r->multiply;
  const dm_problem *p = &r->problem;
  return p->file_a == p->work && p->file_b == p->work && !p->no_k && m->a.dtype == p->work &&
         m->b.dtype == p->work && !m->a.meaning.found && !m->b.meaning.found &&
         !m->a.meaning.active && !m->b.meaning.active && !dm_dataset_is_empty(&m->a) &&
         !dm_dataset_is_empty(&m->b);
}

static bool gpu_suits(const reduced *r) {
  const dm_multiply *m = r->multiply;
  const dm_wishes *w = &m->engine.wishes;
  return r->run->ranks == 1 && gpu_keeps(&m->kept) && !r->diagonal &&
         m->equation.distance.kind == DM_NO_DISTANCE && !w->reproducible && w->pm == 0 &&
         w->panel == 0 && w->tiles_m == 0 && !m->verify_files && !m->equation.own &&
         !m->measurement && gpu_takes_matrices(r);
}

static const dm_backend_ops *gpu_ops_of(const reduced *r) {
  const dm_problem *p = &r->problem;
  const double flops = (r->symmetric ? 1.0 : 2.0) * (double)p->m * (double)p->n * (double)p->k;
  return dm_gpu_ops(r->run, &r->stated->engine, flops, p->work);
}

/* ---- A and B ---- */

/* Factor X from a file or host memory. */
static dm_status gpu_load(reduced *r, int x) {
  reduced_gpu *gpu = r->gpu;
  dm_multiply *m = &gpu->multiply;
  return dm_gpu_load(r->run, &m->engine, gpu->backend, x == 0 ? &m->a : &m->b,
                     r->share / GPU_HOST_SHARE, &gpu->loaded[x], &gpu->memory[x]);
}

/* Factor X, which the caller has in memory; *on_gpu: where it serves. */
static dm_status gpu_find(reduced *r, int x, bool *on_gpu) {
  static const char *const names[] = {"A", "B"};
  return dm_gpu_find(r->run, r->gpu->backend, r->multiply->in_memory[x], names[x],
                     &r->gpu->loaded[x], on_gpu);
}

/* Whether A and B, their copies and a tile fit. */
static dm_status gpu_fits(const reduced *r, bool *does) {
  const dm_problem *p = &r->problem;
  const reduced_gpu *gpu = r->gpu;
  const double size = (double)dm_dtype_size(p->work);
  const int64_t limit = r->stated->engine.memory_device;
  dm_device device;
  DM_TRY(dm_backend_device(gpu->backend, &device));
  const int64_t has = limit > 0 ? dm_min(limit, device.memory_free) : device.memory_free;
  double need = 0.0;
  for (int x = 0; x < (r->symmetric ? 1 : 2); x++) {
    const dm_dataset *set = x == 0 ? &r->multiply->a : &r->multiply->b;
    const double lines = (double)set->rows * (double)dm_device_stride(set->cols, set->dtype);
    need += (dm_multiply_centers(r->multiply) ? 2.0 : 1.0) * lines * size;
  }
  *does = need < (double)has * (1.0 - 1.0 / GPU_TILE_SHARE - 1.0 / GPU_SPARE);
  return DM_OK;
}

/* A and B in GPU memory; *does: they are. */
static dm_status gpu_bring(reduced *r, bool *does) {
  reduced_gpu *gpu = r->gpu;
  dm_multiply *m = &gpu->multiply;
  dm_dataset *const sets[2] = {&m->a, &m->b};
  DM_TRY(gpu_fits(r, does));
  for (int x = 0; x < 2 && *does; x++) {
    const bool is_a = x == 1 && r->symmetric;
    if (is_a)
      gpu->loaded[1] = gpu->loaded[0];
    else if (m->in_memory[x] && !sets[x]->memory.base)
      DM_TRY(gpu_find(r, x, does));
    else
      DM_TRY(gpu_load(r, x));
  }
  for (int x = 0; x < 2; x++) {
    sets[x]->memory.base = NULL;
    m->in_memory[x] = &gpu->loaded[x];
  }
  return DM_OK;
}

/* Copies that are centered take the place of A and B; *does: no line is constant, which becomes
 * NaN. */
static dm_status gpu_center(reduced *r, bool *does) {
  reduced_gpu *gpu = r->gpu;
  dm_multiply *m = &gpu->multiply;
  dm_dataset *const sets[2] = {&m->a, &m->b};
  *does = true;
  if (!dm_multiply_centers(m)) return DM_OK;
  for (int x = 0; x < 2; x++) {
    gpu->rooms[x].backend = gpu->backend;
    if (dm_centered_type(&m->equation, sets[x], x) != r->problem.work) *does = false;
  }
  if (!*does) return DM_OK;
  DM_TRY(dm_center_product(r->run, m, gpu->rooms, &gpu->made));
  m->vectors = (dm_vectors){.weights = {.rows = 0}};
  for (int x = 0; x < 2; x++) {
    const dm_centering *centering = sets[x]->centering;
    if (centering && centering->constant + centering->empty > 0) *does = false;
    if (!m->in_memory[x]->on_gpu) *does = false;
    m->equation.standard[x] = (dm_standard){.fills = false};
    sets[x]->centering = NULL;
  }
  return DM_OK;
}

static void gpu_release_unused(reduced_gpu *gpu) {
  for (int x = 0; x < 2; x++) {
    const void *used[2] = {gpu->multiply.in_memory[0]->data, gpu->multiply.in_memory[1]->data};
    if (!gpu->memory[x] || gpu->memory[x] == used[0] || gpu->memory[x] == used[1]) continue;
    dm_backend_release(gpu->backend, DM_DEVICE, gpu->memory[x]);
    gpu->memory[x] = NULL;
  }
}

/* ---- opening ---- */

static dm_status gpu_open_backend(reduced *r, const dm_backend_ops *ops, bool *does) {
  dm_in_place *place = &r->gpu->in_place;
  DM_TRY(dm_gpu_open(r->run, ops, place));
  r->gpu->backend = place->gpu;
  *does = dm_backend_can_sift(place->gpu);
  return DM_OK;
}

/* The tile's product, but for its parts of A and B. */
static void gpu_describe(reduced *r) {
  dm_multiply *m = &r->gpu->multiply;
  m->seen_c = (dm_view){.base = NULL};
  m->engine.memory_host = m->engine.memory_device = 0;
  m->checkpoint = false;
  m->scratch = true;
  for (int x = 0; x < 2; x++) {
    dm_dataset *set = &r->gpu->sets[x];
    *set = x == 0 ? m->a : m->b;
    dm_dataset_set_memory(set, dm_gpu_view(m->in_memory[x]));
  }
  if (!r->symmetric) r->gpu->sets[1].inode = ~r->gpu->sets[0].inode; /* centered otherwise */
}

static dm_status gpu_try(reduced *r, const dm_backend_ops *ops, bool *does) {
  DM_TRY(gpu_open_backend(r, ops, does));
  const double start = dm_now();
  if (*does) dm_run_phase(r->run, "reading A and B", 1);
  if (*does) DM_TRY(gpu_bring(r, does));
  if (*does) DM_TRY(gpu_center(r, does));
  if (*does) gpu_release_unused(r->gpu);
  if (*does) gpu_describe(r);
  if (*does) dm_run_phase(r->run, "multiplying", 1);
  r->gpu->times.load = dm_now() - start;
  return DM_OK;
}

dm_status dm_reduced_gpu_open(reduced *r) {
  if (!gpu_suits(r)) return DM_OK;
  const dm_backend_ops *ops = gpu_ops_of(r);
  bool does = false;
  if (!ops) return DM_OK;
  DM_TRY(dm_buffer_table(1, &r->gpu));
  r->gpu->multiply = *r->multiply;
  dm_status status = dm_comm_agree(r->run->world, gpu_try(r, ops, &does));
  const bool lacks = status && status->code == DM_E_FIT;
  if (lacks) {
    dm_log_line(&r->run->log, DM_LOG_NOTE, "%s: tiles are brought to the host", status->message);
    dm_status_free(status);
    status = DM_OK;
  }
  if (status || lacks || !does) dm_reduced_gpu_free(r);
  return status;
}

void dm_reduced_gpu_free(reduced *r) {
  reduced_gpu *gpu = r->gpu;
  if (!gpu) return;
  dm_status_free(dm_reduced_gpu_settle(r));
  if (gpu->backend) {
    dm_centered_free(&gpu->made);
    for (int x = 0; x < 2; x++) {
      dm_centered_room_release(&gpu->rooms[x]);
      dm_backend_release(gpu->backend, DM_DEVICE, gpu->memory[x]);
      free(gpu->raised[x]);
      free(gpu->limit[x]);
    }
    dm_backend_release(gpu->backend, DM_DEVICE, gpu->tile);
    dm_backend_release(gpu->backend, DM_HOST, gpu->list);
    dm_in_place_close(&gpu->in_place);
  }
  free(gpu->scratch);
  free(gpu);
  r->gpu = NULL;
}

/* ---- tiles ---- */

/* Nearly square tiles, of which all have nearly the same size. */
static int64_t gpu_step_of(const reduced *r, int64_t bytes) {
  const dm_problem *p = &r->problem;
  const int64_t longest = dm_max(p->m, p->n), aligned = 128;
  const double fit = (double)bytes / (double)dm_dtype_size(r->tile);
  const int64_t most = dm_max(aligned, (int64_t)sqrt(fit) / aligned * aligned);
  if (longest <= most) return longest;
  return dm_round_up(dm_ceil_div(longest, dm_ceil_div(longest, most)), aligned);
}

dm_status dm_reduced_gpu_choose_step(reduced *r) {
  reduced_gpu *gpu = r->gpu;
  const dm_problem *p = &r->problem;
  dm_device device;
  DM_TRY(dm_backend_device(gpu->backend, &device));
  const int64_t limit = r->stated->engine.memory_device;
  const int64_t has = limit > 0 ? dm_min(limit, device.memory_free) : device.memory_free;
  if (r->step == 0) r->step = gpu_step_of(r, dm_min(gpu_tile_bytes, has / GPU_TILE_SHARE));
  gpu->line = dm_device_stride(dm_min(r->step, p->n), r->tile);
  DM_TRY(dm_bytes_of(dm_min(r->step, p->m), gpu->line, dm_dtype_size(r->tile), &r->tile_bytes));
  DM_TRY(dm_backend_alloc(gpu->backend, DM_DEVICE, dm_max(1, r->tile_bytes), &gpu->tile));
  return dm_reduced_sift_open(r);
}

dm_reduced_gpu_times dm_reduced_gpu_times_of(const reduced *r) {
  return r->gpu->times;
}

const dm_dataset *dm_reduced_gpu_factor(const reduced *r, int x) {
  return &r->gpu->sets[x];
}

/* *PART and *SET describe a part of A or B. GPU memory is not read as host memory is. */
static void gpu_set_part(const dm_dataset *part, dm_memory_matrix *there, dm_dataset *set) {
  *there = dm_inner_memory(part);
  there->on_gpu = true;
  *set = *part;
  set->memory.base = NULL;
}

/* The product's messages and progress are those of all tiles. */
static dm_status gpu_run(reduced *r, const dm_multiply *m) {
  dm_run *run = r->run;
  dm_in_place_outcome outcome;
  bool taken = false;
  void (*const on_progress)(void *, int64_t, int64_t) = run->on_progress;
  const dm_level level = run->log.level;
  run->on_progress = NULL;
  if (level < DM_LOG_DETAIL) run->log.level = (dm_level)dm_min(level, DM_LOG_WARNING);
  const double start = dm_now();
  dm_status status = dm_in_place_run(&r->gpu->in_place, run, m, &outcome, &taken);
  r->gpu->times.multiply += dm_now() - start;
  run->log.level = level;
  run->on_progress = on_progress;
  if (!status && !taken) return dm_inner_multiply(run, m, &r->unchecked);
  if (!status || status->code != DM_E_UNCHECKED) return status;
  r->unchecked = true;
  dm_status_free(status);
  return DM_OK;
}

/* Of correlations only tiles with the diagonal are changed where they are; of others the few
 * elements that pass the sieve. */
dm_status dm_reduced_gpu_multiply(reduced *r, const dm_dataset *a, const dm_dataset *b,
                                  bool symmetric) {
  reduced_gpu *gpu = r->gpu;
  DM_FREED dm_multiply *m = NULL;
  dm_memory_matrix in[2], c = {.division = DM_ON_ONE,
                               .dtype = r->tile,
                               .data = gpu->tile,
                               .row_stride = gpu->line,
                               .col_stride = 1,
                               .on_gpu = true};
  DM_TRY(dm_run_beat(r->run));
  DM_TRY(dm_buffer_table(1, &m));
  *m = gpu->multiply;
  gpu_set_part(a, &in[0], &m->a);
  gpu_set_part(b, &in[1], &m->b);
  c.rows = m->equation.op_a == DM_OP_N ? a->rows : a->cols;
  c.cols = m->equation.op_b == DM_OP_N ? b->cols : b->rows;
  m->equation.symmetric = symmetric;
  gpu->most = INFINITY;
  if (m->equation.correlates != 0.0 && !symmetric) {
    gpu->most = fabs(m->equation.correlates);
    m->equation.correlates = 0.0;
  }
  m->in_memory[DM_A] = &in[0];
  m->in_memory[DM_B] = &in[1];
  m->in_memory[DM_C] = &c;
  return gpu_run(r, m);
}
