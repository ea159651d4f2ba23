/* log: messages for people, on stderr.  The logger is told its rank; it never asks MPI. */
#ifndef DM_CORE_LOG_H
#define DM_CORE_LOG_H

#include <stdio.h>

typedef enum dm_level {
  DM_LOG_ERROR = 0,   /* -q -q */
  DM_LOG_WARNING = 1, /* -q */
  DM_LOG_NOTE = 2,    /* default */
  DM_LOG_DETAIL = 3,  /* -v */
  DM_LOG_DEBUG = 4,   /* -v -v; every rank speaks */
} dm_level;

typedef struct dm_log {
  FILE *out;
  dm_level level;
  int rank; /* below DM_LOG_DEBUG only rank 0 speaks */
} dm_log;

/* TEXT as a terminal may see it: control characters, which names from files may hold, as \\x1b. */
void dm_put_text(const char *text, FILE *out);

/* One line "damier: [warning: ]MESSAGE" if LOG's level and rank allow it.  LOG may be NULL:
 * silence. */
void dm_log_line(const dm_log *log, dm_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
