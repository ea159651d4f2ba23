/* report_file: a file for records, opened before the work, so that a bad name costs no work.
 *
 * Records are appended, one line of JSON or CSV each. A file called NAME.json instead holds one
 * document, that of this run: its record, or an array of several. */
#ifndef DM_RUN_REPORT_FILE_H
#define DM_RUN_REPORT_FILE_H

#include "run/record.h"

typedef struct dm_report_file {
  const char *path;
  int file; /* -1: closed */
  bool csv, document, made;
  int records;
  char *first; /* first record of a document, until there is a second one */
} dm_report_file;

/* "-" and "/dev/stdout" are standard output. */
bool dm_report_is_stdout(const char *path);

/* Opens PATH (kept, not copied); the file stays unchanged until a record is added. DM_E_IO: it
 * cannot be written; DM_E_USAGE: it contains something other than records. */
dm_status dm_report_open(const char *path, bool csv, dm_report_file *report);

/* Adds a record, after a header line if a CSV file is new or empty. DM_E_IO, DM_E_FIT. */
dm_status dm_report_add(dm_report_file *report, const dm_record *record);

/* Closes the file and removes it if it is new and got no record. May be called again. DM_E_IO. */
dm_status dm_report_close(dm_report_file *report);

#endif
