/* checks: cmocka for statuses, and automatic registration of tests. */
#ifndef DM_TESTS_CHECKS_H
#define DM_TESTS_CHECKS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/status.h"
#include "lib/test_program.h"

/* Defines a test of this file; run_all runs them in the order of their lines. */
#define TEST(test)                                                                                 \
  static void test(void **state);                                                                  \
  __attribute__((constructor)) static void add_##test(void) {                                      \
    add_test(__LINE__, &(struct CMUnitTest){.name = #test, .test_func = test});                    \
  }                                                                                                \
  static void test(void **state __attribute__((unused)))

enum { TESTS = 32 }; /* per file */
static struct CMUnitTest tests_of_file[TESTS];
static int lines_of_tests[TESTS], test_count;

static inline void add_test(int line, const struct CMUnitTest *test) {
  int place = test_count++;
  if (place == TESTS) abort();
  for (; place > 0 && lines_of_tests[place - 1] > line; place--) {
    lines_of_tests[place] = lines_of_tests[place - 1];
    tests_of_file[place] = tests_of_file[place - 1];
  }
  lines_of_tests[place] = line;
  tests_of_file[place] = *test;
}

/* Returns the number of failed tests; each gets its own copy of STATE as *state. */
static inline int run_all(void *state) {
  for (int i = 0; i < test_count; i++) tests_of_file[i].initial_state = state;
  return _cmocka_run_group_tests("tests", tests_of_file, (size_t)test_count, NULL, NULL);
}

/* Divides the number of random cases: sanitizers are several times slower, and fewer cases cover
 * the same code. */
#ifdef __SANITIZE_ADDRESS__
enum { FEWER = 4 };
#else
enum { FEWER = 1 };
#endif
static inline int many(int count) {
  return count / FEWER;
}

/* Creates a folder for the test; writes its path to TEXT (64 chars) and returns TEXT. */
static inline char *new_folder(char text[64]) {
  snprintf(text, 64, "/tmp/damier-unit-XXXXXX");
  assert_non_null(mkdtemp(text));
  return text;
}

static inline void remove_folder(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

/* Writes FOLDER/NAME to PATH (512 chars) and returns it. */
static inline char *path_in(char path[512], const char *folder, const char *name) {
  snprintf(path, 512, "%s/%s", folder, name);
  return path;
}

/* Makes or replaces a file. */
static inline void write_bytes(const char *path, const void *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, bytes, file), bytes);
  assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text) {
  write_bytes(path, text, strlen(text));
}

/* The *BYTES of a file, and a 0 after them; free() it. */
static inline char *contents_of(const char *path, size_t *bytes) {
  enum { MOST = 1 << 20 };
  FILE *file = fopen(path, "rb");
  char *data = calloc(1, MOST + 1);
  assert_true(file && data);
  *bytes = fread(data, 1, MOST, file);
  assert_int_equal(fclose(file), 0);
  return data;
}

static inline int run_all_in_folder(void) {
  char folder[64];
  const int failed = run_all(new_folder(folder));
  remove_folder(folder);
  return failed;
}

/* The main function of a file that needs no setup. */
#define RUN_ALL(name)                                                                              \
  TEST_PROGRAM(name) {                                                                             \
    return run_all(NULL);                                                                          \
  }
#define RUN_ALL_IN_FOLDER(name)                                                                    \
  TEST_PROGRAM(name) {                                                                             \
    return run_all_in_folder();                                                                    \
  }

/* Fails the test with the status's message. */
static inline void ok(dm_status status) {
  if (status) fail_msg("%s: %s (hint: %s)", status->place, status->message, status->hint);
}

/* Fails unless STATUS has CODE and its message contains WORDS; frees it. */
static inline void fails(dm_status status, dm_code code, const char *words) {
  if (!status) fail_msg("no error where \"%s\" was expected", words);
  if (status->code != code || !(strstr(status->message, words) || strstr(status->hint, words)))
    fail_msg("code %d, %s (%s); expected %d, %s", status->code, status->message, status->hint, code,
             words);
  dm_status_free(status);
}

#endif
