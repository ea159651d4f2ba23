/* The file of tile sizes: its place, reading back what was written, and rejection of anything else.
 */
#include <sys/stat.h>

#include "checks.h"
#include "engine/tilings.h"
#include "run/cache_file.h"

static const dm_jit_facts h200 = {.gpu = "NVIDIA H200",
                                  .capability = 90,
                                  .processors = 132,
                                  .driver = 13000,
                                  .compiler = 13000,
                                  .shared = 232448};

static dm_tilings example(void) {
  dm_tilings tilings = dm_tilings_built_in();
  tilings.of[0][DM_TILES_LARGE] = (dm_tiling){DM_TILING_LARGE_F32};
  tilings.of[1][DM_TILES_TINY] = (dm_tiling){DM_TILING_SMALL_F64};
  return tilings;
}

TEST(comes_back) {
  const dm_tilings tilings = example();
  dm_tilings back;
  char *text;
  ok(dm_tilings_format(&tilings, &h200, &text));
  ok(dm_tilings_parse(text, strlen(text), &h200, &back));
  assert_memory_equal(&tilings, &back, sizeof back);
  free(text);
}

TEST(name_sees_every_number) {
  const dm_tilings built_in = dm_tilings_built_in();
  char f32[32], f64[32], name[32];
  dm_tilings_name(&built_in, DM_F32, f32);
  dm_tilings_name(&built_in, DM_F64, f64);
  assert_int_equal(strlen(f32), strlen("jit:") + 16);
  assert_string_not_equal(f32, f64);
  for (int kind = 0; kind < DM_TILING_CLASSES; kind++)
    for (size_t f = 0; f < sizeof(dm_tiling) / sizeof(int); f++) {
      dm_tilings changed = built_in;
      ((int *)(void *)&changed.of[0][kind])[f]++;
      dm_tilings_name(&changed, DM_F32, name);
      assert_string_not_equal(name, f32);
      dm_tilings_name(&changed, DM_F64, name);
      assert_string_equal(name, f64); /* only for products of f64 */
    }
}

/* Replaces FROM in the example's text by TO; reading must fail with WORDS. */
static void refused(const char *from, const char *to, const char *words) {
  const dm_tilings tilings = example(), built_in = dm_tilings_built_in();
  dm_tilings back;
  char *text, changed[8192];
  ok(dm_tilings_format(&tilings, &h200, &text));
  const char *at = strstr(text, from);
  if (!at) fail_msg("the text has no %s:\n%s", from, text);
  snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fails(dm_tilings_parse(changed, strlen(changed), &h200, &back), DM_E_INPUT, words);
  assert_memory_equal(&back, &built_in, sizeof built_in); /* nothing of the file is used */
  free(text);
}

TEST(other_machines_are_refused) {
  refused("NVIDIA H200", "NVIDIA A100", "measured on 'NVIDIA A100");
  refused("capability 90", "capability 80", "capability 80");
  refused("132 processors", "114 processors", "114 processors");
  refused("driver 13000", "driver 12080", "driver 12080");
  refused("NVRTC 13000", "NVRTC 13010", "NVRTC 13010");
  refused("\"machine\"", "\"mochine\"", "measured on");
}

TEST(broken_files_are_refused) {
  refused("damier-tilings/2", "damier-tilings/1", "form");
  refused("{", "[", "JSON");
  refused("\"large\": \"128x", "\"large\": \"129x", "no tile sizes for f32, large");
  refused("\"large\": \"128x", "\"large\": \"-128x", "no tile sizes for f32, large");
  refused("\"large\": \"128x", "\"large\": \"99999999999999999999999x",
          "no tile sizes for f32, large");
  refused("\"large\": \"128x", "\"large\": \"256x", "no tile sizes for f32, large");
  refused("parts=2 rows=1", "parts=2 rows=0", "do not match their checksum");
  refused("\"large\": \"128x256x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=1",
          "\"large\": \"0x0x0 stages=0 warp=0x0 down=0 blocks=0 group=0 parts=0 rows=0",
          "no tile sizes for f32, large");
  refused("\"large\": \"128x", "\"large\": \"\", \"large\": \"128x", "JSON");
  refused("\"large\": \"128x", "\"large\": 128, \"huge\": \"", "no tile sizes for f32, large");
  refused("group=8", "group=5", "no tile sizes");
  refused("group=8", "grup=8", "no tile sizes");
  refused("\"f32\"", "\"f16\"", "no tile sizes for f32");
  refused("\"name\"", "\"nome\"", "do not match their checksum");
}

/* Truncated anywhere, or with any bit flipped, it is refused or unchanged. */
TEST(damage_is_survived) {
  const dm_tilings tilings = example();
  dm_tilings back;
  char *text;
  ok(dm_tilings_format(&tilings, &h200, &text));
  const size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    dm_status status = dm_tilings_parse(text, i, &h200, &back);
    if (!status) fail_msg("the first %zu of %zu bytes were taken", i, length);
    dm_status_free(status);
    for (int bit = 0; bit < 8; bit++) {
      text[i] ^= (char)(1 << bit);
      status = dm_tilings_parse(text, length, &h200, &back);
      if (!status) assert_memory_equal(&back, &tilings, sizeof tilings);
      dm_status_free(status);
      text[i] ^= (char)(1 << bit);
    }
  }
  free(text);
}

/* ---- the file ---- */

/* The path in a new cache folder. */
static void path_of(const char *folder, const char *name, char path[DM_PATH]) {
  char cache[512];
  assert_int_equal(mkdir(path_in(cache, folder, name), 0700), 0);
  setenv("XDG_CACHE_HOME", cache, 1);
  ok(dm_tilings_path("NVIDIA  H200 (x)", path));
}

TEST(path_follows_the_specification) {
  char path[DM_PATH];
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_CACHE_HOME");
  ok(dm_tilings_path("NVIDIA H200", path));
  assert_string_equal(path, "/home/someone/.cache/damier/tilings-nvidia-h200.json");
  setenv("XDG_CACHE_HOME", "relative", 1); /* relative paths are ignored */
  ok(dm_tilings_path("NVIDIA H200", path));
  assert_string_equal(path, "/home/someone/.cache/damier/tilings-nvidia-h200.json");
  setenv("XDG_CACHE_HOME", "/c", 1);
  ok(dm_tilings_path("../../etc/passwd", path)); /* a name is not a path */
  assert_string_equal(path, "/c/damier/tilings-etc-passwd.json");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  fails(dm_tilings_path("NVIDIA H200", path), DM_E_USAGE, "HOME");
}

TEST(file_is_replaced_at_once) {
  char path[DM_PATH];
  bool found = true;
  dm_tilings tilings = example(), back;
  const dm_tilings built_in = dm_tilings_built_in();
  path_of(*state, "replaced", path);
  ok(dm_tilings_read(path, &h200, &found, &back)); /* a missing file is no error */
  assert_false(found);
  assert_memory_equal(&back, &built_in, sizeof back);
  fails(dm_tilings_write(path, false, &tilings, &h200), DM_E_IO, "create");
  ok(dm_tilings_write(path, true, &tilings, &h200));
  tilings.of[0][DM_TILES_LARGE] = dm_tiling_candidates[0][4];
  ok(dm_tilings_write(path, true, &tilings, &h200));
  ok(dm_tilings_read(path, &h200, &found, &back));
  assert_true(found);
  assert_true(dm_tiling_equal(&back.of[0][DM_TILES_LARGE], &dm_tiling_candidates[0][4]));
  char command[DM_PATH + 64];
  snprintf(command, sizeof command, "test $(ls -A '%s/replaced/damier' | wc -l) = 1",
           (const char *)*state);
  assert_int_equal(system(command), 0); /* no other file is left */
}

TEST(what_is_no_file_is_refused) {
  char path[DM_PATH], part[512];
  bool found;
  dm_tilings back;
  path_of(*state, "odd", path);
  assert_int_equal(mkdir(path_in(part, *state, "odd/damier"), 0700), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  fails(dm_tilings_read(path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  fails(dm_tilings_read(path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(rmdir(path), 0);
  static char large[DM_CACHE_BYTES];
  memset(large, '[', sizeof large);
  write_bytes(path, large, sizeof large);
  fails(dm_tilings_read(path, &h200, &found, &back), DM_E_INPUT, "too large");
  assert_false(found);
}

RUN_ALL_IN_FOLDER(test_job_tilings)
