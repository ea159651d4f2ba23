#include "core/log.h"

#include <stdarg.h>

void dm_log_line(const dm_log *log, dm_level level, const char *format, ...) {
  if (!log || level > log->level) return;
  if (log->rank != 0 && log->level < DM_LOG_DEBUG) return;
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  const char *mark = level == DM_LOG_ERROR ? "error: " : level == DM_LOG_WARNING ? "warning: " : "";
  if (log->level >= DM_LOG_DEBUG)
    fprintf(log->out, "damier[%d]: %s%s\n", log->rank, mark, line);
  else
    fprintf(log->out, "damier: %s%s\n", mark, line);
}
