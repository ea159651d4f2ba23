#include "core/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/notes.h"

/* Returned when there is no memory for an error. */
static const dm_error out_of_memory = {
    .code = DM_E_FIT, .rank = -1, .message = "out of host memory", .place = "status.c"};

static bool is_static(dm_status status) {
  return status == &out_of_memory;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

dm_status dm_status_new(dm_code code, const char *file, int line, const char *function,
                        const char *format, ...) {
  dm_error *error = calloc(1, sizeof *error);
  if (!error) return (dm_status)&out_of_memory;
  error->code = code;
  error->rank = -1;
  snprintf(error->place, sizeof error->place, "%s:%d %s", base_name(file), line, function);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return error;
}

dm_status dm_hint(dm_status status, const char *format, ...) {
  if (!status || is_static(status)) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(status->hint, sizeof status->hint, format, arguments);
  va_end(arguments);
  return status;
}

dm_status dm_context(dm_status status, const char *format, ...) {
  if (!status || is_static(status)) return status;
  char prefix[sizeof status->message / 2];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  char *message = status->message;
  size_t length = strlen(prefix), room = sizeof status->message - length - 3;
  message[room] = '\0'; /* a long message loses its end to the prefix */
  memmove(message + length + 2, message, strlen(message) + 1);
  memcpy(message, prefix, length);
  memcpy(message + length, ": ", 2);
  return status;
}

dm_status dm_status_copy(const dm_error *error) {
  dm_error *copy = malloc(sizeof *copy);
  if (!copy) return (dm_status)&out_of_memory;
  *copy = *error;
  return copy;
}

dm_status dm_status_first(dm_status first, dm_status second) {
  if (!first) return second;
  dm_status_free(second);
  return first;
}

void dm_status_free(dm_status status) {
  if (!is_static(status)) free(status);
}

enum { LONGEST = 255 };

static int status_least(int a, int b, int c) {
  int smaller = a < b ? a : b;
  return smaller < c ? smaller : c;
}

/* Levenshtein distance where two neighbours that changed places count as one change (optimal string
 * alignment), one row of the table at a time. */
int dm_distance(const char *a, const char *b) {
  const size_t columns = strlen(b);
  if (columns > LONGEST || strlen(a) > LONGEST) return LONGEST;
  int rows[3][LONGEST + 1]; /* row I of the table is rows[i % 3] */
  for (size_t j = 0; j <= columns; j++) rows[0][j] = (int)j;
  size_t i = 1;
  for (; a[i - 1]; i++) {
    int *row = rows[i % 3];
    const int *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    row[0] = (int)i;
    for (size_t j = 1; j <= columns; j++) {
      row[j] = status_least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
    }
  }
  return rows[(i - 1) % 3][columns];
}

int dm_closest(const char *name, const char *const *names, int count) {
  int best = -1, nearest = 1 + (int)strlen(name) / 3;
  for (int i = 0; i < count; i++) {
    int d = dm_distance(name, names[i]);
    if (d <= nearest && (best < 0 || d < nearest)) {
      best = i;
      nearest = d;
    }
  }
  for (int i = 0; best < 0 && name[0] && i < count; i++) /* an abbreviation */
    if (strncmp(names[i], name, strlen(name)) == 0) best = i;
  return best;
}

dm_status dm_suggest(dm_status status, const char *name, const char *const *names, int count) {
  const int nearest = dm_closest(name, names, count);
  return nearest < 0 ? status : dm_hint(status, "did you mean '%s'?", names[nearest]);
}

/* ---- messages ---- */

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
