#include "cli/reports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/record.h"

struct dm_cli_reports {
  int count;
  dm_report_file files[2 * DM_CLI_REPORTS];
};

/* ---- checks of the paths ---- */

static bool is_same_file(const char *one, const char *other) {
  struct stat a, b;
  if (strcmp(one, other) == 0) return true;
  return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static dm_status check_not_matrix(const dm_call *call, const char *option, const char *path) {
  const dm_settings *s = &call->settings;
  bool clash = is_same_file(path, s->output.file) || is_same_file(path, s->old_c.file);
  for (int i = 0; i < call->operand_count && !clash; i++) {
    dm_location at;
    dm_status bad = dm_io_parse_location(call->operands[i], &at);
    clash = !bad && is_same_file(path, at.file);
    dm_status_free(bad);
  }
  if (!clash) return DM_OK;
  return dm_fail(DM_E_USAGE, "option '--%s': %s is a matrix of this command", option, path);
}

static dm_status check_not_report(const dm_cli_reports *reports, const char *path) {
  for (int i = 0; i < reports->count; i++) {
    const char *other = reports->files[i].path;
    if (dm_report_is_stdout(path) ? dm_report_is_stdout(other) : is_same_file(path, other))
      return dm_fail(DM_E_USAGE, "two reports would go to %s", path);
  }
  return DM_OK;
}

/* ---- opening, writing, closing ---- */

dm_cli_reports *dm_cli_reports_new(void) {
  return calloc(1, sizeof(dm_cli_reports));
}

static dm_status open_reports(const dm_call *call, const dm_cli_paths *paths, bool csv) {
  dm_cli_reports *reports = call->reports;
  for (int i = 0; i < paths->count; i++) {
    DM_TRY(check_not_report(reports, paths->path[i]));
    DM_TRY(dm_report_open(paths->path[i], csv, &reports->files[reports->count]));
    reports->count++; /* from here it gets closed, and removed if it is new */
    DM_TRY(check_not_matrix(call, csv ? "csv" : "json", paths->path[i]));
  }
  return DM_OK;
}

dm_status dm_cli_open_reports(const dm_call *call) {
  call->reports->count = 0;
  if (call->own.trace[0]) DM_TRY(check_not_matrix(call, "trace", call->own.trace));
  DM_TRY(open_reports(call, &call->own.json, false));
  return open_reports(call, &call->own.csv, true);
}

dm_status dm_cli_close_reports(const dm_call *call) {
  dm_cli_reports *reports = call->reports;
  dm_status status = DM_OK;
  for (int i = 0; i < reports->count; i++)
    status = dm_status_first(status, dm_report_close(&reports->files[i]));
  return status;
}

dm_status dm_cli_report(const dm_call *call, const dm_record *record) {
  dm_cli_reports *reports = call->reports;
  dm_status status = DM_OK;
  for (int i = 0; i < reports->count; i++)
    status = dm_status_first(status, dm_report_add(&reports->files[i], record));
  return status;
}

FILE *dm_cli_out(const dm_call *call) {
  const dm_cli_paths *both[] = {&call->own.json, &call->own.csv};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < both[i]->count; j++)
      if (dm_report_is_stdout(both[i]->path[j])) return stderr;
  return stdout;
}

/* ---- the table ---- */

static const char mark[] = "damier: ";

/* -q leaves only the line that scripts read, if there is one; -q -q prints nothing. */
static dm_status print_table(const dm_call *call, const dm_record *record) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = dm_cli_out(call);
  dm_level level = dm_cli_level(call);
  if (level <= DM_LOG_ERROR) return DM_OK;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return dm_fail(DM_E_FIT, "no memory for the report");
  dm_record_print(record, memory);
  if (fclose(memory) != 0) {
    free(text);
    return dm_fail(DM_E_FIT, "no memory for the report");
  }
  const char *last = text, *end = text + size;
  for (const char *at = text; at + 1 < end; at++)
    if (*at == '\n') last = at + 1;
  const bool brief = level <= DM_LOG_WARNING;
  if (!brief || strncmp(last, mark, strlen(mark)) == 0) fputs(brief ? last : text, out);
  free(text);
  if (fflush(out) != 0 || ferror(out))
    return dm_fail(DM_E_IO, "the report could not be written to standard output");
  return DM_OK;
}

dm_status dm_cli_publish(const dm_call *call, const dm_record *record) {
  dm_status status = print_table(call, record);
  return dm_status_first(status, dm_cli_report(call, record));
}
