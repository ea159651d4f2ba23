/* reports: write results: the table to standard output, records to the files of --json and
 * --csv. */
#ifndef DM_CLI_REPORTS_H
#define DM_CLI_REPORTS_H

#include <stdio.h>

#include "cli/call.h"
#include "run/record.h"

/* No report is open yet; NULL: out of memory. */
dm_cli_reports *dm_cli_reports_new(void);

/* Opens the files before the work, on the one rank that reports. DM_E_USAGE: one is a matrix of
 * this command, or another report; DM_E_IO. */
dm_status dm_cli_open_reports(const dm_call *call);

/* May be called again. */
dm_status dm_cli_close_reports(const dm_call *call);

/* The stream for tables: standard error if a record goes to standard output. */
FILE *dm_cli_out(const dm_call *call);

/* Adds RECORD to the files. */
dm_status dm_cli_report(const dm_call *call, const dm_record *record);

/* Adds RECORD to the files and prints, depending on -q, the table, its last line, or nothing. */
dm_status dm_cli_publish(const dm_call *call, const dm_record *record);

#endif
