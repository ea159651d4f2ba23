#include "core/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/notes.h"

void dm_put_text(const char *text, FILE *out) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    const bool wide = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0; /* control characters in UTF-8 */
    if (*c >= 0x20 && *c != 0x7f && !wide)
      fputc(*c, out);
    else
      fprintf(out, "\\x%02x", wide ? *++c : *c);
  }
}

static void print_line(const dm_log *log, dm_level level, const char *line) {
  if (level > log->level || (log->rank != 0 && log->level < DM_LOG_DEBUG)) return;
  flockfile(log->out); /* ranks may be threads */
  const char *mark = level == DM_LOG_ERROR ? "error: " : level == DM_LOG_WARNING ? "warning: " : "";
  if (log->level >= DM_LOG_DEBUG)
    fprintf(log->out, "damier[%d]: %s", log->rank, mark);
  else
    fprintf(log->out, "damier: %s", mark);
  dm_put_text(line, log->out);
  fputc('\n', log->out);
  funlockfile(log->out);
}

/* Whether LINE is new among LOG's notes, to which it is added. */
static bool keep_note(const dm_log *log, dm_note_kind kind, const char *line) {
  if (!log->notes || log->rank != 0) return true;
  return dm_notes_add(log->notes, kind, line);
}

void dm_log_line(const dm_log *log, dm_level level, const char *format, ...) {
  if (!log || (level > log->level && level != DM_LOG_WARNING)) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (level != DM_LOG_WARNING || keep_note(log, DM_NOTE_WARNING, line))
    print_line(log, level, line);
}

void dm_log_applied(const dm_log *log, dm_level level, const char *format, ...) {
  if (!log) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (keep_note(log, DM_NOTE_APPLIED, line)) print_line(log, level, line);
}
