/* Components of X in GPU memory: X is brought there once, and centered there; each pass multiplies
 * all of it where it is. What has the length of the short side stays with the host. */
#include <string.h>

#include "product/center_product.h"
#include "programs/components_impl.h"
#include "programs/gpu_memory.h"

enum {
  GPU_FREE_SHARE = 8, /* a part of the GPU's memory that is left to products */
  GPU_STRIP_SHARE = 16
};

/* Memory of the GPU that grows. */
typedef struct gpu_room {
  void *memory;
  int64_t bytes;
} gpu_room;

struct dm_components_gpu {
  dm_backend *backend;
  dm_memory_matrix x; /* or its copy that is centered */
  void *loaded;       /* X; NULL: the caller's */
  dm_centered_room rooms[2];
  /* Factors of a product as they are, and in its type; its result, in its type and the caller's;
   * op(X) times the vectors of a pass. */
  gpu_room in[2], widened[2], out, changed, y;
};

/* ---- which ---- */

/* Elements are multiplied as they are stored, and no line is left out or has a weight. */
static bool components_suit_gpu(const dm_components_state *c) {
  const dm_multiply *m = c->multiply;
  const dm_wishes *w = &m->engine.wishes;
  const bool in_memory = m->in_memory[DM_A] && !m->a.memory.base;
  return c->run->ranks == 1 && !c->plans && !w->reproducible && w->pm == 0 && w->panel == 0 &&
         m->a.dtype == c->work && dm_dataset_type(&m->a) == c->work && !m->a.meaning.found &&
         !m->a.meaning.active && m->vectors.weights.rows == 0 &&
         !(in_memory && c->job->scores.file[0]);
}

/* X, its centered copy, and op(X) times the vectors of a pass, twice, fit. */
static dm_status components_fit_gpu(const dm_components_state *c, bool *fits) {
  const double size = (double)dm_dtype_size(c->work),
               copies = dm_multiply_centers(c->multiply) ? 2 : 1;
  const int64_t limit = c->multiply->engine.memory_device;
  const double width = (double)dm_components_pass_width(c);
  dm_device device;
  DM_TRY(dm_backend_device(c->gpu->backend, &device));
  const int64_t has = limit > 0 ? dm_min(limit, device.memory_free) : device.memory_free;
  const double need =
      (double)c->tall * (copies * (double)dm_device_stride(c->small, c->work) * size +
                         width * (size + sizeof(double)));
  *fits = need < (double)has * (1.0 - 1.0 / GPU_FREE_SHARE);
  return DM_OK;
}

/* ---- opening ---- */

static dm_status components_bring_to_gpu(dm_components_state *c, bool *does) {
  dm_multiply *m = c->multiply;
  struct dm_components_gpu *gpu = c->gpu;
  DM_TRY(components_fit_gpu(c, does));
  if (!*does) return DM_OK;
  dm_run_phase(c->run, "reading X", DM_SYNC_PATIENCE);
  if (m->in_memory[DM_A] && !m->a.memory.base)
    return dm_gpu_find(c->run, gpu->backend, m->in_memory[DM_A], "X", &gpu->x, does);
  return dm_gpu_load(c->run, &m->engine, gpu->backend, &m->a, c->share / GPU_STRIP_SHARE, &gpu->x,
                     &gpu->loaded);
}

static dm_status components_try_gpu(dm_components_state *c, const dm_backend_ops *ops, bool *does) {
  DM_TRY(dm_gpu_open(c->run, ops, &c->in_place));
  c->gpu->backend = c->in_place.gpu;
  for (int x = 0; x < 2; x++) c->gpu->rooms[x].backend = c->gpu->backend;
  return components_bring_to_gpu(c, does);
}

/* A pass of all vectors, by which the search is done. */
static double components_pass_flops(const dm_components_state *c) {
  return 4.0 * (double)c->tall * (double)c->small * (double)dm_components_pass_width(c);
}

dm_status dm_components_open_gpu(dm_components_state *c) {
  bool does = false;
  if (!components_suit_gpu(c)) return DM_OK;
  const dm_backend_ops *ops =
      dm_gpu_ops(c->run, &c->multiply->engine, components_pass_flops(c), c->work);
  if (!ops) return DM_OK;
  DM_TRY(dm_buffer_table(1, &c->gpu));
  dm_status status = dm_comm_agree(c->run->world, components_try_gpu(c, ops, &does));
  const bool lacks = status && status->code == DM_E_FIT;
  if (lacks) {
    dm_log_line(&c->run->log, DM_LOG_NOTE, "%s: X is read strip by strip", status->message);
    dm_status_free(status);
    status = DM_OK;
  }
  if (status || lacks || !does) dm_components_close_gpu(c);
  return status;
}

static void release_room(dm_backend *backend, gpu_room *room) {
  dm_backend_release(backend, DM_DEVICE, room->memory);
  *room = (gpu_room){.bytes = 0};
}

void dm_components_close_gpu(dm_components_state *c) {
  struct dm_components_gpu *gpu = c->gpu;
  if (!gpu) return;
  if (gpu->backend) {
    gpu_room *const rooms[] = {&gpu->in[0], &gpu->in[1],   &gpu->widened[0], &gpu->widened[1],
                               &gpu->out,   &gpu->changed, &gpu->y};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) release_room(gpu->backend, rooms[i]);
    for (int x = 0; x < 2; x++) dm_centered_room_release(&gpu->rooms[x]);
    dm_backend_release(gpu->backend, DM_DEVICE, gpu->loaded);
  }
  dm_in_place_close(&c->in_place);
  c->in_place = (dm_in_place){.gpu = NULL};
  free(gpu);
  c->gpu = NULL;
}

/* X in a file is still described by A: its copy is centered by the same numbers. */
dm_status dm_components_center_gpu(dm_components_state *c, dm_centered *made) {
  dm_multiply *m = c->multiply;
  const dm_memory_matrix *const stated[2] = {m->in_memory[DM_A], m->in_memory[DM_B]};
  const dm_dataset sets[2] = {m->a, m->b};
  m->in_memory[DM_A] = m->in_memory[DM_B] = &c->gpu->x;
  m->a.memory.base = m->b.memory.base = NULL;
  dm_status status = dm_center_product(c->run, m, c->gpu->rooms, made);
  c->gpu->x = *m->in_memory[DM_A];
  m->a.memory = sets[0].memory, m->b.memory = sets[1].memory;
  m->in_memory[DM_A] = stated[0], m->in_memory[DM_B] = stated[1];
  return status;
}

/* ---- products ---- */

static dm_status components_need_room(dm_components_state *c, gpu_room *room, dm_dtype dtype,
                                      int64_t rows, int64_t cols, dm_memory_matrix *m) {
  dm_backend *backend = c->gpu->backend;
  const int64_t line = dm_device_stride(cols, dtype);
  int64_t bytes;
  DM_TRY(dm_bytes_of(rows, line, dm_dtype_size(dtype), &bytes));
  if (bytes > room->bytes) {
    release_room(backend, room);
    DM_TRY(dm_backend_alloc(backend, DM_DEVICE, bytes, &room->memory));
    room->bytes = bytes;
  }
  *m = (dm_memory_matrix){.division = DM_ON_ONE,
                          .dtype = dtype,
                          .rows = rows,
                          .cols = cols,
                          .data = room->memory,
                          .row_stride = line,
                          .col_stride = 1,
                          .on_gpu = true};
  return DM_OK;
}

dm_memory_matrix dm_components_gpu_x(const dm_components_state *c, dm_range lines) {
  const bool by_rows = c->op == DM_OP_N;
  const dm_view all = dm_gpu_view(&c->gpu->x);
  const dm_view part = by_rows ? dm_view_sub(all, lines.begin, 0, dm_range_size(lines), all.cols)
                               : dm_view_sub(all, 0, lines.begin, all.rows, dm_range_size(lines));
  dm_memory_matrix x = c->gpu->x;
  x.rows = part.rows, x.cols = part.cols, x.data = part.base;
  return x;
}

dm_status dm_components_gpu_y(dm_components_state *c, int64_t rows, int64_t count,
                              dm_memory_matrix *y) {
  return components_need_room(c, &c->gpu->y, c->work, rows, count, y);
}

dm_status dm_components_gpu_take(dm_components_state *c, int x, dm_dtype type,
                                 dm_memory_matrix *m) {
  struct dm_components_gpu *gpu = c->gpu;
  const dm_memory_matrix from = *m;
  if (!m->on_gpu) {
    const dm_view host =
        dm_view_strided(from.data, from.dtype, DM_HOST, from.rows, from.cols, from.row_stride);
    DM_TRY(components_need_room(c, &gpu->in[x], from.dtype, from.rows, from.cols, m));
    DM_TRY(dm_backend_copy_now(gpu->backend, dm_gpu_view(m), host));
  }
  if (m->dtype == type) return DM_OK;
  const dm_view narrow = dm_gpu_view(m);
  DM_TRY(components_need_room(c, &gpu->widened[x], type, from.rows, from.cols, m));
  return dm_backend_copy_now(gpu->backend, dm_gpu_view(m), narrow);
}

dm_status dm_components_gpu_room(dm_components_state *c, dm_dtype type, const dm_memory_matrix *out,
                                 dm_memory_matrix *there) {
  *there = *out;
  return out->on_gpu ? DM_OK
                     : components_need_room(c, &c->gpu->out, type, out->rows, out->cols, there);
}

dm_status dm_components_gpu_fetch(dm_components_state *c, const dm_memory_matrix *there,
                                  const dm_memory_matrix *out) {
  struct dm_components_gpu *gpu = c->gpu;
  dm_memory_matrix from = *there;
  if (out->on_gpu) return DM_OK;
  if (from.dtype != out->dtype) {
    DM_TRY(components_need_room(c, &gpu->changed, out->dtype, out->rows, out->cols, &from));
    DM_TRY(dm_backend_copy_now(gpu->backend, dm_gpu_view(&from), dm_gpu_view(there)));
  }
  return dm_backend_copy_now(
      gpu->backend,
      dm_view_strided(out->data, out->dtype, DM_HOST, out->rows, out->cols, out->row_stride),
      dm_gpu_view(&from));
}
