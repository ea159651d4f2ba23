/* Writing with threads: finished writes are in the file; errors are reported. */
#include <fcntl.h>
#include <stdatomic.h>

#include "file_cases.h"
#include "io/file_queue.h"

enum { ROWS = 1500, COLS = 1300, LEFT = 700 };

static const dm_prepare none;

/* A new file of ROWS x COLS elements, and threads that write it. */
typedef struct place {
  dm_output_file file;
  dm_output *output;
  dm_file_queue *behind;
} place;

static place begin(const char *folder, int threads) {
  place p;
  dm_location location = at(folder, "behind.h5:/c");
  unlink(location.file);
  ok(create_output(&location, DM_F64, ROWS, COLS, &p.file));
  ok(dm_output_open(&p.file, &p.output));
  ok(dm_file_queue_open(threads, 0, &p.behind));
  return p;
}

static void end(place *p) {
  dm_file_queue_close(p->behind);
  ok(dm_output_close(p->output));
  give_up(&p->file);
}

static void expect_in_file(const place *p, const double *data) {
  const size_t size = ROWS * COLS * sizeof *data;
  double *got = malloc(size);
  int fd = open(p->file.part, O_RDONLY);
  assert_true(pread(fd, got, size, p->file.offset) == (ssize_t)size);
  close(fd);
  assert_memory_equal(got, data, size);
  free(got);
}

TEST(test_writing) {
  for (int threads = 0; threads < 4; threads++) {
    dm_transfer *writing[2];
    place p = begin(*state, threads);
    double *data = elements(DM_F64, ROWS, COLS);
    const dm_view whole = dm_view_row_major(data, DM_F64, ROWS, COLS);
    const dm_view left = dm_view_sub(whole, 0, 0, ROWS, LEFT);
    const dm_view right = dm_view_sub(whole, 0, LEFT, ROWS, COLS - LEFT);
    ok(dm_file_queue_write(p.behind, p.output, 0, 0, left, none, &writing[0]));
    ok(dm_file_queue_write(p.behind, p.output, 0, LEFT, right, none, &writing[1]));
    ok(dm_transfer_wait(writing[1], NULL));
    ok(dm_transfer_wait(writing[0], NULL));
    assert_int_equal(dm_file_queue_moved(p.behind), ROWS * COLS * sizeof *data);
    expect_in_file(&p, data);
    end(&p);
    free(data);
  }
}

/* Doubles rows, and records which rows it saw. */
typedef struct doubling {
  double *data;
  atomic_int seen[ROWS];
} doubling;

static dm_status twice(void *context, int64_t first, int64_t count) {
  doubling *d = context;
  if (first + count > ROWS) return dm_fail(DM_E_BUG, "rows beyond the view");
  for (int64_t i = first; i < first + count; i++) atomic_fetch_add(&d->seen[i], 1);
  for (int64_t i = first * COLS; i < (first + count) * COLS; i++) d->data[i] *= 2;
  return DM_OK;
}

static dm_status refuse(void *context, int64_t first, int64_t count) {
  (void)context, (void)count;
  return first == 0 ? dm_fail(DM_E_INPUT, "the first row is refused") : DM_OK;
}

/* Threads prepare each row once, before writing it; the owner gets their errors. */
TEST(test_preparing) {
  for (int threads = 0; threads < 4; threads++) {
    dm_transfer *writing;
    place p = begin(*state, threads);
    doubling d = {.data = elements(DM_F64, ROWS, COLS)};
    const dm_view view = dm_view_row_major(d.data, DM_F64, ROWS, COLS);
    ok(dm_file_queue_write(p.behind, p.output, 0, 0, view, (dm_prepare){twice, &d}, &writing));
    ok(dm_transfer_wait(writing, NULL));
    for (int i = 0; i < ROWS; i++) assert_int_equal(d.seen[i], 1);
    expect_in_file(&p, d.data); /* prepared */
    ok(dm_file_queue_write(p.behind, p.output, 0, 0, view, (dm_prepare){refuse, NULL}, &writing));
    fails(dm_transfer_wait(writing, NULL), DM_E_INPUT, "the first row is refused");
    end(&p);
    free(d.data);
  }
}

TEST(test_no_space) {
  for (int threads = 0; threads < 3; threads++) {
    dm_transfer *writing;
    place p = begin(*state, threads);
    double *data = elements(DM_F64, ROWS, COLS);
    const dm_view view = dm_view_row_major(data, DM_F64, ROWS, COLS);
    limit_files(4 << 20);
    ok(dm_file_queue_write(p.behind, p.output, 0, 0, view, none, &writing));
    dm_status status = dm_transfer_wait(writing, NULL);
    limit_files(-1);
    fails(status, DM_E_IO, "behind.h5.part: writing at byte ");
    end(&p);
    free(data);
  }
}

RUN_ALL_IN_FOLDER(test_io_behind)
