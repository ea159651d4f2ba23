#include "plan/buffers.h"

#include <math.h>

#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"

/* Sizes of a rank used by several parts of the list. */
typedef struct rank_extent {
  const dm_plan *plan;
  dm_coords at;
  int64_t panels;      /* of the layer */
  int64_t rows, cols;  /* of the block, in the first tile, */
  int64_t wide, added; /* columns with all accumulators, and as the layers add them */
  int64_t own_rows;    /* and the rows that this rank sums and stores */
  int64_t a_rows;      /* of the share of A */
  int64_t b_rows;      /* rows of this rank's piece of the widest panel of B, */
  int64_t width;       /* and that panel's width */
  int64_t work, sum;   /* bytes of an element */
} rank_extent;

static void add_working(const rank_extent *e, dm_buffers *list);

enum {
  SLOT_STEP = 256,        /* slots start at its multiples */
  PAGE_BYTES = 4096,      /* shared memory besides the slots, per rank at most */
  UPLOAD_STRIP = 4 << 20, /* small, so that the first panel arrives early and many threads read */
  STORED_STRIP = 4 << 20, /* bytes of sums; consists of whole rows */
  MIRRORED_STRIP = 16 << 20, /* the same if it has an image: it is as wide as the strip is high */
};

static dm_space buffers_space_of(const dm_plan *plan, dm_matrix matrix) {
  return dm_plan_residence(plan, matrix) == DM_IN_DEVICE ? DM_DEVICE : DM_HOST;
}

int64_t dm_plan_share_slot(const dm_plan *plan, dm_matrix matrix, dm_coords at) {
  const int64_t rows = matrix == DM_A ? dm_range_size(dm_plan_a_share(plan, 0, at.i, at.j))
                                      : dm_plan_b_share_most(plan, at.i);
  const int64_t cols =
      matrix == DM_A ? dm_plan_width(plan) : dm_range_size(dm_plan_cols(plan, 0, at.j));
  return dm_laid_out(buffers_space_of(plan, matrix), rows, cols, dm_dtype_size(plan->problem.work));
}

static rank_extent buffers_extent_of(const dm_plan *plan, dm_coords at) {
  const int64_t rows = dm_range_size(dm_plan_rows(plan, 0, at.i));
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, at.j));
  const dm_problem *p = &plan->problem;
  return (rank_extent){
      .plan = plan,
      .at = at,
      .panels = dm_range_size(dm_plan_layer(plan, at.l)),
      .rows = rows,
      .cols = cols,
      .wide = dm_compute_width(&p->compute, p->accumulator, cols),
      .added = dm_compute_added(&p->compute, p->accumulator, cols),
      .own_rows = plan->pk > 1 ? dm_range_size(dm_plan_c_share(plan, 0, at.i, at.l)) : rows,
      .a_rows = dm_range_size(dm_plan_a_share(plan, 0, at.i, at.j)),
      .b_rows = dm_plan_b_share_most(plan, at.i),
      .width = dm_plan_width(plan),
      .work = dm_dtype_size(plan->problem.work),
      .sum = dm_dtype_size(plan->problem.accumulator)};
}

static dm_buffer slots_of(dm_where where, int64_t slots, int64_t slot) {
  const int64_t bytes = dm_sat_mul(slots, slot);
  return (dm_buffer){where, slots, slot, bytes, bytes};
}

/* Memory that peers read gets its own driver allocation, so that they see nothing else. */
static void buffers_expose(dm_buffer *buffer) {
  buffer->bytes = buffer->counted = dm_sat_round_up(buffer->bytes, DM_BUFFER_SLAB_BYTES);
}

/* ---- buffers of one factor ---- */

/* A share that stays through one tile has no more of its last panel than this is wide. */
static dm_buffer buffers_share_of(const rank_extent *e, dm_matrix matrix) {
  const dm_plan *plan = e->plan;
  const int64_t places = dm_plan_places(plan, matrix, e->panels);
  const bool a = matrix == DM_A;
  const dm_space space = buffers_space_of(plan, matrix);
  dm_buffer share =
      slots_of(space == DM_DEVICE ? DM_ON_DEVICE : DM_PINNED, places,
               dm_laid_out(space, a ? e->a_rows : e->b_rows, a ? e->width : e->cols, e->work));
  if (dm_plan_tiles(plan) > 1 || dm_plan_residence(plan, matrix) == DM_IN_FILE || places == 0)
    return share;
  const int64_t last = dm_plan_layer(plan, e->at.l).end - 1;
  const int64_t rows = a ? e->a_rows : dm_range_size(dm_plan_b_piece(plan, 0, last, e->at.i));
  const int64_t cols = a ? dm_range_size(dm_plan_panel(plan, last)) : e->cols;
  share.bytes = share.counted =
      dm_sat_add(dm_sat_mul(places - 1, share.slot), dm_laid_out(space, rows, cols, e->work));
  return share;
}

/* Slots for whole panels. */
static dm_buffer ring_of(const rank_extent *e, dm_matrix matrix, dm_where where, int64_t slots) {
  const int64_t rows = matrix == DM_A ? e->rows : e->width;
  const int64_t cols = matrix == DM_A ? e->width : e->cols;
  const int64_t slot = dm_laid_out(dm_where_space(where), rows, cols, e->work);
  return slots_of(where, slots, dm_sat_round_up(slot, SLOT_STEP));
}

static void list_factor(const rank_extent *e, dm_matrix matrix, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  if (dm_triangle_shares(plan, matrix)) return;
  const dm_route route = dm_plan_route(plan, matrix);
  dm_buffer *share = &list->of[dm_buffer_of(matrix, DM_SHARE)];
  dm_buffer *ring = &list->of[dm_buffer_of(matrix, DM_DEVICE_RING)];
  if (route.piece == DM_SHARE) *share = buffers_share_of(e, matrix);
  if (route.gathered == DM_HOST_RING)
    list->of[dm_buffer_of(matrix, DM_HOST_RING)] = ring_of(e, matrix, DM_PINNED, plan->slots);
  if (route.operand == DM_DEVICE_RING)
    *ring =
        ring_of(e, matrix, DM_ON_DEVICE, route.piece == DM_DEVICE_RING ? e->panels : plan->slots);
  if (route.linked) buffers_expose(route.exposed == DM_SHARE ? share : ring);
  if (route.operand == DM_SHARED_SLOTS) {
    dm_buffer slots = ring_of(e, matrix, DM_SHARED_MEMORY, e->panels);
    const int64_t members = matrix == DM_A ? plan->pn : plan->pm;
    if (slots.bytes < INT64_MAX)
      slots.counted = slots.bytes / members + (slots.bytes % members > 0) + PAGE_BYTES;
    list->of[dm_buffer_of(matrix, DM_SHARED_SLOTS)] = slots;
  }
}

/* One of C (product/file_sink.c), and one for each place of a share (engine/share_sums.c). */
static void list_device_sums(const rank_extent *e, dm_buffers *list) {
  int64_t sums = 1;
  for (int x = 0; x < 2; x++)
    if (dm_plan_residence(e->plan, (dm_matrix)x) == DM_IN_DEVICE &&
        !dm_triangle_shares(e->plan, (dm_matrix)x))
      sums = dm_sat_add(sums, dm_plan_places(e->plan, (dm_matrix)x, e->panels));
  if (e->plan->gpu && e->plan->problem.verify)
    list->of[DM_BUFFER_DEVICE_SUMS] = slots_of(DM_ON_DEVICE, sums, sizeof(uint64_t));
}

/* ---- of C ---- */

static void list_sums(const rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_space space = plan->gpu ? DM_DEVICE : DM_HOST;
  const int64_t block = dm_sat_round_up(dm_laid_out(space, e->rows, e->wide, e->sum), SLOT_STEP);
  dm_buffer *blocks = &list->of[DM_BUFFER_BLOCKS];
  *blocks = slots_of(plan->gpu ? DM_ON_DEVICE : DM_PINNED, plan->blocks, block);
  if (plan->pk == 1) return;
  if (plan->device_links) { /* the first piece becomes the sum */
    buffers_expose(blocks);
    list->of[DM_BUFFER_PIECES] =
        slots_of(DM_ON_DEVICE, plan->pk, dm_laid_out(DM_DEVICE, e->own_rows, e->wide, e->sum));
    return;
  }
  const int64_t own = dm_sat_bytes(e->own_rows, e->added, e->sum);
  list->of[DM_BUFFER_SUM] = slots_of(DM_PINNED, 1, own);
  list->of[DM_BUFFER_RECEIVED] = slots_of(DM_PAGEABLE, plan->pk - 1, own);
  if (plan->gpu || e->wide != e->added)
    list->of[DM_BUFFER_BLOCK_COPY] =
        slots_of(DM_PINNED, 1, dm_sat_round_up(dm_sat_bytes(e->rows, e->wide, e->sum), SLOT_STEP));
}

/* ---- from and to files ---- */

/* A strip holds a row of the file at least, and what is read beside a run of it. */
static int64_t upload_strip(const rank_extent *e, dm_matrix matrix) {
  const bool a = matrix == DM_A,
             plain = (a ? e->plan->problem.op_a : e->plan->problem.op_b) == DM_OP_N;
  const int64_t rows = a ? e->a_rows : e->b_rows, cols = a ? e->width : e->cols;
  return dm_sat_add(dm_sat_mul(dm_max(1, plain ? cols : rows), e->work), DM_RUN_MOST);
}

static void list_strips(const rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_problem *p = &plan->problem;
  int64_t upload = 0;
  for (int x = 0; x < 2; x++)
    if (dm_plan_in_file(p, x) && dm_plan_residence(plan, (dm_matrix)x) == DM_IN_DEVICE)
      upload = dm_max(dm_max(upload, UPLOAD_STRIP), upload_strip(e, (dm_matrix)x));
  if (upload > 0) list->of[DM_BUFFER_UPLOAD] = slots_of(DM_PINNED, DM_BUFFER_STRIPS_UP, upload);
  if (!dm_plan_in_file(p, DM_C)) return;
  const bool mirrors = dm_triangle_has_images(plan);
  const int64_t strip = mirrors ? MIRRORED_STRIP : STORED_STRIP;
  const int64_t longest = mirrors ? dm_max(e->own_rows, e->cols) : e->cols;
  const int64_t elements =
      dm_min(dm_sat_mul(e->own_rows, e->cols), dm_max(strip / e->sum, longest));
  list->stored = elements;
  const bool lands = plan->gpu && (plan->pk == 1 || plan->device_links);
  if (lands)
    list->of[DM_BUFFER_DOWNLOAD] =
        slots_of(DM_PINNED, DM_BUFFER_STRIPS_OUT, dm_sat_mul(elements, e->sum));
  if (p->c != p->accumulator || p->reads_c || p->scales || dm_triangle_keeps_sums(plan))
    list->of[DM_BUFFER_FINISHED] =
        slots_of(DM_PAGEABLE, DM_BUFFER_STRIPS_OUT, dm_sat_mul(elements, dm_dtype_size(p->c)));
  if (mirrors)
    list->of[DM_BUFFER_MIRRORED] =
        slots_of(DM_PAGEABLE, DM_BUFFER_STRIPS_OUT, dm_sat_mul(elements, e->sum));
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    list->of[DM_BUFFER_OLD] =
        slots_of(DM_PAGEABLE, DM_BUFFER_STRIPS_OUT,
                 dm_sat_mul(elements, dm_dtype_size(dm_dtype_widest(p->work))));
}

/* ---- all ---- */

void dm_plan_buffers(const dm_plan *plan, dm_coords at, dm_buffers *list) {
  *list = (dm_buffers){0};
  if (at.idle) return;
  const rank_extent e = buffers_extent_of(plan, at);
  list_factor(&e, DM_A, list);
  list_factor(&e, DM_B, list);
  list_sums(&e, list);
  list_device_sums(&e, list);
  list_strips(&e, list);
  add_working(&e, list);
}

const dm_buffer_traits dm_buffer_kinds[DM_BUFFERS] = {
    [DM_BUFFER_SHARE_A] = {"share of A", DM_LIFE_RANK, DM_MEMORY_A},
    [DM_BUFFER_SHARE_B] = {"share of B", DM_LIFE_RANK, DM_MEMORY_B},
    [DM_BUFFER_HOST_RING_A] = {"host ring of A", DM_LIFE_RANK, DM_MEMORY_RING_A},
    [DM_BUFFER_HOST_RING_B] = {"host ring of B", DM_LIFE_RANK, DM_MEMORY_RING_B},
    [DM_BUFFER_DEVICE_RING_A] = {"device ring of A", DM_LIFE_RANK, DM_MEMORY_RING_A},
    [DM_BUFFER_DEVICE_RING_B] = {"device ring of B", DM_LIFE_RANK, DM_MEMORY_RING_B},
    [DM_BUFFER_SHARED_A] = {"shared slots of A", DM_LIFE_RANK, DM_MEMORY_A},
    [DM_BUFFER_SHARED_B] = {"shared slots of B", DM_LIFE_RANK, DM_MEMORY_B},
    [DM_BUFFER_BLOCKS] = {"blocks of C", DM_LIFE_RANK, DM_MEMORY_C},
    [DM_BUFFER_SUM] = {"sum over layers", DM_LIFE_SUM, DM_MEMORY_REDUCE},
    [DM_BUFFER_PIECES] = {"pieces of the layers", DM_LIFE_RANK, DM_MEMORY_REDUCE},
    [DM_BUFFER_RECEIVED] = {"received of the layers", DM_LIFE_SUM, DM_MEMORY_REDUCE},
    [DM_BUFFER_BLOCK_COPY] = {"copy of the block", DM_LIFE_SUM, DM_MEMORY_REDUCE},
    [DM_BUFFER_UPLOAD] = {"upload staging", DM_LIFE_LOAD, DM_MEMORY_STAGING},
    [DM_BUFFER_DOWNLOAD] = {"strips from the GPU", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_FINISHED] = {"finished strips", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_MIRRORED] = {"mirrored strips", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_OLD] = {"strips of the old C", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_A] = {"A in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_B] = {"B in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_OLD] = {"old C in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_C] = {"C in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_ROUNDED] = {"rounded C", DM_LIFE_HOME, DM_MEMORY_C},
    [DM_BUFFER_FINISHED_HOME] = {"finished C", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_DEVICE_SUMS] = {"checksums on the GPU", DM_LIFE_LOAD, DM_MEMORY_VERIFY},
    [DM_BUFFER_READ_A] = {"reader of A", DM_LIFE_COUNTED, DM_MEMORY_STAGING},
    [DM_BUFFER_READ_B] = {"reader of B", DM_LIFE_COUNTED, DM_MEMORY_STAGING},
    [DM_BUFFER_READ_OLD] = {"reader of the old C", DM_LIFE_COUNTED, DM_MEMORY_STAGING},
    [DM_BUFFER_CONVERTED] = {"converted inputs", DM_LIFE_COUNTED, DM_MEMORY_CONVERT},
    [DM_BUFFER_VECTORS] = {"verification", DM_LIFE_COUNTED, DM_MEMORY_VERIFY},
    [DM_BUFFER_DEVICE_VECTORS] = {"verification on the device", DM_LIFE_COUNTED, DM_MEMORY_VERIFY},
    [DM_BUFFER_SAMPLE] = {"sample of B", DM_LIFE_COUNTED, DM_MEMORY_VERIFY},
    [DM_BUFFER_PASS] = {"pieces of A and B ahead", DM_LIFE_COUNTED, DM_MEMORY_STAGING},
    [DM_BUFFER_PROCESS] = {"program, libraries", DM_LIFE_COUNTED, DM_MEMORY_LIBRARY},
    [DM_BUFFER_WORKSPACE] = {"workspace", DM_LIFE_COUNTED, DM_MEMORY_LIBRARY},
};

dm_memory_need dm_buffers_need(const dm_buffers *list) {
  dm_memory_need need = {0};
  for (int kind = 0; kind < DM_BUFFERS; kind++) {
    const dm_buffer *buffer = &list->of[kind];
    if (buffer->where == DM_NOWHERE) continue;
    const dm_space space = dm_where_space(buffer->where);
    int64_t *part = &need.part[space][dm_buffer_kinds[kind].part];
    *part = dm_sat_add(*part, buffer->counted);
    need.total[space] = dm_sat_add(need.total[space], buffer->counted);
  }
  return need;
}

dm_memory_need dm_plan_memory(const dm_plan *plan) {
  dm_buffers list;
  dm_plan_buffers(plan, (dm_coords){0}, &list);
  return dm_buffers_need(&list);
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

/* ---- memory used besides a rank's own buffers: by readers, the backend, the verification and the
 * process ---- */

enum {
  PROCESS_BYTES = 48 << 20,      /* the program, MPI, HDF5 and BLAS at start */
  GPU_PROCESS_BYTES = 384 << 20, /* the same with CUDA */
  WORKSPACE_BYTES = 64 << 20,    /* workspace of cuBLAS, and memory that it allocates itself */
  COPY_STEP = 512,               /* alignment in bytes of the rows of a kernel's copies, at most */
};

static void buffers_put(dm_buffers *list, dm_buffer_kind kind, dm_where where, int64_t bytes) {
  list->of[kind] = (dm_buffer){where, 1, bytes, bytes, bytes};
}

/* A reader holds a piece of the file, and a second one to convert types; or CHUNKS. */
static int64_t reader_bytes(dm_home home, int64_t elements, dm_dtype file, dm_dtype work,
                            int64_t chunks) {
  if (home == DM_HOME_SEEN) return 0;
  const int64_t size = dm_dtype_size(file);
  const int64_t piece = dm_min(elements, DM_BUFFER_READ_BYTES / size);
  return dm_max(chunks, piece * (file == work ? size : size + dm_dtype_size(work)));
}

static int64_t share_elements(const rank_extent *e, dm_matrix matrix) {
  const dm_plan *plan = e->plan;
  const bool whole = dm_plan_residence(plan, matrix) != DM_IN_FILE;
  if (matrix == DM_A)
    return dm_sat_mul(e->a_rows, whole ? dm_range_size(dm_plan_layer_k(plan, e->at.l)) : e->width);
  const bool panels = whole && !dm_plan_has_runs(plan); /* all of the tile's */
  return dm_sat_mul(panels ? dm_plan_b_share_rows(plan, e->at.i, e->at.l) : e->b_rows, e->cols);
}

/* Elements of the pieces of MATRIX read before the first product (dm_file_pass). */
static int64_t passing_elements(const rank_extent *e, dm_matrix matrix) {
  const dm_problem *p = &e->plan->problem;
  if (dm_plan_readings_ahead(e->plan, matrix) == 0) return 0;
  return dm_min(dm_sat_mul(matrix == DM_A ? p->m : p->n, p->k),
                DM_BUFFER_PASS_PIECES * dm_plan_pass_bytes(e->plan, matrix) / e->work);
}

/* Largest number of elements that a reader reads at once. */
static int64_t read_elements(const rank_extent *e, dm_matrix matrix) {
  return dm_max(share_elements(e, matrix), passing_elements(e, matrix));
}

static void list_pass(const rank_extent *e, dm_buffers *list) {
  const int64_t elements = dm_max(passing_elements(e, DM_A), passing_elements(e, DM_B));
  if (elements > 0) buffers_put(list, DM_BUFFER_PASS, DM_PAGEABLE, dm_sat_mul(elements, e->work));
}

static void list_readers(const rank_extent *e, dm_buffers *list) {
  const dm_problem *p = &e->plan->problem;
  const int64_t chunks[] = {
      dm_chunks_memory(p->chunk_a, dm_sat_bytes(p->m, p->k, dm_dtype_size(p->file_a))),
      dm_chunks_memory(p->chunk_b,
                       dm_sat_bytes(dm_problem_b_rows(p), p->n, dm_dtype_size(p->file_b))),
      dm_chunks_memory(p->chunk_c, dm_sat_bytes(p->m, p->n, dm_dtype_size(p->c)))};
  for (int x = 0; x < 2; x++)
    if (dm_plan_in_file(p, x) && !dm_triangle_reads_once(e->plan, (dm_matrix)x))
      buffers_put(list, x == 0 ? DM_BUFFER_READ_A : DM_BUFFER_READ_B, DM_PAGEABLE,
                  reader_bytes(p->home[x], read_elements(e, (dm_matrix)x),
                               x == 0 ? p->file_a : p->file_b, p->work, chunks[x]));
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    buffers_put(
        list, DM_BUFFER_READ_OLD, DM_PAGEABLE,
        reader_bytes(p->home[DM_OLD], dm_sat_mul(e->own_rows, e->cols), p->c, p->c, chunks[2]));
}

/* A slot for each place of the share (engine/memory_source.h). */
static void list_pieces(const rank_extent *e, dm_matrix matrix, dm_buffers *list) {
  if (!dm_plan_brings(e->plan, matrix)) return;
  const int64_t slot = matrix == DM_A ? dm_sat_bytes(e->a_rows, e->width, e->work)
                                      : dm_sat_bytes(e->b_rows, e->cols, e->work);
  const int64_t slots = dm_plan_places(e->plan, matrix, e->panels), bytes = dm_sat_mul(slots, slot);
  list->of[matrix == DM_A ? DM_BUFFER_HOME_A : DM_BUFFER_HOME_B] =
      (dm_buffer){DM_PINNED, slots, slot, bytes, bytes};
}

/* Bytes of the tiles of C, one after the other. */
static int64_t tiles_bytes(const rank_extent *e, dm_space space, int64_t size) {
  return dm_sat_mul(dm_plan_tiles(e->plan),
                    dm_sat_round_up(dm_laid_out(space, e->own_rows, e->cols, size), DM_TILE_STEP));
}

/* Operands and C in memory: what moves between the caller and the ranks' places. */
static void list_moved(const rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_problem *p = &plan->problem;
  const bool on_device = plan->gpu && (plan->pk == 1 || plan->device_links);
  const int64_t size = dm_dtype_size(p->c);
  list_pieces(e, DM_A, list);
  list_pieces(e, DM_B, list);
  if (p->reads_c && dm_plan_in_file(p, DM_C) && !dm_plan_in_file(p, DM_OLD))
    buffers_put(list, DM_BUFFER_HOME_OLD, DM_PAGEABLE,
                tiles_bytes(e, DM_HOST, dm_dtype_size(dm_dtype_widest(p->work))));
  if (dm_plan_returns(plan))
    buffers_put(list, DM_BUFFER_HOME_C, DM_PINNED, tiles_bytes(e, DM_HOST, dm_max(e->sum, size)));
  else if (p->c != p->accumulator && p->home[DM_C] == DM_HOME_SHARES)
    buffers_put(list, DM_BUFFER_ROUNDED, on_device ? DM_ON_DEVICE : DM_PINNED,
                tiles_bytes(e, on_device ? DM_DEVICE : DM_HOST, size));
  if (p->finish_bytes > 0)
    buffers_put(list, DM_BUFFER_FINISHED_HOME, DM_PAGEABLE,
                dm_sat_bytes(e->own_rows, e->cols, p->finish_bytes));
}

/* A kernel's own copy of a matrix, in either orientation. */
static int64_t buffers_copied(int64_t rows, int64_t cols, int64_t size) {
  return dm_max(dm_sat_mul(rows, dm_sat_round_up(dm_sat_mul(cols, size), COPY_STEP)),
                dm_sat_mul(cols, dm_sat_round_up(dm_sat_mul(rows, size), COPY_STEP)));
}

/* Scratch memory of the compute mode; the CPU's own products take slice by slice. */
static int64_t scratch_bytes(const rank_extent *e) {
  const dm_problem *p = &e->plan->problem;
  if (p->compute.own_kernels && !e->plan->gpu) return DM_BUFFER_WIDENED_BYTES;
  return dm_compute_scratch(
      &p->compute,
      &(dm_compute_extent){.work = p->work, .rows = e->rows, .cols = e->cols, .width = e->width});
}

static void list_converted(const rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_dtype work = plan->problem.work;
  int64_t bytes = scratch_bytes(e);
  /* A panel seen as transposed is one more copy (backend/cuda_gemm.c). */
  const int a = plan->copies_a + dm_triangle_shares(plan, DM_A);
  const int b = plan->copies_b + dm_triangle_shares(plan, DM_B);
  if (plan->gpu)
    bytes =
        dm_sat_add(bytes, dm_sat_add(dm_sat_mul(a, buffers_copied(e->rows, e->width, e->work)),
                                     dm_sat_mul(b, buffers_copied(e->width, e->cols, e->work))));
  else if (dm_dtype_is_short(work))
    bytes = dm_sat_add(bytes, DM_BUFFER_WIDENED_BYTES);
  if (bytes > 0)
    buffers_put(list, DM_BUFFER_CONVERTED, plan->gpu ? DM_ON_DEVICE : DM_PAGEABLE, bytes);
}

/* Of each row of C, in bytes: check/freivalds.c and its judge. */
static int64_t row_sums_bytes(const dm_problem *p, int64_t groups) {
  return (12 * groups + 2) * (dm_dtype_is_complex(p->work) ? 16 : 8);
}

/* PART_OF_SUMS: of the memory, at most, for sums of all rows. */
enum { PART_OF_SUMS = 4, MANY_ROWS = 1 << 20 };

/* Whether reading rows of A and C again moves fewer bytes than keeping what they sum up to. */
static bool rereads_less(const dm_problem *p, int64_t sums) {
  const int64_t a = dm_sat_mul(p->k, dm_dtype_size(p->file_a)), c = p->n * dm_dtype_size(p->c);
  return p->m > MANY_ROWS && p->home[DM_A] == DM_HOME_FILE && p->chunk_a == 0 &&
         dm_sat_add(a, c) < sums / 2;
}

bool dm_plan_verifies_later(const dm_problem *p, const dm_machine *machine) {
  const int64_t sums = row_sums_bytes(p, dm_check_groups(p->n));
  if (!p->verify || p->home[DM_C] != DM_HOME_FILE || p->half != DM_BOTH_HALVES ||
      p->compute.scans || dm_problem_entries(p) > 1)
    return false;
  const bool large =
      machine->host_bytes > 0 && dm_sat_mul(sums, p->m) > machine->host_bytes / PART_OF_SUMS;
  return large || rereads_less(p, sums);
}

/* check/freivalds.c and its judge; one group of columns if GPUs multiply. engine/scaling.c needs an
 * exponent, two extremes and seven sums for each row and column, or part of one. */
static void list_vectors(const rank_extent *e, dm_buffers *list) {
  const dm_problem *p = &e->plan->problem;
  const bool scales = p->compute.scans;
  if (!p->verify && !scales) return;
  const int64_t groups = e->plan->gpu ? 1 : dm_check_groups(p->n);
  const bool runs = dm_plan_has_runs(e->plan); /* verified entry by entry */
  const int64_t m = runs ? dm_problem_entry_rows(p) : p->m;
  const int64_t k = dm_check_room(runs ? p->k : dm_problem_b_rows(p), e->width);
  const int64_t others = dm_sat_mul(2, dm_sat_add(p->n, dm_sat_mul(groups, k)));
  const int64_t sums = dm_sat_add(dm_sat_mul(others, dm_dtype_is_complex(p->work) ? 16 : 8),
                                  dm_sat_mul(row_sums_bytes(p, groups), m));
  int64_t bytes = p->verify ? sums : 0;
  const int64_t lines = dm_sat_add(p->m, dm_sat_mul(dm_compute_parts(&p->compute, p->work), p->n));
  if (scales) bytes = dm_sat_add(bytes, dm_sat_mul(76, lines));
  buffers_put(list, DM_BUFFER_VECTORS, DM_PAGEABLE, bytes);
  if (e->plan->gpu) buffers_put(list, DM_BUFFER_DEVICE_VECTORS, DM_ON_DEVICE, bytes);
  if (p->verify && dm_plan_streams(e->plan) && !runs)
    buffers_put(list, DM_BUFFER_SAMPLE, DM_PAGEABLE, DM_BUFFER_SAMPLE_BYTES);
}

static void add_working(const rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  if (dm_plan_has_files(&plan->problem)) {
    list_readers(e, list);
    list_pass(e, list);
  }
  if (dm_plan_all_in_files(&plan->problem)) /* else the process holds the caller's matrices, too */
    buffers_put(list, DM_BUFFER_PROCESS, DM_PAGEABLE,
                plan->process_bytes > 0 ? plan->process_bytes
                : plan->gpu             ? GPU_PROCESS_BYTES
                                        : PROCESS_BYTES);
  list_moved(e, list);
  list_converted(e, list);
  list_vectors(e, list);
  if (plan->gpu) buffers_put(list, DM_BUFFER_WORKSPACE, DM_ON_DEVICE, WORKSPACE_BYTES);
}

static double buffers_part_of(int64_t need, int64_t limit) {
  if (need == INT64_MAX) return INFINITY;
  return limit > 0 ? (double)need / (double)limit : 0;
}

double dm_plan_pressure(const dm_plan *plan, const dm_machine *machine) {
  dm_memory_need need = dm_plan_memory(plan);
  double device = plan->gpu ? buffers_part_of(need.total[DM_DEVICE], machine->device_bytes) : 0;
  return fmax(buffers_part_of(need.total[DM_HOST], machine->host_bytes), device);
}

/* ---- routes ---- */

dm_route dm_plan_route(const dm_plan *plan, dm_matrix matrix) {
  const bool a = matrix == DM_A;
  dm_route r = {.fetched = a ? dm_plan_fetches_a(plan) : dm_plan_fetches_b(plan),
                .uploaded = a ? dm_plan_uploads_a(plan) : dm_plan_uploads_b(plan),
                .piece = DM_SHARE};
  if (a ? plan->shared_a : plan->shared_b) {
    r.piece = r.exposed = r.gathered = r.operand = DM_SHARED_SLOTS;
    return r;
  }
  r.linked = r.fetched && plan->device_links;
  if (r.linked && plan->in_place && !r.uploaded) r.piece = DM_DEVICE_RING;
  if (r.fetched) r.gathered = r.linked ? DM_DEVICE_RING : DM_HOST_RING;
  r.exposed = r.linked && r.uploaded ? DM_DEVICE_RING : r.piece;
  r.operand = r.uploaded ? DM_DEVICE_RING : r.fetched ? r.gathered : r.piece;
  return r;
}
