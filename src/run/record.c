#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/log.h"
#include "core/notes.h"
#include "core/status.h"
#include "core/units.h"
#include "core/version.h"

/* Not in the CSV, whose columns must not depend on the environment. */
static const char environment[] = "environment.";

typedef struct record_entry {
  char *path, *label, *shown; /* label NULL: not in the table */
  json_t *value;              /* NULL: only in the table */
  bool detail;
} record_entry;

struct dm_record {
  record_entry *entries;
  int count, room;
  bool failed; /* an allocation failed */
  const char *verb;
  char *summary;
};

static void record_add(dm_record *record, const char *path, const char *label, const char *shown,
                       json_t *value) {
  if (record->count == record->room) {
    int room = 2 * record->room + 32;
    record_entry *entries = realloc(record->entries, (size_t)room * sizeof *entries);
    if (!entries) {
      record->failed = true;
      json_decref(value);
      return;
    }
    record->entries = entries;
    record->room = room;
  }
  record_entry *e = &record->entries[record->count++];
  *e = (record_entry){.path = strdup(path),
                      .label = label ? strdup(label) : NULL,
                      .shown = shown ? strdup(shown) : NULL,
                      .value = value};
  if (!e->path || (!e->value && path[0]) || (label && !e->label) || (shown && !e->shown))
    record->failed = true;
}

/* TEXT as JSON, which must be UTF-8: other bytes become '?'. */
static json_t *text_value(const char *text) {
  json_t *value = json_string(text);
  DM_FREED char *plain = value ? NULL : strdup(text);
  for (char *c = plain; c && *c; c++)
    if (*c & 0x80) *c = '?';
  return plain ? json_string(plain) : value;
}

void dm_record_text(dm_record *record, const char *path, const char *label, const char *format,
                    ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  if (!text) {
    record->failed = true;
    return;
  }
  record_add(record, path, label, text, text_value(text));
  free(text);
}

void dm_record_integer(dm_record *record, const char *path, const char *label, dm_shown shown,
                       int64_t value) {
  char text[32];
  if (shown == DM_SHOWN_BYTES)
    dm_format_bytes(value, text);
  else
    snprintf(text, sizeof text, "%lld", (long long)value);
  record_add(record, path, label, text, json_integer(value));
}

void dm_record_real(dm_record *record, const char *path, const char *label, dm_shown shown,
                    double value) {
  char text[32];
  switch (shown) {
  case DM_SHOWN_SECONDS:
    dm_format_seconds(value, text);
    break;
  case DM_SHOWN_RATE:
    dm_format_rate(value, text);
    break;
  case DM_SHOWN_FLOPS:
    dm_format_flops(value, text);
    break;
  case DM_SHOWN_BYTES:
    dm_format_bytes((int64_t)value, text);
    break;
  case DM_SHOWN_PLAIN:
    snprintf(text, sizeof text, "%.4g", value);
    break;
  }
  /* JSON has no infinity and no NaN. */
  record_add(record, path, label, text, isfinite(value) ? json_real(value) : json_null());
}

void dm_record_flag(dm_record *record, const char *path, const char *label, bool value) {
  record_add(record, path, label, value ? "yes" : "no", json_boolean(value));
}

static json_t *array_of(dm_record *record, const double *values, int64_t count) {
  json_t *array = json_array();
  for (int64_t i = 0; array && i < count; i++) {
    json_t *value = isfinite(values[i]) ? json_real(values[i]) : json_null();
    if (json_array_append_new(array, value)) record->failed = true;
  }
  return array;
}

void dm_record_series(dm_record *record, const char *path, const double *values, int64_t count) {
  record_add(record, path, NULL, NULL, array_of(record, values, count));
}

/* The array at PATH; creates it if there is none. */
static json_t *array_at(dm_record *record, const char *path) {
  for (int i = 0; i < record->count; i++) {
    const record_entry *e = &record->entries[i];
    if (e->path && strcmp(e->path, path) == 0 && json_is_array(e->value)) return e->value;
  }
  json_t *array = json_array();
  record_add(record, path, NULL, NULL, array);
  return record->failed ? NULL : array;
}

/* Appends COUNT texts with their names, without empty ones, to ARRAY; NULL: it could not be made.
 */
static void append_object(dm_record *record, json_t *array, const char *const *names,
                          const char *const *texts, int count) {
  json_t *object = json_object();
  for (int i = 0; i < count; i++)
    if (texts[i][0] && json_object_set_new(object, names[i], text_value(texts[i])))
      record->failed = true;
  if (!array || json_array_append_new(array, object)) record->failed = true;
}

void dm_record_object(dm_record *record, const char *path, const char *label, const char *shown,
                      const char *const *names, const char *const *texts, int count) {
  append_object(record, array_at(record, path), names, texts, count);
  dm_record_line(record, label, shown);
}

void dm_record_notes(dm_record *record, struct dm_notes *notes) {
  static const char *const names[] = {"kind", "text"};
  const int count = dm_notes_count(notes);
  json_t *array = record && count > 0 ? array_at(record, "warnings") : NULL;
  for (int i = array ? (int)json_array_size(array) : count; i < count; i++) {
    dm_note_kind kind;
    const char *text = dm_notes_text(notes, i, &kind);
    append_object(record, array, names, (const char *const[]){dm_note_kind_name(kind), text}, 2);
  }
}

void dm_record_line(dm_record *record, const char *label, const char *text) {
  record_add(record, "", label, text, NULL);
}

void dm_record_hide(dm_record *record) {
  for (int i = 0; i < record->count; i++) {
    free(record->entries[i].label);
    record->entries[i].label = NULL;
  }
  free(record->summary);
  record->summary = NULL;
}

void dm_record_summary(dm_record *record, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  free(record->summary);
  record->summary = strdup(text);
  if (!record->summary) record->failed = true;
}

/* Records environment variables that affect a run and reveal nothing private. */
static void add_environment(dm_record *record) {
  const char *names =
      "CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS NVIDIA_TF32_OVERRIDE "
      "OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES OPENBLAS_NUM_THREADS OPENBLAS_CORETYPE "
      "MKL_NUM_THREADS BLIS_NUM_THREADS HDF5_USE_FILE_LOCKING NCCL_P2P_DISABLE "
      "NCCL_SHM_DISABLE NCCL_IB_DISABLE NCCL_P2P_LEVEL NCCL_NVLS_ENABLE NCCL_SOCKET_IFNAME "
      "NCCL_IB_HCA NCCL_ALGO NCCL_PROTO UCX_TLS UCX_NET_DEVICES OMPI_MCA_pml OMPI_MCA_btl "
      "OMPI_MCA_btl_tcp_if_include OMPI_MCA_hwloc_base_binding_policy SLURM_CLUSTER_NAME "
      "SLURM_JOB_ID SLURM_STEP_ID SLURM_JOB_PARTITION SLURM_JOB_NUM_NODES "
      "SLURM_JOB_NODELIST SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_GPUS_ON_NODE "
      "SLURM_CPUS_PER_TASK SLURM_RESTART_COUNT";
  char name[96], path[128];
  while (dm_next_word(&names, ' ', name)) {
    const char *value = getenv(name);
    snprintf(path, sizeof path, "%s%s", environment, name);
    if (value) dm_record_text(record, path, NULL, "%s", value);
  }
}

static void add_start(dm_record *record, const char *verb, const char *command, time_t when) {
  char date[32];
  struct tm utc;
  if (!gmtime_r(&when, &utc) || !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc))
    date[0] = '\0';
  dm_record_text(record, "schema", NULL, "%s", DM_SCHEMA);
  dm_record_text(record, "verb", NULL, "%s", verb);
  dm_record_text(record, "version", NULL, "%s", DM_VERSION);
  dm_record_text(record, "git", NULL, "%s", DM_GIT);
  dm_record_text(record, "date", NULL, "%s", date);
  dm_record_text(record, "command", NULL, "%s", command ? command : "");
  add_environment(record);
}

dm_status dm_record_new_at(const char *verb, const char *command, time_t when, dm_record **record) {
  *record = calloc(1, sizeof **record);
  if (!*record) return dm_fail(DM_E_FIT, "no memory for a record");
  (*record)->verb = verb;
  add_start(*record, verb, command, when);
  return DM_OK;
}

dm_status dm_record_new(const char *verb, const char *command, dm_record **record) {
  return dm_record_new_at(verb, command, time(NULL), record);
}

void dm_record_free(dm_record *record) {
  if (!record) return;
  for (int i = 0; i < record->count; i++) {
    record_entry *e = &record->entries[i];
    free(e->path);
    free(e->label);
    free(e->shown);
    json_decref(e->value);
  }
  free(record->entries);
  free(record->summary);
  free(record);
}

void dm_record_detail(dm_record *record) {
  if (record->count > 0) record->entries[record->count - 1].detail = true;
}

/* Paths, or beginnings of paths with a star, of what a short report leaves out... */
/* clang-format off */
static const char *const details[] = {
    "files.a_centering", "files.b_centering", "files.write_way", "files.chunks*", "problem.shape", "problem.types", "problem.symmetry",
    "problem.sums", "machine.binding", "transport.*", "plan.*", "times.*", "moved.*", "verification.norm", "components.observations",
    "components.variables", "components.passes", "components.loss*", NULL};
/* clang-format on */
/* ... but for these. */
static const char *const kept[] = {"times.total_s", "times.multiply_s", "times.repeated_s", NULL};

static bool is_listed(const char *path, const char *const *list) {
  for (; *list; list++) {
    const size_t length = strlen(*list);
    const bool star = (*list)[length - 1] == '*';
    if (star ? strncmp(path, *list, length - 1) == 0 : strcmp(path, *list) == 0) return true;
  }
  return false;
}

/* One process is no news. */
static bool record_is_shown(const record_entry *e, bool all) {
  if (!e->label || all) return e->label != NULL;
  if (strcmp(e->path, "machine.where") == 0 && strncmp(e->shown, "1 on", 4) == 0) return false;
  return !e->detail && (!is_listed(e->path, details) || is_listed(e->path, kept));
}

void dm_record_print(const dm_record *record, bool all, FILE *out) {
  int width = 0;
  for (int i = 0; i < record->count; i++) {
    const record_entry *e = &record->entries[i];
    if (record_is_shown(e, all) && (int)strlen(e->label) > width) width = (int)strlen(e->label);
  }
  for (int i = 0; i < record->count; i++) {
    const record_entry *e = &record->entries[i];
    if (!record_is_shown(e, all)) continue;
    fprintf(out, "%-*s  ", width, e->label);
    dm_put_text(e->shown, out);
    fputc('\n', out);
  }
  if (record->summary) fprintf(out, "damier: %s %s\n", record->verb, record->summary);
}

/* The object that the last part of a dotted path belongs to; creates missing objects. */
static json_t *parent_of(json_t *root, const char *path, const char **last) {
  const char *dot;
  while ((dot = strchr(path, '.'))) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
    json_t *child = json_object_get(root, name);
    if (!child) {
      child = json_object();
      if (json_object_set_new(root, name, child)) return NULL;
    }
    root = child;
    path = dot + 1;
  }
  *last = path;
  return root;
}

static json_t *as_json(const dm_record *record) {
  json_t *root = json_object();
  for (int i = 0; root && i < record->count; i++) {
    const char *last;
    if (!record->entries[i].value) continue;
    json_t *parent = parent_of(root, record->entries[i].path, &last);
    if (!parent || json_object_set(parent, last, record->entries[i].value)) {
      json_decref(root);
      return NULL;
    }
  }
  return root;
}

dm_status dm_record_json(const dm_record *record, char **text) {
  json_t *root = record->failed ? NULL : as_json(record);
  DM_FREED char *line = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(root);
  return line && asprintf(text, "%s\n", line) >= 0 ? DM_OK
                                                   : dm_fail(DM_E_FIT, "no memory for the record");
}

/* A CSV field: quoted, its quotes doubled. */
static void write_field(FILE *file, const char *text, bool first) {
  if (!first) fputc(',', file);
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

/* Whether E is in a CSV file, which has no lists. */
static bool has_column(const record_entry *e) {
  return e->value && !json_is_array(e->value) &&
         strncmp(e->path, environment, strlen(environment)) != 0;
}

static void record_write_names(const dm_record *record, FILE *file) {
  bool first = true;
  for (int i = 0; i < record->count; i++) {
    if (!has_column(&record->entries[i])) continue;
    write_field(file, record->entries[i].path, first);
    first = false;
  }
  fputc('\n', file);
}

static void write_value(const dm_record *record, const char *name, size_t length, FILE *file,
                        bool first) {
  const record_entry *e = NULL;
  for (int i = 0; i < record->count && !e; i++) {
    const record_entry *one = &record->entries[i];
    if (strncmp(one->path, name, length) == 0 && !one->path[length] && has_column(one)) e = one;
  }
  char *text = NULL;
  if (e && !json_is_string(e->value) && !json_is_null(e->value))
    text = json_dumps(e->value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
  const char *value = text ? text : e ? json_string_value(e->value) : NULL;
  write_field(file, value ? value : "", first);
  free(text);
}

/* A line with the values of NAMES, the header line of the file. */
static void write_values(const dm_record *record, const char *names, FILE *file) {
  const char *at = names, *end;
  for (; *at == '"' && (end = strchr(at + 1, '"')); at = end[1] == ',' ? end + 2 : end + 1)
    write_value(record, at + 1, (size_t)(end - at - 1), file, at == names);
  fputc('\n', file);
}

/* The line of NAMES, if that is NULL after a line of the record's own. */
static dm_status as_csv(const dm_record *record, char **names, char **text) {
  size_t size = 0;
  *text = NULL;
  FILE *memory = record->failed ? NULL : open_memstream(text, &size);
  if (!memory) return dm_fail(DM_E_FIT, "no memory for the record");
  if (!*names) {
    record_write_names(record, memory);
    if (fflush(memory) == 0) *names = strdup(*text);
  }
  if (*names) write_values(record, *names, memory);
  if (fclose(memory) == 0 && *names) return DM_OK;
  free(*text);
  return dm_fail(DM_E_FIT, "no memory for the record");
}

/* ---- repeated measurements ---- */

static int record_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Largest rank r (from 1) such that at most 2.5 % of all samples have fewer than r values below
 * their median: P(Binomial(n, 1/2) < r) <= 0.025. */
static int64_t lower_rank(int64_t n) {
  double term = pow(0.5, (double)n), below = 0.0;
  int64_t r = 0;
  while (r < n && below + term <= 0.025) {
    below += term;
    term *= (double)(n - r) / (double)(r + 1);
    r++;
  }
  return r;
}

dm_statistics dm_statistics_of(double *values, int64_t count) {
  dm_statistics s = {.count = count};
  if (count == 0) return s;
  qsort(values, (size_t)count, sizeof *values, record_compare);
  s.least = values[0];
  s.most = values[count - 1];
  s.median = 0.5 * (values[(count - 1) / 2] + values[count / 2]);
  /* pow(1/2, n) is 0 from n = 1075 on; counts that large do not occur. */
  int64_t r = lower_rank(count);
  s.low = r > 0 ? values[r - 1] : s.least;
  s.high = r > 0 ? values[count - r] : s.most;
  return s;
}

void dm_record_statistics(dm_record *record, const char *name, const char *unit, const char *label,
                          dm_shown shown, const dm_statistics *s) {
  const char *const parts[] = {"median", "min", "max", "ci95_low", "ci95_high"};
  const double values[] = {s->median, s->least, s->most, s->low, s->high};
  char path[96];
  for (int i = 0; i < 5; i++) {
    snprintf(path, sizeof path, "%s_%s%s", name, parts[i], unit);
    dm_record_real(record, path, i == 0 ? label : NULL, shown, values[i]);
  }
}

dm_statistics dm_record_times(dm_record *record, const char *name, const char *label,
                              double *values, int64_t count) {
  char path[64];
  snprintf(path, sizeof path, "repetitions.%s_s", name);
  dm_record_series(record, path, values, count);
  const dm_statistics s = dm_statistics_of(values, count);
  snprintf(path, sizeof path, "times.%s", name);
  dm_record_statistics(record, path, "_s", label, DM_SHOWN_SECONDS, &s);
  return s;
}

/* ---- a file for records ---- */

bool dm_report_is_stdout(const char *path) {
  return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

dm_status dm_report_replaces(const char *path, const char *starts, const char *what) {
  struct stat info;
  char first = '\0';
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return DM_OK;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return DM_OK; /* writable but not readable: not a matrix */
  const ssize_t got = read(file, &first, 1);
  close(file);
  if (got == 1 && first && strchr(starts, first)) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "%s exists and does not hold %s", path, what),
                 "it was not changed: name another file, or remove it");
}

/* Keeps the line of names of a CSV file that has one, for the next records have its columns. */
static dm_status record_take_names(dm_report_file *r) {
  static const char first[] = "\"schema\"";
  size_t size = 0;
  FILE *file = fopen(r->path, "re");
  const bool got = file && getline(&r->first, &size, file) > 0;
  if (file) fclose(file);
  if (got && strncmp(r->first, first, strlen(first)) == 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "%s exists and has no line of the names of records", r->path),
                 "it was not changed: name another file, or remove it");
}

/* Opens without waiting for the reader of a FIFO. */
static dm_status record_open_file(dm_report_file *r) {
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
  DM_TRY(dm_report_replaces(r->path, r->csv ? "\"" : "{[", "records"));
  return r->csv && info.st_size > 0 ? record_take_names(r) : DM_OK;
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
  dm_status status = record_open_file(report);
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
  DM_TRY(r->csv ? as_csv(record, &r->first, &text) : dm_record_json(record, &text));
  dm_status status = r->document ? write_document(r, text) : write_text(r, text);
  if (r->document) {
    free(r->first);
    r->first = r->records == 0 ? text : NULL;
  }
  if (!r->document || r->records > 0) free(text);
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
