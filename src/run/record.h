/* record: the results of a run; the table, the JSON and the CSV are printed from it, and appended
 * to a file.
 *
 * An entry has a dotted path ("times.read_s") for programs and, if it is shown in the table, a
 * label. Paths end with units: _s seconds, _bytes, _flops per second. */
#ifndef DM_RUN_RECORD_H
#define DM_RUN_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "core/status.h"

typedef struct dm_record dm_record;

#define DM_SCHEMA "damier/1"

/* Creates a record of VERB ("multiply"; kept, not copied) with schema, verb, version, date, command
 * line, and the relevant environment variables. */
dm_status dm_record_new(const char *verb, const char *command, dm_record **record);
dm_status dm_record_new_at(const char *verb, const char *command, time_t when,
                           dm_record **record); /* of what happened at WHEN */
void dm_record_free(dm_record *record);         /* NULL is allowed */

/* Formats of numbers in the table; the JSON always has plain numbers. */
typedef enum dm_shown {
  DM_SHOWN_PLAIN,
  DM_SHOWN_SECONDS,
  DM_SHOWN_BYTES,
  DM_SHOWN_RATE,  /* bytes per second */
  DM_SHOWN_FLOPS, /* per second */
} dm_shown;

/* LABEL NULL: not in the table. Failed allocations are remembered and reported when the record is
 * written. */
void dm_record_text(dm_record *record, const char *path, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void dm_record_integer(dm_record *record, const char *path, const char *label, dm_shown shown,
                       int64_t value);
void dm_record_real(dm_record *record, const char *path, const char *label, dm_shown shown,
                    double value);
void dm_record_flag(dm_record *record, const char *path, const char *label, bool value);
/* An array of COUNT reals, only in the JSON. */
void dm_record_series(dm_record *record, const char *path, const double *values, int64_t count);
/* Appends an object to the array at PATH: COUNT texts with their names, without empty ones. The
 * table has SHOWN. */
void dm_record_object(dm_record *record, const char *path, const char *label, const char *shown,
                      const char *const *names, const char *const *texts, int count);

/* Records NOTES (core/notes.h) as "warnings": of each its kind and text. NULL is allowed. */
struct dm_notes;
void dm_record_notes(dm_record *record, struct dm_notes *notes);

/* A line only in the table. */
void dm_record_line(dm_record *record, const char *label, const char *text);

/* The last entry is a detail: a short table leaves it out. */
void dm_record_detail(dm_record *record);

/* Hides everything recorded so far from the table. */
void dm_record_hide(dm_record *record);

/* The last line of stdout, for scripts: "damier: VERB " and this, "key=value ... PASS". */
void dm_record_summary(dm_record *record, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints table and summary line; without ALL only what people look at first. */
void dm_record_print(const dm_record *record, bool all, FILE *out);

/* One JSON document and the end of its line; the caller frees *TEXT.  DM_E_FIT. */
dm_status dm_record_json(const dm_record *record, char **text);

/* ---- repeated measurements ---- */

typedef struct dm_statistics {
  int64_t count;
  double median, least, most;
  double low, high; /* 95 % confidence interval of the median, from order statistics (binomial);
                     least and largest value if there are fewer than 6 */
} dm_statistics;

/* Sorts VALUES. */
dm_statistics dm_statistics_of(double *values, int64_t count);

/* Records S as "NAME_median" (with LABEL), "NAME_min", "NAME_max", "NAME_ci95_low" and
 * "NAME_ci95_high", each followed by UNIT ("_s"). */
void dm_record_statistics(dm_record *record, const char *name, const char *unit, const char *label,
                          dm_shown shown, const dm_statistics *s);

/* Records the seconds in VALUES as "repetitions.NAME_s", and their statistics as "times.NAME_...";
 * sorts VALUES. */
dm_statistics dm_record_times(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count);

/* ---- a file for records, opened before the work, so that a bad name costs no work ----
 *
 * Records are appended, one line of JSON or CSV each. A file called NAME.json instead holds one
 * document, that of this run: its record, or an array of several. */

typedef struct dm_report_file {
  const char *path;
  int file; /* -1: closed */
  bool csv, document, made;
  int records;
  char *first; /* first record of a document, until there is a second one; names of a CSV file */
} dm_report_file;

/* "-" and "/dev/stdout" are standard output. */
bool dm_report_is_stdout(const char *path);

/* DM_E_USAGE: PATH is a file that begins with none of the characters STARTS, so it does not hold
 * WHAT: a mistyped name must not destroy a matrix. */
dm_status dm_report_replaces(const char *path, const char *starts, const char *what);

/* Opens PATH (kept, not copied); the file stays unchanged until a record is added. DM_E_IO: it
 * cannot be written; DM_E_USAGE: it contains something other than records. */
dm_status dm_report_open(const char *path, bool csv, dm_report_file *report);

/* Adds a record, after a line of names if a CSV file is new or empty; another has the columns that
 * its first line names. DM_E_IO, DM_E_FIT. */
dm_status dm_report_add(dm_report_file *report, const dm_record *record);

/* Closes the file and removes it if it is new and got no record. May be called again. DM_E_IO. */
dm_status dm_report_close(dm_report_file *report);

#endif
