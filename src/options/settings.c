/* The values that settings have: taken, restored, asked for. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/buffer.h"
#include "options/value.h"

const dm_value *dm_value_find(const char *name) {
  for (int i = 0; i < dm_value_count; i++)
    if (strcmp(dm_values[i].name, name) == 0) return &dm_values[i];
  return NULL;
}

int dm_value_vector(const dm_value *value) {
  const size_t places[DM_USER_VECTORS] = {
      offsetof(dm_settings, center[0]), offsetof(dm_settings, center[1]),
      offsetof(dm_settings, scale[0]), offsetof(dm_settings, scale[1]),
      offsetof(dm_settings, weights)};
  for (int i = 0; i < DM_USER_VECTORS; i++)
    if (value->at == places[i]) return i;
  return -1;
}

/* A text replaces numbers in memory. */
static void forget_numbers(const dm_value *value, dm_settings *settings) {
  const int vector = dm_value_vector(value);
  if (vector >= 0) settings->numbers[vector] = (dm_numbers){.list = NULL};
}

void dm_value_take_numbers(const dm_value *value, bool of_rows, const dm_numbers *numbers,
                           dm_settings *settings) {
  const int vector = dm_value_vector(value);
  dm_location at = {.file = "memory"};
  snprintf(at.dataset, sizeof at.dataset, "%s", value->name);
  if (vector == DM_WEIGHTS)
    settings->weights = at;
  else
    *(dm_lines_choice *)(void *)((char *)settings + value->at) =
        (dm_lines_choice){(int)(of_rows ? DM_ROW_LINES : DM_COLUMN_LINES), at};
  settings->numbers[vector] = *numbers;
  settings->given[value - dm_values] = true;
}

dm_status dm_value_take(const dm_value *value, const char *text, dm_settings *settings) {
  char *at = (char *)settings + value->at;
  DM_FREED char *before = NULL;
  DM_TRY(dm_buffer_table((int64_t)value->room, &before));
  memcpy(before, at, value->room);
  dm_status status = value->set(value, text, settings);
  if (status) {
    memcpy(at, before, value->room);
    return status;
  }
  settings->given[value - dm_values] = true;
  forget_numbers(value, settings);
  return DM_OK;
}

dm_status dm_value_restore(const dm_value *value, dm_settings *settings) {
  DM_FREED dm_settings *fresh = NULL;
  DM_TRY(dm_buffer_table(1, &fresh));
  dm_status status = dm_settings_defaults(fresh);
  if (!status) memcpy((char *)settings + value->at, (const char *)fresh + value->at, value->room);
  forget_numbers(value, settings);
  settings->given[value - dm_values] = false;
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
