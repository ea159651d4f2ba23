/* Options as values: what is refused leaves all settings as they were. */
#include "checks.h"

#include <string.h>

#include "options/value.h"

/* Some begin as what many options accept. */
static const char *const refused[] = {"",      "x",           "f63",      "-1",       "4x0",
                                      "0x4",   "1,x",         "1,2,3",    "64,63",    "2x2x0",
                                      "host=", "host",        "rows:-",   "columns:", "1e999",
                                      "10",    "f64:int8:99", "sideways", "1.h5:/x[", "nope:/"};

TEST(refused_values_change_nothing) {
  static dm_settings settings, before;
  ok(dm_settings_defaults(&settings));
  int found = 0;
  for (int i = 0; i < dm_value_count; i++) {
    for (size_t t = 0; t < sizeof refused / sizeof *refused; t++) {
      memcpy(&before, &settings, sizeof before);
      dm_status status = dm_value_take(&dm_values[i], refused[t], &settings);
      if (status && memcmp(&before, &settings, sizeof before) != 0)
        fail_msg("--%s '%s' is refused and changes the settings", dm_values[i].name, refused[t]);
      found += status != NULL;
      dm_status_free(status);
      ok(dm_value_restore(&dm_values[i], &settings));
    }
  }
  assert_true(found > dm_value_count);
}

RUN_ALL(test_options_value)
