/* The file of tile sizes: it comes back as it was written, and nothing else is believed. */
#include "tunings_example.h"

static void comes_back(void **state) {
  (void)state;
  const dm_tunings tunings = example();
  dm_tunings back;
  char *text;
  ok(dm_tunings_format(&tunings, &h200, &text));
  ok(dm_tunings_parse(text, strlen(text), &h200, &back));
  for (int t = 0; t < DM_TILING_TYPES; t++)
    for (int i = 0; i < DM_TILING_CLASSES; i++) {
      const dm_tuned *x = &tunings.of[t][i], *y = &back.of[t][i];
      assert_int_equal(x->measured, y->measured);
      if (!x->measured) continue;
      assert_true(dm_tiling_equal(&x->tiling, &y->tiling));
      assert_int_equal(x->size, y->size);
      assert_true(fabs(x->flops - y->flops) <= 1e-5 * x->flops);
    }
  free(text);
}

/* What was not measured is built in. */
static void tilings_are_whole(void **state) {
  (void)state;
  const dm_tunings none = {0}, some = example();
  const dm_tilings built_in = dm_tilings_built_in(), tuned = dm_tunings_tilings(&some);
  const dm_tilings empty = dm_tunings_tilings(&none);
  assert_memory_equal(&empty, &built_in, sizeof empty);
  assert_true(dm_tiling_equal(&tuned.of[0][DM_TILES_LARGE], &other));
  assert_true(dm_tiling_equal(&tuned.of[0][DM_TILES_MEDIUM], &built_in.of[0][DM_TILES_MEDIUM]));
}

static void hash_sees_every_number(void **state) {
  (void)state;
  const dm_tilings built_in = dm_tilings_built_in();
  const uint64_t f32 = dm_tilings_hash(&built_in, DM_F32), f64 = dm_tilings_hash(&built_in, DM_F64);
  assert_true(f32 != f64);
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
    for (size_t f = 0; f < sizeof(dm_tiling) / sizeof(int); f++) {
      dm_tilings changed = built_in;
      ((int *)(void *)&changed.of[0][kind])[f]++;
      assert_true(dm_tilings_hash(&changed, DM_F32) != f32);
      assert_true(dm_tilings_hash(&changed, DM_F64) == f64); /* only what products of it use */
    }
  char name[32];
  dm_tilings_name(&built_in, DM_F32, name);
  assert_int_equal(strlen(name), strlen("jit:") + 16);
}

/* FROM in the example's text replaced by TO. */
static void refused(const char *from, const char *to, const char *words) {
  const dm_tunings tunings = example();
  dm_tunings back;
  char *text, changed[8192];
  ok(dm_tunings_format(&tunings, &h200, &text));
  const char *at = strstr(text, from);
  if (!at) fail_msg("the text has no %s:\n%s", from, text);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fails(dm_tunings_parse(changed, strlen(changed), &h200, &back), DM_E_INPUT, words);
  const dm_tunings none = {0};
  assert_memory_equal(&back, &none, sizeof none); /* nothing of it is used */
  free(text);
}

static void other_machines_are_refused(void **state) {
  (void)state;
  refused("NVIDIA H200", "NVIDIA A100", "another GPU");
  refused("\"capability\": 90", "\"capability\": 80", "capability 80");
  refused("\"processors\": 132", "\"processors\": 114", "processors 114");
  refused("\"driver\": 13000", "\"driver\": 12080", "driver 12080");
  refused("\"nvrtc\": 13000", "\"nvrtc\": 13010", "nvrtc 13010");
  refused("\"nvrtc\": 13000", "\"nvrtc\": \"x\"", "nvrtc");
  refused("\"facts\"", "\"fakts\"", "measured on");
}

static void broken_files_are_refused(void **state) {
  (void)state;
  refused("damier-tilings/1", "damier-tilings/2", "form");
  refused("{", "[", "JSON");
  refused("\"bm\": 128", "\"bm\": 129", "cannot be used");
  refused("\"bm\": 128", "\"bm\": -128", "out of range");
  refused("\"bm\": 128", "\"bm\": 1e2", "out of range");
  refused("\"bm\": 128", "\"bm\": 99999999999999999999999", "JSON");
  refused("\"bm\": 128", "\"bm\": 4611686018427387904", "out of range");
  refused("\"bm\": 128", "\"bm\": 128, \"bm\": 64", "JSON");
  refused("\"bm\": 128", "\"bm\": 256", "cannot be used");
  refused("\"stages\": 4", "\"stages\": 4095", "cannot be used");
  refused("\"group\": 4", "\"group\": 5", "those that it was written with");
  refused("\"group\": 4", "\"grup\": 4", "group");
  refused("\"by_rows\": 0", "\"by_rows\": 2", "cannot be used");
  refused("\"class\": \"large\"", "\"class\": \"huge\"", "class");
  refused("\"type\": \"f32\"", "\"type\": \"f16\"", "type");
  refused("\"size\": 8192", "\"size\": 0", "rates");
  refused("\"flops\":", "\"flops\": -1, \"more\":", "rates");
  refused("\"tilings\": [", "\"tilings\": [7,", "type");
  refused("\"tilings\"", "\"tilinks\"", "list");
  refused("\"names\"", "\"nomes\"", "those that it was written with");
}

/* Cut off anywhere, or with any one byte changed, it is refused or says the same. */
static void damage_is_survived(void **state) {
  (void)state;
  const dm_tunings tunings = example();
  const dm_tilings whole = dm_tunings_tilings(&tunings);
  dm_tunings back;
  char *text;
  ok(dm_tunings_format(&tunings, &h200, &text));
  const size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    dm_status status = dm_tunings_parse(text, i, &h200, &back);
    if (!status) fail_msg("the first %zu of %zu bytes were taken", i, length);
    dm_status_free(status);
    for (int bit = 0; bit < 8; bit++) {
      text[i] ^= (char)(1 << bit);
      status = dm_tunings_parse(text, length, &h200, &back);
      const dm_tilings read = dm_tunings_tilings(&back);
      if (!status) assert_memory_equal(&read, &whole, sizeof whole);
      dm_status_free(status);
      text[i] ^= (char)(1 << bit);
    }
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comes_back),
      cmocka_unit_test(tilings_are_whole),
      cmocka_unit_test(hash_sees_every_number),
      cmocka_unit_test(other_machines_are_refused),
      cmocka_unit_test(broken_files_are_refused),
      cmocka_unit_test(damage_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
