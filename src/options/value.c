/* Queries of the options of products. */
#include "options/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const dm_value *dm_value_find(const char *name) {
  for (int i = 0; i < dm_value_count; i++)
    if (strcmp(dm_values[i].name, name) == 0) return &dm_values[i];
  return NULL;
}

dm_status dm_value_take(const dm_value *value, const char *text, dm_settings *settings) {
  settings->given[value - dm_values] = true;
  return value->set(value, text, settings);
}

dm_status dm_value_restore(const dm_value *value, dm_settings *settings) {
  dm_settings *fresh = malloc(sizeof *fresh);
  if (!fresh) return dm_fail(DM_E_FIT, "no memory for settings");
  dm_status status = dm_settings_defaults(fresh);
  if (!status) memcpy((char *)settings + value->at, (const char *)fresh + value->at, value->room);
  settings->given[value - dm_values] = false;
  free(fresh);
  return status;
}

dm_status dm_settings_defaults(dm_settings *settings) {
  memset(settings, 0, sizeof *settings);
  for (int i = 0; i < dm_value_count; i++) {
    const dm_value *value = &dm_values[i];
    if (value->initial) DM_TRY(value->set(value, value->initial, settings));
  }
  return DM_OK;
}

bool dm_given(const dm_settings *settings, const char *name) {
  const dm_value *value = dm_value_find(name);
  return value && settings->given[value - dm_values];
}

const char *dm_chosen(const dm_settings *settings, const char *name) {
  const dm_value *value = dm_value_find(name);
  return value->choices[*(const int *)(const void *)((const char *)settings + value->at)];
}

bool dm_value_is_flag(const dm_value *value) {
  return value->set == dm_value_set_flag;
}

char *dm_value_choices(const dm_value *value, char text[128]) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; value->choices && value->choices[i] && used < 128; i++)
    used += (size_t)snprintf(text + used, 128 - used, "%s%s", i ? "|" : "", value->choices[i]);
  return text;
}
