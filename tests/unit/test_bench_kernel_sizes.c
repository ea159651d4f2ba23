/* Sizes for `bench kernels`, as a list or in a file. */
#include "bench/kernel_choice.h"
#include "checks.h"

typedef struct expected {
  const char *text;
  int64_t count;
  int64_t first[3], last[3];
} expected;

TEST(sizes) {
  static const expected cases[] = {
      {"4096", 1, {4096, 4096, 4096}, {4096, 4096, 4096}},
      {"4Ki", 1, {4096, 4096, 4096}, {4096, 4096, 4096}},
      {"1,2,3", 1, {1, 2, 3}, {1, 2, 3}},
      {"128:4096:x2", 6, {128, 128, 128}, {4096, 4096, 4096}},
      {"100:1000:x3", 3, {100, 100, 100}, {900, 900, 900}},
      {"512:2048:512", 4, {512, 512, 512}, {2048, 2048, 2048}},
      {"7:7:x2", 1, {7, 7, 7}, {7, 7, 7}},
      {"8191;8193,8190,8195;1:4:x2", 5, {8191, 8191, 8191}, {4, 4, 4}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    dm_kernel_sizes s;
    ok(dm_kernel_sizes_parse(cases[i].text, &s));
    assert_int_equal(s.count, cases[i].count);
    const dm_kernel_size *a = &s.list[0], *z = &s.list[s.count - 1];
    assert_true(a->m == cases[i].first[0] && a->n == cases[i].first[1] &&
                a->k == cases[i].first[2]);
    assert_true(z->m == cases[i].last[0] && z->n == cases[i].last[1] && z->k == cases[i].last[2]);
  }
}

TEST(bad_sizes) {
  static const char *const refused[] = {
      "",        "0",     "-1",      "x",         "1,2",
      "1,2,3,4", "1,,3",  "1;;2",    "1;",        "1:2",
      "1:2:3:4", "2:1:1", "1:4:x1",  "1:4:x0",    "1:4:0",
      "1:4:",    "1:4:x", ":4:1",    "1:4:2x",    "1, 2,3",
      "1.5",     "nan",   "1:2,3,4", "99999999T", "4000000000,4000000000,1",
  };
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    dm_kernel_sizes s;
    dm_status status = dm_kernel_sizes_parse(refused[i], &s);
    if (!status) fail_msg("\"%s\" is taken for %lld sizes", refused[i], (long long)s.count);
    dm_status_free(status);
  }
  dm_kernel_sizes s;
  fails(dm_kernel_sizes_parse("1:10000:1", &s), DM_E_USAGE, "more than 256 sizes");
  fails(dm_kernel_sizes_parse("9:1:x2", &s), DM_E_USAGE, "for example 128:4096:x2");
}

TEST(files) {
  char path[512];
  path_in(path, *state, "sizes.csv");
  dm_kernel_sizes s;
  write_text(path, "m,n,k\n# a comment\n1,2,3\n\n 4Ki , 5, 6\r\n");
  ok(dm_kernel_sizes_parse(path, &s));
  assert_int_equal(s.count, 2);
  assert_true(s.list[0].k == 3 && s.list[1].m == 4096 && s.list[1].k == 6);
  write_text(path, "1,2,3\n4,5\n");
  fails(dm_kernel_sizes_parse(path, &s), DM_E_INPUT, "line 2: '4,5' is not M,N,K");
  write_text(path, "1,2,3\nm,n,k\n");
  fails(dm_kernel_sizes_parse(path, &s), DM_E_INPUT, "line 2");
  write_text(path, "# nothing\n");
  fails(dm_kernel_sizes_parse(path, &s), DM_E_INPUT, "holds no sizes");
  unlink(path);
  fails(dm_kernel_sizes_parse(path, &s), DM_E_IO, "cannot be read");
}

RUN_ALL_IN_FOLDER(test_bench_kernel_sizes)
