/* Every type in every form of file is read back correctly, for any rectangle and views. */
#include "file_cases.h"

static bool named;

static const file_form forms[] = {
    {.name = "contiguous"},
    {.name = "swapped", .swapped = true},
    {.name = "user block", .user_block = 1024},
    {.name = "compact", .compact = true},
    {.name = "chunked", .chunk_rows = 5, .chunk_cols = 7},
    {.name = "filters", .chunk_rows = 16, .chunk_cols = 4, .filters = true},
    {.name = "swapped filters", .swapped = true, .chunk_rows = 6, .chunk_cols = 9, .filters = true},
};

enum { FORMS = sizeof forms / sizeof forms[0], VIEWS = 5 };

static int64_t below(int64_t limit) {
  return rand() % limit;
}

/* A view of ROWS x COLS in new memory with gaps, optionally transposed. */
static dm_view some_view(dm_dtype dtype, int64_t rows, int64_t cols, bool transposed) {
  int64_t height = transposed ? cols : rows, stride = (transposed ? rows : cols) + below(3);
  void *memory = calloc((size_t)(height * stride + 1), (size_t)dm_dtype_size(dtype));
  assert_non_null(memory);
  dm_view view = dm_view_strided(memory, dtype, DM_HOST, transposed ? cols : rows,
                                 transposed ? rows : cols, stride);
  return transposed ? dm_view_transpose(view) : view;
}

static void check_view(dm_view view, int64_t row, int64_t col, bool conjugate, bool complex_file) {
  bool wide = dm_dtype_is_complex(view.dtype);
  for (int64_t i = 0; i < view.rows; i++)
    for (int64_t j = 0; j < view.cols; j++) {
      double got[2] = {0, 0};
      dm_load_wide(got, dm_view_at(view, i, j), view.dtype, 1, 1);
      assert_true(got[0] == element_of(row + i, col + j, 0));
      double imaginary = complex_file ? element_of(row + i, col + j, 1) : 0;
      if (wide) assert_true(got[1] == (conjugate ? -imaginary : imaginary));
    }
}

/* Reads a random rectangle into a few views side by side. */
static void read_some(dm_reader *reader, const dm_dataset *d, dm_dtype to, bool transposed) {
  int64_t row = below(d->rows), col = below(d->cols), rows = 1 + below(d->rows - row);
  if (below(3) == 0) col = 0;
  dm_view views[VIEWS];
  int64_t count = 0, end = col;
  bool conjugate = below(2) == 1;
  for (; count < VIEWS && end < d->cols; count++) {
    int64_t cols = count == VIEWS - 1 ? d->cols - end : below(d->cols - end + 1);
    views[count] = some_view(to, rows, cols, transposed && below(2));
    end += cols;
  }
  ok(dm_reader_read(reader, row, col, views, count, conjugate));
  for (int64_t i = 0; i < count; col += views[i++].cols) {
    check_view(views[i], row, col, conjugate, dm_dtype_is_complex(d->dtype));
    free(views[i].base);
  }
}

static void check_file(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                       const file_form *form) {
  write_file(location->file, dtype, rows, cols, form);
  dm_dataset d = inspected(location);
  assert_string_equal(d.at.dataset, "/m");
  assert_true(d.rows == rows && d.cols == cols && d.dtype == dtype);
  assert_true(d.swapped == (form->swapped && dtype != DM_I8));
  assert_true((d.offset >= 0) == (!form->compact && !form->chunk_rows));
  dm_dtype wide = dm_dtype_is_complex(dtype) ? DM_C128 : DM_F64;
  const dm_dtype as[] = {DM_DTYPE_NONE, dtype, dm_dtype_is_complex(dtype) ? DM_C64 : DM_F32};
  for (int i = 0; i < 3; i++) {
    dm_reader *reader;
    ok(dm_reader_open(&d, as[i], &reader));
    for (int round = 0; round < 6; round++)
      read_some(reader, &d, round % 2 ? wide : dtype, round >= 3);
    assert_true(dm_reader_bytes(reader) > 0);
    dm_reader_close(reader);
  }
}

TEST(test_every_form) {
  dm_location location = at(*state, "m.h5");
  for (int form = 0; form < FORMS; form++)
    for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
      check_file(&location, (dm_dtype)dtype, 1 + below(50), 1 + below(50), &forms[form]);
      check_file(&location, (dm_dtype)dtype, 17, 1, &(file_form){.user_block = 512});
    }
}

/* Only data that the page cache holds in the requested form are mapped. */
TEST(test_mapped) {
  dm_location location = at(*state, "p.h5");
  for (int form = 0; form < FORMS; form++)
    for (int as = 0; as < 2; as++) {
      write_file(location.file, DM_F64, 9, 7, &forms[form]);
      const dm_dataset d = inspected(&location);
      dm_reader *reader;
      const dm_read_band *whole;
      int64_t bands;
      ok(dm_reader_open(&d, as ? DM_F32 : DM_F64, &reader));
      const bool may = dm_reader_may_map(reader, DM_F64, 1);
      assert_true(may == (d.offset >= 0 && !d.swapped && !as));
      assert_false(dm_reader_may_map(reader, DM_F32, 1));
      if (may) {
        dm_reader_map(reader, &whole, &bands);
        assert_int_equal(bands, 1);
        check_view(whole->view, 0, 0, false, false);
        dm_reader_note(reader, 9 * 7 * 8);
        assert_int_equal(dm_reader_bytes(reader), 9 * 7 * 8);
      }
      dm_reader_close(reader);
    }
}

/* Elements rounded by AS: 1 + 2^-20 is 1 in f16, but not in f64. */
TEST(test_rounding) {
  dm_location location = at(*state, "r.h5:/x"), part = location;
  double values[2] = {1 + 0x1p-20, 3}, got[2];
  dm_output_file file;
  dm_reader *reader;
  ok(create_output(&part, DM_F64, 1, 2, &file));
  write_data(&file, values);
  ok(dm_output_commit(&file, &(dm_output_completion){.provenance = &(dm_attributes){0}}, NULL,
                      &named));
  dm_output_release(&file);
  dm_dataset d = inspected(&location);
  ok(dm_reader_open(&d, DM_F16, &reader));
  dm_view view = dm_view_row_major(got, DM_F64, 1, 2);
  ok(dm_reader_read(reader, 0, 0, &view, 1, false));
  assert_true(got[0] == 1.0 && got[1] == 3.0);
  fails(dm_reader_read(reader, 0, 1, &view, 1, false), DM_E_BUG, "do not fit");
  fails(dm_reader_read(reader, -1, 0, &view, 1, false), DM_E_BUG, "do not fit");
  dm_reader_close(reader);
  assert_int_equal(truncate(location.file, 100), 0);
  fails(dm_reader_open(&d, DM_F64, &reader), DM_E_IO, "changed since it was inspected");
}

TEST_PROGRAM(test_io_read) {
  srand(7);
  return run_all_in_folder();
}
