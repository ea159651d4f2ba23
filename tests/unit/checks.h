/* checks: cmocka with statuses. */
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

#include <cmocka.h>

#include "core/status.h"
#include "lib/test_program.h"

/* Fails the test with the status's own words. */
static inline void ok(dm_status status) {
  if (status) fail_msg("%s: %s", status->place, status->message);
}

/* STATUS is of CODE and says WORDS; frees it. */
static inline void fails(dm_status status, dm_code code, const char *words) {
  if (!status) fail_msg("no error where \"%s\" was expected", words);
  if (status->code != code || !(strstr(status->message, words) || strstr(status->hint, words)))
    fail_msg("%s, %s (%s); expected %s, %s", dm_code_name(status->code), status->message,
             status->hint, dm_code_name(code), words);
  dm_status_free(status);
}

#endif
