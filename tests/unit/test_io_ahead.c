/* Reading with threads: every form of file gives the same data as without, chunks are unpacked
 * once, errors are reported. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/crew.h"
#include "file_cases.h"
#include "io/file_queue.h"

enum { ROWS = 150, COLS = 130, STRIPS = 7, MEMORY = 1 << 24 };

/* Columns [left, right) of the rows from ROW of such a matrix, in the form of strip NUMBER: plain,
 * transposed, or conjugate transposed. */
typedef struct strip {
  void *got;
  dm_view view;
  int64_t left;
  bool turned, conjugate;
  dm_transfer *reading;
} strip;

static strip new_strip(dm_dtype dtype, int number) {
  strip s = {.left = COLS * number / STRIPS, .turned = number % 3 > 0, .conjugate = number % 3 > 1};
  int64_t cols = COLS * (number + 1) / STRIPS - s.left;
  s.got = calloc(ROWS * COLS, 16);
  s.view = dm_view_row_major(s.got, dtype, s.turned ? cols : ROWS, s.turned ? ROWS : cols);
  return s;
}

static void post_strip(dm_file_queue *ahead, dm_reader *reader, strip *s) {
  dm_view view = s->turned ? dm_view_transpose(s->view) : s->view;
  ok(dm_file_queue_read(ahead, reader, 0, s->left, &view, 1, s->conjugate, &s->reading));
}

static void check_strip(const strip *s, int number) {
  dm_view view = s->turned ? dm_view_transpose(s->view) : s->view;
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++) {
      double value[2] = {0, 0}, sign = s->conjugate ? -1 : 1;
      dm_load_wide(value, dm_view_at(view, i, j), view.dtype, 1, 1);
      if (value[0] != element_of(i, s->left + j, 0) ||
          (dm_dtype_is_complex(view.dtype) && value[1] != sign * element_of(i, s->left + j, 1)))
        fail_msg("strip %d: (%lld, %lld)", number, (long long)i, (long long)j);
    }
  free(s->got);
}

/* Reads all strips at once and awaits them in the order of TURN; returns the number of unpacked
 * chunks. */
static int64_t read_strips(const dm_dataset *d, dm_dtype into, int threads, bool one_by_one,
                           int64_t memory) {
  dm_file_queue *ahead;
  dm_reader *reader;
  strip strips[STRIPS];
  ok(dm_file_queue_open(threads, memory, &ahead));
  ok(dm_reader_open(d, DM_DTYPE_NONE, &reader));
  for (int i = 0; i < STRIPS; i++) {
    strips[i] = new_strip(into, i);
    post_strip(ahead, reader, &strips[i]);
    if (one_by_one) ok(dm_transfer_wait(strips[i].reading, NULL));
  }
  for (int i = STRIPS; i-- > 0;) {
    if (!one_by_one) ok(dm_transfer_wait(strips[i].reading, NULL));
    check_strip(&strips[i], i);
  }
  int64_t all = ROWS * COLS * dm_dtype_size(d->dtype), unpacked = dm_file_queue_unpacked(ahead);
  assert_int_equal(dm_file_queue_moved(ahead), all);
  assert_int_equal(dm_reader_bytes(reader), all);
  dm_file_queue_close(ahead);
  dm_reader_close(reader);
  return unpacked;
}

TEST(test_every_form) {
  static const file_form forms[] = {
      {.name = "plain"},
      {.name = "swapped", .swapped = true, .user_block = 512},
      {.name = "chunks", .chunk_rows = 16, .chunk_cols = 50, .user_block = 1024},
      {.name = "filters", .swapped = true, .chunk_rows = 40, .chunk_cols = 9, .filters = true},
      {.name = "large", .chunk_rows = 999, .chunk_cols = 999, .filters = true, .user_block = 512},
  };
  for (int i = 0; i < 5; i++) {
    for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
      dm_location location = at(*state, forms[i].name);
      write_file(location.file, (dm_dtype)dtype, ROWS, COLS, &forms[i]);
      dm_dataset d = inspected(&location);
      dm_dtype wide = dm_dtype_is_complex((dm_dtype)dtype) ? DM_C128 : DM_F64;
      for (int threads = 0; threads < 4; threads += 1 + threads) {
        read_strips(&d, (dm_dtype)dtype, threads, false, MEMORY);
        read_strips(&d, wide, threads, true, MEMORY);
      }
    }
  }
}

TEST(test_unpacked_once) {
  const file_form form = {.chunk_rows = 10, .chunk_cols = 25, .filters = true};
  const int64_t chunks = 15 * 6;
  dm_location location = at(*state, "once.h5");
  write_file(location.file, DM_F64, ROWS, COLS, &form);
  dm_dataset d = inspected(&location);
  for (int threads = 0; threads < 4; threads++) {
    assert_int_equal(read_strips(&d, DM_F64, threads, true, MEMORY), chunks);
    /* All strips are requested before any chunk is dropped: no memory needed. */
    if (threads == 0) assert_int_equal(read_strips(&d, DM_F64, threads, false, 0), chunks);
    /* One strip after the other, and no chunk is kept. */
    assert_true(read_strips(&d, DM_F64, threads, true, 0) > chunks);
  }
}

TEST(test_errors) {
  const file_form form = {.chunk_rows = 10, .chunk_cols = 25, .filters = true};
  dm_location location = at(*state, "bad.h5");
  write_file(location.file, DM_F64, ROWS, COLS, &form);
  FILE *file = fopen(location.file, "r+b");
  assert_int_equal(fseek(file, -200, SEEK_END), 0); /* inside a chunk */
  assert_int_equal(fwrite("damage", 1, 6, file), 6);
  fclose(file);
  dm_dataset d = inspected(&location);
  for (int threads = 0; threads < 3; threads++) {
    dm_file_queue *ahead;
    dm_reader *reader;
    strip strips[STRIPS];
    ok(dm_file_queue_open(threads, MEMORY, &ahead));
    ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
    for (int i = 0; i < STRIPS; i++) {
      strips[i] = new_strip(DM_F64, i);
      post_strip(ahead, reader, &strips[i]);
    }
    dm_status status = DM_OK;
    for (int i = 0; i < STRIPS && !status; i++) status = dm_transfer_wait(strips[i].reading, NULL);
    fails(status, DM_E_INPUT, "bad.h5:/m: the chunk at (");
    dm_file_queue_close(ahead);
    dm_reader_close(reader);
    for (int i = 0; i < STRIPS; i++) free(strips[i].got);
  }
}

enum { PAGE = 4096, TALL = 1100, WIDE = PAGE / 8, FIRST = 1029, AREA = 16 << 20 };

/* Reads TALL rows of a page, STEP pages apart, into new memory; checks which pages exist. */
static void read_to_pages(const dm_dataset *d, int threads, int64_t step) {
  char *area =
      mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_true(area != MAP_FAILED);
  (void)madvise(area, AREA, MADV_NOHUGEPAGE);
  dm_view view = dm_view_row_major(area + FIRST * PAGE, DM_F64, TALL, WIDE);
  view.row_stride *= step;
  dm_file_queue *ahead;
  dm_reader *reader;
  dm_transfer *reading;
  ok(dm_file_queue_open(threads, MEMORY, &ahead));
  ok(dm_reader_open(d, DM_DTYPE_NONE, &reader));
  ok(dm_file_queue_read(ahead, reader, 0, 0, &view, 1, false, &reading));
  ok(dm_transfer_wait(reading, NULL));
  dm_file_queue_close(ahead);
  dm_reader_close(reader);
  unsigned char there[AREA / PAGE];
  assert_int_equal(mincore(area, AREA, there), 0);
  for (int64_t i = 0; i < AREA / PAGE; i++) {
    const int64_t row = (i - FIRST) / step;
    const bool used = i >= FIRST && row < TALL && (i - FIRST) % step == 0;
    if ((there[i] & 1) != used) fail_msg("page %lld, %lld apart", (long long)i, (long long)step);
    for (int64_t j = 0; used && j < WIDE; j++)
      assert_true(*(double *)dm_view_at(view, row, j) == element_of(row, j, 0));
  }
  munmap(area, AREA);
}

/* Pages are made before they are read to, and only those. */
TEST(test_pages) {
  static const file_form forms[] = {
      {.name = "plain"}, {.name = "chunks", .chunk_rows = 90, .chunk_cols = 200, .filters = true}};
  if (sysconf(_SC_PAGESIZE) != PAGE) skip(); /* rows would be large */
  for (int i = 0; i < 2; i++) {
    dm_location location = at(*state, forms[i].name);
    write_file(location.file, DM_F64, TALL, WIDE, &forms[i]);
    const dm_dataset d = inspected(&location);
    for (int threads = 0; threads < 4; threads++)
      for (int64_t step = 1; step <= 2; step++) read_to_pages(&d, threads, step);
  }
}

typedef struct several {
  const dm_dataset *dataset;
  void *data;
  atomic_int wrong;
} several;

static void read_repeatedly(void *context) {
  several *s = context;
  const size_t bytes = ROWS * COLS * sizeof(double);
  void *got = malloc(bytes);
  for (int i = 0; i < 20; i++) {
    const dm_view view = dm_view_row_major(memset(got, 0xff, bytes), DM_F64, ROWS, COLS);
    dm_reader *reader = NULL;
    dm_status status = dm_reader_open(s->dataset, DM_DTYPE_NONE, &reader);
    if (!status) status = dm_reader_read(reader, 0, 0, &view, 1, false);
    dm_reader_close(reader);
    if (status || memcmp(got, s->data, bytes) != 0) atomic_fetch_add(&s->wrong, 1);
    dm_status_free(status);
  }
  free(got);
}

/* Ranks that are threads of one process have readers of their own, all with the same HDF5. */
TEST(test_several_readers) {
  const file_form form = {.chunk_rows = 10, .chunk_cols = 25, .filters = true};
  dm_location location = at(*state, "several.h5");
  write_file(location.file, DM_F64, ROWS, COLS, &form);
  const dm_dataset d = inspected(&location);
  several s = {.dataset = &d, .data = elements(DM_F64, ROWS, COLS)};
  (void)dm_fork_join(4, read_repeatedly, &s);
  assert_int_equal(s.wrong, 0);
  free(s.data);
}

RUN_ALL_IN_FOLDER(test_io_ahead)
