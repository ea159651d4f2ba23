/* DAMIER_* variables: they override defaults; flags override them. */
#include <stdlib.h>
#include <string.h>

#include "cli/call.h"
#include "core/checked.h"
#include "core/status.h"

extern char **environ;

static const char prefix[] = "DAMIER_";
/* Not options: module files set DAMIER_ROOT, the Python package reads the other two. */
static const char *const of_others[] = {"ROOT", "LIBRARY", "PROGRAM"};
enum { OF_OTHERS = sizeof of_others / sizeof *of_others };

static dm_status read_known(dm_call *call) {
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *option = &dm_cli_options[i];
    if (option->flags_only || call->own.given[i] || !(option->verbs & call->verb->bit)) continue;
    char name[64];
    const char *value = getenv(dm_cli_variable(option, name));
    if (!value) continue;
    DM_TRY(dm_context(dm_cli_take(call, option, value), "variable %s", name));
  }
  return DM_OK;
}

/* NAMES have no prefix: it must not count towards the similarity. */
static void warn_unknown(const dm_log *log, const char *name, const char *const *names, int count) {
  char typed[64] = "";
  strncat(typed, name, dm_min(strcspn(name, "="), sizeof typed - 1));
  for (int i = 0; i < count; i++)
    if (strcmp(typed, names[i]) == 0) return;
  int nearest = dm_closest(typed, names, count);
  if (nearest < 0)
    dm_log_line(log, DM_LOG_WARNING, "the variable %s%s is unknown and ignored", prefix, typed);
  else
    dm_log_line(log, DM_LOG_WARNING, "the variable %s%s is unknown and ignored; did you mean %s%s?",
                prefix, typed, prefix, names[nearest]);
}

dm_status dm_cli_environment(dm_call *call) {
  char variables[DM_CLI_OPTIONS][64];
  const char *names[DM_CLI_OPTIONS + OF_OTHERS];
  int count = 0;
  DM_TRY(read_known(call));
  for (int i = 0; i < dm_cli_option_count; i++)
    if (!dm_cli_options[i].flags_only)
      names[count++] = dm_cli_variable(&dm_cli_options[i], variables[i]) + strlen(prefix);
  for (int i = 0; i < OF_OTHERS; i++) names[count++] = of_others[i];
  dm_log log = dm_cli_log(call);
  for (char **line = environ; dm_cli_ramp(call) && *line; line++)
    if (strncmp(*line, prefix, strlen(prefix)) == 0)
      warn_unknown(&log, *line + strlen(prefix), names, count);
  return DM_OK;
}
