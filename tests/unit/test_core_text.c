/* Numbers with units, closest names, statuses: text that people read and type. */
#include "checks.h"

#include "core/dtype.h"
#include "core/log.h"
#include "core/status.h"
#include "core/suggest.h"
#include "core/units.h"

TEST(counts) {
  static const struct {
    const char *text;
    int64_t value; /* -1: refused */
  } cases[] = {
      {"0", 0},
      {"7", 7},
      {"4k", 4000},
      {"4Ki", 4096},
      {"1.5G", 1500000000},
      {"8GiB", 8LL << 30},
      {"2TB", 2000000000000},
      {"12B", 12},
      {"3KiB", 3072},
      {"1M", 1000000},
      {"2T", 2000000000000},
      {"9223372036854775807", INT64_MAX},
      {"0.5Ki", 512},
      {"2g", 2000000000},
      {"1gib", 1 << 30},
      {"", -1},
      {"-1", -1},
      {"+1", -1},
      {" 1", -1},
      {"1 ", -1},
      {"k", -1},
      {"1.5", -1},
      {"1kk", -1},
      {"1q", -1},
      {"1iB", -1},
      {"1Gi B", -1},
      {"0.3", -1},
      {"nan", -1},
      {"inf", -1},
      {"1e400", -1},
      {"9223372036854775808", -1},
      {"99999999T", -1},
      {"16777216Ti", -1},
      {"0x10", -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int64_t value = -77;
    bool parsed = dm_parse_count(cases[i].text, &value);
    if (parsed != (cases[i].value >= 0) || value != (parsed ? cases[i].value : -77))
      fail_msg("\"%s\" is %d %lld", cases[i].text, parsed, (long long)value);
  }
}

TEST(durations) {
  static const struct {
    const char *text;
    double seconds; /* -1: refused */
  } cases[] = {
      {"0", 0},
      {"90s", 90},
      {"30m", 1800},
      {"1h30m", 5400},
      {"1d", 86400},
      {"1.5h", 5400},
      {"2d3h4m5s", 183845},
      {"10:00", 600},
      {"1:00:00", 3600},
      {"0.5s", 0.5},
      {"2-03:04:05", 183845},
      {"", -1},
      {"90", -1},
      {"s", -1},
      {"1m1h", -1},
      {"1s2s", -1},
      {"-1s", -1},
      {"1 s", -1},
      {"1:2:3:4", -1},
      {"1:-2", -1},
      {"0x1s", -1},
      {":30", -1},
      {"1-2", -1},
      {"1ms", -1},
      {"1h:30", -1},
      {"1e400s", -1},
      {"1--2:03:04", -1},
      {"1:+2", -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double seconds = -1;
    bool parsed = dm_parse_duration(cases[i].text, &seconds);
    if (parsed != (cases[i].seconds >= 0) || seconds != cases[i].seconds)
      fail_msg("\"%s\" is %d %g", cases[i].text, parsed, seconds);
  }
}

TEST(reals) {
  double value;
  assert_true(dm_parse_real("-1.25e-3", &value) && value == -1.25e-3);
  static const char *const refused[] = {"", "x", "1x", "1 ", "inf", "nan", "1e999", "1,2", "--1"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    if (dm_parse_real(refused[i], &value)) fail_msg("\"%s\" is no number", refused[i]);
}

TEST(formats) {
  char text[32];
  assert_string_equal(dm_format_bytes(0, text), "0 B");
  assert_string_equal(dm_format_bytes(1023, text), "1023 B");
  assert_string_equal(dm_format_bytes(1536, text), "1.50 KiB");
  assert_string_equal(dm_format_bytes(INT64_MAX, text), "8192 PiB");
  assert_string_equal(dm_format_seconds(0.0, text), "0.00 s");
  assert_string_equal(dm_format_seconds(1.237, text), "1.24 s");
  assert_string_equal(dm_format_seconds(0.83, text), "830 ms");
  assert_string_equal(dm_format_seconds(599, text), "599 s");
  assert_string_equal(dm_format_seconds(1284, text), "21.4 min");
  assert_string_equal(dm_format_seconds(31651, text), "8.8 h");
  assert_string_equal(dm_format_seconds(500000, text), "5.8 d");
  assert_string_equal(dm_format_rate(9.81e9, text), "9.81 GB/s");
  assert_string_equal(dm_format_flops(64.7e12, text), "64.7 TFLOP/s");
}

TEST(closest_names) {
  static const char *const names[] = {"multiply", "plan", "generate", "verify", "info", "bench"};
  assert_int_equal(dm_closest("mutliply", names, 6), 0);
  assert_int_equal(dm_closest("verfy", names, 6), 3);
  assert_int_equal(dm_closest("plan", names, 6), 1);
  assert_int_equal(dm_closest("mult", names, 6), 0); /* an abbreviation */
  assert_int_equal(dm_closest("", names, 6), -1);
  assert_int_equal(dm_closest("xyzzyxyz", names, 6), -1);
  assert_int_equal(dm_closest("bench", names, 0), -1);
  assert_int_equal(dm_closest("gird", (const char *const[]){"grm", "grid"}, 2), 1);
  assert_int_equal(dm_edit_distance("gird", "grid"), 1); /* two changed places */
  assert_int_equal(dm_edit_distance("gird", "grm"), 2);
  assert_int_equal(dm_edit_distance("", "ab"), 2);
  assert_int_equal(dm_edit_distance("abcd", "badc"), 2);
  char endless[5000];
  memset(endless, 'a', sizeof endless - 1);
  endless[sizeof endless - 1] = '\0';
  dm_closest(endless, names, 6); /* must terminate */
}

TEST(statuses) {
  dm_status status = dm_fail(DM_E_IO, "cannot read %s", "x%s%n");
  assert_string_equal(status->message, "cannot read x%s%n");
  assert_non_null(strstr(status->place, "test_core_text.c"));
  status = dm_hint(dm_context(status, "file %d", 3), "look at %s", "it");
  assert_string_equal(status->message, "file 3: cannot read x%s%n");
  assert_string_equal(status->hint, "look at it");
  assert_int_equal(status->rank, -1);
  dm_status copy = dm_status_copy(status);
  assert_memory_equal(copy, status, sizeof *copy);
  assert_ptr_equal(dm_status_first(status, copy), status);
  assert_ptr_equal(dm_status_first(DM_OK, status), status);
  dm_status_free(status);
  dm_status_free(DM_OK);
  assert_null(dm_hint(DM_OK, "nothing"));
}

/* Messages of any length stay within bounds, and the prefix is kept. */
TEST(long_messages) {
  char words[2000];
  memset(words, 'w', sizeof words - 1);
  words[sizeof words - 1] = '\0';
  dm_status status = dm_fail(DM_E_BUG, "%s", words);
  for (int i = 0; i < 5; i++) {
    status = dm_context(status, "%s", i % 2 ? words : "short");
    assert_true(strlen(status->message) < sizeof status->message);
  }
  assert_memory_equal(status->message, "short: www", 10);
  status = dm_hint(status, "%s", words);
  assert_int_equal(strlen(status->hint), sizeof status->hint - 1);
  dm_status_free(status);
}

TEST(type_names) {
  for (dm_dtype dtype = 0; dtype < DM_DTYPE_COUNT; dtype++) {
    dm_dtype back = DM_DTYPE_NONE;
    assert_true(dm_dtype_parse(dm_dtype_name(dtype), &back));
    assert_int_equal(back, dtype);
  }
  dm_dtype untouched = DM_I8;
  assert_false(dm_dtype_parse("f65", &untouched) || dm_dtype_parse("", &untouched));
  assert_int_equal(untouched, DM_I8);
  assert_false(dm_dtype_parse("u8", &untouched) || dm_dtype_is_known(DM_DTYPE_NONE));
}

/* Pairs of types and the one that represents all their numbers exactly, and one that does not. */
TEST(numbers_held_exactly) {
  static const dm_dtype held[][3] = {
      {DM_BOOL, DM_BF16, DM_DTYPE_NONE}, {DM_I8, DM_BF16, DM_BOOL}, {DM_U8, DM_F16, DM_I8},
      {DM_I16, DM_F32, DM_F16},          {DM_U16, DM_C64, DM_F16},  {DM_I32, DM_F64, DM_F32},
      {DM_U32, DM_C128, DM_I32},         {DM_I64, DM_I64, DM_F64},  {DM_U64, DM_U64, DM_I64},
      {DM_F16, DM_F32, DM_BF16},         {DM_BF16, DM_F32, DM_F16}, {DM_F32, DM_F64, DM_I64},
      {DM_F32, DM_C64, DM_F16},          {DM_C64, DM_C128, DM_F64}, {DM_C128, DM_C128, DM_C64},
  };
  for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
    assert_true(dm_dtype_holds(held[i][1], held[i][0]));
    if (held[i][2] != DM_DTYPE_NONE) assert_false(dm_dtype_holds(held[i][2], held[i][0]));
  }
}

/* Names in a file could move the cursor, or set the window's title. */
TEST(control_characters_are_shown) {
  char text[64] = "";
  FILE *out = fmemopen(text, sizeof text, "w");
  assert_non_null(out);
  dm_put_text("a\x1b[31m\n\x7f\xc3\xa9\xc2\x9b\xc2\xb5", out);
  fclose(out);
  assert_string_equal(text, "a\\x1b[31m\\x0a\\x7f\xc3\xa9\\x9b\xc2\xb5");
}

RUN_ALL(test_core_text)
