/* Queries of the option table. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"

static const char *const groups[DM_GROUPS] = {
    [DM_GROUP_FILES] = "Files",
    [DM_GROUP_MATRIX] = "Matrices",
    [DM_GROUP_EQUATION] = "Equation and types",
    [DM_GROUP_MEASURE] = "Measurement",
    [DM_GROUP_ENGINE] = "Computation",
    [DM_GROUP_TRUST] = "Inputs refused by default",
    [DM_GROUP_REPORT] = "Reports",
    [DM_GROUP_GENERAL] = "General",
};

const char *dm_cli_group_title(dm_group group) {
  return groups[group];
}

int dm_cli_option_find(const char *name) {
  for (int i = 0; i < dm_cli_option_count; i++)
    if (strcmp(dm_cli_options[i].name, name) == 0) return i;
  return -1;
}

bool dm_cli_given(const dm_settings *settings, const char *name) {
  for (int i = 0; i < dm_cli_option_count; i++)
    if (settings->given[i] && strcmp(dm_cli_options[i].name, name) == 0) return true;
  return false;
}

bool dm_cli_takes_value(const dm_option *option) {
  return option->metavar || option->choices;
}

char *dm_cli_metavar(const dm_option *option, char text[128]) {
  text[0] = '\0';
  if (option->metavar) {
    snprintf(text, 128, "%s", option->metavar);
    return text;
  }
  size_t used = 0;
  for (int i = 0; option->choices && option->choices[i] && used < 128; i++)
    used += (size_t)snprintf(text + used, 128 - used, "%s%s", i ? "|" : "", option->choices[i]);
  return text;
}

char *dm_cli_variable(const dm_option *option, char text[64]) {
  int length = snprintf(text, 64, "DAMIER_%s", option->name);
  for (int i = 0; i < length && i < 63; i++)
    text[i] = text[i] == '-' ? '_' : (char)toupper((unsigned char)text[i]);
  return text;
}

dm_status dm_cli_defaults(dm_settings *settings) {
  memset(settings, 0, sizeof *settings);
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (option->initial) DM_TRY(option->set(option, option->initial, settings));
  }
  return DM_OK;
}
