#include "backend/cpu.h"
#include "backend/probe.h"
#include "backend/whole_product.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/copy.h"
#include "core/crew.h"

enum { PENDING = 64, FINISHED_ROWS = 64, HALF_STEP = 16, HALF_ROWS = 512, HALF_MOST = 16384 };

/* A posted product and its progress. */
typedef struct cpu_pending {
  enum { PRODUCT, PRODUCT_OF_ROW, FINISH, MIRROR } what;
  dm_view c, a, b; /* FINISH: a holds the sums; MIRROR: only c, from its row ROW on */
  int64_t plane;   /* elements from one accumulator to the next */
  bool accumulate, conjugate;
  bool half; /* PRODUCT: above the diagonal of C nothing is needed */
  dm_exponents exponents;
  int64_t row, col, k; /* start of the next piece in A and B */
} cpu_pending;

typedef struct cpu_backend {
  dm_backend base;
  int threads;
  int for_library, of_library; /* threads that the library may use, and has at present */
  dm_crew *crew;               /* for tiles, residues and halves; else NULL */
  int64_t tile;
  cpu_pending queue[PENDING];
  dm_event posted, finished; /* counts of products; event e is product e */
  dm_cpu_scratch scratch;
  dm_compute_calls calls; /* for a row with a FINISH */
  dm_cpu_residues *residues;
  int accumulators;
  char *row; /* copy of a row's accumulators for FINISH */
  int64_t row_bytes;
} cpu_backend;

static bool has_residues(const dm_backend_config *config) {
  return config->compute && config->compute->moduli > 0;
}

/* If the library uses one thread, the crew shares the work. */
static dm_status crew_open(cpu_backend *cpu, const dm_backend_config *config) {
  const bool shared = config->tile > 0 || has_residues(config);
  cpu->for_library = config->few ? 1 : cpu->threads;
  cpu->of_library = shared ? 1 : cpu->for_library;
  if (!dm_cpu_set_threads(cpu->of_library) && shared) cpu->threads = 1;
  if (shared) DM_TRY(dm_crew_new(cpu->threads, &cpu->crew));
  if (!has_residues(config)) return DM_OK;
  DM_TRY(dm_cpu_residues_new(config->compute, cpu->crew, cpu->threads, &cpu->residues));
  cpu->calls = dm_cpu_residues_calls(cpu->residues);
  return DM_OK;
}

static void cpu_close(dm_backend *backend) {
  cpu_backend *cpu = (cpu_backend *)backend;
  if (cpu->residues) dm_cpu_residues_free(cpu->residues);
  dm_crew_free(cpu->crew);
  dm_cpu_scratch_free(&cpu->scratch);
  free(cpu->row);
  free(cpu);
}

static dm_status cpu_open(dm_backend **backend, const dm_backend_config *config) {
  const dm_compute *compute = config->compute;
  const bool own = compute && compute->finish != DM_NO_FINISH && !has_residues(config);
  if (own && !config->calls)
    return dm_fail(DM_E_USAGE, "there is no method for products of %.15s", compute->name);
  DM_TRY(dm_cpu_room(config->threads > 0 ? config->threads : dm_cores()));
  cpu_backend *cpu = calloc(1, sizeof *cpu);
  if (!cpu) return dm_fail(DM_E_FIT, "no memory for the cpu backend");
  cpu->base.ops = &dm_backend_cpu;
  cpu->threads = config->threads > 0 ? config->threads : dm_cores();
  cpu->tile = config->tile;
  if (own) cpu->calls = *config->calls;
  cpu->accumulators = compute ? compute->accumulators : 1;
  dm_status status = crew_open(cpu, config);
  if (status)
    cpu_close(&cpu->base);
  else
    *backend = &cpu->base;
  return status;
}

static void read_model(char *text, size_t size) {
  snprintf(text, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[strcspn(colon, "\n")] = '\0';
    snprintf(text, size, "%.*s", (int)size - 1, colon + 2);
    break;
  }
  fclose(file);
}

static dm_status cpu_device(dm_backend *backend, dm_device *device) {
  *device =
      (dm_device){.sharing = 1, .threads = ((cpu_backend *)backend)->threads, .own_kernels = true};
  read_model(device->name, sizeof device->name);
  dm_cpu_library(device->library, sizeof device->library);
  dm_cpu_kernel_warning(device->advice, sizeof device->advice);
  device->memory_total = dm_memory_total();
  device->memory_free = dm_memory_available();
  return DM_OK;
}

static dm_status cpu_alloc(dm_backend *backend, dm_space space, int64_t bytes, void **memory) {
  (void)backend;
  (void)space;
  return dm_buffer_alloc(bytes, memory);
}

static void cpu_release(dm_backend *backend, dm_space space, void *memory) {
  (void)backend;
  (void)space;
  free(memory);
}

static dm_status cpu_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  (void)backend;
  dm_copy(dst, src, false);
  *done = 0;
  return DM_OK;
}

/* All accumulators of the elements whose first ones are C. */
static void accumulators_of(const cpu_backend *cpu, dm_view c, int64_t plane,
                            dm_view views[DM_ACCUMULATORS]) {
  const int64_t bytes = plane * dm_dtype_size(c.dtype);
  for (int x = 0; x < cpu->accumulators; x++) {
    views[x] = c;
    views[x].base = (char *)c.base + x * bytes;
  }
}

static dm_exponents exponents_from(dm_exponents all, int64_t row, int64_t col) {
  if (!all.rows) return all;
  return (dm_exponents){all.rows + row, all.cols + col};
}

/* The sums overwrite the accumulators and may be wider: accumulators are read from a copy. */
static dm_status cpu_finish_rows(cpu_backend *cpu, cpu_pending *p) {
  const int64_t bytes = p->plane * dm_dtype_size(p->c.dtype), all = bytes * cpu->accumulators;
  const int64_t end = dm_min(p->row + FINISHED_ROWS, p->c.rows);
  const void *accumulators[DM_ACCUMULATORS];
  if (cpu->row_bytes < all) {
    free(cpu->row);
    cpu->row = NULL;
    DM_TRY(dm_buffer_alloc(all, (void **)&cpu->row));
    cpu->row_bytes = all;
  }
  for (int x = 0; x < cpu->accumulators; x++) accumulators[x] = cpu->row + x * bytes;
  for (; p->row < end; p->row++) {
    for (int x = 0; x < cpu->accumulators; x++)
      memcpy(cpu->row + x * bytes, (char *)dm_view_at(p->c, p->row, 0) + x * bytes,
             (size_t)(p->c.cols * dm_dtype_size(p->c.dtype)));
    cpu->calls.finish(cpu->calls.context, dm_view_at(p->a, p->row, 0), accumulators, p->c.cols,
                      exponents_from(p->exponents, p->row, 0));
  }
  if (p->row >= p->c.rows) cpu->finished++;
  return DM_OK;
}

static void let_library_use(cpu_backend *cpu, int threads) {
  if (cpu->of_library != threads) (void)dm_cpu_set_threads(threads);
  cpu->of_library = threads;
}

/* A piece, cut into blocks for the crew. */
typedef struct shared_piece {
  dm_view c, a, b;
  bool accumulate;
  int64_t rows, cols, across; /* size of a block; blocks side by side */
} shared_piece;

static void cpu_multiply_block(void *context, int64_t block) {
  const shared_piece *p = context;
  const int64_t row = block / p->across * p->rows, col = block % p->across * p->cols;
  const int64_t rows = dm_min(p->rows, p->c.rows - row), cols = dm_min(p->cols, p->c.cols - col);
  dm_view c = dm_view_sub(p->c, row, col, rows, cols);
  dm_view a = dm_view_sub(p->a, row, 0, rows, p->a.cols);
  dm_view b = dm_view_sub(p->b, 0, col, p->b.rows, cols);
  dm_status_free(dm_cpu_product(c, a, b, p->accumulate, true, NULL)); /* cannot fail: it fits */
}

static dm_status multiply_piece(cpu_backend *cpu, dm_view c, dm_view a, dm_view b, bool accumulate,
                                const dm_cpu_box *box) {
  const bool in_blocks = cpu->tile > 0 && !dm_dtype_is_short(a.dtype);
  let_library_use(cpu, cpu->tile > 0 ? 1 : cpu->for_library);
  if (!in_blocks) return dm_cpu_product(c, a, b, accumulate, cpu->tile > 0, &cpu->scratch);
  DM_TRY(dm_cpu_fits(c, a, b));
  shared_piece p = {.c = c,
                    .a = a,
                    .b = b,
                    .accumulate = accumulate,
                    .rows = box->block_rows,
                    .cols = box->block_cols,
                    .across = dm_ceil_div(c.cols, box->block_cols)};
  dm_crew_run(cpu->crew, cpu_multiply_block, &p, p.across * dm_ceil_div(c.rows, p.rows));
  return DM_OK;
}

/* ---- half of a square ----
 *
 * The library's threads wait for each other in a loop, within each product and for the next one. So
 * the crew shares the work: strips of rows, up to the diagonal, with as many products each. Each
 * strip packs the columns on its left again, which takes too long if it has few rows. */

typedef struct shared_half {
  dm_view c, a;
  bool accumulate;
  int strips;
} shared_half;

static int64_t half_row(const shared_half *half, int64_t strip) {
  if (strip >= half->strips) return half->c.rows;
  const double part = sqrt((double)strip / half->strips);
  return (int64_t)(part * (double)half->c.rows) / HALF_STEP * HALF_STEP;
}

static void cpu_multiply_strip(void *context, int64_t strip) {
  const shared_half *half = context;
  const int64_t row = half_row(half, strip), rows = half_row(half, strip + 1) - row;
  const dm_view a = dm_view_sub(half->a, row, 0, rows, half->a.cols);
  const dm_view left = dm_view_transpose(dm_view_sub(half->a, 0, 0, row, half->a.cols));
  if (row > 0) /* cannot fail: it fits */
    dm_status_free(dm_cpu_product(dm_view_sub(half->c, row, 0, rows, row), a, left,
                                  half->accumulate, true, NULL));
  dm_cpu_half(dm_view_sub(half->c, row, row, rows, rows), a, half->accumulate);
}

/* Whether the crew, which is started if there is none, multiplies half of a square of SIZE rows. */
static bool cpu_halves(dm_backend *backend, dm_dtype dtype, int64_t size) {
  cpu_backend *cpu = (cpu_backend *)backend;
  const shared_half half = {.c.rows = size, .strips = cpu->for_library};
  if (half.strips < 2 || cpu->tile > 0 || cpu->residues || size > HALF_MOST) return false;
  if (size - half_row(&half, half.strips - 1) < HALF_ROWS) return false;
  if (dtype != DM_F64 && dtype != DM_F32) return false;
  if (!cpu->crew) dm_status_free(dm_crew_new(cpu->for_library, &cpu->crew));
  return cpu->crew && dm_crew_threads(cpu->crew) == half.strips;
}

static dm_status cpu_multiply_half(cpu_backend *cpu, dm_view c, dm_view a, bool accumulate) {
  shared_half half = {c, a, accumulate, cpu->for_library};
  DM_TRY(dm_cpu_fits(c, a, a));
  if (cpu_halves(&cpu->base, a.dtype, c.rows)) {
    let_library_use(cpu, 1);
    dm_crew_run(cpu->crew, cpu_multiply_strip, &half, half.strips);
    return DM_OK;
  }
  let_library_use(cpu, cpu->for_library);
  dm_cpu_half(c, a, accumulate);
  return DM_OK;
}

static dm_cpu_box cpu_box_of(const cpu_backend *cpu, const cpu_pending *p) {
  if (cpu->residues)
    return (dm_cpu_box){DM_CPU_RESIDUES_ROWS, DM_CPU_RESIDUES_COLS, dm_max(1, p->a.cols), 0, 0};
  return dm_cpu_piece(p->a.dtype, cpu->tile, cpu->threads, p->c.rows, p->c.cols, p->a.cols);
}

/* Columns of C per column of B: see dm_compute_parts. */
static int64_t cpu_parts_of(const cpu_pending *p) {
  return p->c.cols / p->b.cols;
}

static void product_of_row(cpu_backend *cpu, const cpu_pending *p, dm_view c, dm_view a,
                           dm_view b) {
  dm_view all[DM_ACCUMULATORS];
  accumulators_of(cpu, c, p->plane, all);
  if (cpu->residues) let_library_use(cpu, 1);
  cpu->calls.product(cpu->calls.context, all, a, b, p->accumulate || p->k > 0,
                     exponents_from(p->exponents, p->row, cpu_parts_of(p) * p->col));
}

/* Computes the front product's next piece: first along the columns, then the rows, then k. */
static dm_status compute_piece(cpu_backend *cpu) {
  cpu_pending *p = &cpu->queue[cpu->finished % PENDING];
  if (p->what == FINISH) return cpu_finish_rows(cpu, p);
  if (p->what == MIRROR) {
    dm_host_mirror_parallel(p->c, p->row, p->conjugate);
    cpu->finished++;
    return DM_OK;
  }
  const dm_cpu_box most = cpu_box_of(cpu, p);
  const int64_t parts = cpu_parts_of(p);
  const bool whole = p->half && cpu_halves(&cpu->base, p->a.dtype, p->c.rows);
  const int64_t rows = whole ? p->c.rows : dm_min(most.rows, p->c.rows - p->row);
  const int64_t cols = whole ? p->c.cols : dm_min(most.cols / parts, p->b.cols - p->col);
  const int64_t depth = dm_min(most.depth, p->a.cols - p->k);
  const dm_view a = dm_view_sub(p->a, p->row, p->k, rows, depth);
  const dm_view b = dm_view_sub(p->b, p->k, p->col, depth, cols);
  const dm_view c = dm_view_sub(p->c, p->row, parts * p->col, rows, parts * cols);
  if (p->what == PRODUCT_OF_ROW)
    product_of_row(cpu, p, c, a, b);
  else if (p->half && rows == p->c.rows && cols == p->c.cols)
    DM_TRY(cpu_multiply_half(cpu, c, a, p->accumulate || p->k > 0));
  else
    DM_TRY(multiply_piece(cpu, c, a, b, p->accumulate || p->k > 0, &most));
  p->col += cols;
  if (p->col < p->b.cols) return DM_OK;
  p->col = 0;
  p->row += rows;
  if (p->row < p->c.rows) return DM_OK;
  p->row = 0;
  p->k += depth;
  if (p->k >= p->a.cols) cpu->finished++;
  return DM_OK;
}

static dm_status cpu_wait(dm_backend *backend, dm_event event) {
  cpu_backend *cpu = (cpu_backend *)backend;
  while (cpu->finished < event) DM_TRY(compute_piece(cpu));
  return DM_OK;
}

static dm_status queue(dm_backend *backend, cpu_pending work, dm_event *done) {
  cpu_backend *cpu = (cpu_backend *)backend;
  if (cpu->posted - cpu->finished == PENDING) DM_TRY(cpu_wait(backend, cpu->finished + 1));
  cpu->queue[cpu->posted % PENDING] = work;
  *done = ++cpu->posted;
  return DM_OK;
}

static dm_status cpu_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                          dm_event *done) {
  return queue(backend, (cpu_pending){.c = c, .a = a, .b = b, .accumulate = accumulate}, done);
}

static dm_status cpu_square(dm_backend *backend, dm_view c, dm_view a, bool accumulate,
                            dm_event *done) {
  const cpu_backend *cpu = (const cpu_backend *)backend;
  const cpu_pending work = {.c = c,
                            .a = a,
                            .b = dm_view_transpose(a),
                            .accumulate = accumulate,
                            .half = cpu->tile == 0 && !dm_dtype_is_short(a.dtype)};
  return queue(backend, work, done);
}

static dm_status cpu_row_product(dm_backend *backend, dm_view c, int64_t plane, dm_view a,
                                 dm_view b, bool accumulate, dm_exponents exponents,
                                 dm_event *done) {
  const cpu_pending work = {.what = PRODUCT_OF_ROW,
                            .c = c,
                            .a = a,
                            .b = b,
                            .plane = plane,
                            .accumulate = accumulate,
                            .exponents = exponents};
  return queue(backend, work, done);
}

static dm_status cpu_finish(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                            dm_exponents exponents, dm_event *done) {
  const cpu_pending work = {
      .what = FINISH, .c = c, .a = sums, .plane = plane, .exponents = exponents};
  return queue(backend, work, done);
}

static dm_status cpu_mirror(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                            dm_event *done) {
  const cpu_pending work = {.what = MIRROR, .c = square, .row = first, .conjugate = conjugate};
  return queue(backend, work, done);
}

static dm_status cpu_join(dm_backend *backend, dm_view c, dm_view more, int64_t plane) {
  const cpu_backend *cpu = (const cpu_backend *)backend;
  dm_view to[DM_ACCUMULATORS], from[DM_ACCUMULATORS];
  accumulators_of(cpu, c, plane, to);
  accumulators_of(cpu, more, plane, from);
  if (cpu->calls.join) {
    cpu->calls.join(cpu->calls.context, to, from);
    return DM_OK;
  }
  for (int x = 0; x < cpu->accumulators; x++)
    DM_TRY(dm_host_add(backend, to[x], to[x], from[x], 1.0, 1.0));
  return DM_OK;
}

static dm_status cpu_test(dm_backend *backend, dm_event event, bool *done) {
  cpu_backend *cpu = (cpu_backend *)backend;
  if (cpu->finished < event) DM_TRY(compute_piece(cpu));
  *done = cpu->finished >= event;
  return DM_OK;
}

static dm_status cpu_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                           double *squares) {
  (void)backend;
  return dm_host_probe_parallel(matrix, x, y, squares);
}

static dm_status cpu_scan(dm_backend *backend, dm_view matrix, double *col_squares) {
  (void)backend;
  return dm_host_scan_parallel(matrix, col_squares);
}

static dm_status cpu_fill(dm_backend *backend, dm_view view, const dm_generator *generator,
                          int64_t row, int64_t col) {
  (void)backend;
  return dm_host_fill_parallel(view, generator, row, col);
}

static bool cpu_suits(const dm_backend *backend, const dm_whole_product *product) {
  const cpu_backend *cpu = (const cpu_backend *)backend;
  return cpu->tile == 0 && dm_cpu_suits(product);
}

/* ---- several entries ---- */

static const double run_flops = 1e6; /* of the entries that a thread takes at once */

/* Entries that threads take, run by run. */
typedef struct cpu_entries {
  const dm_whole_product *product;
  const dm_entry_steps *steps; /* NULL: none */
  int64_t each;                /* entries of a run */
  _Atomic int64_t next;
  _Atomic int threads;        /* that have begun */
  _Atomic(dm_status) failure; /* the first one */
} cpu_entries;

/* ROOM: of dm_cpu_multiply_as_real, or NULL. */
static dm_status multiply_entry(const cpu_entries *all, int thread, int64_t e, void *room) {
  const dm_whole_product one = dm_whole_entry(all->product, e);
  const dm_entry_steps *s = all->steps;
  if (s) DM_TRY(s->before(s->context, thread, e, &one));
  room ? dm_cpu_multiply_as_real(&one, room) : dm_cpu_multiply(&one);
  return s ? s->after(s->context, thread, e, &one) : DM_OK;
}

static void keep_failure(cpu_entries *all, dm_status status) {
  dm_status none = NULL;
  if (status && !atomic_compare_exchange_strong(&all->failure, &none, status))
    dm_status_free(status);
}

static void take_entries(void *context) {
  cpu_entries *all = context;
  const int thread = atomic_fetch_add(&all->threads, 1);
  const int64_t count = all->product->entries;
  const dm_whole_product like = dm_whole_entry(all->product, 0);
  const int64_t bytes = dm_cpu_real_room(&like);
  void *room = NULL;
  if (bytes > 0) keep_failure(all, dm_buffer_alloc(bytes, &room));
  while (!atomic_load(&all->failure)) {
    const int64_t first = atomic_fetch_add(&all->next, all->each);
    if (first >= count) break;
    for (int64_t e = first; e < dm_min(count, first + all->each) && !atomic_load(&all->failure);
         e++)
      keep_failure(all, multiply_entry(all, thread, e, room));
  }
  free(room);
}

/* Few large entries are multiplied one after the other by the library's threads, others at the same
 * time by one thread each. */
static dm_status cpu_multiply_entries(dm_backend *backend, const dm_whole_product *p,
                                      const dm_entry_steps *steps) {
  cpu_backend *cpu = (cpu_backend *)backend;
  const int64_t count = p->entries;
  const double flops =
      2.0 * (double)(p->c.rows / count) * (double)p->c.cols * (double)(p->a.cols + 1);
  cpu_entries all = {
      .product = p, .steps = steps, .each = dm_max(1, dm_min(count, (int64_t)(run_flops / flops)))};
  int threads = (int)dm_min(dm_min(cpu->threads, DM_ENTRY_THREADS), dm_ceil_div(count, all.each));
  if (count < 4 * (int64_t)cpu->threads && flops > 100.0 * run_flops) threads = 1;
  let_library_use(cpu, threads == 1 ? cpu->for_library : 1);
  (void)dm_fork_join(threads, take_entries, &all);
  return all.failure;
}

static dm_status cpu_multiply(dm_backend *backend, const dm_whole_product *product, void *stream,
                              dm_event *done) {
  cpu_backend *cpu = (cpu_backend *)backend;
  (void)stream;
  *done = 0;
  if (product->entries > 1) return cpu_multiply_entries(backend, product, NULL);
  let_library_use(cpu, cpu->for_library);
  dm_cpu_multiply(product);
  return DM_OK;
}

static dm_status cpu_direct(dm_backend *backend, dm_view c, dm_view a, dm_view b, double *seconds) {
  cpu_backend *cpu = (cpu_backend *)backend;
  dm_dtype work = a.dtype;
  if (dm_dtype_is_short(work))
    return dm_fail(DM_E_USAGE, "CBLAS has no product of %s to compare with", dm_dtype_name(work));
  let_library_use(cpu, cpu->threads);
  double start = dm_now();
  DM_TRY(dm_cpu_product(c, a, b, false, false, &cpu->scratch));
  *seconds = dm_now() - start;
  return DM_OK;
}

static const char *const *cpu_kernels(void) {
  static const char *const names[] = {"auto", "cblas", NULL};
  return names;
}

static bool cpu_takes(const char *kernel, dm_dtype work, const dm_compute *compute,
                      const char **why) {
  (void)kernel;
  (void)work;
  *why = compute->splits ? "products of split operands need the tensor cores of a GPU"
                         : "tf32 products need the tensor cores of a GPU";
  return compute->operand < DM_DTYPE_COUNT && !compute->splits;
}

const dm_backend_ops dm_backend_cpu = {
    .name = "cpu",
    .about = "products through CBLAS",
    .open = cpu_open,
    .close = cpu_close,
    .device = cpu_device,
    .alloc = cpu_alloc,
    .release = cpu_release,
    .copy = cpu_copy,
    .gemm = cpu_gemm,
    .syrk = cpu_square,
    .halves = cpu_halves,
    .gemm_parts = cpu_row_product,
    .finish = cpu_finish,
    .mirror = cpu_mirror,
    .join = cpu_join,
    .extremes = dm_host_extremes_parallel,
    .line_sums = dm_host_line_sums_parallel,
    .can_multiply = cpu_suits,
    .multiply = cpu_multiply,
    .multiply_entries = cpu_multiply_entries,
    .test = cpu_test,
    .wait = cpu_wait,
    .probe = cpu_probe,
    .scan = cpu_scan,
    .fill = cpu_fill,
    .add = dm_host_add,
    .dot = dm_host_dot,
    .library_gemm = cpu_direct,
    .kernel_names = cpu_kernels,
    .kernel_multiplies = cpu_takes,
};
