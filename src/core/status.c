#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
