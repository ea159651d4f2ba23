/* C in chunks: HDF5 reads back the written data, for every type, form and number of threads. */
#include "pack_files.h"

static bool named;

/* Compares the whole dataset, read by HDF5 only. */
static void expect_elements(const dm_location *at, dm_dtype dtype, const void *data) {
  size_t bytes = (size_t)(ROWS * COLS * dm_dtype_size(dtype));
  void *got = malloc(bytes);
  hid_t file = H5Fopen(at->file, H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t set = H5Dopen2(file, at->dataset, H5P_DEFAULT), type = dm_h5_make_type(dtype);
  assert_true(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
  assert_memory_equal(got, data, bytes);
  H5Tclose(type);
  H5Dclose(set);
  H5Fclose(file);
  free(got);
}

TEST(test_every_type) {
  static const dm_output_form forms[] = {
      {.chunk_rows = 16, .chunk_cols = 10},
      {.chunk_rows = 70, .chunk_cols = 93, .deflate = 1},
      {.chunk_rows = 1, .chunk_cols = 93, .deflate = 9, .shuffle = true},
      {.chunk_rows = 69, .chunk_cols = 1, .shuffle = true},
  };
  for (int dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    void *data = elements((dm_dtype)dtype, ROWS, COLS);
    for (int i = 0; i < 8; i++) {
      const dm_output_form *form = &forms[i % 4];
      dm_location location = at(*state, "c.h5:/g/c");
      dm_attributes facts = {0};
      dm_output_file packed, file = contiguous(&location, (dm_dtype)dtype, data);
      ok(dm_pack_room(&file, form));
      ok(dm_pack(&file, form, i / 4 * 3, NULL, NULL, &packed));
      assert_true(exists(file.part) && exists(packed.part));
      ok(dm_attributes_add(&facts, "software", "damier"));
      ok(dm_output_commit(&packed, &(dm_output_completion){.provenance = &facts, .force = true},
                          NULL, &named));
      dm_output_release(&packed);
      give_up(&file);
      dm_dataset d = inspected(&location);
      assert_true(d.dtype == (dm_dtype)dtype && d.layout == DM_CHUNKED && !d.swapped);
      assert_true(d.chunk_rows == form->chunk_rows && d.chunk_cols == form->chunk_cols);
      assert_int_equal(d.filters, (form->shuffle ? DM_FILTER_SHUFFLE : 0) |
                                      (form->deflate ? DM_FILTER_DEFLATE : 0));
      expect_elements(&location, (dm_dtype)dtype, data);
    }
    free(data);
  }
}

/* Chunks that deflate would enlarge are stored uncompressed, and read back. */
TEST(test_noise) {
  const dm_output_form form = {.chunk_rows = 32, .chunk_cols = 32, .deflate = 6, .shuffle = true};
  double data[ROWS * COLS];
  for (size_t i = 0; i < sizeof data; i++) ((unsigned char *)data)[i] = (unsigned char)rand();
  dm_location location = at(*state, "noise.h5:/c");
  dm_attributes facts = {0};
  dm_output_file packed, file = contiguous(&location, DM_F64, data);
  ok(dm_pack(&file, &form, 2, NULL, NULL, &packed));
  ok(dm_output_commit(&packed, &(dm_output_completion){.provenance = &facts, .force = true}, NULL,
                      &named));
  dm_output_release(&packed);
  expect_elements(&location, DM_F64, data);
  expect_data(&location, DM_F64, ROWS, COLS, data);
  give_up(&file);
}

/* HDF5 would need a plug-in to read it. */
TEST(test_zstd) {
#ifdef DAMIER_HAVE_ZSTD
  for (int i = 0; i < 6; i++) {
    const dm_output_form form = {.chunk_rows = 32,
                                 .chunk_cols = i % 2 ? COLS : 20,
                                 .zstd = i < 3 ? 1 : 22,
                                 .shuffle = i % 3 == 0};
    unsigned char *data = elements(DM_F64, ROWS, COLS);
    for (size_t j = 0; j < 8 * ROWS * COLS && i % 3 == 2; j++) data[j] = (unsigned char)rand();
    dm_location location = at(*state, "zstd.h5:/c");
    dm_attributes facts = {0};
    dm_output_file packed, file = contiguous(&location, DM_F64, data);
    ok(dm_pack(&file, &form, i % 2 * 3, NULL, NULL, &packed));
    ok(dm_output_commit(&packed, &(dm_output_completion){.provenance = &facts, .force = true}, NULL,
                        &named));
    dm_output_release(&packed);
    const dm_dataset d = inspected(&location);
    assert_int_equal(d.filters, DM_FILTER_ZSTD | (form.shuffle ? DM_FILTER_SHUFFLE : 0));
    expect_data(&location, DM_F64, ROWS, COLS, data);
    give_up(&file);
    free(data);
  }
#else
  dm_output_form form = {.zstd = 3};
  fails(dm_output_form_complete(&form, DM_F64, 10, 10), DM_E_USAGE, "no zstd");
#endif
}

TEST(test_forms) {
  dm_output_form form = {0};
  ok(dm_output_form_complete(&form, DM_F64, 10, 10));
  assert_false(dm_output_is_chunked(&form));
  form.deflate = 3;
  ok(dm_output_form_complete(&form, DM_F64, 1000, 400));
  assert_true(form.chunk_rows == 256 && form.chunk_cols == 400);
  form = (dm_output_form){.chunk_rows = 1 << 14, .chunk_cols = 1 << 14};
  ok(dm_output_form_complete(&form, DM_F32, 1 << 20, 1 << 20));
  fails(dm_output_form_complete(&form, DM_F64, 1 << 20, 1 << 20), DM_E_USAGE, "1 GiB");
  form = (dm_output_form){.chunk_rows = INT64_MAX, .chunk_cols = INT64_MAX};
  fails(dm_output_form_complete(&form, DM_I8, INT64_MAX, INT64_MAX), DM_E_USAGE, "1 GiB");
}

RUN_ALL_IN_FOLDER(test_io_pack)
