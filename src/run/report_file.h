/* report_file: a file for records, opened before the work whose records it gets, so that a bad name
 * costs no work.
 *
 * Records are appended, one line of JSON or CSV each.  A file called NAME.json holds one document
 * instead, that of this run: its record, or an array where there are several. */
#ifndef DM_RUN_REPORT_FILE_H
#define DM_RUN_REPORT_FILE_H

#include "run/record.h"

typedef struct dm_report_file {
  const char *path;
  int file; /* -1: closed */
  bool csv, document, made;
  int records;
  char *first; /* of a document, until there is a second record */
} dm_report_file;

/* "-" and "/dev/stdout" are standard output. */
bool dm_report_is_stdout(const char *path);

/* Opens PATH (kept, not copied), which is left as it is until a record comes.  DM_E_IO: it cannot
 * be written; DM_E_USAGE: it holds something else than records. */
dm_status dm_report_open(const char *path, bool csv, dm_report_file *report);

/* A header line first, if a CSV file is new or empty.  DM_E_IO, DM_E_FIT. */
dm_status dm_report_add(dm_report_file *report, const dm_record *record);

/* Removes a file that was made and got no record.  Once more does no harm.  DM_E_IO. */
dm_status dm_report_close(dm_report_file *report);

#endif
