/* read_impl: state shared by the methods of reading.  Private to src/io. */
#ifndef DM_IO_READ_IMPL_H
#define DM_IO_READ_IMPL_H

#include <hdf5.h>
#include <stdatomic.h>

#include "dataset/chunk_facts.h"
#include "dataset/composite.h"
#include "dataset/hdf5_use.h"
#include "dataset/members.h"
#include "io/pool.h"
#include "io/read.h"

/* A file in memory; BASE NULL: it is not. */
typedef struct dm_map {
  void *base;
  int64_t bytes;
} dm_map;

struct dm_reader {
  dm_dataset dataset;   /* as stored: rows and columns are swapped if the file is column-major */
  dm_dtype through, as; /* elements are rounded to these types in turn, if they are not NONE */
  bool empty;           /* the dataset has no elements: zeros are read */
  int64_t bytes;        /* read so far */
  dm_missed *missed;    /* NULL: attributes say nothing about the stored numbers */
  atomic_int_least64_t *calls; /* of the system that read from its file so far */
  atomic_int *beyond;          /* a type that could not hold a number read; DM_F64: none */
  const dm_keepalive *keepalive;

  struct dm_reader *reals; /* that its complex numbers consist of; NULL: they are in its elements */
  struct dm_sources *sources; /* it is made of; NULL: it is read from one file */
  struct dm_sources *owner;   /* it is one of these; or NULL */
  int64_t number;             /* ... which one */

  dm_map *map;                     /* its files that were mapped, or NULL; */
  int64_t maps;                    /* ... how many places there are */
  dm_read_band *bands;             /* of the dataset that were mapped, or NULL */
  struct dm_member_files *members; /* of a family, which threads read; or NULL */
  bool raw;                        /* threads read contiguous data or chunks; false: HDF5 reads */
  int fd;                          /* for them; -1: OWNER lends it (dm_reader_take_file) */
  hid_t file, set, type;           /* -1: the data is contiguous, or a source that is asleep */
  hid_t access;
  dm_h5_exit leave;
  dm_h5_observer *observer;     /* NULL: HDF5 does not report offsets of chunks */
  struct dm_chunks *chunks;     /* NULL: not chunked, or filtered by HDF5 only */
  struct dm_chunk_cache *cache; /* of the queue that reads it, or NULL */
  struct dm_file_queue *ahead;  /* dm_reader_read waits for its threads; or NULL */
  struct dm_file_queue *own;    /* without threads, for chunks if there is no other queue */

  dm_scratch scratch; /* for reading without threads */
};

/* A part of the dataset. */
typedef struct dm_rectangle {
  int64_t row, col, rows, cols;
} dm_rectangle;

/* The arguments of dm_reader_read. Its rows and columns are numbered along two lines of the
 * dataset: so are pieces of it. */
typedef struct dm_read_request {
  dm_rectangle part;
  dm_line rows, cols;
  const dm_view *views;        /* side by side; */
  const struct dm_pick *picks; /* or NULL views: what takes elements of its own of PART */
  int64_t count;               /* of the views, or of the picks */
  bool conjugate;
  bool turned;      /* column-major file: PART and the lines are in the file's terms */
  bool folded;      /* the dataset is one row, and both lines are along it (read_folded.c) */
  int64_t row, col; /* the matrix's, of the first element: parts of it may be in other datasets */
} dm_read_request;

/* Elements of the dataset where ROWS lines cross COLS others: their places on two lines of it. */
typedef struct dm_crossings {
  dm_line down, right;
  int64_t rows, cols;
} dm_crossings;

/* Where the elements of PIECE of REQUEST are. */
static inline dm_crossings dm_request_crossings(const dm_read_request *request,
                                                const dm_rectangle *piece) {
  return (dm_crossings){{dm_line_at(request->rows, piece->row), request->rows.step},
                        {dm_line_at(request->cols, piece->col), request->cols.step},
                        piece->rows,
                        piece->cols};
}

/* Rows TOP to BOTTOM of the dataset, STEP apart, of a request whose elements are read with those of
 * others (gather.h). */
typedef struct dm_pick {
  dm_read_request request;
  int64_t top, bottom, step;
} dm_pick;

/* VIEW number I of REQUEST, as oriented in the file. */
static inline dm_view dm_request_view(const dm_read_request *request, int64_t i) {
  return request->turned ? dm_view_transpose(request->views[i]) : request->views[i];
}

/* Sets READER, all zero, to read DATASET as dm_reader_open does; opens nothing. */
void dm_reader_prepare(dm_reader *reader, const dm_dataset *dataset, dm_dtype as);

/* Closes READER, whose own queue is closed; NULL is allowed. */
void dm_reader_release(dm_reader *reader);

/* Counts CALLS of the system; any thread. */
void dm_reader_count_calls(const dm_reader *reader, int64_t calls);

/* Notes missing values from now on, if the attributes of its dataset state any. */
dm_status dm_reader_prepare_meaning(dm_reader *reader);

/* Fills REQUEST, for the elements on ROWS and COLS from the first ones on; DM_E_BUG: the views do
 * not fit. Its part may be empty. */
dm_status dm_request_of(const dm_reader *reader, dm_line rows, dm_line cols, const dm_view *views,
                        int64_t count, bool conjugate, dm_read_request *request);

/* The same for PATCH of READER's dataset, which is folded. Without chunks it has one line. */
dm_status dm_request_of_fold(const dm_reader *reader, const dm_patch *patch, const dm_view *views,
                             int64_t count, bool conjugate, dm_read_request *request);

/* The place in the dataset's only row of element (row, col) of the part of a folded REQUEST. */
static inline int64_t dm_request_folded_at(const dm_read_request *request, int64_t row,
                                           int64_t col) {
  return dm_line_at(request->rows, request->part.row + row) +
         dm_line_at(request->cols, request->part.col + col);
}

/* The next rectangle of a folded REQUEST whose elements are in RUN of the dataset's only row, with
 * rows from *row on of its part, which advances: *found in the request, *place of its first element
 * in the run; false: none. */
bool dm_request_folded_next(const dm_read_request *request, const dm_stretch *run, int64_t *row,
                            dm_rectangle *found, int64_t *place);

/* The part of view I of REQUEST inside PIECE, as *view, whose first element is (row, col) of the
 * request; false: none. *BEFORE is the number of rows or columns of the preceding views. */
bool dm_request_common(const dm_read_request *request, int64_t i, const dm_rectangle *piece,
                       int64_t *before, dm_view *view, int64_t *row, int64_t *col);

/* Advances *piece, initially all zero, to the next piece to read; false: there is none. */
bool dm_reader_next_piece(const dm_reader *reader, const dm_read_request *request,
                          dm_rectangle *piece);

/* Wanted elements that are less than so many bytes apart are read together with what is between
 * them: that takes less time than a call for each, and storage reads whole pages anyway. */
enum { DM_READ_BETWEEN = 1 << 13 };

/* Bytes of memory for reading PIECE. */
int64_t dm_reader_piece_bytes(const dm_reader *reader, const dm_read_request *request,
                              const dm_rectangle *piece);

/* Reads PIECE of REQUEST into its views, by pread (any thread) or HDF5 (one). */
dm_status dm_reader_bring(const dm_reader *reader, const dm_read_request *request,
                          dm_rectangle piece, dm_scratch *scratch, const dm_keepalive *keepalive);

/* Copies STAGED's part of the request to the views; STAGED is at (row, col) of the request and has
 * the dataset's type in this machine's byte order. */
void dm_reader_spread(const dm_reader *reader, const dm_read_request *request, dm_view staged,
                      int64_t row, int64_t col);

/* Reads PIECE directly into the views, which have the file's type and packed rows. */
dm_status dm_reader_scatter(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, const dm_keepalive *keepalive);

/* Reads COUNT elements that follow each other in the file, from (row, col) on, unconverted into
 * MEMORY. */
dm_status dm_reader_fetch_run(const dm_reader *reader, int64_t row, int64_t col, int64_t count,
                              void *memory);

/* Reads the elements OF the dataset unconverted, row-major, into MEMORY. */
dm_status dm_reader_fetch_hdf5(const dm_reader *reader, dm_crossings of, void *memory);

/* Reads COUNT elements of a dataset of compounds, from number FIRST on, with HDF5. */
dm_status dm_reader_load_elements(const dm_reader *reader, int64_t first, int64_t count,
                                  void *memory);

/* dm_reader_fetch_hdf5 of compounds, in any layout; SCRATCH's second memory holds what is read.
 * (read_compounds.c) */
dm_status dm_reader_fetch_compounds(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                    void *memory);

/* DM_E_INPUT: a whole number in a compound is larger than those that f64 holds. */
dm_status dm_reader_inexact(const dm_reader *reader);

/* Whether elements of the file are no numbers of the matrix, or cannot be selected by HDF5 as
 * these. */
static inline bool dm_reader_has_compounds(const dm_reader *reader) {
  const dm_dataset *d = &reader->dataset;
  return d->compound.bytes > 0 && (d->compound.apart || d->offset < 0);
}

/* The same of a dataset whose complex numbers are apart (read_parts.c). */
dm_status dm_reader_fetch_parts(const dm_reader *reader, dm_crossings of, void *memory);

/* What takes line ROW of those that are wanted, of which the first genotype is code FIRST of
 * LINE. */
typedef void dm_packed_take(void *context, int64_t row, const uint8_t *line, int64_t first);

/* Calls TAKE with the rows OF packed genotypes; SCRATCH's second memory holds what is read.
 * (read_genotypes.c) */
dm_status dm_reader_each_packed(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                dm_packed_take *take, void *context);

/* Whether each row of REQUEST has four values, which dm_reader_look_up puts into its views, PIECE
 * of it. */
bool dm_reader_looks_up(const dm_reader *reader, const dm_read_request *request);
dm_status dm_reader_look_up(const dm_reader *reader, const dm_read_request *request,
                            dm_rectangle piece, dm_scratch *scratch);

/* dm_reader_fetch_hdf5 of packed genotypes; SCRATCH's second memory holds what is read.
 * (read_genotypes.c) */
dm_status dm_reader_fetch_genotypes(const dm_reader *reader, dm_crossings of, dm_scratch *scratch,
                                    void *memory);

/* dm_reader_read along two lines of the dataset, to one view. */
dm_status dm_reader_read_lines(dm_reader *reader, dm_line down, dm_line right, dm_view view);

/* Opens the reader of the reals of READER's dataset. */
dm_status dm_reader_open_parts(dm_reader *reader);

/* DM_E_INPUT: a value that was read is missing, and the user did not say what becomes of those. */
dm_status dm_reader_all_there(const dm_reader *reader);

/* Undoes dm_reader_map. */
void dm_reader_unmap(dm_reader *reader);

dm_status dm_reader_open_direct(dm_reader *reader);
dm_status dm_reader_open_hdf5(dm_reader *reader);
void dm_reader_close_hdf5(dm_reader *reader);

/* Reads BYTES at OFFSET of the file of a reader with RAW; any thread. */
dm_status dm_reader_load(const dm_reader *reader, void *memory, int64_t bytes, int64_t offset);

/* Lends the descriptor of a reader with RAW to this thread, which gives it back. */
dm_status dm_reader_take_file(const dm_reader *reader, int *fd);
void dm_reader_give_file(const dm_reader *reader);

/* Opens DATASET's file, or its files, and checks that it is still the inspected one. */
dm_status dm_reader_open_file(const dm_dataset *dataset, int *fd);
dm_status dm_reader_open_family(const dm_dataset *dataset, dm_member_files **files);

/* ---- datasets made of others (sources.c) ---- */

dm_status dm_sources_open(dm_reader *reader);
void dm_sources_close(struct dm_sources *sources); /* NULL is allowed */

/* Adds to FOUND what the readers of the sources have missed so far. */
void dm_sources_missing(const struct dm_sources *sources, dm_missing_found *found);

/* The calls of all readers of the sources. */
int64_t dm_sources_calls(const struct dm_sources *sources);

/* The part of PATCH, number *INDEX of the list or a later one, that is in PART of the matrix;
 * false: there is none. */
bool dm_sources_next(const dm_reader *reader, const dm_rectangle *part, int64_t *index,
                     dm_patch *patch);

/* The reader of source NUMBER; it belongs to READER. */
dm_status dm_sources_reader(dm_reader *reader, int64_t number, dm_reader **source);

/* Makes sure that HDF5 has the file of READER open until the next such call. */
dm_status dm_reader_wake(dm_reader *reader);

/* dm_reader_take_file for a source; any thread. */
dm_status dm_sources_take(struct dm_sources *sources, const dm_reader *reader, int *fd);
void dm_sources_give(struct dm_sources *sources, int64_t number);

/* Fills the views of REQUEST with the value of elements that have no source, if there are any. */
void dm_sources_fill(const dm_reader *reader, const dm_read_request *request);

/* DM_E_IO: DATASET changed since it was inspected. */
dm_status dm_reader_changed(const dm_dataset *dataset);

/* Checks that the open file FD, or all of a dataset in several files, is still the inspected one.
 */
dm_status dm_reader_same_file(const dm_dataset *dataset, int fd);

/* ---- chunks (read_chunks.c) ---- */

/* After dm_reader_open_hdf5, if the dataset has chunks, and only filters of chunk_filter.h; of Zarr
 * without it. */
dm_status dm_reader_open_chunks(dm_reader *reader);
void dm_reader_close_chunks(dm_reader *reader);

/* The chunks that may have elements of REQUEST, as a rectangle of whole chunks. */
dm_rectangle dm_reader_chunks_of(const dm_reader *reader, const dm_read_request *request);

/* Whether chunk NUMBER along SIDE has rows (0) or columns (1) of REQUEST. */
bool dm_reader_chunk_has(const dm_reader *reader, const dm_read_request *request, int side,
                         int64_t number);

/* The number of the chunk in chunk row DOWN and chunk column RIGHT; numbers are row-major. */
int64_t dm_reader_chunk_number(const dm_reader *reader, int64_t down, int64_t right);

/* Bytes of memory for unpacking a chunk. */
int64_t dm_reader_chunk_room(const dm_reader *reader);

/* Finds the place of chunk NUMBER with HDF5. */
dm_status dm_reader_find_chunk(const dm_reader *reader, int64_t number, dm_chunk_place *place);

/* Reads the chunk at PLACE into scratch->memory[0] and undoes its filters; any thread. */
dm_status dm_reader_unpack(const dm_reader *reader, const dm_chunk_place *place,
                           dm_scratch *scratch);

/* Elements of chunk NUMBER in the matrix. */
int64_t dm_reader_chunk_elements(const dm_reader *reader, int64_t number);

/* Copies REQUEST's elements of chunk NUMBER, unpacked in DATA, and returns how many they are. */
int64_t dm_reader_spread_chunk(const dm_reader *reader, const dm_read_request *request,
                               int64_t number, void *data);

#endif
