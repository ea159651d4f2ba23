/* Virtual datasets are read from their sources, of all forms, with few open files; their lists of
 * sources, which come from a process that read an untrusted file, are checked. */
#include <string.h>

#include "dataset/composite.h"
#include "file_cases.h"
#include "io/file_queue.h"

enum { ROWS = 45, COLS = 36, DOWN = 5, ACROSS = 4, SOURCES = DOWN * ACROSS, READS = 60, FEW = 45 };

static const file_form forms[] = {
    {.name = "contiguous"},
    {.name = "swapped", .swapped = true},
    {.name = "compact", .compact = true},
    {.name = "chunked", .chunk_rows = 5, .chunk_cols = 7},
    {.name = "filters", .chunk_rows = 16, .chunk_cols = 4, .filters = true},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

static int64_t below(int64_t limit) {
  return rand() % limit;
}

/* Writes v.h5:/v of tiles, ACROSS of them side by side, each from a source with all elements; all
 * of FORM, or, if it is negative, of different forms. */
static dm_location write_tiles(const char *folder, int form, int across) {
  const hsize_t dims[2] = {ROWS, COLS}, tile[2] = {ROWS / DOWN, (hsize_t)(COLS / across)};
  const dm_location location = at(folder, "v.h5:/v");
  const hid_t space = H5Screate_simple(2, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
  for (int i = 0; i < DOWN * across; i++) {
    char name[32], path[DM_PATH + 40];
    const hsize_t start[2] = {(hsize_t)(i / across) * tile[0], (hsize_t)(i % across) * tile[1]};
    snprintf(name, sizeof name, "s%d.h5", i);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    write_file(path, DM_F64, ROWS, COLS, &forms[form < 0 ? i % FORMS : form]);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, tile, NULL);
    assert_true(H5Pset_virtual(list, space, name, "m", space) >= 0);
  }
  H5Sselect_all(space);
  const hid_t file = H5Fcreate(location.file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t set = H5Dcreate2(file, "v", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(set >= 0);
  H5Dclose(set);
  H5Fclose(file);
  H5Pclose(list);
  H5Sclose(space);
  return location;
}

static dm_location write_virtual(const char *folder, int form) {
  return write_tiles(folder, form, ACROSS);
}

/* A rectangle that is being read into two views side by side. */
typedef struct reading {
  dm_view view[2];
  int64_t row, col;
  dm_transfer *transfer;
} reading;

static void choose(reading *r, dm_dtype dtype) {
  r->row = below(ROWS);
  r->col = below(COLS);
  const int64_t rows = 1 + below(ROWS - r->row), cols = 1 + below(COLS - r->col);
  const int64_t left = below(cols + 1);
  for (int i = 0; i < 2; i++) {
    const int64_t width = i ? cols - left : left;
    void *memory = calloc((size_t)(rows * width + 1), (size_t)dm_dtype_size(dtype));
    assert_non_null(memory);
    r->view[i] = below(2) ? dm_view_row_major(memory, dtype, rows, width)
                          : dm_view_transpose(dm_view_row_major(memory, dtype, width, rows));
  }
}

static void check(reading *r) {
  int64_t col = r->col;
  for (int x = 0; x < 2; col += r->view[x++].cols) {
    const dm_view v = r->view[x];
    for (int64_t i = 0; i < v.rows; i++)
      for (int64_t j = 0; j < v.cols; j++) {
        double got[2];
        dm_load_wide(got, dm_view_at(v, i, j), v.dtype, 1, 1);
        assert_true(got[0] == element_of(r->row + i, col + j, 0));
      }
    free(v.base);
  }
}

static void read_by_queue(dm_reader *reader, int threads) {
  reading list[READS];
  dm_file_queue *queue;
  ok(dm_file_queue_open(threads, DM_READ_MEMORY, &queue));
  for (int i = 0; i < READS; i++) {
    choose(&list[i], i % 2 ? DM_F64 : DM_F32);
    ok(dm_file_queue_read(queue, reader, list[i].row, list[i].col, list[i].view, 2, false,
                          &list[i].transfer));
  }
  for (int i = 0; i < READS; i++) {
    ok(dm_transfer_wait(list[(i * 7) % READS].transfer, NULL));
    check(&list[(i * 7) % READS]);
  }
  dm_file_queue_close(queue);
}

TEST(test_sources) {
  struct rlimit limit, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  few = limit;
  few.rlim_cur = FEW;
  for (int form = -1; form < FORMS; form++) {
    const dm_location location = write_virtual(*state, form);
    dm_dataset d = inspected(&location);
    dm_reader *reader;
    assert_true(d.layout == DM_VIRTUAL && d.composite && d.composite->sources == SOURCES);
    assert_true(d.rows == ROWS && d.cols == COLS && d.dtype == DM_F64);
    ok(dm_dataset_unchanged(&d));
    for (int threads = 0; threads < 4; threads += 3) {
      assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
      ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
      read_by_queue(reader, threads);
      for (int i = 0; i < READS; i++) {
        reading one;
        choose(&one, DM_F64);
        ok(dm_reader_read(reader, one.row, one.col, one.view, 2, false));
        check(&one);
      }
      assert_true(dm_reader_bytes(reader) > 0);
      dm_reader_close(reader);
      assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    dm_dataset_free(&d);
  }
}

/* Bands of whole rows are mapped if their sources can be, and are not too narrow. */
TEST(test_mapped_bands) {
  for (int form = -1; form < FORMS; form++)
    for (int across = 1; across <= ACROSS; across += ACROSS - 1) {
      const dm_location location = write_tiles(*state, form, across);
      dm_dataset d = inspected(&location);
      dm_reader *reader;
      const dm_read_band *bands;
      int64_t count;
      ok(dm_reader_open(&d, DM_F64, &reader));
      const bool may = form == 0 && across == 1;
      assert_true(dm_reader_may_map(reader, DM_F64, ROWS / DOWN) == may);
      assert_false(dm_reader_may_map(reader, DM_F64, ROWS / DOWN + 1));
      assert_false(dm_reader_may_map(reader, DM_F32, 1));
      if (may) dm_reader_map(reader, &bands, &count);
      assert_true(!may || count == DOWN);
      for (int64_t i = 0; may && i < DOWN; i++) {
        assert_int_equal(bands[i].row, i * ROWS / DOWN);
        for (int64_t row = 0; row < ROWS / DOWN; row++)
          for (int64_t col = 0; col < COLS; col++)
            assert_true(*(const double *)dm_view_at(bands[i].view, row, col) ==
                        element_of(bands[i].row + row, col, 0));
      }
      dm_reader_close(reader);
      dm_dataset_free(&d);
    }
}

/* A source that is written between inspection and reading is noticed. */
TEST(test_changed_source) {
  for (int form = 0; form < FORMS; form++) {
    const dm_location location = write_virtual(*state, form);
    dm_dataset d = inspected(&location);
    dm_reader *reader;
    char path[DM_PATH + 40];
    double row[COLS];
    dm_view view = dm_view_row_major(row, DM_F64, 1, COLS);
    snprintf(path, sizeof path, "%s/s%d.h5", (const char *)*state, SOURCES - 1);
    write_file(path, DM_F64, ROWS, COLS, &forms[form]);
    fails(dm_dataset_unchanged(&d), DM_E_IO, "changed since it was inspected");
    ok(dm_reader_open(&d, DM_DTYPE_NONE, &reader));
    ok(dm_reader_read(reader, 0, 0, &view, 1, false));
    fails(dm_reader_read(reader, ROWS - 1, 0, &view, 1, false), DM_E_IO,
          "changed since it was inspected");
    dm_reader_close(reader);
    dm_dataset_free(&d);
  }
}

static bool any(const dm_dataset *source) {
  return source->rows > 0;
}

/* No change of a list of sources can make a reader leave its memory: it is refused, or its patches
 * stay inside of the matrix and of the sources. */
TEST(test_bad_lists) {
  const dm_location location = write_virtual(*state, 0);
  dm_dataset d = inspected(&location);
  const int64_t bytes = d.composite->bytes;
  dm_composite *bad = malloc((size_t)bytes);
  assert_non_null(bad);
  assert_true(dm_composite_is_sane(d.composite, bytes, ROWS, COLS, any));
  assert_false(dm_composite_is_sane(d.composite, bytes - 1, ROWS, COLS, any));
  assert_false(dm_composite_is_sane(d.composite, bytes, ROWS - 1, COLS, any));
  int refused = 0;
  for (int i = 0; i < 20000; i++) {
    memcpy(bad, d.composite, (size_t)bytes);
    const int64_t head = (int64_t)sizeof *bad + SOURCES * (int64_t)sizeof(dm_patch);
    const int64_t place = below(i % 3 ? head / 8 : bytes / 8);
    const int64_t wrong[] = {-1, 0, 1, 7, 1 << 20, INT64_MAX, INT64_MIN, bytes};
    ((int64_t *)bad)[place] = wrong[below(8)];
    if (!dm_composite_is_sane(bad, bytes, ROWS, COLS, any)) {
      refused++;
      continue;
    }
    for (int64_t p = 0; p < bad->patches; p++) {
      const dm_patch *patch = &dm_composite_patches(bad)[p];
      dm_dataset source;
      dm_composite_source(bad, patch->source, &source);
      assert_true(patch->row >= 0 && patch->row + patch->rows <= ROWS && patch->col >= 0 &&
                  patch->col + patch->cols <= COLS);
      assert_true(patch->source_row >= 0 && patch->source_row + patch->rows <= source.rows &&
                  patch->source_col >= 0 && patch->source_col + patch->cols <= source.cols);
    }
  }
  assert_true(refused > 5000);
  free(bad);
  dm_dataset_free(&d);
}

TEST_PROGRAM(test_io_virtual) {
  srand(7);
  return run_all_in_folder();
}
