/* All unit tests in one program.
 *
 * usage: unit_tests [PREFIX]   the tests whose names begin with PREFIX
 *        unit_tests NAME WORD...   one test
 *
 * Exits with 1 if a test failed, with 77 if all were skipped. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/test_program.h"

#ifdef __SANITIZE_ADDRESS__
void __lsan_do_leak_check(void);
#else
static void __lsan_do_leak_check(void) {
}
#endif

/* Skips HDF5's exit handler, which crashes after a test has made closing a file fail. */
static _Noreturn void leave(int code) {
  __lsan_do_leak_check();
  fflush(NULL);
  _exit(code);
}

int main(int count, char **words) {
  const char *prefix = count > 1 ? words[1] : "";
  int ran = 0, skipped = 0, failed = 0;
  for (int i = 0; i < test_program_count; i++) {
    const test_program *test = &test_programs[i];
    if (strncmp(test->name, prefix, strlen(prefix)) != 0) continue;
    printf("%s\n", test->name);
    fflush(stdout);
    const int code = strcmp(test->name, prefix) == 0 ? test->run(count - 1, words + 1)
                                                     : test->run(1, (char *[]){NULL, NULL});
    ran++, skipped += code == SKIPPED, failed += code != 0 && code != SKIPPED;
    if (code != 0) printf("%s %s\n", code == SKIPPED ? "SKIPPED" : "FAILED", test->name);
  }
  printf("%d test programs, %d failed, %d skipped\n", ran, failed, skipped);
  if (failed || ran == 0) leave(1);
  leave(skipped == ran ? SKIPPED : 0);
}
