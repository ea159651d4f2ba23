/* value: turns the text of an option into a value in a struct of settings. */
#ifndef DM_OPTIONS_VALUE_H
#define DM_OPTIONS_VALUE_H

#include <stddef.h>

#include "core/status.h"
#include "options/settings.h"

typedef struct dm_value dm_value;

/* Parses TEXT into SETTINGS; TEXT is NULL for an option without a value. DM_E_USAGE says what is
 * wrong with TEXT; the caller adds the option's name. */
typedef dm_status (*dm_setter)(const dm_value *value, const char *text, void *settings);

struct dm_value {
  const char *name; /* without the dashes */
  dm_setter set;
  size_t at, room;            /* place in the settings, and its bytes */
  const char *initial;        /* set before anything else; NULL: zeros */
  const char *const *choices; /* NULL at the end */
  int64_t least;              /* smallest number allowed */
  bool zero_is_off;           /* a duration may be 0, even below least */
  bool programs_only;         /* not an option of the library */
};

/* The options of products; they set dm_settings. (product_values.c) */
extern const dm_value dm_values[];
extern const int dm_value_count;

const dm_value *dm_value_find(const char *name); /* NULL: none */

/* Sets VALUE, one of dm_values, in SETTINGS, and that it was given. */
dm_status dm_value_take(const dm_value *value, const char *text, dm_settings *settings);

/* Makes VALUE, one of dm_values, what it is if nobody gives it. */
dm_status dm_value_restore(const dm_value *value, dm_settings *settings);

/* All settings at their defaults. */
dm_status dm_settings_defaults(dm_settings *settings);

/* Whether the option NAME was given. */
bool dm_given(const dm_settings *settings, const char *name);

/* The text of the choice that NAME, an option with choices, has in SETTINGS. */
const char *dm_chosen(const dm_settings *settings, const char *name);

bool dm_value_is_flag(const dm_value *value);

/* "n|t|c"; empty without choices. Writes and returns TEXT. */
char *dm_value_choices(const dm_value *value, char text[128]);

/* Parses the location of a matrix; DM_E_USAGE also for "-", which usually means standard input or
 * output. */
dm_status dm_value_location(const char *text, dm_location *location);

/* Copies TEXT, which may neither be empty nor exceed ROOM. */
dm_status dm_value_copy(const char *text, char *to, size_t room);

/* ---- setters ---- */

dm_status dm_value_set_flag(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_choice(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_compute(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_count(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_seed(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_real(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_complex(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_text(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_number_text(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_lines(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_location(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_grid(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_chunk(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_level(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_panel(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_percent(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_duration(const dm_value *value, const char *text, void *settings);
dm_status dm_value_set_memory(const dm_value *value, const char *text, void *settings);

#endif
