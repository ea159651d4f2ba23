#include "plan/memory_need.h"

#include "core/checked.h"
#include "core/view.h"
#include "plan/partition.h"
#include "plan/runs.h"
#include "plan/tiles.h"

/* What the other layers allocate; each stands there under the name in brackets. */
enum {
  READ_BYTES = 64 << 20,         /* a reader's piece (io/reader.c HDF5_PIECE), or half of the chunks
                                    that are kept or unpacked (io/file_queue.h DM_READ_MEMORY) */
  LOADS = 16,                    /* strips on the way to a device, each of ... */
  LOAD_BYTES = 4 << 20,          /* (job/upload_staging.c STRIP), or a row of the file and a run */
  STORES = 8,                    /* strips of C on their way to the file, */
  STORE_BYTES = 4 << 20,         /* each of these sums (job/store.c STRIP) */
  CONVERT_BYTES = 36 << 20,      /* 16-bit and int8 inputs in f32 (backend/cpu_product.c) */
  LIBRARY_BYTES = 64 << 20,      /* at least the workspace of cuBLAS (backend/cuda.c WORKSPACE) */
  SAMPLE_BYTES = 1 << 20,        /* of B, to weigh it (job/passing.c STRIP) */
  PROCESS_BYTES = 48 << 20,      /* the program, MPI, HDF5 and BLAS before anything is asked for */
  GPU_PROCESS_BYTES = 384 << 20, /* the same with CUDA */
  COPY_BYTES = 512,              /* rows of a kernel's copies, at most (04_pitched.cu PITCH) */
  SLOT_BYTES = 256,              /* slots start at multiples of it (job/task.c) */
  PAGE_BYTES = 4096,             /* of shared memory (transport/shared_slots.c), per rank at most */
  SLAB_BYTES = 2 << 20, /* a share that peers read fills whole ones (transport.h DM_SLAB) */
};

/* What a part's size depends on: the largest block, layer and shares. */
typedef struct extent {
  int64_t rows, cols, depth; /* of the block of C and of its layer of k */
  int64_t wide, added;       /* cols with all accumulators, and as layers add them up */
  int64_t a_rows, b_rows;    /* of the shares, for one tile */
  int64_t b_piece;           /* rows of a panel of B */
  int64_t c_rows;            /* that one layer sums */
  int64_t width;             /* of a panel */
  int64_t work, sum;         /* bytes of an element */
} extent;

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return dm_add_overflows(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return dm_mul_overflows(a, b, &product) ? INT64_MAX : product;
}

static int64_t matrix(int64_t rows, int64_t cols, int64_t size) {
  return times(rows, times(cols, size));
}

static int64_t rounded(int64_t bytes, int64_t step) {
  return bytes > INT64_MAX - step ? INT64_MAX : dm_round_up(bytes, step);
}

static int64_t device_matrix(int64_t rows, int64_t cols, int64_t size) {
  const int64_t row = times(cols, size);
  return times(rows, row > INT64_MAX / 2 ? INT64_MAX : dm_device_row(row));
}

static extent extent_of(const dm_plan *plan) {
  dm_range rows = dm_plan_rows(plan, 0, 0), depth = dm_plan_layer_k(plan, 0);
  extent e = {.rows = dm_range_size(rows), .depth = dm_range_size(depth)};
  e.cols = dm_range_size(dm_plan_cols(plan, 0, 0));
  e.a_rows = dm_range_size(dm_plan_a_share(plan, 0, 0, 0));
  e.b_rows = dm_plan_b_share_rows(plan, 0, 0);
  e.b_piece = dm_plan_b_share_most(plan, 0);
  e.c_rows = dm_range_size(dm_plan_c_share(plan, 0, 0, 0));
  e.width = dm_plan_width(plan);
  e.work = dm_dtype_size(plan->problem.work);
  e.sum = dm_dtype_size(plan->problem.accumulator);
  e.wide = dm_compute_width(&plan->problem.compute, plan->problem.accumulator, e.cols);
  e.added = dm_compute_added(&plan->problem.compute, plan->problem.accumulator, e.cols);
  return e;
}

/* Slots in GPU memory: those of a ring, which peers read where pieces are uploaded first, or, in
 * place, one for each panel of the layer, which they always read. */
static int64_t device_slots(const dm_plan *plan, dm_matrix x, bool fetched, int64_t slot) {
  if (dm_plan_uploads_first(plan, x)) return rounded(times(plan->slots, slot), SLAB_BYTES);
  if (!plan->in_place || !fetched) return times(plan->slots, slot);
  return rounded(times(dm_range_size(dm_plan_layer(plan, 0)), slot), SLAB_BYTES);
}

/* A panel passes a host slot when it is gathered there, and a device slot when it, or a piece of
 * it, is uploaded to it, or gathered in device memory. */
static void count_rings(const dm_plan *plan, const extent *e, dm_memory_need *need) {
  const bool fetched[2] = {dm_plan_fetches_a(plan), dm_plan_fetches_b(plan)};
  const bool in_host[2] = {plan->a != DM_IN_DEVICE, plan->b != DM_IN_DEVICE};
  const int64_t rows[2] = {e->rows, e->width}, cols[2] = {e->width, e->cols};
  const bool shared[2] = {plan->shared_a, plan->shared_b};
  for (int x = 0; x < 2; x++) {
    dm_memory_part part = x == 0 ? DM_MEMORY_RING_A : DM_MEMORY_RING_B;
    if (fetched[x] && in_host[x] && !shared[x] && !plan->device_links)
      need->part[DM_HOST][part] =
          times(plan->slots, rounded(matrix(rows[x], cols[x], e->work), SLOT_BYTES));
    int64_t slot = rounded(device_matrix(rows[x], cols[x], e->work), SLOT_BYTES);
    if (plan->gpu && (fetched[x] || in_host[x]))
      need->part[DM_DEVICE][part] = device_slots(plan, (dm_matrix)x, fetched[x], slot);
  }
}

/* Panel beside panel, each padded by itself. */
static int64_t device_share_of_a(const dm_plan *plan, const extent *e) {
  int64_t panels = dm_range_size(dm_plan_layer(plan, 0));
  return times(panels, device_matrix(e->a_rows, e->width, e->work));
}

static int64_t device_share(const dm_plan *plan, bool fetched, int64_t bytes) {
  if (plan->in_place && fetched) return 0; /* it lies in the slots */
  return plan->device_links && fetched ? rounded(bytes, SLAB_BYTES) : bytes;
}

/* This rank's part of what its group keeps together: a whole slot for each panel. */
static int64_t shared_share(const dm_plan *plan, int64_t slot, int members) {
  int64_t slots = times(dm_range_size(dm_plan_layer(plan, 0)), rounded(slot, SLOT_BYTES));
  return plus(dm_ceil_div(slots, members), PAGE_BYTES);
}

/* Of pieces that lie by themselves. */
static int64_t places(const dm_plan *plan, dm_matrix matrix, int64_t piece) {
  return times(dm_plan_places(plan, matrix, dm_range_size(dm_plan_layer(plan, 0))), piece);
}

static int64_t host_share_of_a(const dm_plan *plan, const extent *e) {
  if (plan->shared_a) return shared_share(plan, matrix(e->rows, e->width, e->work), plan->pn);
  if (plan->a == DM_IN_HOST && dm_plan_tiles(plan) == 1)
    return matrix(e->a_rows, e->depth, e->work);
  return places(plan, DM_A, matrix(e->a_rows, e->width, e->work));
}

static int64_t host_share_of_b(const dm_plan *plan, const extent *e) {
  if (plan->shared_b) return shared_share(plan, matrix(e->width, e->cols, e->work), plan->pm);
  if (plan->b == DM_IN_HOST && dm_plan_tiles(plan) == 1) return matrix(e->b_rows, e->cols, e->work);
  return places(plan, DM_B, matrix(e->b_piece, e->cols, e->work));
}

static void count_shares(const dm_plan *plan, const extent *e, dm_memory_need *need) {
  const int64_t a = times(plan->tiles_m, device_share_of_a(plan, e));
  const int64_t b = dm_plan_tiles(plan) == 1
                        ? device_matrix(e->b_rows, e->cols, e->work)
                        : places(plan, DM_B, device_matrix(e->b_piece, e->cols, e->work));
  if (plan->a != DM_IN_DEVICE)
    need->part[DM_HOST][DM_MEMORY_A] = host_share_of_a(plan, e);
  else
    need->part[DM_DEVICE][DM_MEMORY_A] = device_share(plan, dm_plan_fetches_a(plan), a);
  if (plan->b != DM_IN_DEVICE)
    need->part[DM_HOST][DM_MEMORY_B] = host_share_of_b(plan, e);
  else
    need->part[DM_DEVICE][DM_MEMORY_B] = device_share(plan, dm_plan_fetches_b(plan), b);
}

/* Of a product without files, whose C is of another type than its sums (job/bench_round.c). */
static void count_rounded(const dm_plan *plan, const extent *e, dm_memory_need *need) {
  const dm_problem *p = &plan->problem;
  const dm_space space = plan->gpu && (plan->pk == 1 || plan->device_links) ? DM_DEVICE : DM_HOST;
  const int64_t size = dm_dtype_size(p->c);
  int64_t *bytes = &need->part[space][DM_MEMORY_C];
  if (dm_plan_has_files(p) || dm_plan_returns(plan) || p->c == p->accumulator) return;
  *bytes = plus(*bytes, space == DM_DEVICE ? device_matrix(e->c_rows, e->cols, size)
                                           : matrix(e->c_rows, e->cols, size));
}

static void count_result(const dm_plan *plan, const extent *e, dm_memory_need *need) {
  const bool exposed = plan->device_links && plan->pk > 1;
  int64_t block = times(plan->blocks, rounded(matrix(e->rows, e->wide, e->sum), SLOT_BYTES));
  int64_t on_device =
      times(plan->blocks, rounded(device_matrix(e->rows, e->wide, e->sum), SLOT_BYTES));
  if (plan->gpu)
    need->part[DM_DEVICE][DM_MEMORY_C] = exposed ? rounded(on_device, SLAB_BYTES) : on_device;
  else
    need->part[DM_HOST][DM_MEMORY_C] = block;
  if (exposed) { /* a piece from each layer; the first becomes the sum */
    need->part[DM_DEVICE][DM_MEMORY_REDUCE] =
        times(plan->pk, device_matrix(e->c_rows, e->wide, e->sum));
  } else if (plan->pk > 1) { /* and the sum beside them; a GPU's whole block passes the host */
    int64_t pieces = times(plan->pk + 1, matrix(e->c_rows, e->added, e->sum));
    need->part[DM_HOST][DM_MEMORY_REDUCE] =
        plan->gpu || e->wide != e->added ? plus(pieces, block) : pieces;
  }
}

/* A reader keeps a piece of the file, and one more where the type changes. */
static int64_t reader_bytes(int64_t elements, dm_dtype file, dm_dtype work) {
  int64_t size = dm_dtype_size(file);
  int64_t piece = dm_min(elements, READ_BYTES / size);
  return piece * (file == work ? size : size + dm_dtype_size(work));
}

/* Sums that land from a device, finished elements, and old ones in the widest type. */
static int64_t store_bytes(const dm_plan *plan, const extent *e) {
  const dm_problem *p = &plan->problem;
  int64_t rows = dm_min(e->c_rows, dm_max(1, STORE_BYTES / times(e->cols, e->sum)));
  int64_t each = plan->gpu ? e->sum : 0;
  if (p->c != p->accumulator || p->reads_c) each += dm_dtype_size(p->c);
  if (p->reads_c) each += dm_dtype_is_complex(p->work) ? 16 : 8;
  return times(STORES, matrix(rows, e->cols, each));
}

/* Of the files: pieces may be transposed in them. */
static int64_t longest_row_bytes(const extent *e) {
  const int64_t longest = dm_max(dm_max(e->width, e->cols), dm_max(e->a_rows, e->b_piece));
  return plus(times(longest, e->work), DM_RUN_MOST);
}

/* In host memory: what is brought to a GPU, and C. */
static int64_t home_bytes(const dm_plan *plan, const extent *e) {
  int64_t bytes = 0;
  if (dm_plan_brings(plan, DM_A)) bytes = matrix(e->a_rows, e->depth, e->work);
  if (dm_plan_brings(plan, DM_B)) bytes = plus(bytes, matrix(e->b_rows, e->cols, e->work));
  if (!dm_plan_returns(plan)) return bytes;
  return plus(bytes, times(dm_plan_tiles(plan), matrix(e->c_rows, e->cols, e->sum)));
}

static int64_t staging_bytes(const dm_plan *plan, const extent *e) {
  const dm_problem *p = &plan->problem;
  if (!dm_plan_has_files(p)) return home_bytes(plan, e);
  const bool a_passes = plan->a == DM_IN_FILE, b_passes = plan->b == DM_IN_FILE;
  int64_t readers =
      plus(reader_bytes(times(e->a_rows, a_passes ? e->width : e->depth), p->file_a, p->work),
           reader_bytes(times(b_passes ? e->b_piece : e->b_rows, e->cols), p->file_b, p->work));
  if (p->reads_c) readers = plus(readers, reader_bytes(times(e->c_rows, e->cols), p->c, p->c));
  int64_t load = 0;
  if (plan->a == DM_IN_DEVICE || plan->b == DM_IN_DEVICE)
    load = times(LOADS, dm_max(LOAD_BYTES, longest_row_bytes(e)));
  return plus(readers, plus(load, store_bytes(plan, e)));
}

/* A copy that a kernel makes for itself, as it is or transposed. */
static int64_t copied_matrix(int64_t rows, int64_t cols, int64_t size) {
  return dm_max(times(rows, rounded(times(cols, size), COPY_BYTES)),
                times(cols, rounded(times(rows, size), COPY_BYTES)));
}

/* What the row of compute modes takes beside. */
static void count_scratch(const dm_plan *plan, const extent *e, int64_t *bytes) {
  const dm_compute *row = &plan->problem.compute;
  const int64_t panels = plus(matrix(e->rows, e->width, 1), matrix(e->width, e->cols, 1));
  *bytes = plus(*bytes, times(row->panel_bytes, panels));
  *bytes = plus(*bytes, matrix(e->rows, e->cols, row->tile_bytes));
}

static void count_converted(const dm_plan *plan, const extent *e, dm_memory_need *need) {
  const dm_dtype work = plan->problem.work;
  if (plan->gpu)
    need->part[DM_DEVICE][DM_MEMORY_CONVERT] =
        plus(times(plan->copies_a, copied_matrix(e->rows, e->width, e->work)),
             times(plan->copies_b, copied_matrix(e->width, e->cols, e->work)));
  else if (work == DM_F16 || work == DM_BF16 || work == DM_I8)
    need->part[DM_HOST][DM_MEMORY_CONVERT] = CONVERT_BYTES;
  count_scratch(plan, e, &need->part[plan->gpu ? DM_DEVICE : DM_HOST][DM_MEMORY_CONVERT]);
}

/* job/freivalds.c; complex ones are at most twice as large. */
static int64_t vector_bytes(const dm_plan *plan) {
  const dm_problem *p = &plan->problem;
  if (!p->verify) return 0;
  int64_t elements = plus(times(2, plus(p->n, p->k)), times(8, p->m));
  return times(elements, dm_dtype_is_complex(p->work) ? 16 : 8);
}

static int64_t process_bytes(const dm_plan *plan) {
  if (plan->process_bytes > 0) return plan->process_bytes;
  return plan->gpu ? GPU_PROCESS_BYTES : PROCESS_BYTES;
}

dm_memory_need dm_plan_memory(const dm_plan *plan) {
  dm_memory_need need = {0};
  extent e = extent_of(plan);
  count_shares(plan, &e, &need);
  count_rings(plan, &e, &need);
  count_result(plan, &e, &need);
  count_rounded(plan, &e, &need);
  need.part[DM_HOST][DM_MEMORY_STAGING] = staging_bytes(plan, &e);
  count_converted(plan, &e, &need);
  need.part[DM_HOST][DM_MEMORY_VERIFY] = vector_bytes(plan);
  if (dm_plan_streams(plan) && plan->problem.verify)
    need.part[DM_HOST][DM_MEMORY_VERIFY] = plus(vector_bytes(plan), SAMPLE_BYTES);
  if (dm_plan_has_files(&plan->problem))
    need.part[DM_HOST][DM_MEMORY_LIBRARY] = process_bytes(plan);
  if (plan->gpu) {
    need.part[DM_DEVICE][DM_MEMORY_VERIFY] = vector_bytes(plan);
    need.part[DM_DEVICE][DM_MEMORY_LIBRARY] = LIBRARY_BYTES;
  }
  for (int space = 0; space < 2; space++)
    for (int part = 0; part < DM_MEMORY_PARTS; part++)
      need.total[space] = plus(need.total[space], need.part[space][part]);
  return need;
}

const char *dm_memory_part_name(dm_memory_part part) {
  static const char *const names[DM_MEMORY_PARTS] = {
      [DM_MEMORY_A] = "share of A",        [DM_MEMORY_B] = "share of B",
      [DM_MEMORY_RING_A] = "panels of A",  [DM_MEMORY_RING_B] = "panels of B",
      [DM_MEMORY_C] = "block of C",        [DM_MEMORY_REDUCE] = "sum over layers",
      [DM_MEMORY_STAGING] = "staging",     [DM_MEMORY_CONVERT] = "converted inputs",
      [DM_MEMORY_VERIFY] = "verification", [DM_MEMORY_LIBRARY] = "program, libraries"};
  return part < DM_MEMORY_PARTS ? names[part] : "none";
}
