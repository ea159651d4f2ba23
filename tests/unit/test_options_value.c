/* Options as values: what is refused leaves all settings as they were. */
#include "checks.h"

#include <string.h>

#include "options/option.h"

/* Some begin as what many options accept. */
static const char *const refused[] = {"",      "x",           "f63",      "-1",       "4x0",
                                      "0x4",   "1,x",         "1,2,3",    "64,63",    "2x2x0",
                                      "host=", "host",        "rows:-",   "columns:", "1e999",
                                      "10",    "f64:int8:99", "sideways", "1.h5:/x[", "nope:/"};

TEST(refused_values_change_nothing) {
  static dm_settings settings, before;
  ok(dm_settings_defaults(&settings));
  int found = 0, all = 0;
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *option = &dm_options[i];
    if (!dm_option_is_setting(option)) continue;
    all++;
    for (size_t t = 0; t < sizeof refused / sizeof *refused; t++) {
      memcpy(&before, &settings, sizeof before);
      dm_status status = dm_option_take(option, refused[t], &settings);
      if (status && memcmp(&before, &settings, sizeof before) != 0)
        fail_msg("--%s '%s' is refused and changes the settings", option->name, refused[t]);
      found += status != NULL;
      dm_status_free(status);
      ok(dm_option_restore(option, &settings));
    }
  }
  assert_true(found > all);
}

RUN_ALL(test_options_value)
