/* test_program: a test that is linked with the others of its kind, and has this in place of main.
 */
#ifndef DM_TESTS_TEST_PROGRAM_H
#define DM_TESTS_TEST_PROGRAM_H

enum { SKIPPED = 77 };

#define TEST_PROGRAM(name)                                                                         \
  int name(int argc, char **argv);                                                                 \
  int name(int argc __attribute__((unused)), char **argv __attribute__((unused)))

/* What the build knows of each test; RANKS lists the rank counts of one for several ranks. */
typedef struct test_program {
  const char *name, *ranks;
  int (*run)(int count, char **words);
} test_program;

extern const test_program test_programs[];
extern const int test_program_count;

#endif
