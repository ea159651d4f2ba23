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

typedef struct place {
  char directory[64], path[DM_PATH];
} place;

static void in_directory(place *p) {
  snprintf(p->directory, sizeof p->directory, "/tmp/damier-tilings-XXXXXX");
  assert_non_null(mkdtemp(p->directory));
  setenv("XDG_CACHE_HOME", p->directory, 1);
  ok(dm_tilings_path("NVIDIA  H200 (x)", p->path));
}

static void remove_all(const place *p) {
  char command[256];
  snprintf(command, sizeof command, "rm -r '%s'", p->directory);
  assert_int_equal(system(command), 0);
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
  place p;
  bool found = true;
  dm_tilings tilings = example(), back;
  const dm_tilings built_in = dm_tilings_built_in();
  in_directory(&p);
  ok(dm_tilings_read(p.path, &h200, &found, &back)); /* a missing file is no error */
  assert_false(found);
  assert_memory_equal(&back, &built_in, sizeof back);
  fails(dm_tilings_write(p.path, false, &tilings, &h200), DM_E_IO, "create");
  ok(dm_tilings_write(p.path, true, &tilings, &h200));
  tilings.of[0][DM_TILES_LARGE] = dm_tiling_candidates[0][4];
  ok(dm_tilings_write(p.path, true, &tilings, &h200));
  ok(dm_tilings_read(p.path, &h200, &found, &back));
  assert_true(found);
  assert_true(dm_tiling_equal(&back.of[0][DM_TILES_LARGE], &dm_tiling_candidates[0][4]));
  char command[DM_PATH + 64];
  snprintf(command, sizeof command, "test $(ls -A '%s'/damier | wc -l) = 1", p.directory);
  assert_int_equal(system(command), 0); /* no other file is left */
  remove_all(&p);
}

TEST(what_is_no_file_is_refused) {
  place p;
  bool found;
  dm_tilings back;
  char part[DM_PATH + 8];
  in_directory(&p);
  snprintf(part, sizeof part, "%s/damier", p.directory);
  assert_int_equal(mkdir(part, 0700), 0);
  assert_int_equal(mkfifo(p.path, 0600), 0);
  fails(dm_tilings_read(p.path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(mkdir(p.path, 0700), 0);
  fails(dm_tilings_read(p.path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(rmdir(p.path), 0);
  FILE *large = fopen(p.path, "w");
  assert_non_null(large);
  for (int i = 0; i < DM_CACHE_BYTES; i++) fputc('[', large);
  fclose(large);
  fails(dm_tilings_read(p.path, &h200, &found, &back), DM_E_INPUT, "too large");
  assert_false(found);
  remove_all(&p);
}

RUN_ALL(test_job_tilings)
