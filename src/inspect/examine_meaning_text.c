/* Texts about the meaning of a dataset, and the refusal of what is not understood. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dataset/naming.h"
#include "inspect/examine_meaning_impl.h"

void dm_meaning_add(char text[DM_MEANING_TEXT], const char *format, ...) {
  const size_t used = strlen(text);
  va_list list;
  va_start(list, format);
  if (used > 0) snprintf(text + used, DM_MEANING_TEXT - used, "; ");
  vsnprintf(text + strlen(text), DM_MEANING_TEXT - strlen(text), format, list);
  va_end(list);
}

dm_status dm_meaning_not_understood(const dm_examined *e, const char *attribute) {
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: its attribute '%s' says what its numbers mean, but is not "
                            "understood",
                            attribute),
                 "it must be a number; --raw takes the stored numbers");
}
