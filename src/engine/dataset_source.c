#include "engine/dataset_source.h"

#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "engine/dataset_input.h"
#include "plan/partition.h"
#include "plan/tiles.h"
#include "plan/volume.h"

/* ---- to the device, by strips of rows ---- */

/* Panels FIRST to FIRST + COUNT of MATRIX for TILE: they are adjacent in the file, in ROWS rows of
 * COLS elements. A row of the file is a row of each piece or, if op(X) is transposed, a column. */
typedef struct dm_staged_part {
  dm_matrix matrix;
  int64_t tile, first, count;
  int64_t row, col, rows, cols; /* rectangle of the file */
  int64_t begun, arrived;       /* rows started and arrived, of ROWS */
} dm_staged_part;

enum { DATASET_SOURCE_STRIPS = DM_BUFFER_STRIPS_UP };

typedef struct dm_upload_strip {
  enum { FREE, IS_READ, IS_COPIED } stage;
  dm_staged_part *staged;
  int64_t at, rows; /* of the staged's rows */
  char *memory;
  dm_transfer *reading;
  dm_event copied;
} dataset_source_strip;

static bool dataset_source_is_on_device(const dm_rank_state *local, dm_matrix matrix) {
  return dm_plan_residence(local->plan, matrix) == DM_IN_DEVICE;
}

static dm_status dataset_source_open_strips(dm_prefetch *prefetch) {
  dm_rank_memory *memory = &prefetch->local->memory;
  void *taken;
  bool needed = false;
  for (int x = 0; x < 2; x++)
    needed |=
        prefetch->sources[x].reader && dataset_source_is_on_device(prefetch->local, (dm_matrix)x);
  if (!needed) return DM_OK;
  DM_TRY(dm_buffer_table(DATASET_SOURCE_STRIPS, &prefetch->strips));
  DM_TRY(dm_rank_memory_take(memory, DM_BUFFER_UPLOAD, &taken));
  for (int i = 0; i < DATASET_SOURCE_STRIPS; i++)
    prefetch->strips[i].memory = dm_rank_memory_slot(memory, DM_BUFFER_UPLOAD, i);
  return DM_OK;
}

/* STRIP's part of panel FIRST + Q, which follows OFFSET columns of the file: in the strip's memory,
 * oriented as products read it, and on the device. */
static void dataset_source_places_of(const dm_prefetch *prefetch, const dataset_source_strip *one,
                                     int64_t q, int64_t offset, dm_view *here, dm_view *there) {
  const dm_staged_part *t = one->staged;
  const dm_view piece = dm_rank_piece(prefetch->local, t->matrix, t->first + q);
  if (prefetch->sources[t->matrix].op == DM_OP_N) {
    *there = dm_view_sub(piece, one->at, 0, one->rows, piece.cols);
    *here = dm_view_strided(one->memory + offset * dm_dtype_size(piece.dtype), piece.dtype, DM_HOST,
                            one->rows, piece.cols, t->cols);
  } else {
    *there = dm_view_sub(piece, 0, one->at, piece.rows, one->rows);
    *here = dm_view_row_major(one->memory + offset * one->rows * dm_dtype_size(piece.dtype),
                              piece.dtype, piece.rows, one->rows);
  }
}

static int64_t file_cols(const dm_prefetch *prefetch, const dm_staged_part *staged, dm_view part) {
  return prefetch->sources[staged->matrix].op == DM_OP_N ? part.cols : part.rows;
}

static dm_status dataset_source_read_strip(dm_prefetch *prefetch, dataset_source_strip *one) {
  const dm_staged_part *t = one->staged;
  dm_dataset_input *source = &prefetch->sources[t->matrix];
  DM_FREED dm_view *views = NULL;
  dm_view there;
  int64_t offset = 0;
  DM_TRY(dm_buffer_table(t->count, &views));
  for (int64_t q = 0; q < t->count; q++) {
    dataset_source_places_of(prefetch, one, q, offset, &views[q], &there);
    offset += file_cols(prefetch, t, views[q]);
    if (source->op != DM_OP_N) views[q] = dm_view_transpose(views[q]);
  }
  return dm_file_queue_read(source->ahead, source->reader, t->row + one->at, t->col, views,
                            t->count, source->op == DM_OP_C, &one->reading);
}

/* Copies run in order: the last one's event covers all. */
static dm_status copy_strip(dm_prefetch *prefetch, dataset_source_strip *one) {
  const dm_staged_part *t = one->staged;
  dm_rank_state *local = prefetch->local;
  dm_view here, there;
  int64_t offset = 0;
  for (int64_t q = 0; q < t->count; q++) {
    dm_event event;
    dataset_source_places_of(prefetch, one, q, offset, &here, &there);
    offset += file_cols(prefetch, t, here);
    dm_dataset_input_note(&prefetch->sources[t->matrix], here);
    DM_TRY(dm_backend_copy(local->backend, there, here, &event));
    if (event) one->copied = event;
    local->phases.uploaded += here.rows * here.cols * dm_dtype_size(here.dtype);
  }
  return DM_OK;
}

/* Starts moving the part's next rows; *begun: a buffer was free for them. */
static dm_status staging_begin(dm_prefetch *prefetch, dm_staged_part *staged, bool *begun) {
  dataset_source_strip *one = prefetch->strips;
  while (one < prefetch->strips + DATASET_SOURCE_STRIPS && one->stage != FREE) one++;
  *begun = one < prefetch->strips + DATASET_SOURCE_STRIPS;
  if (!*begun) return DM_OK;
  const int64_t row = staged->cols * dm_dtype_size(prefetch->local->plan->problem.work);
  one->staged = staged;
  one->at = staged->begun;
  one->rows = dm_min(dm_max(1, prefetch->local->memory.list.of[DM_BUFFER_UPLOAD].slot / row),
                     staged->rows - staged->begun);
  one->stage = IS_READ;
  one->copied = 0;
  staged->begun += one->rows;
  dm_rank_turn_to(prefetch->local, staged->tile);
  return dataset_source_read_strip(prefetch, one);
}

static dm_status dataset_source_advance(dm_prefetch *prefetch, dataset_source_strip *one) {
  bool done = false;
  if (one->stage == IS_READ) {
    DM_TRY(dm_transfer_test(one->reading, &done));
    if (!done) return DM_OK;
    dm_rank_turn_to(prefetch->local, one->staged->tile);
    DM_TRY(copy_strip(prefetch, one));
    one->stage = IS_COPIED;
  }
  if (one->stage == IS_COPIED) {
    DM_TRY(dm_backend_test(prefetch->local->backend, one->copied, &done));
    if (!done) return DM_OK;
    one->staged->arrived += one->rows;
    one->stage = FREE;
  }
  return DM_OK;
}

/* ---- requests of panels ---- */

/* Panels that are read together. */
typedef struct dm_panel_request {
  dm_staged_part part;
  bool to_device, begun;
  dm_transfer *reading;          /* transfer to host memory, once started */
  struct dm_panel_request *next; /* list of those not started */
} dm_panel_request;

/* What is loaded into one place of a share (plan/tiles.h), perhaps together with places before
 * it. */
typedef struct dm_panel_place {
  dm_panel_request *request; /* in progress, starting at this place */
  int64_t first;             /* place whose request loads this one */
} dm_panel_place;

static dm_status entries_open(dm_prefetch *prefetch, dm_matrix matrix) {
  void *memory;
  const dm_rank_state *local = prefetch->local;
  const int64_t layer = dm_range_size(local->panels);
  prefetch->places[matrix] = dm_plan_places(local->plan, matrix, layer);
  DM_TRY(dm_buffer_zeroed(dm_max(1, prefetch->places[matrix]), sizeof(dm_panel_place), &memory));
  prefetch->entries[matrix] = memory;
  return DM_OK;
}

/* LOCAL is open; the caller keeps SOURCES. Close also frees what a failed open left; the read-ahead
 * is closed before the destination memory is freed. */
static dm_status prefetch_open(dm_rank_state *local, dm_dataset_input sources[2],
                               dm_prefetch *prefetch) {
  *prefetch = (dm_prefetch){.local = local, .sources = sources, .asked = INT64_MAX};
  prefetch->last = &prefetch->next;
  if (local->coords.idle) return DM_OK;
  DM_TRY(entries_open(prefetch, DM_A));
  DM_TRY(entries_open(prefetch, DM_B));
  return dataset_source_open_strips(prefetch);
}

static void prefetch_close(dm_prefetch *prefetch) {
  for (int x = 0; x < 2 && prefetch->entries[x]; x++) {
    for (int64_t i = 0; i < prefetch->places[x]; i++) free(prefetch->entries[x][i].request);
    free(prefetch->entries[x]);
  }
  free(prefetch->strips);
}

static dm_panel_place *entry_of(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel,
                                int64_t *place) {
  const dm_rank_state *local = prefetch->local;
  *place = dm_plan_place_of(local->plan, matrix, dm_range_size(local->panels), local->tile,
                            panel - local->panels.begin);
  return &prefetch->entries[matrix][*place];
}

static bool dataset_source_is_plain(const dm_prefetch *prefetch, dm_matrix matrix) {
  return prefetch->sources[matrix].op == DM_OP_N;
}

/* ---- panels read together ---- */

/* This rank's part of k in PANEL. */
static dm_range dataset_source_depth_of(const dm_rank_state *local, dm_matrix matrix,
                                        int64_t panel) {
  return matrix == DM_A ? dm_rank_piece_cols(local, DM_A, panel)
                        : dm_rank_piece_rows(local, DM_B, panel);
}

/* Number of panels from FIRST, at most MOST, that are side by side in the file. Chunks have no runs
 * to join, and in strips many panels would need many chunks. */
static int64_t count_together(const dm_prefetch *prefetch, dm_matrix matrix, int64_t first,
                              int64_t most) {
  const dm_rank_state *local = prefetch->local;
  const bool adjacent = (matrix == DM_A) == dataset_source_is_plain(prefetch, matrix);
  const int64_t size = dm_dtype_size(local->plan->problem.work);
  const int64_t wanted = dm_plan_run_wanted(local->plan);
  int64_t count = 1;
  if (!adjacent ||
      (prefetch->sources[matrix].chunked && dataset_source_is_on_device(prefetch->local, matrix)))
    return 1;
  for (dm_range run = dataset_source_depth_of(local, matrix, first); first + count < most;
       count++) {
    const dm_range next = dataset_source_depth_of(local, matrix, first + count);
    if (dm_range_size(run) * size >= wanted || next.begin != run.end) break;
    run.end = next.end;
  }
  return count;
}

static dm_staged_part dataset_source_part_of(const dm_prefetch *prefetch, dm_matrix matrix,
                                             int64_t first, int64_t count) {
  const dm_rank_state *local = prefetch->local;
  const dm_range rows = dm_rank_piece_rows(local, matrix, first);
  const dm_range cols = dm_rank_piece_cols(local, matrix, first);
  const dm_range last = dataset_source_depth_of(local, matrix, first + count - 1);
  dm_range down = dataset_source_is_plain(prefetch, matrix) ? rows : cols;
  dm_range across = dataset_source_is_plain(prefetch, matrix) ? cols : rows;
  if (count > 1) across.end = last.end;
  return (dm_staged_part){.matrix = matrix,
                          .tile = local->tile,
                          .first = first,
                          .count = count,
                          .row = down.begin,
                          .col = across.begin,
                          .rows = dm_range_size(down),
                          .cols = dm_range_size(across)};
}

/* Requests COUNT panels from FIRST, after all earlier requests. */
static dm_status ask_for(dm_prefetch *prefetch, dm_matrix matrix, int64_t first, int64_t count) {
  int64_t head, place;
  dm_panel_place *entry = entry_of(prefetch, matrix, first, &head);
  void *memory;
  entry->request = NULL;
  for (int64_t q = 0; q < count; q++) entry_of(prefetch, matrix, first + q, &place)->first = head;
  const dm_staged_part part = dataset_source_part_of(prefetch, matrix, first, count);
  if (part.rows == 0 || part.cols == 0) return DM_OK;
  DM_TRY(dm_buffer_zeroed(1, sizeof(dm_panel_request), &memory));
  dm_panel_request *request = entry->request = memory;
  request->part = part;
  request->to_device = dataset_source_is_on_device(prefetch->local, matrix);
  *prefetch->last = request;
  prefetch->last = &request->next;
  return DM_OK;
}

/* Whether MATRIX resides in memory, and the tile is the first that needs its band. */
static bool dataset_source_is_wanted(const dm_prefetch *prefetch, dm_matrix matrix) {
  const dm_plan *plan = prefetch->local->plan;
  return prefetch->sources[matrix].reader && !prefetch->made[matrix] &&
         dm_plan_residence(plan, matrix) != DM_IN_FILE &&
         dm_plan_is_first(plan, matrix, prefetch->local->tile);
}

/* Requests all panels of resident matrices, alternating between A and B. */
static dm_status ask_for_bands(dm_prefetch *prefetch, dm_matrix asked) {
  const dm_range panels = prefetch->local->panels;
  int64_t next[2] = {panels.begin, panels.begin};
  bool wanted[2];
  for (int x = 0; x < 2; x++) {
    wanted[x] = dataset_source_is_wanted(prefetch, (dm_matrix)x) && !prefetch->posted[x];
    prefetch->posted[x] = wanted[x] && x != (int)asked;
  }
  while ((wanted[DM_A] && next[DM_A] < panels.end) || (wanted[DM_B] && next[DM_B] < panels.end)) {
    const bool a_turn =
        wanted[DM_A] && next[DM_A] < panels.end && (!wanted[DM_B] || next[DM_A] <= next[DM_B]);
    const dm_matrix matrix = a_turn ? DM_A : DM_B;
    const int64_t count = count_together(prefetch, matrix, next[matrix], panels.end);
    DM_TRY(ask_for(prefetch, matrix, next[matrix], count));
    next[matrix] += count;
  }
  return DM_OK;
}

/* ---- moving ---- */

/* Reads directly into the pieces. */
static dm_status read_to_host(dm_prefetch *prefetch, dm_panel_request *request) {
  const dm_staged_part *t = &request->part;
  dm_dataset_input *source = &prefetch->sources[t->matrix];
  DM_FREED dm_view *views = NULL;
  DM_TRY(dm_buffer_table(t->count, &views));
  dm_rank_turn_to(prefetch->local, t->tile);
  for (int64_t q = 0; q < t->count; q++) {
    const dm_view piece = dm_rank_piece(prefetch->local, t->matrix, t->first + q);
    views[q] = dataset_source_is_plain(prefetch, t->matrix) ? piece : dm_view_transpose(piece);
  }
  request->begun = true;
  return dm_file_queue_read(source->ahead, source->reader, t->row, t->col, views, t->count,
                            source->op == DM_OP_C, &request->reading);
}

/* Stages as much as there are buffers for. */
static dm_status dataset_source_stage(dm_prefetch *prefetch, dm_panel_request *request) {
  bool begun = true;
  while (begun && request->part.begun < request->part.rows)
    DM_TRY(staging_begin(prefetch, &request->part, &begun));
  request->begun = request->part.begun == request->part.rows;
  return DM_OK;
}

/* Starts what can be started, in order. */
static dm_status dataset_source_move_on(dm_prefetch *prefetch) {
  for (int i = 0; prefetch->strips && i < DATASET_SOURCE_STRIPS; i++)
    DM_TRY(dataset_source_advance(prefetch, &prefetch->strips[i]));
  while (prefetch->next) {
    dm_panel_request *request = prefetch->next;
    DM_TRY(request->to_device ? dataset_source_stage(prefetch, request)
                              : read_to_host(prefetch, request));
    if (!request->begun) return DM_OK;
    prefetch->next = request->next;
    if (!prefetch->next) prefetch->last = &prefetch->next;
  }
  return DM_OK;
}

static dm_status move_on_and_return(dm_prefetch *prefetch) {
  const int64_t tile = prefetch->local->tile;
  dm_status status = dataset_source_move_on(prefetch);
  dm_rank_turn_to(prefetch->local, tile);
  return status;
}

static dm_status has_arrived(dm_panel_request *request, bool *arrived) {
  *arrived = false;
  if (!request->begun) return DM_OK;
  if (!request->to_device) return dm_transfer_test(request->reading, arrived);
  *arrived = request->part.arrived == request->part.rows;
  return DM_OK;
}

static dm_status prefetch_load(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel) {
  dm_rank_state *local = prefetch->local;
  if (dm_plan_residence(local->plan, matrix) == DM_IN_FILE) {
    DM_TRY(ask_for(prefetch, matrix, panel, 1));
  } else {
    if (panel != local->panels.begin) return DM_OK;
    const bool posted = prefetch->posted[matrix];
    prefetch->posted[matrix] = false;
    if (posted) return DM_OK;
    DM_TRY(ask_for_bands(prefetch, matrix));
  }
  return move_on_and_return(prefetch);
}

static dm_status prefetch_loaded(dm_prefetch *prefetch, dm_matrix matrix, int64_t panel,
                                 bool *done) {
  dm_rank_state *local = prefetch->local;
  dm_dataset_input *source = &prefetch->sources[matrix];
  int64_t place;
  const int64_t asked = 2 * panel + (matrix == DM_B);
  /* Once while the executor asks for one panel after the other: looking at all strips takes as long
   * as reading one. */
  if (asked <= prefetch->asked) DM_TRY(move_on_and_return(prefetch));
  prefetch->asked = asked;
  const dm_panel_place *entry = entry_of(prefetch, matrix, panel, &place);
  dm_panel_request **request = &prefetch->entries[matrix][entry->first].request;
  *done = true;
  if (*request) {
    DM_TRY(has_arrived(*request, done));
    if (*done) {
      free(*request);
      *request = NULL;
    }
    const int64_t moved = dm_file_queue_moved(source->ahead);
    if (moved != prefetch->moved) dm_watch_moved(local->run->watch);
    prefetch->moved = moved;
  }
  if (*done && !dataset_source_is_on_device(prefetch->local, matrix))
    dm_dataset_input_note(source, dm_rank_piece(local, matrix, panel));
  return DM_OK;
}

/* ---- the source ---- */

/* Rows of a band, on average, from which products of bands are as fast as those of whole panels: of
 * A at most as many as C has columns, since BLAS packs B again for each band. */
static const int64_t least_rows[2] = {16, 256};

/* Whether BLAS can use the file's layout, and no other rank reads this share. Results that are to
 * be reproducible must not depend on bands. */
static bool may_map(const dm_rank_state *local, const dm_factor *factor, dm_matrix matrix,
                    const dm_dataset_input *input) {
  const dm_plan *plan = local->plan;
  const dm_dtype work = plan->problem.work;
  const bool plain = dm_dtype_real(work) == DM_F64 || dm_dtype_real(work) == DM_F32;
  const int64_t rows = matrix == DM_A ? plan->problem.m : dm_problem_b_rows(&plan->problem);
  const int64_t enough =
      matrix == DM_A ? dm_min(least_rows[DM_A], plan->problem.n) : least_rows[DM_B];
  const int64_t least = plan->reproducible || dm_plan_has_runs(plan) ? rows : enough;
  const dm_residence residence = matrix == DM_A ? plan->a : plan->b;
  return input->reader && plan->read_first && plain && input->op == DM_OP_N &&
         residence == DM_IN_HOST && !local->coords.idle && factor->route.operand == DM_SHARE &&
         !factor->route.fetched && dm_reader_may_map(input->reader, work, least);
}

/* Maps all inputs that are read, or none: the read-ahead covers both. */
static void map_inputs(dm_dataset_source *source, dm_rank_state *local) {
  dm_dataset_input *in = source->inputs;
  const dm_factor *factors[2] = {&local->a, &local->b};
  const bool shared[2] = {dm_triangle_shares(local->plan, DM_A),
                          dm_triangle_shares(local->plan, DM_B)};
  const dm_read_band *bands[2] = {NULL, NULL};
  int64_t count[2] = {0, 0};
  bool maps = !source->copies;
  for (int x = 0; x < 2; x++)
    maps = maps && (shared[x] || may_map(local, factors[x], (dm_matrix)x, &in[x]));
  for (int x = 0; x < 2 && maps; x++) {
    if (shared[x]) continue;
    dm_reader_map(in[x].reader, &bands[x], &count[x]);
    maps = count[x] == 1 || (count[x] > 1 && !shared[!x]); /* products take whole panels of X */
  }
  if (!maps) return;
  memcpy(local->mapped, bands, sizeof bands);
  memcpy(local->bands, count, sizeof count);
}

static dm_status open_turned(dm_dataset_source *source, const dm_rank_state *local) {
  const int64_t panels = dm_range_size(local->panels);
  source->turned = NULL;
  source->asked = false;
  for (int x = 0; x < 2; x++)
    source->prefetch.made[x] = dm_triangle_reads_once(local->plan, (dm_matrix)x);
  if (local->coords.idle || (!source->prefetch.made[DM_A] && !source->prefetch.made[DM_B]))
    return DM_OK;
  DM_TRY(dm_buffer_table(panels, &source->turned));
  for (int64_t q = 0; q < panels; q++) source->turned[q] = UINT64_MAX;
  return DM_OK;
}

static dm_status open_inputs(void *state, dm_rank_state *local) {
  dm_dataset_source *source = state;
  map_inputs(source, local);
  DM_TRY(prefetch_open(local, source->inputs, &source->prefetch));
  return open_turned(source, local);
}

static void close_prefetch(void *state) {
  dm_dataset_source *source = state;
  prefetch_close(&source->prefetch);
  free(source->turned);
  source->turned = NULL;
}

/* When the other matrix's piece of PANEL is there, it is transposed to MATRIX's. */
static dm_status dataset_source_turn(dm_dataset_source *source, dm_rank_state *local,
                                     dm_matrix matrix, int64_t panel, bool *done) {
  const dm_matrix other = dm_other_matrix(matrix);
  dm_event *turned = &source->turned[panel - local->panels.begin];
  if (*turned == UINT64_MAX) {
    DM_TRY(prefetch_loaded(&source->prefetch, other, panel, done));
    if (!*done) return DM_OK;
    DM_TRY(dm_backend_transpose(local->backend, dm_rank_piece(local, matrix, panel),
                                dm_rank_piece(local, other, panel),
                                local->plan->problem.symmetry == DM_HERMITIAN, turned));
  }
  return dm_backend_test(local->backend, *turned, done);
}

static dm_status dataset_source_load(void *state, dm_rank_state *local, dm_matrix matrix,
                                     int64_t panel) {
  dm_dataset_source *source = state;
  if (local->mapped[matrix]) {
    const int64_t elements = dm_range_size(dm_rank_piece_rows(local, matrix, panel)) *
                             dm_range_size(dm_rank_piece_cols(local, matrix, panel));
    dm_reader_note(source->inputs[matrix].reader,
                   elements * dm_dtype_size(local->plan->problem.work));
    return DM_OK;
  }
  if (source->prefetch.made[matrix] && source->asked) return DM_OK;
  source->asked = true;
  return prefetch_load(&source->prefetch, matrix, panel);
}

static dm_status dataset_source_loaded(void *state, dm_rank_state *local, dm_matrix matrix,
                                       int64_t panel, bool *done) {
  dm_dataset_source *source = state;
  *done = true;
  if (local->mapped[matrix]) return DM_OK;
  if (source->prefetch.made[matrix]) return dataset_source_turn(source, local, matrix, panel, done);
  return prefetch_loaded(&source->prefetch, matrix, panel, done);
}

static dm_status read_b(void *state, int64_t row, int64_t col, dm_view view) {
  dm_dataset_source *source = state;
  return dm_dataset_input_read(&source->inputs[DM_B], row, col, view);
}

static dm_status dataset_source_pass(void *state, dm_rank_state *local, dm_matrix matrix,
                                     dm_piece_taker *take, void *context) {
  dm_dataset_source *source = state;
  return dm_file_pass(&source->inputs[matrix], local, matrix, take, context);
}

static bool dataset_source_has_lines(const void *state, const dm_rank_state *local,
                                     dm_matrix matrix) {
  const dm_dataset_source *source = state;
  return dm_file_pass_has_lines(&source->inputs[matrix], local, matrix);
}

static double dataset_source_largest(const void *state, dm_matrix matrix) {
  const dm_dataset_source *source = state;
  const bool made = source->prefetch.made[matrix];
  return source->inputs[made ? !(int)matrix : (int)matrix].largest;
}

static void set_keepalive(void *state, const dm_keepalive *keepalive) {
  dm_dataset_source *source = state;
  for (int x = 0; x < 2; x++)
    if (source->inputs[x].reader) dm_reader_keepalive(source->inputs[x].reader, keepalive);
}

const dm_source_ops dm_source_datasets = {
    .open = open_inputs,
    .close = close_prefetch,
    .load = dataset_source_load,
    .loaded = dataset_source_loaded,
    .read_b = read_b,
    .pass = dataset_source_pass,
    .has_lines = dataset_source_has_lines,
    .largest = dataset_source_largest,
    .set_keepalive = set_keepalive,
};

int64_t dm_dataset_source_bytes(const dm_dataset_source *source) {
  int64_t bytes = 0;
  for (int x = 0; x < 2; x++)
    if (source->inputs[x].reader) bytes += dm_reader_bytes(source->inputs[x].reader);
  return bytes;
}

int64_t dm_dataset_source_calls(const dm_dataset_source *source) {
  int64_t calls = 0;
  for (int x = 0; x < 2; x++)
    if (source->inputs[x].reader) calls += dm_reader_calls(source->inputs[x].reader);
  return calls;
}
