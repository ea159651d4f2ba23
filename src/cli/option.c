/* Queries of the option table, and setters of the program's own options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"
#include "core/units.h"

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

const dm_value *dm_cli_value(const dm_option *option) {
  return option->own.set ? &option->own : dm_value_find(option->name);
}

bool dm_cli_takes_value(const dm_option *option) {
  return option->metavar || dm_cli_value(option)->choices;
}

char *dm_cli_metavar(const dm_option *option, char text[128]) {
  if (!option->metavar) return dm_value_choices(dm_cli_value(option), text);
  snprintf(text, 128, "%s", option->metavar);
  return text;
}

char *dm_cli_variable(const dm_option *option, char text[64]) {
  int length = snprintf(text, 64, "DAMIER_%s", option->name);
  for (int i = 0; i < length && i < 63; i++)
    text[i] = text[i] == '-' ? '_' : (char)toupper((unsigned char)text[i]);
  return text;
}

/* ---- setters ---- */

static void *place(const dm_value *value, void *settings) {
  return (char *)settings + value->at;
}

dm_status dm_cli_set_step(const dm_value *value, const char *text, void *settings) {
  int *steps = place(value, settings);
  int64_t number = 1;
  if (text && (!dm_parse_count(text, &number) || number > 9))
    return dm_fail(DM_E_USAGE, "'%s' is not a number from 0 to 9", text);
  *steps = text ? (int)number : *steps + 1;
  return DM_OK;
}

dm_status dm_cli_set_shell(const dm_value *value, const char *text, void *settings) {
  DM_TRY(dm_value_set_choice(value, text, settings));
  ++*(int *)place(value, settings);
  return DM_OK;
}

dm_status dm_cli_set_paths(const dm_value *value, const char *text, void *settings) {
  dm_cli_paths *paths = place(value, settings);
  if (paths->count == DM_CLI_REPORTS)
    return dm_fail(DM_E_USAGE, "given more than %d times", DM_CLI_REPORTS);
  DM_TRY(dm_value_copy(text, paths->path[paths->count], DM_PATH));
  paths->count++;
  return DM_OK;
}
