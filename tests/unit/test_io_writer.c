/* Every way of writing puts the same bytes into the file, whatever their boundaries, also with
 * threads. */
#include <fcntl.h>

#include "core/checked.h"
#include "dataset/file_system.h"
#include "file_cases.h"
#include "io/batch.h"
#include "io/file_queue.h"

enum { SIZE = 5 << 20, ROWS = 1500, COLS = 1301, LEFT = 513 };

static const dm_write_way ways[] = {DM_WRITE_PWRITE, DM_WRITE_MAPPED};
enum { WAYS = sizeof ways / sizeof ways[0] };

static int make_file(const char *path, dm_write_way way, int64_t bytes) {
  unlink(path);
  const int fd = open(path, dm_file_writer_flags(way) | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0);
  assert_int_equal(posix_fallocate(fd, 0, bytes), 0);
  return fd;
}

static void expect_bytes(const char *path, int64_t offset, const void *data, int64_t bytes) {
  char *got = malloc((size_t)bytes);
  const int fd = open(path, O_RDONLY);
  assert_true(pread(fd, got, (size_t)bytes, offset) == bytes);
  close(fd);
  assert_memory_equal(got, data, (size_t)bytes);
  free(got);
}

/* Pieces with arbitrary boundaries, long and short, from MEMORY of any alignment. */
static void put_pieces(const char *path, dm_write_way way, const char *memory) {
  static const int64_t cuts[] = {0, 1, 4096, 4097, 70001, 140002, 1400007, 3592202, SIZE};
  dm_file_writer writer;
  const int fd = make_file(path, way, SIZE);
  ok(dm_file_writer_open(fd, path, way, &writer));
  for (size_t i = 0; i + 1 < sizeof cuts / sizeof cuts[0]; i++)
    ok(dm_file_writer_bytes(&writer, memory + cuts[i], cuts[i + 1] - cuts[i], cuts[i]));
  assert_int_equal(fdatasync(fd), 0);
  dm_file_writer_close(&writer);
  close(fd);
  expect_bytes(path, 0, memory, SIZE);
}

TEST(test_edges) {
  char path[DM_PATH];
  char *data = malloc(SIZE + 64);
  snprintf(path, sizeof path, "%s/writer", (const char *)*state);
  for (int i = 0; i < SIZE + 64; i++) data[i] = (char)(i * 31 + i / 4096);
  for (int w = 0; w < WAYS; w++)
    for (int shift = 0; shift < 24; shift += 8) put_pieces(path, ways[w], data + shift);
  free(data);
  unlink(path);
}

/* Two ranks with two threads each write the columns left and right of CUT, in two parts. */
static void write_halves(const dm_output_file *file, dm_view all, int64_t cut) {
  dm_output *output[2];
  dm_file_queue *behind[2];
  dm_transfer *writing[4];
  const int64_t top = all.rows * 3 / 7;
  for (int i = 0; i < 2; i++) {
    ok(dm_output_open(file, &output[i]));
    ok(dm_file_queue_open(2, 0, &behind[i]));
  }
  for (int i = 0; i < 4; i++) {
    const int64_t row = i < 2 ? 0 : top, rows = i < 2 ? top : all.rows - top;
    const int64_t col = i % 2 * cut, cols = i % 2 ? all.cols - cut : cut;
    ok(dm_file_queue_write(behind[i % 2], output[i % 2], row, col,
                           dm_view_sub(all, row, col, rows, cols), (dm_prepare){0}, &writing[i]));
  }
  for (int i = 0; i < 4; i++) ok(dm_transfer_wait(writing[i], NULL));
  for (int i = 0; i < 2; i++) {
    dm_file_queue_close(behind[i]);
    ok(dm_output_sync(output[i], NULL));
    ok(dm_output_close(output[i]));
  }
}

TEST(test_rectangles) {
  static const int64_t widths[][2] = {{COLS, COLS}, {COLS, LEFT}, {400000, 150001}};
  const dm_location location = at(*state, "writer.h5:/c");
  for (int w = 0; w < WAYS; w++)
    for (int i = 0; i < 3; i++) {
      const int64_t cols = widths[i][0], rows = cols > COLS ? 4 : ROWS;
      dm_output_file file;
      void *data = elements(DM_F64, ROWS, COLS);
      unlink(location.file);
      ok(create_output(&location, DM_F64, rows, cols, &file));
      ok(dm_output_choose_way(&file, ways[w], 4));
      write_halves(&file, dm_view_row_major(data, DM_F64, rows, cols), widths[i][1]);
      expect_bytes(file.part, file.offset, data, rows * cols * (int64_t)sizeof(double));
      give_up(&file);
      free(data);
    }
}

/* An unsupported way is an error if requested; otherwise pwrite replaces it. */
TEST(test_refused) {
  char path[DM_PATH];
  dm_file_writer writer;
  dm_write_way way;
  snprintf(path, sizeof path, "%s/empty", (const char *)*state);
  const int fd = make_file(path, DM_WRITE_MAPPED, 1);
  assert_int_equal(ftruncate(fd, 0), 0);
  fails(dm_write_way_choose(path, DM_WRITE_MAPPED, 16, &way), DM_E_USAGE, "mapped");
  ok(dm_file_writer_open(fd, path, DM_WRITE_MAPPED, &writer));
  assert_null(writer.pages);
  dm_file_writer_close(&writer);
  close(fd);
  unlink(path);
}

TEST(test_choice) {
  char path[DM_PATH], kind[DM_FILE_SYSTEM];
  dm_write_way few, many;
  snprintf(path, sizeof path, "%s/chosen", (const char *)*state);
  close(make_file(path, DM_WRITE_PWRITE, SIZE));
  ok(dm_write_way_choose(path, DM_WRITE_AUTO, 1, &few));
  ok(dm_write_way_choose(path, DM_WRITE_AUTO, 16, &many));
  dm_file_file_system(path, kind);
  const bool memory = strcmp(kind, "tmpfs") == 0;
  assert_int_equal(few, DM_WRITE_PWRITE);
  assert_int_equal(many, memory ? DM_WRITE_MAPPED : DM_WRITE_PWRITE);
  unlink(path);
}

TEST_PROGRAM(test_io_writer) {
  char folder[64], memory[64] = "/dev/shm/test_io_put.XXXXXX";
  new_folder(folder);
  const bool twice = mkdtemp(memory) != NULL;
  int failed = 0;
  for (int i = 0; i <= twice; i++) {
    char *const place = i ? memory : folder;
    failed += run_all(place);
    remove_folder(place);
  }
  return failed;
}
