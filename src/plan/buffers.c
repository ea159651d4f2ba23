#include "plan/buffers_beside.h"

#include "plan/partition.h"
#include "plan/runs.h"
#include "plan/saturating.h"
#include "plan/tiles.h"

enum {
  SLOT_STEP = 256,        /* slots start at its multiples */
  PAGE_BYTES = 4096,      /* shared memory besides the slots, per rank at most */
  UPLOAD_STRIP = 4 << 20, /* small, so that the first panel arrives early and many threads read */
  STORED_STRIP = 4 << 20, /* bytes of sums; consists of whole rows */
};

static dm_space space_of(const dm_plan *plan, dm_matrix matrix) {
  return dm_plan_residence(plan, matrix) == DM_IN_DEVICE ? DM_DEVICE : DM_HOST;
}

int64_t dm_plan_share_slot(const dm_plan *plan, dm_matrix matrix, dm_coords at) {
  const int64_t rows = matrix == DM_A ? dm_range_size(dm_plan_a_share(plan, 0, at.i, at.j))
                                      : dm_plan_b_share_most(plan, at.i);
  const int64_t cols =
      matrix == DM_A ? dm_plan_width(plan) : dm_range_size(dm_plan_cols(plan, 0, at.j));
  return dm_laid_out(space_of(plan, matrix), rows, cols, dm_dtype_size(plan->problem.work));
}

static dm_rank_extent extent_of(const dm_plan *plan, dm_coords at) {
  const int64_t rows = dm_range_size(dm_plan_rows(plan, 0, at.i));
  const int64_t cols = dm_range_size(dm_plan_cols(plan, 0, at.j));
  const dm_problem *p = &plan->problem;
  return (dm_rank_extent){
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
  const int64_t bytes = dm_times(slots, slot);
  return (dm_buffer){where, slots, slot, bytes, bytes};
}

/* Memory that peers read gets its own driver allocation, so that they see nothing else. */
static void expose(dm_buffer *buffer) {
  buffer->bytes = buffer->counted = dm_rounded(buffer->bytes, DM_BUFFER_SLAB_BYTES);
}

/* ---- buffers of one factor ---- */

/* A share that stays through one tile has no more of its last panel than this is wide. */
static dm_buffer share_of(const dm_rank_extent *e, dm_matrix matrix) {
  const dm_plan *plan = e->plan;
  const int64_t places = dm_plan_places(plan, matrix, e->panels);
  const bool a = matrix == DM_A;
  const dm_space space = space_of(plan, matrix);
  dm_buffer share =
      slots_of(space == DM_DEVICE ? DM_ON_DEVICE : DM_PINNED, places,
               dm_laid_out(space, a ? e->a_rows : e->b_rows, a ? e->width : e->cols, e->work));
  if (dm_plan_tiles(plan) > 1 || dm_plan_residence(plan, matrix) == DM_IN_FILE || places == 0)
    return share;
  const int64_t last = dm_plan_layer(plan, e->at.l).end - 1;
  const int64_t rows = a ? e->a_rows : dm_range_size(dm_plan_b_share(plan, last, e->at.i));
  const int64_t cols = a ? dm_range_size(dm_plan_panel(plan, last)) : e->cols;
  share.bytes = share.counted =
      dm_plus(dm_times(places - 1, share.slot), dm_laid_out(space, rows, cols, e->work));
  return share;
}

/* Slots for whole panels. */
static dm_buffer ring_of(const dm_rank_extent *e, dm_matrix matrix, dm_where where, int64_t slots) {
  const int64_t rows = matrix == DM_A ? e->rows : e->width;
  const int64_t cols = matrix == DM_A ? e->width : e->cols;
  const int64_t slot = dm_laid_out(dm_where_space(where), rows, cols, e->work);
  return slots_of(where, slots, dm_rounded(slot, SLOT_STEP));
}

static void list_factor(const dm_rank_extent *e, dm_matrix matrix, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_route route = dm_plan_route(plan, matrix);
  dm_buffer *share = &list->of[dm_buffer_of(matrix, DM_SHARE)];
  dm_buffer *ring = &list->of[dm_buffer_of(matrix, DM_DEVICE_RING)];
  if (route.piece == DM_SHARE) *share = share_of(e, matrix);
  if (route.gathered == DM_HOST_RING)
    list->of[dm_buffer_of(matrix, DM_HOST_RING)] = ring_of(e, matrix, DM_PINNED, plan->slots);
  if (route.operand == DM_DEVICE_RING)
    *ring =
        ring_of(e, matrix, DM_ON_DEVICE, route.piece == DM_DEVICE_RING ? e->panels : plan->slots);
  if (route.linked) expose(route.given == DM_SHARE ? share : ring);
  if (route.operand == DM_SHARED_SLOTS) {
    dm_buffer slots = ring_of(e, matrix, DM_SHARED_MEMORY, e->panels);
    const int64_t members = matrix == DM_A ? plan->pn : plan->pm;
    if (slots.bytes < INT64_MAX)
      slots.counted = slots.bytes / members + (slots.bytes % members > 0) + PAGE_BYTES;
    list->of[dm_buffer_of(matrix, DM_SHARED_SLOTS)] = slots;
  }
}

/* One of C (product/file_sink.c), and one for each place of a share (engine/share_sums.c). */
static void list_device_sums(const dm_rank_extent *e, dm_buffers *list) {
  int64_t sums = 1;
  for (int x = 0; x < 2; x++)
    if (dm_plan_residence(e->plan, (dm_matrix)x) == DM_IN_DEVICE)
      sums = dm_plus(sums, dm_plan_places(e->plan, (dm_matrix)x, e->panels));
  if (e->plan->gpu && e->plan->problem.verify)
    list->of[DM_BUFFER_DEVICE_SUMS] = slots_of(DM_ON_DEVICE, sums, sizeof(uint64_t));
}

/* ---- of C ---- */

static void list_sums(const dm_rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_space space = plan->gpu ? DM_DEVICE : DM_HOST;
  const int64_t block = dm_rounded(dm_laid_out(space, e->rows, e->wide, e->sum), SLOT_STEP);
  dm_buffer *blocks = &list->of[DM_BUFFER_BLOCKS];
  *blocks = slots_of(plan->gpu ? DM_ON_DEVICE : DM_PINNED, plan->blocks, block);
  if (plan->pk == 1) return;
  if (plan->device_links) { /* the first piece becomes the sum */
    expose(blocks);
    list->of[DM_BUFFER_PIECES] =
        slots_of(DM_ON_DEVICE, plan->pk, dm_padded(e->own_rows, e->wide, e->sum));
    return;
  }
  const int64_t own = dm_packed(e->own_rows, e->added, e->sum);
  list->of[DM_BUFFER_SUM] = slots_of(DM_PINNED, 1, own);
  list->of[DM_BUFFER_RECEIVED] = slots_of(DM_PAGEABLE, plan->pk, own);
  if (plan->gpu || e->wide != e->added)
    list->of[DM_BUFFER_BLOCK_COPY] =
        slots_of(DM_PINNED, 1, dm_rounded(dm_packed(e->rows, e->wide, e->sum), SLOT_STEP));
}

/* ---- from and to files ---- */

/* A strip holds a row of the file at least, and what is read beside a run of it. */
static int64_t upload_strip(const dm_rank_extent *e, dm_matrix matrix) {
  const bool a = matrix == DM_A,
             plain = (a ? e->plan->problem.op_a : e->plan->problem.op_b) == DM_OP_N;
  const int64_t rows = a ? e->a_rows : e->b_rows, cols = a ? e->width : e->cols;
  return dm_plus(dm_times(dm_max(1, plain ? cols : rows), e->work), DM_RUN_MOST);
}

static void list_strips(const dm_rank_extent *e, dm_buffers *list) {
  const dm_plan *plan = e->plan;
  const dm_problem *p = &plan->problem;
  int64_t upload = 0;
  for (int x = 0; x < 2; x++)
    if (dm_plan_in_file(p, x) && dm_plan_residence(plan, (dm_matrix)x) == DM_IN_DEVICE)
      upload = dm_max(dm_max(upload, UPLOAD_STRIP), upload_strip(e, (dm_matrix)x));
  if (upload > 0) list->of[DM_BUFFER_UPLOAD] = slots_of(DM_PINNED, DM_BUFFER_STRIPS_UP, upload);
  if (!dm_plan_in_file(p, DM_C)) return;
  const int64_t elements =
      dm_min(dm_times(e->own_rows, e->cols), dm_max(STORED_STRIP / e->sum, e->cols));
  list->stored = elements;
  const bool lands = plan->gpu && (plan->pk == 1 || plan->device_links);
  if (lands)
    list->of[DM_BUFFER_LANDING] =
        slots_of(DM_PINNED, DM_BUFFER_STRIPS_OUT, dm_times(elements, e->sum));
  if (p->c != p->accumulator || p->reads_c || p->scales)
    list->of[DM_BUFFER_FINISHED] =
        slots_of(DM_PAGEABLE, DM_BUFFER_STRIPS_OUT, dm_times(elements, dm_dtype_size(p->c)));
  if (p->reads_c && dm_plan_in_file(p, DM_OLD))
    list->of[DM_BUFFER_OLD] = slots_of(DM_PAGEABLE, DM_BUFFER_STRIPS_OUT,
                                       dm_times(elements, dm_dtype_size(dm_dtype_widest(p->work))));
}

/* ---- all ---- */

void dm_plan_buffers(const dm_plan *plan, dm_coords at, dm_buffers *list) {
  *list = (dm_buffers){0};
  if (at.idle) return;
  const dm_rank_extent e = extent_of(plan, at);
  list_factor(&e, DM_A, list);
  list_factor(&e, DM_B, list);
  list_sums(&e, list);
  list_device_sums(&e, list);
  list_strips(&e, list);
  dm_buffers_beside(&e, list);
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
    [DM_BUFFER_LANDING] = {"strips from the GPU", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_FINISHED] = {"finished strips", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_OLD] = {"strips of the old C", DM_LIFE_STORE, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_A] = {"A in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_B] = {"B in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_OLD] = {"old C in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_HOME_C] = {"C in host memory", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_ROUNDED] = {"rounded C", DM_LIFE_HOME, DM_MEMORY_C},
    [DM_BUFFER_FINISHED_HOME] = {"finished C", DM_LIFE_HOME, DM_MEMORY_STAGING},
    [DM_BUFFER_DEVICE_SUMS] = {"checksums on the GPU", DM_LIFE_LOAD, DM_MEMORY_VERIFY},
    [DM_BUFFER_READ_A] = {"reader of A", DM_LIFE_BESIDE, DM_MEMORY_STAGING},
    [DM_BUFFER_READ_B] = {"reader of B", DM_LIFE_BESIDE, DM_MEMORY_STAGING},
    [DM_BUFFER_READ_OLD] = {"reader of the old C", DM_LIFE_BESIDE, DM_MEMORY_STAGING},
    [DM_BUFFER_CONVERTED] = {"converted inputs", DM_LIFE_BESIDE, DM_MEMORY_CONVERT},
    [DM_BUFFER_VECTORS] = {"verification", DM_LIFE_BESIDE, DM_MEMORY_VERIFY},
    [DM_BUFFER_DEVICE_VECTORS] = {"verification on the device", DM_LIFE_BESIDE, DM_MEMORY_VERIFY},
    [DM_BUFFER_SAMPLE] = {"sample of B", DM_LIFE_BESIDE, DM_MEMORY_VERIFY},
    [DM_BUFFER_PASS] = {"pieces of A and B ahead", DM_LIFE_BESIDE, DM_MEMORY_STAGING},
    [DM_BUFFER_PROCESS] = {"program, libraries", DM_LIFE_BESIDE, DM_MEMORY_LIBRARY},
    [DM_BUFFER_WORKSPACE] = {"workspace", DM_LIFE_BESIDE, DM_MEMORY_LIBRARY},
};
