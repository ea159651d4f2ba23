/* Memory used besides a rank's own buffers: by readers, the backend, the verification and the
 * process. */
#include "plan/buffers_beside.h"

#include "core/residues.h"
#include "core/split.h"
#include "plan/chunk_memory.h"
#include "plan/partition.h"
#include "plan/runs.h"
#include "plan/saturating.h"
#include "plan/tiles.h"

enum {
  PROCESS_BYTES = 48 << 20,      /* the program, MPI, HDF5 and BLAS at start */
  GPU_PROCESS_BYTES = 384 << 20, /* the same with CUDA */
  WORKSPACE_BYTES = 64 << 20,    /* workspace of cuBLAS, and memory that it allocates itself */
  TILE_STEP = 256,               /* tiles of C in memory start at its multiples */
  COPY_STEP = 512,               /* alignment in bytes of the rows of a kernel's copies, at most */
};

static void put(dm_buffers *list, dm_buffer_kind kind, dm_where where, int64_t bytes) {
  list->of[kind] = (dm_buffer){where, 1, bytes, bytes, bytes};
}

/* A reader holds a piece of the file, and a second one to convert types; or CHUNKS. */
static int64_t reader_bytes(int64_t elements, dm_dtype file, dm_dtype work, int64_t chunks) {
  const int64_t size = dm_dtype_size(file);
  const int64_t piece = dm_min(elements, DM_BUFFER_READ_BYTES / size);
  return dm_max(chunks, piece * (file == work ? size : size + dm_dtype_size(work)));
}

static int64_t share_elements(const dm_rank_extent *e, dm_matrix matrix) {
  const dm_plan *plan = e->plan;
  const bool whole = dm_plan_residence(plan, matrix) != DM_IN_FILE;
  if (matrix == DM_A)
    return dm_times(e->a_rows, whole ? dm_range_size(dm_plan_layer_k(plan, e->at.l)) : e->width);
  return dm_times(whole ? dm_plan_b_share_rows(plan, e->at.i, e->at.l) : e->b_rows, e->cols);
}

/* Elements of the pieces of MATRIX read before the first product (engine/file_pass.c). */
static int64_t passing_elements(const dm_rank_extent *e, dm_matrix matrix) {
  const dm_problem *p = &e->plan->problem;
  if (dm_plan_readings_ahead(e->plan, matrix) == 0) return 0;
  return dm_min(dm_times(matrix == DM_A ? p->m : p->n, p->k),
                DM_BUFFER_PASS_PIECES * dm_plan_pass_bytes(e->plan, matrix) / e->work);
}

/* Largest number of elements that a reader reads at once. */
static int64_t read_elements(const dm_rank_extent *e, dm_matrix matrix) {
  return dm_max(share_elements(e, matrix), passing_elements(e, matrix));
}

static void list_pass(const dm_rank_extent *e, dm_buffers *list) {
  const int64_t elements = dm_max(passing_elements(e, DM_A), passing_elements(e, DM_B));
  if (elements > 0) put(list, DM_BUFFER_PASS, DM_PAGEABLE, dm_times(elements, e->work));
}

static void list_readers(const dm_rank_extent *e, dm_buffers *list) {
  const dm_problem *p = &e->plan->problem;
  const int64_t chunks[] = {
      dm_chunks_memory(p->chunk_a, dm_packed(p->m, p->k, dm_dtype_size(p->file_a))),
      dm_chunks_memory(p->chunk_b, dm_packed(p->k, p->n, dm_dtype_size(p->file_b))),
      dm_chunks_memory(p->chunk_c, dm_packed(p->m, p->n, dm_dtype_size(p->c)))};
  if (dm_plan_in_file(p, DM_A))
    put(list, DM_BUFFER_READ_A, DM_PAGEABLE,
        reader_bytes(read_elements(e, DM_A), p->file_a, p->work, chunks[0]));
  if (dm_plan_in_file(p, DM_B))
    put(list, DM_BUFFER_READ_B, DM_PAGEABLE,
        reader_bytes(read_elements(e, DM_B), p->file_b, p->work, chunks[1]));
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    put(list, DM_BUFFER_READ_OLD, DM_PAGEABLE,
        reader_bytes(dm_times(e->own_rows, e->cols), p->c, p->c, chunks[2]));
}

/* A slot for each place of the share (engine/memory_source.h). */
static void list_pieces(const dm_rank_extent *e, dm_matrix matrix, dm_buffers *list) {
  if (!dm_plan_brings(e->plan, matrix)) return;
  const int64_t slot = matrix == DM_A ? dm_packed(e->a_rows, e->width, e->work)
                                      : dm_packed(e->b_rows, e->cols, e->work);
  const int64_t slots = dm_plan_places(e->plan, matrix, e->panels), bytes = dm_times(slots, slot);
  list->of[matrix == DM_A ? DM_BUFFER_HOME_A : DM_BUFFER_HOME_B] =
      (dm_buffer){DM_PINNED, slots, slot, bytes, bytes};
}

/* Bytes of the tiles of C, one after the other. */
static int64_t tiles_bytes(const dm_rank_extent *e, dm_space space, int64_t size) {
  return dm_times(dm_plan_tiles(e->plan),
                  dm_rounded(dm_laid_out(space, e->own_rows, e->cols, size), TILE_STEP));
}

/* Operands and C in memory: what moves between the caller and the ranks' places. */
static void list_moved(const dm_rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_problem *p = &plan->problem;
  const bool on_device = plan->gpu && (plan->pk == 1 || plan->device_links);
  const int64_t size = dm_dtype_size(p->c);
  list_pieces(e, DM_A, list);
  list_pieces(e, DM_B, list);
  if (p->reads_c && dm_plan_in_file(p, DM_C) && !dm_plan_in_file(p, DM_OLD))
    put(list, DM_BUFFER_HOME_OLD, DM_PAGEABLE,
        tiles_bytes(e, DM_HOST, dm_dtype_size(dm_dtype_widest(p->work))));
  if (dm_plan_returns(plan))
    put(list, DM_BUFFER_HOME_C, DM_PINNED, tiles_bytes(e, DM_HOST, dm_max(e->sum, size)));
  else if (p->c != p->accumulator && p->home[DM_C] == DM_HOME_SHARES)
    put(list, DM_BUFFER_ROUNDED, on_device ? DM_ON_DEVICE : DM_PINNED,
        tiles_bytes(e, on_device ? DM_DEVICE : DM_HOST, size));
  if (p->finish_bytes > 0)
    put(list, DM_BUFFER_FINISHED_HOME, DM_PAGEABLE,
        dm_packed(e->own_rows, e->cols, p->finish_bytes));
}

/* A kernel's own copy of a matrix, in either orientation. */
static int64_t copied(int64_t rows, int64_t cols, int64_t size) {
  return dm_max(dm_times(rows, dm_rounded(dm_times(cols, size), COPY_STEP)),
                dm_times(cols, dm_rounded(dm_times(rows, size), COPY_STEP)));
}

/* GPUs: residues of a part of a panel of A and of B, and in the same memory sums of some rows. */
static int64_t residue_bytes(const dm_rank_extent *e, const dm_compute *row) {
  const int64_t parts = dm_compute_parts(row, e->plan->problem.work);
  const int64_t cols = dm_times(parts, e->cols), width = dm_times(parts, e->width);
  const int64_t depth = dm_rounded(dm_min(width, DM_RESIDUES_SPLIT), DM_RESIDUES_ROW);
  const int64_t lines =
      dm_plus(dm_rounded(e->rows, DM_RESIDUES_ROWS), dm_rounded(cols, DM_RESIDUES_ROWS));
  const int64_t sums =
      dm_min(dm_padded(e->rows, cols, 8), dm_max(DM_RESIDUES_SUMS, dm_padded(1, cols, 8)));
  return dm_max(dm_times(row->panel_bytes, dm_times(lines, depth)), sums);
}

/* GPUs: split parts of a panel of A and of B, statistics of their lines, exponents and lists. */
static int64_t split_bytes(const dm_rank_extent *e, const dm_compute *row) {
  const int64_t parts = dm_dtype_is_complex(e->plan->problem.work) ? 2 : 1;
  const int64_t cols = dm_times(parts, e->cols), lines = dm_plus(e->rows, cols);
  const int64_t depth = dm_min(dm_times(parts, e->width), DM_SPLIT_DEPTH);
  const int64_t elements = dm_plus(dm_times(e->rows, dm_rounded(depth, DM_SPLIT_ROW)),
                                   dm_times(depth, dm_rounded(cols, DM_SPLIT_ROW)));
  return dm_plus(
      dm_times(row->panel_bytes, elements),
      dm_plus(DM_SPLIT_COUNTS, dm_times(2 * sizeof(int32_t) + sizeof(dm_split_line), lines)));
}

/* Scratch memory of the compute mode; the CPU computes residues and splits operands slice by
 * slice. */
static int64_t scratch_bytes(const dm_rank_extent *e) {
  const dm_compute *row = &e->plan->problem.compute;
  const bool own = dm_compute_needs_hopper(row);
  if (own && !e->plan->gpu) return DM_BUFFER_WIDENED_BYTES;
  if (own) return row->splits ? split_bytes(e, row) : residue_bytes(e, row);
  const int64_t panels = dm_plus(dm_packed(e->rows, e->width, 1), dm_packed(e->width, e->cols, 1));
  return dm_plus(dm_times(row->panel_bytes, panels), dm_packed(e->rows, e->cols, row->tile_bytes));
}

static void list_converted(const dm_rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_dtype work = plan->problem.work;
  int64_t bytes = scratch_bytes(e);
  if (plan->gpu)
    bytes = dm_plus(bytes, dm_plus(dm_times(plan->copies_a, copied(e->rows, e->width, e->work)),
                                   dm_times(plan->copies_b, copied(e->width, e->cols, e->work))));
  else if (work == DM_F16 || work == DM_BF16 || work == DM_I8)
    bytes = dm_plus(bytes, DM_BUFFER_WIDENED_BYTES);
  if (bytes > 0) put(list, DM_BUFFER_CONVERTED, plan->gpu ? DM_ON_DEVICE : DM_PAGEABLE, bytes);
}

/* check/freivalds.c and its judge; one group of columns if GPUs multiply; complex vectors are at
 * most twice as large. engine/scaling.c needs an exponent, two extremes and seven sums for each row
 * and column, or part of one. */
static void list_vectors(const dm_rank_extent *e, dm_buffers *list) {
  const dm_problem *p = &e->plan->problem;
  const bool scales = p->compute.moduli > 0;
  if (!p->verify && !scales) return;
  const int64_t groups = e->plan->gpu ? 1 : DM_BUFFER_CHECK_GROUPS;
  const int64_t elements =
      dm_plus(dm_times(2, dm_plus(p->n, dm_times(groups, p->k))), dm_times(12 * groups + 2, p->m));
  int64_t bytes = p->verify ? dm_times(elements, dm_dtype_is_complex(p->work) ? 16 : 8) : 0;
  const int64_t lines = dm_plus(p->m, dm_times(dm_compute_parts(&p->compute, p->work), p->n));
  if (scales) bytes = dm_plus(bytes, dm_times(76, lines));
  put(list, DM_BUFFER_VECTORS, DM_PAGEABLE, bytes);
  if (e->plan->gpu) put(list, DM_BUFFER_DEVICE_VECTORS, DM_ON_DEVICE, bytes);
  if (p->verify && dm_plan_streams(e->plan))
    put(list, DM_BUFFER_SAMPLE, DM_PAGEABLE, DM_BUFFER_SAMPLE_BYTES);
}

void dm_buffers_beside(const dm_rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  if (dm_plan_has_files(&plan->problem)) {
    list_readers(e, list);
    list_pass(e, list);
  }
  if (dm_plan_all_in_files(&plan->problem)) /* else the process holds the caller's matrices, too */
    put(list, DM_BUFFER_PROCESS, DM_PAGEABLE,
        plan->process_bytes > 0 ? plan->process_bytes
        : plan->gpu             ? GPU_PROCESS_BYTES
                                : PROCESS_BYTES);
  list_moved(e, list);
  list_converted(e, list);
  list_vectors(e, list);
  if (plan->gpu) put(list, DM_BUFFER_WORKSPACE, DM_ON_DEVICE, WORKSPACE_BYTES);
}
