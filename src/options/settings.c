/* The rows of the table: the values that settings have by them, taken, restored, asked for; and
 * their words. */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/buffer.h"
#include "options/option.h"

bool dm_option_is_setting(const dm_option *option) {
  return option->value.set && option->owner != DM_OF_COMMAND;
}

const dm_option *dm_option_find(const char *name) {
  for (int i = 0; i < dm_option_count; i++)
    if (dm_option_is_setting(&dm_options[i]) && strcmp(dm_options[i].name, name) == 0)
      return &dm_options[i];
  return NULL;
}

const dm_option *dm_option_valued(const dm_option *option) {
  return option->value.set ? option : dm_option_find(option->name);
}

int dm_option_vector(const dm_option *option) {
  const size_t places[DM_USER_VECTORS] = {
      offsetof(dm_settings, center[0]), offsetof(dm_settings, center[1]),
      offsetof(dm_settings, scale[0]), offsetof(dm_settings, scale[1]),
      offsetof(dm_settings, weights)};
  for (int i = 0; i < DM_USER_VECTORS; i++)
    if (option->value.at == places[i]) return i;
  return -1;
}

/* A text replaces numbers in memory. */
static void forget_numbers(const dm_option *option, dm_settings *settings) {
  const int vector = dm_option_vector(option);
  if (vector >= 0) settings->numbers[vector] = (dm_numbers){.list = NULL};
}

void dm_option_take_numbers(const dm_option *option, bool of_rows, const dm_numbers *numbers,
                            dm_settings *settings) {
  const int vector = dm_option_vector(option);
  dm_location at = {.file = "memory"};
  snprintf(at.dataset, sizeof at.dataset, "%s", option->name);
  if (vector == DM_WEIGHTS)
    settings->weights = at;
  else
    *(dm_lines_choice *)(void *)((char *)settings + option->value.at) =
        (dm_lines_choice){(int)(of_rows ? DM_ROW_LINES : DM_COLUMN_LINES), at};
  settings->numbers[vector] = *numbers;
  settings->given[option - dm_options] = true;
}

dm_status dm_option_take(const dm_option *option, const char *text, dm_settings *settings) {
  const dm_value *value = &option->value;
  char *at = (char *)settings + value->at;
  DM_FREED char *before = NULL;
  DM_TRY(dm_buffer_table((int64_t)value->room, &before));
  memcpy(before, at, value->room);
  dm_status status = value->set(value, text, settings);
  if (status) {
    memcpy(at, before, value->room);
    return status;
  }
  settings->given[option - dm_options] = true;
  forget_numbers(option, settings);
  return DM_OK;
}

dm_status dm_option_restore(const dm_option *option, dm_settings *settings) {
  const dm_value *value = &option->value;
  DM_FREED dm_settings *fresh = NULL;
  DM_TRY(dm_buffer_table(1, &fresh));
  dm_status status = dm_settings_defaults(fresh);
  if (!status) memcpy((char *)settings + value->at, (const char *)fresh + value->at, value->room);
  forget_numbers(option, settings);
  settings->given[option - dm_options] = false;
  return status;
}

dm_status dm_settings_defaults(dm_settings *settings) {
  memset(settings, 0, sizeof *settings);
  for (int i = 0; i < dm_option_count; i++) {
    const dm_value *value = &dm_options[i].value;
    if (dm_option_is_setting(&dm_options[i]) && value->initial)
      DM_TRY(value->set(value, value->initial, settings));
  }
  return DM_OK;
}

void dm_give(dm_settings *settings, const char *name) {
  settings->given[dm_option_find(name) - dm_options] = true;
}

bool dm_given(const dm_settings *settings, const char *name) {
  const dm_option *option = dm_option_find(name);
  return option && settings->given[option - dm_options];
}

const char *dm_chosen(const dm_settings *settings, const char *name) {
  const dm_value *value = &dm_option_find(name)->value;
  return value->choices[*(const int *)(const void *)((const char *)settings + value->at)];
}

/* ---- words ---- */

static const char *const option_groups[DM_GROUPS] = {
    [DM_GROUP_FILES] = "Files",
    [DM_GROUP_MATRIX] = "Matrices",
    [DM_GROUP_EQUATION] = "Equation and types",
    [DM_GROUP_REDUCTION] = "What is kept of C",
    [DM_GROUP_MEASURE] = "Measurement",
    [DM_GROUP_ENGINE] = "Computation",
    [DM_GROUP_TRUST] = "Inputs refused by default",
    [DM_GROUP_REPORT] = "Reports",
    [DM_GROUP_GENERAL] = "General",
};

const char *dm_option_group_title(dm_option_group group) {
  return option_groups[group];
}

bool dm_option_takes_value(const dm_option *option) {
  return option->metavar || dm_option_valued(option)->value.choices;
}

char *dm_option_metavar(const dm_option *option, char text[128]) {
  if (!option->metavar) return dm_value_choices(&dm_option_valued(option)->value, text);
  snprintf(text, 128, "%s", option->metavar);
  return text;
}

char *dm_option_variable(const dm_option *option, char text[64]) {
  int length = snprintf(text, 64, "DAMIER_%s", option->name);
  for (int i = 0; i < length && i < 63; i++)
    text[i] = text[i] == '-' ? '_' : (char)toupper((unsigned char)text[i]);
  return text;
}
