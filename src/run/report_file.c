#include "run/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool dm_report_is_stdout(const char *path) {
  return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* An existing file is only written if it starts like a record file: a mistyped name must not
 * destroy a matrix. */
static dm_status check_content(const dm_report_file *r, const struct stat *info) {
  char first = '\0';
  if (!S_ISREG(info->st_mode) || info->st_size == 0) return DM_OK;
  const int file = open(r->path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return DM_OK; /* writable but not readable: not a matrix */
  const ssize_t got = read(file, &first, 1);
  close(file);
  if (got == 1 && (r->csv ? first == '"' : first == '{' || first == '[')) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "%s exists and does not hold records", r->path),
                 "it was not changed: name another file, or remove it");
}

/* Opens without waiting for the reader of a FIFO. */
static dm_status open_file(dm_report_file *r) {
  struct stat info;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | (r->document ? 0 : O_APPEND);
  r->made = lstat(r->path, &info) != 0;
  r->file = open(r->path, flags, 0666);
  if (r->file < 0 && errno == ENXIO)
    return dm_fail(DM_E_IO, "%s: cannot be written: no process reads this FIFO", r->path);
  if (r->file < 0) return dm_fail(DM_E_IO, "%s: cannot be written: %m", r->path);
  if (fstat(r->file, &info) != 0 || fcntl(r->file, F_SETFL, flags & O_APPEND) != 0)
    return dm_fail(DM_E_IO, "%s: cannot be inspected: %m", r->path);
  if (!S_ISREG(info.st_mode)) r->document = false; /* cannot be rewritten */
  if (r->csv && info.st_size > 0) r->records = 1;  /* has its header */
  return check_content(r, &info);
}

dm_status dm_report_open(const char *path, bool csv, dm_report_file *report) {
  static const char end[] = ".json";
  const size_t length = strlen(path), ending = strlen(end);
  *report = (dm_report_file){.path = path, .file = -1, .csv = csv};
  report->document = !csv && length > ending && strcmp(path + length - ending, end) == 0;
  if (dm_report_is_stdout(path)) {
    report->file = STDOUT_FILENO;
    return DM_OK;
  }
  dm_status status = open_file(report);
  if (!status) return DM_OK;
  dm_status_free(dm_report_close(report));
  return status;
}

static dm_status write_text(const dm_report_file *r, const char *text) {
  for (size_t left = strlen(text); left > 0;) {
    const ssize_t written = write(r->file, text, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return dm_fail(DM_E_IO, "%s: writing failed: %m", r->path);
    text += written;
    left -= (size_t)written;
  }
  return DM_OK;
}

/* Writes the first record alone; with the second, an array, which later records extend. */
static dm_status write_document(dm_report_file *r, char *text) {
  static const char end[] = "]\n";
  const bool moved = r->records < 2 ? lseek(r->file, 0, SEEK_SET) == 0 && ftruncate(r->file, 0) == 0
                                    : lseek(r->file, 1 - (off_t)sizeof end, SEEK_END) >= 0;
  if (!moved) return dm_fail(DM_E_IO, "%s: writing failed: %m", r->path);
  text[strlen(text) - 1] = '\0'; /* the end of its line */
  if (r->records == 1) {
    DM_TRY(write_text(r, "["));
    DM_TRY(write_text(r, r->first));
  }
  if (r->records > 0) DM_TRY(write_text(r, ",\n"));
  DM_TRY(write_text(r, text));
  return write_text(r, r->records > 0 ? end : "\n");
}

dm_status dm_report_add(dm_report_file *r, const dm_record *record) {
  char *text;
  DM_TRY(r->csv ? dm_record_csv(record, r->records == 0, &text) : dm_record_json(record, &text));
  dm_status status = r->document ? write_document(r, text) : write_text(r, text);
  free(r->first);
  r->first = r->document && r->records == 0 ? text : NULL;
  if (!r->first) free(text);
  r->records++;
  return status;
}

dm_status dm_report_close(dm_report_file *r) {
  const int file = r->file;
  free(r->first);
  r->first = NULL;
  r->file = -1;
  if (file < 0 || file == STDOUT_FILENO) return DM_OK;
  if (r->made && r->records == 0) unlink(r->path);
  return close(file) == 0 ? DM_OK : dm_fail(DM_E_IO, "%s: writing failed: %m", r->path);
}
