/* Whole products of the caller's matrices: by the backend's library, or in tiles of C, in modes, by
 * kernels and of operands that no library has. Then A and B are read where they are, but for those
 * by columns, to be conjugated, or narrower than the mode's type: parts of them are copied. These,
 * accumulators and sums of a tile, and parts of its operands, are in the backend's own memory, of
 * at most 5 GiB for f64:int8:15 and 2 GiB for f32:f16, and 4 GiB for copies, or 8 of what is
 * widened, too. */
#include <string.h>

#include "backend/backend.h"
#include "backend/verify_sums.h"
#include "backend/whole_product.h"
#include "core/checked.h"

enum {
  BACKEND_TILE = 8192,
  BACKEND_ALIGNED = 16, /* bytes, at multiples of which rows of C start for kernels */
  BACKEND_STRIPS = 8,   /* of a symmetric C, */
  LEAST_STRIP = 1024,
  BACKEND_STRIP = 256 /* at multiples of which they start */
};

static const double copied_bytes = 2147483648.0; /* of a part of an operand that is copied */

/* ---- modes ---- */

static dm_backend *who_multiplies(dm_backend *backend) {
  while (!backend->ops->gemm && backend->base) backend = backend->base;
  return backend;
}

static const dm_backend *asked_backend(const dm_backend *backend) {
  return who_multiplies((dm_backend *)(uintptr_t)backend);
}

dm_status dm_backend_set_mode(dm_backend *backend, const dm_backend_mode *mode) {
  backend = who_multiplies(backend);
  dm_tiles *tiles = &backend->tiles;
  tiles->named = strcmp(mode->kernel, "auto") != 0;
  tiles->used = tiles->named || mode->compute->own_kernels || mode->depth > 0;
  tiles->mode = *mode->compute;
  tiles->depth = mode->depth;
  if (!backend->ops->set_mode)
    return dm_fail(DM_E_BUG, "backend %s has one mode", backend->ops->name);
  return backend->ops->set_mode(backend, mode);
}

bool dm_backend_prepares(const dm_backend *backend) {
  const dm_tiles *tiles = &asked_backend(backend)->tiles;
  return tiles->used && tiles->mode.own_kernels;
}

static dm_dtype type_of_sums(const dm_tiles *tiles, dm_dtype work) {
  return dm_compute_type(tiles->mode.sum, dm_dtype_is_complex(work));
}

dm_dtype dm_backend_type_of_sums(const dm_backend *backend, dm_dtype work) {
  return type_of_sums(&asked_backend(backend)->tiles, work);
}

bool dm_backend_cuts_k(const dm_backend *backend) {
  return asked_backend(backend)->tiles.depth > 0;
}

/* ---- products in tiles ---- */

/* Sums are elements of C, and are computed there. */
static bool sums_are_elements(const dm_tiles *tiles, const dm_whole_product *p) {
  const bool plain = p->alpha[0] == 1.0 && p->alpha[1] == 0.0 && dm_is_zero(p->beta);
  const int64_t size = dm_dtype_size(p->c.dtype);
  const bool aligned = dm_blas_by_rows(p->c) && (uintptr_t)p->c.base % BACKEND_ALIGNED == 0 &&
                       (p->c.rows == 1 || p->c.row_stride * size % BACKEND_ALIGNED == 0);
  return plain && aligned && p->c.dtype == type_of_sums(tiles, p->a.dtype);
}

/* The mode's type for operands of TYPE. */
static dm_dtype type_of_mode(const dm_tiles *tiles, dm_dtype type) {
  return dm_compute_type(tiles->mode.work, dm_dtype_is_complex(type));
}

/* Exponents are those of one entry, and found from operands of 32 bits as from those of 64. */
static bool suits_tiles(const dm_tiles *tiles, const dm_whole_product *p) {
  const dm_dtype type = dm_dtype_real(p->a.dtype), work = tiles->mode.work;
  const bool widens = type == DM_F32 && work == DM_F64;
  if (p->c.space != DM_DEVICE || !(type == work || widens) || (tiles->mode.scans && p->entries > 1))
    return false;
  bool elements = true;
  for (int64_t e = 0; e < 2 && e < dm_max(1, p->entries); e++) { /* all are as far apart */
    const dm_whole_product one = dm_whole_entry(p, e), by_rows = dm_whole_by_rows(&one);
    elements = elements && sums_are_elements(tiles, &by_rows);
  }
  return elements || dm_backend_finishes(p->c.dtype, type_of_sums(tiles, p->a.dtype), p->alpha,
                                         !dm_is_zero(p->beta));
}

/* One product, C by rows. */
typedef struct tiling {
  dm_backend *backend;
  dm_tiles *tiles;
  dm_whole_product whole;
  dm_dtype work, sum;
  bool direct;
  bool turns[2]; /* A, B are copied by rows */
} tiling;

/* ROWS x COLS elements, WIDE with whatever follows each row, in ROOM. */
static dm_status need_room(const tiling *t, dm_tile_room *room, dm_dtype dtype, int64_t rows,
                           int64_t cols, int64_t wide, dm_view *view) {
  const int64_t stride = dm_device_stride(wide, dtype);
  int64_t bytes;
  DM_TRY(dm_bytes_of(rows, stride, dm_dtype_size(dtype), &bytes));
  if (bytes > room->bytes) {
    DM_TRY(dm_backend_wait(t->backend, t->tiles->last));
    dm_backend_release(t->backend, DM_DEVICE, room->memory);
    *room = (dm_tile_room){0};
    DM_TRY(dm_backend_alloc(t->backend, DM_DEVICE, bytes, &room->memory));
    room->bytes = bytes;
  }
  *view = dm_view_strided(room->memory, dtype, DM_DEVICE, rows, cols, stride);
  return DM_OK;
}

/* Room for the sums of ROWS x COLS elements with all their accumulators. */
static dm_status need_sums(const tiling *t, int64_t rows, int64_t cols, dm_view *sums) {
  return need_room(t, &t->tiles->sums, t->sum, rows, cols,
                   dm_compute_width(&t->tiles->mode, t->sum, cols), sums);
}

/* *V transposed, in ROOM. */
static dm_status turn_rows(const tiling *t, dm_tile_room *room, bool conjugate, dm_view *v) {
  dm_view to;
  if (v->cols == 1) v->col_stride = 1;
  DM_TRY(need_room(t, room, v->dtype, v->cols, v->rows, v->rows, &to));
  DM_TRY(dm_backend_transpose_in_order(t->backend, to, *v, conjugate, &t->tiles->last));
  *v = to;
  return DM_OK;
}

/* *V, of A (0) or B (1), in the mode's type. Copies to it do not wait for products, which may still
 * read the ones before. */
static dm_status widen_operand(const tiling *t, int which, dm_view *v) {
  const bool by_rows = dm_blas_by_rows(*v);
  dm_view to;
  if (v->dtype == t->work) return DM_OK;
  dm_view from = by_rows ? *v : dm_view_transpose(*v);
  if (from.cols == 1) from.col_stride = 1;
  DM_TRY(dm_backend_wait(t->backend, t->tiles->last));
  DM_TRY(need_room(t, &t->tiles->widened[which], t->work, from.rows, from.cols, from.cols, &to));
  DM_TRY(dm_backend_copy_now(t->backend, to, from));
  *v = by_rows ? to : dm_view_transpose(to);
  return DM_OK;
}

/* *V, of A (0) or B (1), by rows and conjugated as the product says: only what is transposed can be
 * conjugated, so rows are turned twice. */
static dm_status read_by_rows(const tiling *t, int which, dm_view *v) {
  dm_tiles *tiles = t->tiles;
  const bool conjugate = which ? t->whole.conjugate_b : t->whole.conjugate_a;
  if (!t->turns[which]) return DM_OK;
  if (!dm_blas_by_rows(*v)) {
    *v = dm_view_transpose(*v);
    return turn_rows(t, &tiles->operands[which], conjugate, v);
  }
  DM_TRY(turn_rows(t, &tiles->between, conjugate, v));
  return turn_rows(t, &tiles->operands[which], false, v);
}

/* One tile: SUMS = A B, from accumulators in ROOM if there are any. */
typedef struct tile_product {
  dm_view sums, room, a, b;
  dm_exponents exponents;
} tile_product;

/* Adds the products of DEPTH columns of A from K. */
static dm_status add_part(const tiling *t, const tile_product *p, int64_t k, int64_t depth) {
  const dm_compute *mode = &t->tiles->mode;
  dm_view a = dm_view_sub(p->a, 0, k, p->a.rows, depth);
  dm_view b = dm_view_sub(p->b, k, 0, depth, p->b.cols);
  dm_event *last = &t->tiles->last;
  DM_TRY(widen_operand(t, 0, &a));
  DM_TRY(widen_operand(t, 1, &b));
  DM_TRY(read_by_rows(t, 0, &a));
  DM_TRY(read_by_rows(t, 1, &b));
  if (mode->finish == DM_NO_FINISH) return dm_backend_gemm(t->backend, p->sums, a, b, k > 0, last);
  const dm_view first = dm_compute_first(mode, p->room);
  return dm_backend_gemm_parts(t->backend, first, dm_compute_plane(mode, first.cols), a, b, k > 0,
                               p->exponents, last);
}

/* Columns of A, of ALL, that are multiplied together. */
static int64_t columns_at_once(const tiling *t, int64_t all) {
  const int64_t of_mode = t->tiles->depth, of_product = t->whole.piece;
  const double column = (double)BACKEND_TILE * (double)dm_dtype_size(t->work);
  const bool copies = t->turns[0] || t->turns[1] || t->whole.a.dtype != t->work;
  if (of_mode > 0) all = dm_min(all, of_mode);
  if (of_product > 0) all = dm_min(all, of_product);
  return copies ? dm_min(all, (int64_t)(copied_bytes / column)) : all;
}

static dm_status post_sums(const tiling *t, const tile_product *p) {
  const dm_compute *mode = &t->tiles->mode;
  const int64_t all = p->a.cols, each = columns_at_once(t, dm_max(1, all));
  for (int64_t k = 0; k == 0 || k < all; k += each)
    DM_TRY(add_part(t, p, k, dm_min(each, all - k)));
  if (mode->finish == DM_NO_FINISH) return DM_OK;
  const dm_view first = dm_compute_first(mode, p->room);
  return dm_backend_finish(t->backend, p->sums, first, dm_compute_plane(mode, first.cols),
                           p->exponents, &t->tiles->last);
}

static dm_status post_tile(const tiling *t, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  const dm_whole_product *w = &t->whole;
  const dm_compute *mode = &t->tiles->mode;
  rows = dm_min(rows, w->c.rows - row), cols = dm_min(cols, w->c.cols - col);
  const dm_view c = dm_view_sub(w->c, row, col, rows, cols);
  const bool reads_c = !dm_is_zero(w->beta);
  tile_product p = {.sums = c,
                    .room = c,
                    .a = dm_view_sub(w->a, row, 0, rows, w->a.cols),
                    .b = dm_view_sub(w->b, 0, col, w->b.rows, cols)};
  if (mode->scans)
    p.exponents = (dm_exponents){w->exponents.rows + row,
                                 w->exponents.cols + dm_compute_parts(mode, t->sum) * col};
  if (mode->finish != DM_NO_FINISH || !t->direct) DM_TRY(need_sums(t, rows, cols, &p.room));
  if (!t->direct) p.sums = p.room;
  DM_TRY(post_sums(t, &p));
  if (t->direct) return DM_OK;
  return dm_backend_epilogue(t->backend, c, p.sums, reads_c ? &c : NULL, w->alpha, w->beta,
                             &t->tiles->last);
}

/* ROWS x COLS elements from (ROW, COL) in tiles of at most WIDTH columns. */
static dm_status post_row_of_tiles(const tiling *t, int64_t row, int64_t rows, int64_t cols,
                                   int64_t width) {
  for (int64_t j = 0; j < cols; j += width)
    DM_TRY(post_tile(t, row, j, rows, dm_min(width, cols - j)));
  return DM_OK;
}

/* Strips of a symmetric C as wide as its lower triangle there; the rest is their image. */
static dm_status post_triangle(const tiling *t) {
  const dm_view c = t->whole.c;
  const int64_t eighth = dm_round_up(dm_ceil_div(c.rows, BACKEND_STRIPS), BACKEND_STRIP);
  const int64_t height = dm_min(BACKEND_TILE, dm_max(LEAST_STRIP, eighth));
  for (int64_t i = 0; i < c.rows; i += height)
    DM_TRY(post_row_of_tiles(t, i, height, dm_min(c.cols, i + height), BACKEND_TILE));
  return dm_backend_mirror(t->backend, c, 0, dm_whole_is_hermitian(&t->whole), &t->tiles->last);
}

static bool is_turned(dm_view v, bool conjugate) {
  return !dm_blas_by_rows(v) || (conjugate && dm_dtype_is_complex(v.dtype));
}

/* Of complex numbers columns have two exponents; then C^T, if that has, is by rows, or a line. The
 * order of a reproducible sum of their parts is that of C, too, or of what was transposed to C^T.
 */
static dm_whole_product oriented(const dm_tiles *tiles, const dm_whole_product *p) {
  const bool stated = (tiles->mode.scans || tiles->depth > 0) && dm_dtype_is_complex(p->a.dtype) &&
                      !(p->symmetric && !tiles->mode.scans);
  dm_whole_product w = !stated ? dm_whole_by_rows(p) : p->row_parts ? dm_whole_transposed(p) : *p;
  if (w.c.cols == 1) w.c.col_stride = 1;
  return w;
}

static dm_status post_entry(dm_backend *backend, const dm_whole_product *entry) {
  tiling t = {.backend = backend, .tiles = &backend->tiles};
  t.whole = oriented(t.tiles, entry);
  const dm_whole_product *w = &t.whole;
  const dm_view c = w->c;
  t.work = type_of_mode(t.tiles, w->a.dtype);
  t.sum = type_of_sums(t.tiles, c.dtype);
  t.direct = sums_are_elements(t.tiles, w);
  t.turns[0] = is_turned(w->a, w->conjugate_a);
  t.turns[1] = is_turned(w->b, w->conjugate_b);
  if (w->symmetric) return post_triangle(&t);
  /* nothing of the backend's grows with C */
  const bool at_once = t.tiles->named && t.direct && !t.turns[0] && !t.turns[1];
  const int64_t rows = at_once ? c.rows : BACKEND_TILE, cols = at_once ? c.cols : BACKEND_TILE;
  for (int64_t i = 0; i < c.rows; i += rows) DM_TRY(post_row_of_tiles(&t, i, rows, c.cols, cols));
  return DM_OK;
}

static dm_status post_tiles(dm_backend *backend, const dm_whole_product *p, dm_event *done) {
  for (int64_t e = 0; e < dm_max(1, p->entries); e++) {
    const dm_whole_product entry = dm_whole_entry(p, e);
    DM_TRY(post_entry(backend, &entry));
  }
  *done = backend->tiles.last;
  return DM_OK;
}

/* ---- all ---- */

/* Libraries add the sums of pieces of k in C. */
static bool adds_in_c(const dm_whole_product *p) {
  const bool in_lanes = p->symmetric && p->c.rows <= DM_DEEP_COLUMNS;
  return p->piece == 0 || p->a.cols <= p->piece || p->c.dtype == dm_compute_sum(p->a.dtype) ||
         in_lanes;
}

/* Half of a symmetric C is multiplied by rows, where lines of one element may be seen otherwise. A
 * backend without a mode has no tiles. */
static bool suits_library(const dm_backend *backend, const dm_whole_product *p) {
  const dm_whole_product posted = p->symmetric ? dm_whole_by_rows(p) : *p;
  const dm_tiles *tiles = &backend->tiles;
  const bool slow = backend->ops->prefers_panels && backend->ops->prefers_panels(backend, p);
  if (slow && tiles->mode.name[0] && suits_tiles(tiles, p)) return false;
  return !tiles->used && adds_in_c(p) && backend->ops->can_multiply(backend, &posted);
}

/* The backend has a way of its own for whole products of the mode. */
static bool suits_mode(const dm_backend *backend, const dm_whole_product *p) {
  const dm_tiles *tiles = &backend->tiles;
  return tiles->used && !tiles->named && tiles->depth == 0 && backend->ops->multiplies_in_mode &&
         backend->ops->multiplies_in_mode(backend, p);
}

bool dm_backend_can_multiply(const dm_backend *backend, const dm_whole_product *p) {
  backend = asked_backend(backend);
  if (!backend->ops->multiply || p->a.dtype != p->b.dtype || p->a.space != p->c.space ||
      p->b.space != p->c.space || !dm_view_has_lines(p->a) || !dm_view_has_lines(p->b) ||
      !dm_view_has_lines(p->c))
    return false;
  return suits_library(backend, p) || suits_mode(backend, p) || suits_tiles(&backend->tiles, p);
}

bool dm_backend_takes_stream(const dm_backend *backend, const dm_whole_product *p) {
  return suits_library(asked_backend(backend), p);
}

static dm_status check_shapes(const dm_whole_product *p) {
  const int64_t entries = dm_max(1, p->entries);
  if (p->a.rows == p->c.rows && p->b.cols == p->c.cols && p->a.cols * entries == p->b.rows &&
      p->c.rows % entries == 0)
    return DM_OK;
  return dm_fail(DM_E_BUG, "a product of matrices whose shapes do not match");
}

dm_status dm_backend_multiply(dm_backend *backend, const dm_whole_product *p, void *stream,
                              dm_event *done) {
  backend = who_multiplies(backend);
  *done = 0;
  DM_TRY(check_shapes(p));
  if (p->symmetric && p->c.rows != p->c.cols)
    return dm_fail(DM_E_BUG, "a symmetric product that is no square");
  if (dm_view_is_empty(p->c)) return DM_OK;
  if (suits_library(backend, p)) return backend->ops->multiply(backend, p, stream, done);
  if (stream) return dm_fail(DM_E_BUG, "a product in a mode has no stream of the caller's");
  if (suits_mode(backend, p)) return backend->ops->multiply(backend, p, NULL, done);
  return post_tiles(backend, p, done);
}

dm_status dm_backend_multiply_entries(dm_backend *backend, const dm_whole_product *p,
                                      const dm_entry_steps *steps) {
  backend = who_multiplies(backend);
  if (!backend->ops->multiply_entries)
    return dm_fail(DM_E_BUG, "backend %s does not multiply entries in host memory",
                   backend->ops->name);
  DM_TRY(check_shapes(p));
  return dm_view_is_empty(p->c) ? DM_OK : backend->ops->multiply_entries(backend, p, steps);
}

bool dm_backend_checks(const dm_backend *backend) {
  return asked_backend(backend)->ops->multiply_verified != NULL;
}

dm_status dm_backend_multiply_verified(dm_backend *backend, const dm_verified_product *product,
                                       dm_verified_found *found) {
  backend = who_multiplies(backend);
  dm_verified_product one = *product;
  one.multiply = dm_backend_multiply;
  one.alone = !suits_library(backend, &product->whole);
  return backend->ops->multiply_verified(backend, &one, found);
}
