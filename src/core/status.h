/* status: the outcome of a function that can fail.
 *
 * NULL is success.  Anything else is an error that the caller owns: it passes the error up with
 * DM_TRY, or frees it with dm_status_free.  Nothing below src/cli exits or aborts. */
#ifndef DM_CORE_STATUS_H
#define DM_CORE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* The codes are the program's exit codes. */
typedef enum dm_code {
  DM_E_VERIFY = 1,     /* the result failed verification */
  DM_E_USAGE = 2,      /* an invalid or unsupported request */
  DM_E_INPUT = 3,      /* an input was rejected */
  DM_E_IO = 4,         /* a file could not be read or written */
  DM_E_FIT = 5,        /* does not fit into memory or on the disk */
  DM_E_DEVICE = 6,     /* GPU, backend or transport */
  DM_E_CORRUPT = 7,    /* a result that could not be repaired */
  DM_E_HANG = 8,       /* the watchdog */
  DM_E_MPI = 9,        /* MPI or the launcher */
  DM_E_UNCHECKED = 10, /* the result is complete, but not all of it could be verified */
  DM_E_BUG = 70,       /* an internal error */
  DM_E_STOPPED = 75,   /* stopped early; run again to resume */
} dm_code;

/* Plain data, so that an error can be sent to another rank. */
typedef struct dm_error {
  dm_code code;
  bool agreed; /* all ranks of the job have this error, so none waits for another */
  int rank;    /* the one that failed; -1: not known yet */
  int others;  /* how many other ranks failed too */
  char message[600];
  char hint[600];
  char place[120]; /* file:line function */
} dm_error;

typedef dm_error *dm_status;

#define DM_OK ((dm_status)0)

/* Creates an error; the message is one line without a full stop. */
#define dm_fail(code, ...) dm_status_new(code, __FILE__, __LINE__, __func__, __VA_ARGS__)

/* Returns the error of EXPR from the calling function, if there is one. */
#define DM_TRY(expr)                                                                               \
  do {                                                                                             \
    dm_status dm_try_status_ = (expr);                                                             \
    if (dm_try_status_) return dm_try_status_;                                                     \
  } while (0)

/* The same with cleanup: jumps to LABEL with the error in STATUS. */
#define DM_TRY_GOTO(status, expr, label)                                                           \
  do {                                                                                             \
    (status) = (expr);                                                                             \
    if (status) goto label;                                                                        \
  } while (0)

dm_status dm_status_new(dm_code code, const char *file, int line, const char *function,
                        const char *format, ...)
    __attribute__((format(printf, 5, 6), returns_nonnull));

/* Adds advice for the user; returns STATUS. No effect on DM_OK. */
dm_status dm_hint(dm_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "PREFIX: " before the message; returns STATUS. No effect on DM_OK. */
dm_status dm_context(dm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A copy of ERROR, owned by the caller. */
dm_status dm_status_copy(const dm_error *error);

/* Keeps the first of two errors and frees the other. */
dm_status dm_status_first(dm_status first, dm_status second);

void dm_status_free(dm_status status);

/* ---- long work reports progress to its caller and asks whether to continue ---- */

typedef struct dm_keepalive {
  dm_status (*beat)(void *context); /* an error ends the work and is returned */
  void *context;
} dm_keepalive;

/* KEEPALIVE may be NULL. */
static inline dm_status dm_keepalive_beat(const dm_keepalive *keepalive) {
  return keepalive && keepalive->beat ? keepalive->beat(keepalive->context) : DM_OK;
}

#endif
