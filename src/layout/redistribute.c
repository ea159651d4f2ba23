#include "layout/redistribute.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/copy.h"
#include "core/crew.h"

/* Approximate bytes that a rank sends in one round, received bytes included; and the same through
 * pinned memory, which takes time to allocate. */
static const int64_t redistribute_round_bytes = 256 << 20, pinned_bytes = 32 << 20;

/* A thread copies at least so much, and few use all of the memory's rate. */
static const int64_t thread_bytes = 1 << 20;
enum { REDISTRIBUTE_MOST_THREADS = 8 };

typedef struct redistribute_exchange {
  const dm_comm *comm;
  dm_dtype dtype;
  const dm_end *from, *to;
  dm_taker taker;
  dm_segments rows, cols;
  bool sends, receives;     /* this rank has parts at the end */
  int sent_row, sent_col;   /* its parts at FROM, */
  int taken_row, taken_col; /* and at TO */
  const dm_end *paced;      /* the end that defines the rounds: */
  dm_range *places;         /* local places of each part of its rows */
  int64_t height;           /* a round moves so many of them, from WINDOW */
  int64_t window;
  bool reads;    /* the taker reads the old elements */
  dm_band *band; /* for this rank's GPU memory at PACED; NULL: none */
  char *out, *in;
  int64_t out_bytes, in_bytes; /* sizes in bytes */
} redistribute_exchange;

/* ---- one message ---- */

/* A dense matrix from parts (from_row, from_col) to (to_row, to_col). */
typedef struct redistribute_message {
  int from_row, from_col, to_row, to_col, peer;
  dm_view view;
} redistribute_message;

static int64_t redistribute_bytes_of(const redistribute_message *m) {
  return m->view.rows * m->view.cols * dm_dtype_size(m->view.dtype);
}

/* Its rows of the current round. */
static dm_overlap redistribute_rows(const redistribute_exchange *x, const redistribute_message *m) {
  const bool paces_from = x->paced == x->from;
  const int64_t first = x->places[paces_from ? m->from_row : m->to_row].begin + x->window;
  return (dm_overlap){.segments = &x->rows,
                      .from = m->from_row,
                      .to = m->to_row,
                      .window = {first, first + x->height},
                      .counts = paces_from ? DM_OVERLAP_FROM : DM_OVERLAP_TO};
}

static dm_overlap redistribute_cols(const redistribute_exchange *x, const redistribute_message *m) {
  return (dm_overlap){
      .segments = &x->cols, .from = m->from_col, .to = m->to_col, .window = {0, INT64_MAX}};
}

static dm_view redistribute_part_of(const redistribute_exchange *x, const dm_end *end,
                                    const dm_overlap_piece *r, const dm_overlap_piece *c) {
  const bool is_from = end == x->from;
  const int64_t row = is_from ? r->from : r->to, col = is_from ? c->from : c->to;
  if (end->backend) return dm_band_part(x->band, row, col, r->size, c->size);
  const int64_t row_run = is_from ? r->from_run : r->to_run;
  const int64_t col_run = is_from ? c->from_run : c->to_run;
  return dm_view_sub(end->at(end->context, row_run, col_run),
                     row - end->of->rows.runs[row_run].local,
                     col - end->of->cols.runs[col_run].local, r->size, c->size);
}

typedef enum { REDISTRIBUTE_PACK, REDISTRIBUTE_UNPACK, COPY } redistribute_way;

/* Copies ROWS between the message and its segments; COPY: directly from source to destination,
 * without the message's memory. */
static dm_status walk_rows(const redistribute_exchange *x, const redistribute_message *m,
                           redistribute_way how, dm_range rows) {
  dm_overlap down = redistribute_rows(x, m);
  for (dm_overlap_piece r; dm_overlap_next(&down, &r);) {
    r = dm_overlap_clip(r, r.at, rows);
    dm_overlap across = redistribute_cols(x, m);
    for (dm_overlap_piece c; r.size > 0 && dm_overlap_next(&across, &c);) {
      const dm_view piece = how == COPY ? redistribute_part_of(x, x->from, &r, &c)
                                        : dm_view_sub(m->view, r.at, c.at, r.size, c.size);
      if (how == REDISTRIBUTE_PACK)
        dm_copy(piece, redistribute_part_of(x, x->from, &r, &c), false);
      else if (!x->taker.take)
        dm_copy(redistribute_part_of(x, x->to, &r, &c), piece, false);
      else
        DM_TRY(x->taker.take(x->taker.context, redistribute_part_of(x, x->to, &r, &c), piece));
    }
  }
  return DM_OK;
}

/* A message that several threads copy. */
typedef struct walking {
  const redistribute_exchange *x;
  const redistribute_message *m;
  redistribute_way how;
  int threads;
  atomic_int next;
  dm_status status[REDISTRIBUTE_MOST_THREADS];
} walking;

static void walk_part(void *context) {
  walking *w = context;
  for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->threads;)
    w->status[i] = walk_rows(w->x, w->m, w->how, dm_split(w->m->view.rows, w->threads, i, 1));
}

static dm_status redistribute_walk(const redistribute_exchange *x, const redistribute_message *m,
                                   redistribute_way how) {
  const int64_t worth = redistribute_bytes_of(m) / thread_bytes;
  walking w = {.x = x, .m = m, .how = how, .threads = (int)dm_min(worth, dm_cores())};
  w.threads = (int)dm_max(1, dm_min(w.threads, REDISTRIBUTE_MOST_THREADS));
  (void)dm_fork_join(w.threads, walk_part, &w);
  dm_status status = DM_OK;
  for (int i = 0; i < w.threads; i++) status = dm_status_first(status, w.status[i]);
  return status;
}

/* ---- one round ---- */

static bool is_own(const redistribute_exchange *x, const redistribute_message *m) {
  return m->peer == dm_comm_rank(x->comm);
}

/* Calls CALL, unless NULL, for what this rank sends to (OUTGOING), or receives from, each pair of
 * parts, consecutive in MEMORY, which may be NULL. Returns the bytes of all, except what stays on
 * this rank, which needs no memory. */
static dm_status each_message(redistribute_exchange *x, bool outgoing, char *memory, int64_t *bytes,
                              dm_status (*call)(redistribute_exchange *x,
                                                const redistribute_message *m, void *context),
                              void *context) {
  const dm_distribution *other = outgoing ? x->to->of : x->from->of;
  *bytes = 0;
  if (!(outgoing ? x->sends : x->receives)) return DM_OK;
  for (int r = 0; r < other->rows.parts; r++)
    for (int c = 0; c < other->cols.parts; c++) {
      redistribute_message m =
          outgoing ? (redistribute_message){x->sent_row, x->sent_col, r, c, 0, {0}}
                   : (redistribute_message){r, c, x->taken_row, x->taken_col, 0, {0}};
      const int64_t rows = dm_overlap_size(redistribute_rows(x, &m));
      const int64_t cols = rows > 0 ? dm_overlap_size(redistribute_cols(x, &m)) : 0;
      if (cols == 0) continue;
      m.peer = dm_distribution_rank(other, r, c);
      m.view = dm_view_row_major(memory ? memory + *bytes : NULL, x->dtype, rows, cols);
      if (!is_own(x, &m)) *bytes += redistribute_bytes_of(&m);
      if (call) DM_TRY(call(x, &m, context));
    }
  return DM_OK;
}

static dm_status redistribute_receive(redistribute_exchange *x, const redistribute_message *m,
                                      void *messages) {
  if (is_own(x, m)) return DM_OK;
  return dm_messages_receive(messages, x->comm, m->view.base, redistribute_bytes_of(m), m->peer, 0);
}

static dm_status send(redistribute_exchange *x, const redistribute_message *m, void *messages) {
  if (is_own(x, m)) return redistribute_walk(x, m, COPY);
  DM_TRY(redistribute_walk(x, m, REDISTRIBUTE_PACK));
  return dm_messages_send(messages, x->comm, m->view.base, redistribute_bytes_of(m), m->peer, 0);
}

static dm_status unpack(redistribute_exchange *x, const redistribute_message *m, void *none) {
  (void)none;
  return is_own(x, m) ? DM_OK : redistribute_walk(x, m, REDISTRIBUTE_UNPACK);
}

static dm_status redistribute_make_room(char **memory, int64_t *has, int64_t bytes) {
  if (bytes <= *has) return DM_OK;
  free(*memory);
  *memory = NULL;
  *has = 0;
  DM_TRY(dm_buffer_alloc(bytes, (void **)memory));
  *has = bytes;
  return DM_OK;
}

/* Rows of the band in this round. */
static dm_range band_rows(const redistribute_exchange *x) {
  const dm_range all = x->places[x->paced == x->from ? x->sent_row : x->taken_row];
  const int64_t begin = dm_min(all.end, all.begin + x->window);
  return (dm_range){begin, dm_min(all.end, begin + x->height)};
}

static dm_status open_round(redistribute_exchange *x, dm_messages **messages) {
  int64_t out, in;
  if (x->band) DM_TRY(dm_band_move(x->band, band_rows(x), x->paced == x->from || x->reads));
  DM_TRY(each_message(x, true, NULL, &out, NULL, NULL));
  DM_TRY(each_message(x, false, NULL, &in, NULL, NULL));
  DM_TRY(redistribute_make_room(&x->out, &x->out_bytes, out));
  DM_TRY(redistribute_make_room(&x->in, &x->in_bytes, in));
  return dm_messages_new(messages);
}

static dm_status redistribute_move(redistribute_exchange *x, dm_messages *messages) {
  int64_t bytes;
  DM_TRY(each_message(x, false, x->in, &bytes, redistribute_receive, messages));
  DM_TRY(each_message(x, true, x->out, &bytes, send, messages));
  DM_TRY(dm_messages_wait(messages));
  DM_TRY(each_message(x, false, x->in, &bytes, unpack, NULL));
  return x->band && x->paced == x->to ? dm_band_write(x->band) : DM_OK;
}

static dm_status round_of(redistribute_exchange *x) {
  dm_messages *messages = NULL;
  dm_status status = dm_comm_agree(x->comm, open_round(x, &messages));
  if (!status) status = dm_comm_agree(x->comm, redistribute_move(x, messages));
  dm_messages_free(messages);
  return status;
}

/* ---- all rounds ---- */

static int64_t largest_part(const dm_axis *axis) {
  int64_t largest = 0;
  for (int p = 0; p < axis->parts; p++) largest = dm_max(largest, dm_axis_size(axis, p));
  return largest;
}

static dm_status open_band(redistribute_exchange *x) {
  const dm_end *end = x->paced;
  const bool has = end == x->from ? x->sends : x->receives;
  if (!has || !end->backend) return DM_OK;
  const dm_axis *cols = &end->of->cols;
  const dm_range of_cols = dm_axis_places(cols, end == x->from ? x->sent_col : x->taken_col);
  return dm_band_open(end->backend, *end->local, of_cols, x->height, &x->band);
}

static dm_status redistribute_prepare(redistribute_exchange *x, int64_t per_round) {
  const dm_distribution *from = x->from->of, *to = x->to->of;
  x->paced = x->to->on_gpus ? x->to : x->from;
  const dm_axis *rows = &x->paced->of->rows;
  const int64_t row = dm_max(1, largest_part(&x->paced->of->cols)) * dm_dtype_size(x->dtype);
  int64_t budget = dm_max(1 << 20, redistribute_round_bytes / dm_comm_size(x->comm));
  if (x->paced->on_gpus) budget = dm_min(budget, pinned_bytes);
  const int rank = dm_comm_rank(x->comm);
  x->sends = dm_distribution_parts(from, rank, &x->sent_row, &x->sent_col);
  x->receives = dm_distribution_parts(to, rank, &x->taken_row, &x->taken_col);
  x->height = dm_max(1, (per_round ? per_round : budget) / row);
  DM_TRY(dm_buffer_table(rows->parts, &x->places));
  for (int p = 0; p < rows->parts; p++) x->places[p] = dm_axis_places(rows, p);
  DM_TRY(dm_axis_cut(&from->rows, &to->rows, &x->rows));
  DM_TRY(dm_axis_cut(&from->cols, &to->cols, &x->cols));
  return open_band(x);
}

dm_status dm_redistribute(const dm_comm *comm, const dm_move *move) {
  redistribute_exchange x = {.comm = comm,
                             .dtype = move->dtype,
                             .from = move->from,
                             .to = move->to,
                             .taker = move->taker,
                             .reads = move->reads};
  dm_status status = dm_comm_agree(comm, redistribute_prepare(&x, move->per_round));
  const int64_t rows = status ? 0 : largest_part(&x.paced->of->rows);
  for (; x.window < rows && !status; x.window += x.height) status = round_of(&x);
  dm_band_close(x.band);
  free(x.places);
  dm_segments_free(&x.rows);
  dm_segments_free(&x.cols);
  free(x.out);
  free(x.in);
  return status;
}

/* ---- bands of rows in pinned host memory ---- */

struct dm_band {
  dm_backend *backend;
  dm_view matrix; /* only its columns */
  int64_t first_col;
  int64_t height;
  void *memory;
  dm_range rows;
  dm_view host; /* the rows in host memory */
};

/* Copies whole lines, in the orientation of the matrix. */
static bool is_by_columns(dm_view view) {
  return view.col_stride != 1;
}

dm_status dm_band_open(dm_backend *backend, dm_view matrix, dm_range cols, int64_t height,
                       dm_band **band) {
  dm_band *new;
  DM_TRY(dm_buffer_table(1, &new));
  new->backend = backend;
  new->matrix = dm_view_sub(matrix, 0, cols.begin, matrix.rows, dm_range_size(cols));
  new->first_col = cols.begin;
  new->height = dm_min(height, matrix.rows);
  const int64_t size = dm_dtype_size(matrix.dtype);
  int64_t bytes;
  dm_status status = dm_bytes_of(new->height, new->matrix.cols, size, &bytes);
  if (!status) status = dm_backend_alloc(backend, DM_HOST, bytes, &new->memory);
  if (status)
    free(new);
  else
    *band = new;
  return status;
}

void dm_band_close(dm_band *band) {
  if (!band) return;
  dm_backend_release(band->backend, DM_HOST, band->memory);
  free(band);
}

static dm_status redistribute_copy(dm_band *band, bool inward) {
  const int64_t rows = dm_range_size(band->rows);
  const dm_view gpu = dm_view_sub(band->matrix, band->rows.begin, 0, rows, band->matrix.cols);
  const bool turned = is_by_columns(gpu);
  const dm_view far = turned ? dm_view_transpose(gpu) : gpu;
  const dm_view near = turned ? dm_view_transpose(band->host) : band->host;
  return dm_backend_copy_now(band->backend, inward ? far : near, inward ? near : far);
}

dm_status dm_band_move(dm_band *band, dm_range rows, bool reads) {
  const int64_t count = dm_range_size(rows), cols = band->matrix.cols;
  const dm_dtype type = band->matrix.dtype;
  band->rows = rows;
  band->host = is_by_columns(band->matrix)
                   ? dm_view_transpose(dm_view_row_major(band->memory, type, cols, count))
                   : dm_view_row_major(band->memory, type, count, cols);
  return reads ? redistribute_copy(band, false) : DM_OK;
}

dm_status dm_band_write(dm_band *band) {
  return redistribute_copy(band, true);
}

dm_view dm_band_part(const dm_band *band, int64_t row, int64_t col, int64_t rows, int64_t cols) {
  return dm_view_sub(band->host, row - band->rows.begin, col - band->first_col, rows, cols);
}
