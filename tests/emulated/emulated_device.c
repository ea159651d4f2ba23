/* emulated_device: an emulated GPU in place of the cuda backend. The cpu backend computes its
 * products; its memory is separate from the host's, and work completes late and out of step, as on
 * a GPU; until then its output is corrupted. Steps that do not wait for their inputs, or
 * dereference device addresses, thus fail here, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu.h"
#include "backend/cuda.h"
#include "backend/kernel_list.h"
#include "backend/probe.h"
#include "backend/verify_sums.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "emulated/emulated_checked.h"
#include "emulated/emulated_memory.h"
#include "emulated/emulated_moments.h"
#include "emulated/emulated_sieve.h"
#include "emulated/emulated_split.h"
#include "engine/alpha_beta.h"

enum {
  LANES = 3,
  WAITING = 512,
  LATEST = 6,       /* polls until a piece of work is done, at most */
  SPOILED = 1 << 20 /* bytes of new host memory: corrupting all of it would take time */
};

typedef enum lane_name { INWARD, OUTWARD, COMPUTE } lane_name;

typedef struct work {
  enum { COPY, GEMM, PRODUCT, FINISH, MIRROR, EPILOGUE } what;
  dm_view to, a, b; /* a copy has no b; FINISH: TO is the sums, A the first accumulators */
  bool accumulate, conjugate;
  int64_t first; /* row that is mirrored */
  int64_t plane;
  dm_exponents exponents; /* in device memory */
  double alpha[2], beta[2];
} work;

/* In order of posting; event n of a lane is n * LANES + the lane. */
typedef struct lane {
  work waiting[WAITING];
  uint64_t posted, finished;
  int looks; /* polls left until the first one is done; -1: not started */
} lane;

typedef struct late {
  void *to, *sums;
  int64_t count;
  bool is_whole;
  struct late *next;
} late;

typedef struct emulated {
  dm_backend base;
  dm_backend *cpu;
  emulated_split *split; /* for a compute mode that splits operands */
  dm_compute compute;    /* of the mode that was set last */
  int threads;
  int64_t tile;
  lane lanes[LANES];
  late *sums; /* to add to the caller's sums */
  int index;
  uint32_t noise;
  int accumulators; /* per element, at most */
  dm_moduli moduli; /* of the compute mode, if it has some */
} emulated;

static emulated *of(dm_backend *backend) {
  return (emulated *)backend;
}

static dm_status set_own_mode(emulated *e, const dm_backend_config *config) {
  const dm_compute *compute = config->compute;
  e->accumulators = compute ? compute->accumulators : 1;
  e->moduli = (dm_moduli){0};
  if (compute && compute->moduli > 0) dm_moduli_make(compute->moduli, &e->moduli);
  emulated_split_free(e->split);
  e->split = NULL;
  dm_backend_close(e->cpu);
  e->cpu = NULL;
  DM_TRY(dm_backend_open(&dm_backend_cpu, config, &e->cpu));
  return compute && compute->splits ? emulated_split_new(&e->split) : DM_OK;
}

static dm_status set_mode(dm_backend *backend, const dm_backend_mode *mode) {
  emulated *e = of(backend);
  e->compute = *mode->compute;
  e->tile = mode->tile;
  const dm_backend_config config = {.threads = e->threads,
                                    .compute = &e->compute,
                                    .tile = e->tile,
                                    .kernel = "auto"}; /* all are the CPU's */
  return set_own_mode(e, &config);
}

static dm_status emulated_open(dm_backend **backend, const dm_backend_config *config) {
  void *memory;
  if (!dm_cuda_start(config->local_rank))
    return dm_fail(DM_E_DEVICE, "emulated GPU %d does not start", config->local_rank);
  DM_TRY(dm_buffer_zeroed(1, sizeof(emulated), &memory));
  emulated *e = memory;
  e->base.ops = &dm_backend_cuda;
  e->index = config->local_rank % dm_cuda_device_count();
  e->noise = 2463534242u + (uint32_t)config->local_rank;
  e->threads = config->threads;
  e->tile = config->tile;
  for (int i = 0; i < LANES; i++) e->lanes[i].looks = -1;
  dm_status status = set_own_mode(e, config);
  if (status)
    free(e);
  else
    *backend = &e->base;
  return status;
}

static void forget_sums(emulated *e) {
  while (e->sums) {
    late *one = e->sums;
    e->sums = one->next;
    free(one->sums);
    free(one);
  }
}

static void emulated_close(dm_backend *backend) {
  forget_sums(of(backend));
  dm_backend_close(of(backend)->cpu);
  emulated_split_free(of(backend)->split);
  free(backend);
}

static dm_status emulated_describe(dm_backend *backend, dm_device *device) {
  DM_TRY(dm_backend_device(of(backend)->cpu, device));
  /* A model known to the planner, with products about as fast as files. */
  snprintf(device->name, sizeof device->name, "emulated L40S");
  device->index = of(backend)->index;
  device->visible = dm_cuda_device_count();
  device->sharing = 1;
  device->memory_total = emulated_room(false);
  device->memory_free = emulated_room(true);
  device->advice[0] = '\0';
  return DM_OK;
}

static dm_status alloc_any(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  if (space == DM_DEVICE) {
    DM_TRY(emulated_alloc(bytes, memory));
    emulated_move(*memory, of(backend)->index);
    return DM_OK;
  }
  DM_TRY(dm_buffer_alloc(bytes, memory));
  memset(*memory, 0xff, (size_t)dm_min(bytes, SPOILED));
  return DM_OK;
}

static void release_any(dm_backend *backend, dm_space space, void *memory) {
  (void)backend;
  if (space == DM_DEVICE)
    emulated_release(memory);
  else
    free(memory);
}

/* ---- memory and streams of the caller ---- */

static dm_status find_kind(dm_backend *backend, const void *memory, dm_memory_kind *kind) {
  kind->gpu = emulated_has(memory, &kind->index);
  kind->host = !kind->gpu;
  kind->foreign = kind->gpu && kind->index >= 0 && kind->index != of(backend)->index;
  return DM_OK;
}

static dm_status await_stream(dm_backend *backend, void *stream) {
  const emulated_stream *waiting = stream;
  const uintptr_t name = (uintptr_t)stream; /* 1 and 2: CUDA's default streams, which are idle */
  (void)backend;
  if (name > 2) waiting->work(waiting->context);
  return DM_OK;
}

/* ---- waiting work ---- */

static uint32_t draw(emulated *e) {
  e->noise ^= e->noise << 13;
  e->noise ^= e->noise >> 17;
  return e->noise ^= e->noise << 5;
}

/* C with all accumulators of its elements. */
static dm_view all_of(const emulated *e, dm_view c, int64_t plane) {
  c.cols += (e->accumulators - 1) * plane;
  return c;
}

/* The host addresses of the exponents of C's rows and columns. */
static dm_exponents exponents_of(const work *w, dm_view c) {
  const int64_t size = (int64_t)sizeof *w->exponents.rows;
  return (dm_exponents){emulated_reach(w->exponents.rows, c.rows * size),
                        emulated_reach(w->exponents.cols, c.cols * size)};
}

static dm_status multiply(emulated *e, const work *w, dm_event *done) {
  dm_view c = emulated_view(all_of(e, w->to, w->plane));
  c.cols = w->to.cols;
  return dm_backend_gemm_parts(e->cpu, c, w->plane, emulated_view(w->a), emulated_view(w->b),
                               w->accumulate, exponents_of(w, c), done);
}

static dm_status make_sums(emulated *e, const work *w, dm_event *done) {
  dm_view c = emulated_view(all_of(e, w->a, w->plane));
  c.cols = w->a.cols;
  return dm_backend_finish(e->cpu, emulated_view(w->to), c, w->plane, exponents_of(w, c), done);
}

static dm_status make_elements(const work *w) {
  const dm_view old = emulated_view(w->b);
  const bool reads = w->beta[0] != 0.0 || w->beta[1] != 0.0;
  return dm_apply_alpha_beta(emulated_view(w->to), emulated_view(w->a), reads ? &old : NULL,
                             w->alpha, w->beta);
}

static dm_status finish(emulated *e, lane *l) {
  const work *w = &l->waiting[l->finished % WAITING];
  dm_event done = 0;
  if (w->what == COPY)
    dm_copy(emulated_view(w->to), emulated_view(w->a), w->conjugate);
  else if (w->what == GEMM && e->split && dm_dtype_real(w->a.dtype) == DM_F32)
    emulated_split_multiply(e->split, e->tile, emulated_view(w->to), emulated_view(w->a),
                            emulated_view(w->b), w->accumulate);
  else if (w->what == GEMM)
    DM_TRY(dm_backend_gemm(e->cpu, emulated_view(w->to), emulated_view(w->a), emulated_view(w->b),
                           w->accumulate, &done));
  else if (w->what == EPILOGUE)
    DM_TRY(make_elements(w));
  else if (w->what == MIRROR)
    DM_TRY(dm_backend_mirror(e->cpu, emulated_view(w->to), w->first, w->conjugate, &done));
  else
    DM_TRY(w->what == PRODUCT ? multiply(e, w, &done) : make_sums(e, w, &done));
  DM_TRY(dm_backend_wait(e->cpu, done));
  l->finished++;
  l->looks = -1;
  return DM_OK;
}

/* Starts the first waiting piece of work, which corrupts its output, or brings it closer to
 * completion. */
static dm_status look(emulated *e, lane *l) {
  if (l->finished == l->posted) return DM_OK;
  const work *w = &l->waiting[l->finished % WAITING];
  if (l->looks < 0) {
    l->looks = (int)(draw(e) % LATEST);
    const dm_view to = w->what == PRODUCT ? all_of(e, w->to, w->plane) : w->to;
    const bool reads = w->what == FINISH || w->what == MIRROR || w->what == EPILOGUE;
    if (!w->accumulate && !reads) emulated_spoil(emulated_view(to));
  }
  return l->looks-- == 0 ? finish(e, l) : DM_OK;
}

static dm_status post(emulated *e, lane_name name, work w, dm_event *done) {
  lane *l = &e->lanes[name];
  if (l->posted - l->finished == WAITING) DM_TRY(finish(e, l));
  l->waiting[l->posted++ % WAITING] = w;
  if (done) *done = l->posted * LANES + name;
  return look(e, l);
}

static dm_status copy_later(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  const bool outward = src.space == DM_DEVICE && dst.space == DM_HOST;
  return post(of(backend), outward ? OUTWARD : INWARD, (work){.to = dst, .a = src}, done);
}

static dm_status transpose_later(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                                 bool in_order, dm_event *done) {
  const work w = {.to = to, .a = dm_view_transpose(from), .conjugate = conjugate};
  return post(of(backend), in_order ? COMPUTE : INWARD, w, done);
}

static dm_status epilogue_later(dm_backend *backend, dm_view c, dm_view sums, dm_view old,
                                const double alpha[2], const double beta[2], dm_event *done) {
  const work w = {.what = EPILOGUE,
                  .to = c,
                  .a = sums,
                  .b = old,
                  .alpha = {alpha[0], alpha[1]},
                  .beta = {beta[0], beta[1]}};
  return post(of(backend), COMPUTE, w, done);
}

static dm_status multiply_later(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                                bool accumulate, dm_event *done) {
  if (c.space != DM_DEVICE || a.space != DM_DEVICE || b.space != DM_DEVICE)
    return dm_fail(DM_E_BUG, "a product of host memory on a device");
  const work w = {.what = GEMM, .to = c, .a = a, .b = b, .accumulate = accumulate};
  return post(of(backend), COMPUTE, w, done);
}

static dm_status residues_later(dm_backend *backend, dm_view c, int64_t plane, dm_view a, dm_view b,
                                bool accumulate, dm_exponents exponents, dm_event *done) {
  if (c.space != DM_DEVICE || a.space != DM_DEVICE || b.space != DM_DEVICE)
    return dm_fail(DM_E_BUG, "a product of host memory on a device");
  const work w = {.what = PRODUCT,
                  .to = c,
                  .a = a,
                  .b = b,
                  .accumulate = accumulate,
                  .plane = plane,
                  .exponents = exponents};
  return post(of(backend), COMPUTE, w, done);
}

static dm_status sums_later(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                            dm_exponents exponents, dm_event *done) {
  if (c.space == DM_HOST)
    return dm_host_finish_residues(&of(backend)->moduli, sums, c, plane, exponents);
  const work w = {.what = FINISH, .to = sums, .a = c, .plane = plane, .exponents = exponents};
  return post(of(backend), COMPUTE, w, done);
}

static dm_status mirror_later(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                              dm_event *done) {
  const work w = {.what = MIRROR, .to = square, .first = first, .conjugate = conjugate};
  return post(of(backend), COMPUTE, w, done);
}

static dm_status emulated_natively(dm_backend *backend, int64_t *lines) {
  *lines = emulated_split_natively(of(backend)->split);
  return DM_OK;
}

static dm_status test_event(dm_backend *backend, dm_event event, bool *done) {
  emulated *e = of(backend);
  for (int i = 0; i < LANES; i++) DM_TRY(look(e, &e->lanes[i]));
  *done = e->lanes[event % LANES].finished >= event / LANES;
  return DM_OK;
}

static dm_status wait_for(dm_backend *backend, dm_event event) {
  emulated *e = of(backend);
  lane *l = &e->lanes[event % LANES];
  while (l->finished < event / LANES) DM_TRY(finish(e, l));
  return DM_OK;
}

/* ---- whole products: complete at once ---- */

static dm_whole_product emulated_product(const dm_whole_product *p) {
  dm_whole_product there = *p;
  there.a = emulated_view(p->a);
  there.b = emulated_view(p->b);
  there.c = emulated_view(p->c);
  return there;
}

static bool suits(const dm_backend *backend, const dm_whole_product *p) {
  const emulated *e = (const emulated *)backend;
  if (p->c.space != DM_DEVICE) return false;
  const dm_whole_product there = emulated_product(p);
  return dm_backend_can_multiply(e->cpu, &there);
}

static dm_status multiply_whole(dm_backend *backend, const dm_whole_product *p, void *stream,
                                dm_event *done) {
  const dm_whole_product there = emulated_product(p);
  (void)stream;
  return dm_backend_multiply(of(backend)->cpu, &there, NULL, done);
}

/* ---- immediate operations, ahead of waiting work ---- */

/* Reserves COUNT numbers that are added to TO on completion; *SUMS is zero until then. */
static dm_status add_later(emulated *e, void *to, int64_t count, bool is_whole, void **sums) {
  late *new;
  DM_TRY(dm_buffer_table(1, &new));
  *new = (late){.to = to, .count = count, .is_whole = is_whole, .next = e->sums};
  DM_TRY(dm_buffer_zeroed(count, 8, &new->sums));
  *sums = new->sums;
  e->sums = new;
  return DM_OK;
}

static void add_sum(const late *s) {
  for (int64_t i = 0; i < s->count; i++)
    if (s->is_whole)
      ((uint64_t *)s->to)[i] += ((const uint64_t *)s->sums)[i];
    else
      ((double *)s->to)[i] += ((const double *)s->sums)[i];
}

static dm_status settle(dm_backend *backend) {
  for (const late *one = of(backend)->sums; one; one = one->next) add_sum(one);
  forget_sums(of(backend));
  return DM_OK;
}

static dm_status probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                       double *squares) {
  emulated *e = of(backend);
  const bool is_whole = dm_dtype_is_integer(matrix.dtype);
  void *sums, *more = NULL;
  if (matrix.space == DM_HOST) return dm_backend_probe(e->cpu, matrix, x, y, squares);
  DM_TRY(
      add_later(e, y, matrix.rows * (dm_dtype_is_complex(matrix.dtype) ? 2 : 1), is_whole, &sums));
  if (squares) DM_TRY(add_later(e, squares, matrix.rows, false, &more));
  return dm_backend_probe(e->cpu, emulated_view(matrix), x, sums, more);
}

static dm_status scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  emulated *e = of(backend);
  void *sums;
  if (matrix.space == DM_HOST) return dm_backend_scan(e->cpu, matrix, col_squares);
  DM_TRY(add_later(e, col_squares, matrix.cols, false, &sums));
  return dm_backend_scan(e->cpu, emulated_view(matrix), sums);
}

static dm_status checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                          bool subtract, uint64_t *sum) {
  uint64_t *to = emulated_reach(sum, sizeof *sum);
  const uint64_t of = dm_checksum_view(emulated_view(matrix), place.row, place.col, place.cols);
  (void)backend;
  *to += subtract ? 0 - of : of;
  return DM_OK;
}

static dm_status fill(dm_backend *backend, dm_view view, const dm_generator *generator, int64_t row,
                      int64_t col) {
  return dm_backend_fill(of(backend)->cpu, emulated_view(view), generator, row, col);
}

static dm_status add(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha,
                     double beta) {
  return dm_backend_add(of(backend)->cpu, emulated_view(z), emulated_view(x), emulated_view(y),
                        alpha, beta);
}

static dm_status dot(dm_backend *backend, dm_view x, dm_view y, double *sum) {
  return dm_backend_dot(of(backend)->cpu, emulated_view(x), emulated_view(y), sum);
}

static dm_status join(dm_backend *backend, dm_view c, dm_view more, int64_t plane) {
  emulated *e = of(backend);
  dm_view to = emulated_view(all_of(e, c, plane)), from = emulated_view(all_of(e, more, plane));
  to.cols = from.cols = c.cols;
  dm_host_join_residues(&e->moduli, to, from, plane);
  return DM_OK;
}

static dm_status extremes(dm_backend *backend, dm_view matrix, bool by_row, double *found) {
  return dm_backend_extremes(of(backend)->cpu, emulated_view(matrix), by_row, found);
}

static dm_status line_sums(dm_backend *backend, dm_view matrix, bool by_row, const double *found,
                           int64_t *sums) {
  return dm_backend_line_sums(of(backend)->cpu, emulated_view(matrix), by_row, found, sums);
}

const dm_backend_ops dm_backend_cuda = {
    .name = "cuda",
    .about = "an emulated device, for tests",
    .device_memory = true,
    .open = emulated_open,
    .close = emulated_close,
    .device = emulated_describe,
    .alloc = alloc_any,
    .release = release_any,
    .copy = copy_later,
    .transpose = transpose_later,
    .memory_kind = find_kind,
    .await = await_stream,
    .gemm = multiply_later,
    .native_lines = emulated_natively,
    .gemm_parts = residues_later,
    .finish = sums_later,
    .mirror = mirror_later,
    .join = join,
    .extremes = extremes,
    .line_sums = line_sums,
    .test = test_event,
    .wait = wait_for,
    .set_mode = set_mode,
    .can_multiply = suits,
    .multiply = multiply_whole,
    .multiply_verified = emulated_multiply_checked,
    .probe = probe,
    .scan = scan,
    .checksum = checksum,
    .settle = settle,
    .fill = fill,
    .add = add,
    .dot = dot,
    .epilogue = epilogue_later,
    .moments = emulated_moments,
    .center = emulated_center,
    .pairs = emulated_pairs,
    .correlate = emulated_correlate,
    .sift = emulated_sift,
    .raise = emulated_raise,
    .kernel_names = dm_cuda_kernels,
    .kernel_multiplies = dm_cuda_takes,
    .kernel_copies = dm_cuda_copies,
};
