/* option: the table of options. Parsing, environment, help, man page and completion are made from
 * it. */
#ifndef DM_CLI_OPTION_H
#define DM_CLI_OPTION_H

#include <stddef.h>

#include "cli/settings.h"
#include "core/status.h"

/* Sets of verbs; DM_VERB_NONE is a command line without a verb. */
enum {
  DM_VERB_MULTIPLY = 1,
  DM_VERB_PLAN = 2,
  DM_VERB_GENERATE = 4,
  DM_VERB_VERIFY = 8,
  DM_VERB_INFO = 16,
  DM_VERB_BENCH_MULTIPLY = 32,
  DM_VERB_NONE = 128,
  DM_VERB_BENCH_KERNELS = 512,
  DM_VERB_BENCH_RATES = 1024,
  DM_VERB_BENCH_LINKS = 2048,
  DM_VERB_BENCH_SCALE = 4096,
  /* Verbs that stop early on request and run under the watchdog. */
  DM_VERBS_STOPPABLE = DM_VERB_MULTIPLY | DM_VERB_GENERATE | DM_VERB_VERIFY |
                       DM_VERB_BENCH_MULTIPLY | DM_VERB_BENCH_RATES | DM_VERB_BENCH_LINKS |
                       DM_VERB_BENCH_SCALE,
};

typedef enum dm_group {
  DM_GROUP_FILES,
  DM_GROUP_MATRIX,
  DM_GROUP_EQUATION,
  DM_GROUP_MEASURE,
  DM_GROUP_ENGINE,
  DM_GROUP_TRUST,
  DM_GROUP_REPORT,
  DM_GROUP_GENERAL,
  DM_GROUPS,
} dm_group;

typedef struct dm_option dm_option;

/* Parses TEXT into the settings; TEXT is NULL for an option without a value. DM_E_USAGE says what
 * is wrong with TEXT; the caller adds the option's name. */
typedef dm_status (*dm_setter)(const dm_option *option, const char *text, dm_settings *settings);

struct dm_option {
  const char *name;    /* without the dashes */
  char letter;         /* 0: none */
  const char *metavar; /* NULL: no value, or one of the choices */
  unsigned verbs;
  dm_group group;
  const char *initial; /* set before anything else and shown in brackets; NULL: none */
  const char *shown;   /* the default in words, if it is no value */
  const char *help;
  dm_setter set;
  size_t at, room;            /* place in dm_settings, and its bytes */
  const char *const *choices; /* NULL at the end */
  int64_t least;              /* smallest number allowed */
  bool negatable;             /* --no-NAME exists */
  bool zero_is_off;           /* a duration may be 0, even below least */
  bool flags_only;            /* not read from the environment */
  unsigned usual;             /* verbs whose --help shows it; --help-all and man page show all */
};

extern const dm_option dm_cli_options[];
extern const int dm_cli_option_count;

const char *dm_cli_group_title(dm_group group);

/* The index of NAME, or -1. If several verbs have an option NAME, the first one. */
int dm_cli_option_find(const char *name);

/* Whether the option NAME was given by flag or environment. */
bool dm_cli_given(const dm_settings *settings, const char *name);

/* Whether the option takes a value. */
bool dm_cli_takes_value(const dm_option *option);

/* "n|t|c", "FILE", ... of an option that takes a value; writes and returns TEXT. */
char *dm_cli_metavar(const dm_option *option, char text[128]);

/* "DAMIER_OP_A" */
char *dm_cli_variable(const dm_option *option, char text[64]);

/* All settings at their defaults. */
dm_status dm_cli_defaults(dm_settings *settings);

/* ---- setters (option_set.c) ---- */

/* Parses the location of a matrix; DM_E_USAGE also for "-", which usually means standard input or
 * output. */
dm_status dm_cli_parse_file(const char *text, dm_location *location);

dm_status dm_cli_set_flag(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_step(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_choice(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_compute(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_shell(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_count(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_seed(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_real(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_complex(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_text(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_paths(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_location(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_grid(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_chunk(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_level(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_panel(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_percent(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_duration(const dm_option *option, const char *text, dm_settings *settings);
dm_status dm_cli_set_memory(const dm_option *option, const char *text, dm_settings *settings);

#endif
