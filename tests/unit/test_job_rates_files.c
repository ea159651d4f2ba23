/* Rates of files: where they apply, and how they are updated. */
#include "checks.h"
#include "measure/rates_measure.h"

static const dm_rates_facts here = {
    .backend = "cpu", .device = "Some CPU", .library = "BLAS 1", .ranks = 4, .threads = 2};

static const dm_log silent = {.level = DM_LOG_ERROR};

/* Measured in the test's current folder. */
static dm_rates example(void) {
  dm_rates r = {
      .flops[DM_F64] = 6e10, .file_read = 9e9, .file_cold = 2e9, .file_write = 1e9, .host = "n"};
  assert_true(dm_io_mount(".", &r.files));
  return r;
}

TEST(mounts_are_told_apart) {
  char kind[DM_FILE_SYSTEM];
  dm_mount folder, file, other;
  assert_true(dm_io_mount(".", &folder));
  assert_true(folder.point[0] == '/' && folder.source[0]);
  dm_io_file_system(".", kind);
  if (kind[0] != '0') assert_string_equal(kind, folder.kind);
  assert_true(dm_io_mount("no-such-file.h5", &file) && dm_io_same_mount(&folder, &file));
  assert_true(dm_io_mount("/proc/self/no-such-file", &other));
  assert_string_equal(other.kind, "proc");
  assert_string_equal(other.point, "/proc");
  assert_false(dm_io_same_mount(&folder, &other));
  assert_true(dm_io_mount("/no-such-file", &other));
  assert_string_equal(other.point, "/");
  assert_false(dm_io_mount("no-such-folder/file", &other));
  assert_false(dm_io_same_mount(&other, &other)); /* unknown mounts match none */
}

static dm_rates_fit fit_of(const char *a, const char *b, const char *c) {
  const dm_rates r = example();
  const dm_named_files files = {.reads = {a, b, NULL}, .writes = c};
  return dm_rates_fit_files(&silent, &r, &files);
}

TEST(rates_hold_where_they_were_measured) {
  dm_rates_fit fit = fit_of("A.h5", "./B.h5", "C.h5");
  assert_true(fit.reads && fit.writes);
  fit = fit_of("A.h5", "/proc/B.h5", "C.h5");
  assert_true(!fit.reads && fit.writes);
  fit = fit_of("A.h5", "B.h5", "/proc/C.h5");
  assert_true(fit.reads && !fit.writes);
  fit = fit_of("/proc/A.h5", "B.h5", NULL);
  assert_true(!fit.reads && !fit.writes);
  fit = fit_of(NULL, NULL, NULL); /* unnamed files */
  assert_true(fit.reads && fit.writes);
  const dm_rates none = {.link = 1};
  const dm_named_files files = {.writes = NULL};
  fit = dm_rates_fit_files(&silent, &none, &files);
  assert_true(!fit.reads && !fit.writes);
}

TEST(measured_rates_are_used) {
  dm_rates r = example();
  dm_machine stated, machine;
  dm_machine_stated(NULL, 1, &stated);
  machine = stated;
  dm_rates_apply_files(&r, (dm_rates_fit){true, true}, false, &machine);
  assert_true(machine.file_read == 2e9 && machine.file_write == 1e9);
  assert_true(machine.reads_measured && machine.writes_measured);
  dm_rates_apply_files(&r, (dm_rates_fit){true, true}, true, &machine);
  assert_true(machine.file_read == 2e9 && machine.read_now == 9e9);
  machine = stated;
  r.file_cold = 0; /* only the rate of memory */
  dm_rates_apply_files(&r, (dm_rates_fit){true, true}, false, &machine);
  assert_true(machine.file_read == 9e9);
  machine = stated;
  dm_rates_apply_files(&r, (dm_rates_fit){false, false}, true, &machine);
  assert_true(machine.file_read == stated.file_read && machine.file_write == stated.file_write);
}

/* Files in memory are recognised, and assumed to be read as fast as cores copy. */
TEST(files_in_memory_are_seen) {
  static const char *const path = "/dev/shm/damier-seen";
  if (access("/dev/shm", W_OK) != 0) skip(); /* no file system in memory */
  write_text(path, "here");
  const dm_seen_files seen =
      dm_rates_look(&(dm_named_files){.reads = {path, path, NULL}, .writes = "/dev/shm/new"});
  assert_int_equal(remove(path), 0);
  assert_true(seen.cached && seen.in_memory && seen.fit);
  const dm_seen_files unseen =
      dm_rates_look(&(dm_named_files){.reads = {"/no/such", NULL, NULL}, .writes = "/proc/x"});
  assert_true(!unseen.cached && !unseen.in_memory && !unseen.fit);
  dm_machine machine, stated;
  dm_machine_stated(NULL, 4, &stated);
  machine = stated;
  dm_rates_state_seen(unseen, 4, 1, &machine);
  assert_true(machine.file_read == stated.file_read && machine.file_write == stated.file_write);
  dm_rates_state_seen(seen, 4, 1, &machine);
  assert_true(machine.file_read == 12e9 && machine.file_write == 6e9);
  assert_true(machine.read_now == 12e9 && machine.write_now == 6e9 && machine.inputs_cached);
  machine = stated;
  dm_rates_state_seen((dm_seen_files){.fit = true}, 4, 1, &machine); /* on a disk: the same plan */
  assert_true(machine.file_read == 12e9 && machine.file_write == 6e9 && !machine.inputs_cached);
  assert_true(machine.read_now == stated.file_read && machine.write_now == stated.file_write);
  dm_rates_state_seen(seen, 1000, 2, &machine);
  assert_true(machine.file_read == 90e9 && machine.file_write == 50e9);
}

/* Only the forecast considers the speed of cores, and that ranks share them. */
TEST(products_are_forecast_by_the_cores) {
  dm_machine machine, stated;
  dm_machine_stated(NULL, 4, &stated);
  machine = stated;
  dm_rates_state_cores(4, 4, 1, &machine);
  const double alone = machine.speed_now;
  assert_true(alone >= 1 && machine.flops[DM_F64] == stated.flops[DM_F64]);
  dm_rates_state_cores(4, 8, 1, &machine);
  assert_true(machine.speed_now == alone / 2);
  dm_rates_state_cores(64, 64, 1, &machine);
  assert_true(machine.speed_now <= alone);
  const dm_rates measured = {.flops[DM_F64] = 1e11};
  dm_rates_apply(&measured, NULL, &machine);
  assert_true(machine.speed_now == 1);
}

TEST(they_are_kept_and_renewed) {
  const dm_rates old = example();
  dm_rates next = {.flops[DM_F64] = 9e10}; /* without files */
  dm_rates renewed = dm_rates_renewed(&old, &next);
  assert_true(renewed.flops[DM_F64] == 9e10 && renewed.file_read == 9e9 &&
              renewed.file_cold == 2e9);
  assert_true(dm_io_same_mount(&renewed.files, &old.files));
  next = old;
  next.file_read = 9.5e9;
  next.file_cold = 3e9;
  renewed = dm_rates_renewed(&old, &next);
  assert_true(renewed.file_read == 9e9 && renewed.file_cold == 3e9);
  assert_true(dm_io_mount("/proc", &next.files)); /* near rates in another place are no noise */
  renewed = dm_rates_renewed(&old, &next);
  assert_true(renewed.file_read == 9.5e9);
  assert_string_equal(renewed.files.kind, "proc");
}

/* Refused if they do not name their file system, or if that was changed. */
TEST(they_come_back) {
  const dm_rates before = example();
  dm_rates after, lost = before;
  char *text, names[2][24];
  ok(dm_rates_format(&before, &here, &text));
  ok(dm_rates_parse(text, strlen(text), &here, &after));
  assert_true(after.file_read == 9e9 && dm_io_same_mount(&before.files, &after.files));
  char *point = strstr(text, "\"mount\": \"/");
  assert_non_null(point);
  point[strlen("\"mount\": \"")] = '.';
  fails(dm_rates_parse(text, strlen(text), &here, &after), DM_E_INPUT, "checksum");
  free(text);
  memset(&lost.files, 0, sizeof lost.files);
  dm_rates_name(&before, names[0]);
  dm_rates_name(&lost, names[1]);
  assert_string_not_equal(names[0], names[1]);
  ok(dm_rates_format(&lost, &here, &text));
  fails(dm_rates_parse(text, strlen(text), &here, &after), DM_E_INPUT,
        "does not name the file system");
  free(text);
}

RUN_ALL(test_job_rates_files)
