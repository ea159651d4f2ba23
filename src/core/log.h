/* log: messages on stderr; the caller states the rank. */
#ifndef DM_CORE_LOG_H
#define DM_CORE_LOG_H

#include <stdio.h>

typedef enum dm_level {
  DM_LOG_ERROR = 0,   /* -q -q */
  DM_LOG_WARNING = 1, /* -q */
  DM_LOG_NOTE = 2,    /* default */
  DM_LOG_DETAIL = 3,  /* -v */
  DM_LOG_DEBUG = 4,   /* -v -v; from every rank */
} dm_level;

typedef struct dm_log {
  FILE *out;
  dm_level level;
  int rank;               /* below DM_LOG_DEBUG only rank 0 logs */
  struct dm_notes *notes; /* of what rank 0 applied, or warned of (notes.h); NULL: not kept */
} dm_log;

/* Prints TEXT with control characters, which names from files may contain, escaped as \\x1b. */
void dm_put_text(const char *text, FILE *out);

/* Prints one line "damier: [warning: ]MESSAGE" if LOG's level and rank allow it. A warning is also
 * kept among LOG's notes, whatever the level; if it is there, it is not printed again. LOG may be
 * NULL: nothing is printed. */
void dm_log_line(const dm_log *log, dm_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for what was done to the numbers, which is kept, too: LEVEL says when it is printed. */
void dm_log_applied(const dm_log *log, dm_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
