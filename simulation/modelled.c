#include "modelled.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/checked.h"
#include "plan/grid_cost.h"

enum { QUEUE = 64, ALIGNMENT = 4096 };

/* Address space for the host and device memory of any rank. */
static const int64_t range = (int64_t)256 << 30;

typedef struct modelled {
  dm_backend base;
  dm_model model;
  char *memory; /* the range */
  int64_t used;
  double ends[QUEUE]; /* of products, indexed by number % QUEUE */
  dm_event posted;
  double busy, taken; /* end of the stream's work; seconds of products so far */
  void (*wait)(void *context, double time);
  void *context;
} modelled;

static const dm_backend_ops modelled_ops;

/* Shared by all ranks, which are threads of one process. */
static char *common_range(void) {
  static char *memory;
  if (memory) return memory;
  void *mapped =
      mmap(NULL, (size_t)range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) memory = mapped;
  return memory;
}

dm_status dm_modelled_open(const dm_model *model, dm_backend **backend) {
  modelled *m = calloc(1, sizeof *m);
  if (!m) return dm_fail(DM_E_FIT, "no memory for the modelled backend");
  m->base.ops = &modelled_ops;
  m->model = *model;
  m->memory = common_range();
  *backend = &m->base;
  if (!m->memory) return dm_fail(DM_E_FIT, "no addresses for absent buffers");
  return DM_OK;
}

static dm_status device(dm_backend *backend, dm_device *found) {
  const int64_t bytes = ((modelled *)backend)->model.device_bytes;
  *found = (dm_device){
      .name = "modelled", .sharing = 1, .threads = 1, .memory_total = bytes, .memory_free = bytes};
  return DM_OK;
}

static dm_status alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  modelled *m = (modelled *)backend;
  (void)space;
  if (bytes > range - ALIGNMENT - m->used)
    return dm_fail(DM_E_FIT, "a simulated rank has addresses for %lld bytes", (long long)range);
  *memory = m->memory + m->used;
  m->used = dm_round_up(m->used + dm_max(bytes, 1), ALIGNMENT);
  return DM_OK;
}

/* Addresses are not reused. */
static void release(dm_backend *backend, dm_space space, void *memory) {
  (void)backend;
  (void)space;
  (void)memory;
}

static void closed(dm_backend *backend) {
  free(backend);
}

/* Occupies the stream for SECONDS more; returns the end. */
static double occupy(modelled *m, double seconds) {
  const double now = simgrid_get_clock();
  m->busy = (m->busy > now ? m->busy : now) + seconds;
  return m->busy;
}

/* Copies within a GPU occupy its multiprocessors, and read and write its memory. */
static dm_status copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  modelled *m = (modelled *)backend;
  (void)dst;
  occupy(m, 2.0 * (double)(src.rows * src.cols * dm_dtype_size(src.dtype)) / m->model.memory);
  *done = 0;
  return DM_OK;
}

double dm_model_seconds(const dm_model *model, dm_dtype work, int64_t rows, int64_t cols,
                        int64_t depth, bool accumulate) {
  const double r = (double)rows, c = (double)cols, k = (double)depth;
  const double flops = (dm_dtype_is_complex(work) ? 8.0 : 2.0) * r * c * k;
  const double block = r * c * (double)dm_dtype_size(dm_compute_sum(work));
  double seconds = flops / (model->flops * dm_product_efficiency(r, c, k, true));
  if (accumulate) seconds += 2.0 * block / model->memory;
  return (seconds + model->latency) * (1.0 + model->slow_down);
}

static dm_status gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                      dm_event *done) {
  modelled *m = (modelled *)backend;
  (void)b;
  const double seconds = dm_model_seconds(&m->model, a.dtype, c.rows, c.cols, a.cols, accumulate);
  *done = ++m->posted;
  m->ends[*done % QUEUE] = occupy(m, seconds);
  m->taken += seconds;
  return DM_OK;
}

static dm_status wait_for(dm_backend *backend, dm_event event) {
  const modelled *m = (const modelled *)backend;
  if (m->posted - event >= QUEUE) return DM_OK;
  const double end = m->ends[event % QUEUE];
  if (end > simgrid_get_clock()) sg_actor_sleep_until(end);
  return DM_OK;
}

static dm_status test(dm_backend *backend, dm_event event, bool *done) {
  const modelled *m = (const modelled *)backend;
  *done = true;
  if (!m->wait) return wait_for(backend, event);
  const double end = m->posted - event < QUEUE ? m->ends[event % QUEUE] : 0.0;
  if (end > simgrid_get_clock()) m->wait(m->context, end);
  *done = end <= simgrid_get_clock();
  return DM_OK;
}

void dm_modelled_on_wait(dm_backend *backend, void (*wait)(void *context, double time),
                         void *context) {
  ((modelled *)backend)->wait = wait;
  ((modelled *)backend)->context = context;
}

/* Reads two blocks and writes one. */
static dm_status add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                     double beta) {
  modelled *m = (modelled *)backend;
  (void)x, (void)y, (void)alpha, (void)beta;
  sg_actor_sleep_until(
      occupy(m, 3.0 * (double)(z.rows * z.cols * dm_dtype_size(z.dtype)) / m->model.memory));
  return DM_OK;
}

double dm_modelled_busy(const dm_backend *backend) {
  return ((const modelled *)backend)->taken;
}

static const dm_backend_ops modelled_ops = {
    .name = "modelled",
    .about = "products cost the time that a model says",
    .device_memory = true,
    .close = closed,
    .device = device,
    .alloc = alloc,
    .release = release,
    .copy = copy,
    .gemm = gemm,
    .test = test,
    .wait = wait_for,
    .add = add,
};
