/* Where the file of tile sizes lies, how it is replaced, and what is no such file. */
#include <sys/stat.h>
#include <unistd.h>

#include "run/cache_file.h"
#include "tunings_example.h"

typedef struct place {
  char directory[64], path[DM_PATH];
} place;

static void in_directory(place *p) {
  snprintf(p->directory, sizeof p->directory, "/tmp/damier-tunings-XXXXXX");
  assert_non_null(mkdtemp(p->directory));
  setenv("XDG_CACHE_HOME", p->directory, 1);
  ok(dm_tunings_path("NVIDIA  H200 (x)", p->path));
}

static void remove_all(const place *p) {
  char command[256];
  snprintf(command, sizeof command, "rm -r '%s'", p->directory);
  assert_int_equal(system(command), 0);
}

static void path_follows_the_specification(void **state) {
  (void)state;
  char path[DM_PATH];
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_CACHE_HOME");
  ok(dm_tunings_path("NVIDIA H200", path));
  assert_string_equal(path, "/home/someone/.cache/damier/tilings-nvidia-h200.json");
  setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored */
  ok(dm_tunings_path("NVIDIA H200", path));
  assert_string_equal(path, "/home/someone/.cache/damier/tilings-nvidia-h200.json");
  setenv("XDG_CACHE_HOME", "/c", 1);
  ok(dm_tunings_path("../../etc/passwd", path)); /* a name is no path */
  assert_string_equal(path, "/c/damier/tilings-etc-passwd.json");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  fails(dm_tunings_path("NVIDIA H200", path), DM_E_USAGE, "HOME");
}

static void file_is_replaced_at_once(void **state) {
  (void)state;
  place p;
  bool found = true;
  dm_tunings tunings = example(), back;
  in_directory(&p);
  ok(dm_tunings_read(p.path, &h200, &found, &back)); /* none is no error */
  assert_false(found);
  fails(dm_tunings_write(p.path, false, &tunings, &h200), DM_E_IO, "made");
  ok(dm_tunings_write(p.path, true, &tunings, &h200));
  tunings.of[0][DM_TILES_LARGE].tiling.group = 16;
  ok(dm_tunings_write(p.path, true, &tunings, &h200));
  ok(dm_tunings_read(p.path, &h200, &found, &back));
  assert_true(found);
  assert_int_equal(back.of[0][DM_TILES_LARGE].tiling.group, 16);
  char command[DM_PATH + 64];
  snprintf(command, sizeof command, "test $(ls -A '%s'/damier | wc -l) = 1", p.directory);
  assert_int_equal(system(command), 0); /* no other file is left behind */
  remove_all(&p);
}

static void what_is_no_file_is_refused(void **state) {
  (void)state;
  place p;
  bool found;
  dm_tunings back;
  char part[DM_PATH + 8];
  in_directory(&p);
  snprintf(part, sizeof part, "%s/damier", p.directory);
  assert_int_equal(mkdir(part, 0700), 0);
  assert_int_equal(mkfifo(p.path, 0600), 0);
  fails(dm_tunings_read(p.path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(unlink(p.path), 0);
  assert_int_equal(mkdir(p.path, 0700), 0);
  fails(dm_tunings_read(p.path, &h200, &found, &back), DM_E_INPUT, "not a file");
  assert_int_equal(rmdir(p.path), 0);
  FILE *large = fopen(p.path, "w");
  assert_non_null(large);
  for (int i = 0; i < DM_CACHE_BYTES; i++) fputc('[', large);
  fclose(large);
  fails(dm_tunings_read(p.path, &h200, &found, &back), DM_E_INPUT, "too large");
  assert_false(found);
  remove_all(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(path_follows_the_specification),
                                     cmocka_unit_test(file_is_replaced_at_once),
                                     cmocka_unit_test(what_is_no_file_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
