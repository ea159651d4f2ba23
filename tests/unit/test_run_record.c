/* Records with strings, numbers and paths that break careless JSON and CSV. */
#include "checks.h"

#include <jansson.h>
#include <sys/stat.h>

#include "run/record.h"

static const char nasty[] = "a \"b\", 'c'\\ \t\n\r%s,;\xc3\xa9\x01";

static dm_record *filled(void) {
  dm_record *record;
  ok(dm_record_new("multiply", nasty, &record));
  dm_record_text(record, "files.a", "A", "%s", nasty);
  dm_record_text(record, "files.odd", NULL, "%s", "not \xff\xfe UTF-8");
  dm_record_text(record, "empty", NULL, "%s", "");
  dm_record_integer(record, "sizes.m", "rows", DM_SHOWN_PLAIN, INT64_MAX);
  dm_record_integer(record, "sizes.c_bytes", "size", DM_SHOWN_BYTES, -1);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, 0.1);
  dm_record_real(record, "times.none_s", NULL, DM_SHOWN_SECONDS, (double)NAN);
  dm_record_real(record, "times.endless_s", "endless", DM_SHOWN_FLOPS, INFINITY);
  dm_record_flag(record, "plan.overlap", "overlap", true);
  dm_record_series(record, "times.all_s", (double[]){1.5, 2.5, -0.0}, 3);
  dm_record_series(record, "times.no_s", NULL, 0);
  dm_record_summary(record, "first");
  dm_record_summary(record, "m=%d PASS", 3);
  return record;
}

static const json_t *at(const json_t *root, const char *object, const char *key) {
  const json_t *inner = json_object_get(root, object);
  return key ? json_object_get(inner, key) : inner;
}

/* Adds RECORD to PATH COUNT times. */
static void add(dm_record *record, const char *path, bool csv, int count) {
  dm_report_file file;
  ok(dm_report_open(path, csv, &file));
  while (count-- > 0) ok(dm_report_add(&file, record));
  ok(dm_report_close(&file));
}

TEST(json_is_valid) {
  char path[512];
  size_t bytes;
  path_in(path, *state, "r.jsonl");
  dm_record *record = filled();
  add(record, path, false, 1);
  add(record, path, false, 1);
  char *text = contents_of(path, &bytes), *second = strchr(text, '\n');
  assert_non_null(second);
  *second++ = '\0';
  assert_int_equal(strlen(text) + 1, strlen(second)); /* one line each, equal except for the end */
  json_error_t error;
  json_t *root = json_loads(text, 0, &error);
  if (!root) fail_msg("%s in %s", error.text, text);
  assert_string_equal(json_string_value(at(root, "schema", NULL)), DM_SCHEMA);
  assert_string_equal(json_string_value(at(root, "command", NULL)), nasty);
  assert_string_equal(json_string_value(at(root, "files", "a")), nasty);
  assert_true(json_is_string(at(root, "files", "odd")));
  assert_int_equal(json_integer_value(at(root, "sizes", "m")), INT64_MAX);
  assert_true(fabs(json_real_value(at(root, "times", "total_s")) - 0.1) < 1e-12);
  assert_true(json_is_null(at(root, "times", "none_s")));
  assert_true(json_is_null(at(root, "times", "endless_s")));
  assert_true(json_is_true(at(root, "plan", "overlap")));
  assert_int_equal(json_array_size(at(root, "times", "all_s")), 3);
  assert_int_equal(json_array_size(at(root, "times", "no_s")), 0);
  json_decref(root);
  free(text);
  dm_record_free(record);
}

/* Returns the number of fields of the CSV record at *TEXT (RFC 4180: quoted fields may contain line
 * ends), copies field WHICH to WANTED and advances *TEXT. */
static int csv_fields(const char **text, char wanted[256], int which) {
  int fields = 0;
  const char *c = *text;
  for (;; c++) {
    int length = 0;
    if (*c++ != '"') fail_msg("field %d is not quoted", fields);
    for (;; c++) {
      if (*c == '\0') fail_msg("field %d does not end", fields);
      if (*c == '"' && *++c != '"') break;
      if (fields == which && length < 255) wanted[length++] = *c;
    }
    if (fields++ == which) wanted[length] = '\0';
    if (*c != ',') break;
  }
  assert_int_equal(*c, '\n');
  *text = c + 1;
  return fields;
}

TEST(csv_is_valid) {
  char path[512], field[256];
  size_t bytes;
  path_in(path, *state, "r.csv");
  dm_record *record = filled();
  add(record, path, true, 1);
  add(record, path, true, 1);
  char *text = contents_of(path, &bytes);
  const char *at = text;
  const int command = 5; /* after schema, verb, version, git, date */
  int fields = csv_fields(&at, field, command);
  assert_string_equal(field, "command");
  for (int line = 0; line < 2; line++) {
    assert_int_equal(csv_fields(&at, field, command), fields);
    assert_string_equal(field, nasty);
  }
  assert_int_equal(*at, '\0');
  at = text;
  const int none = 12; /* unknown values are empty */
  csv_fields(&at, field, none);
  assert_string_equal(field, "times.none_s");
  csv_fields(&at, field, none);
  assert_string_equal(field, "");
  free(text);
  dm_record_free(record);
}

/* A record with other entries has the columns of the first one. */
TEST(csv_keeps_its_columns) {
  static const char *const wanted[4][2] = {{"x.b", "x.c"}, {"b0", "c0"}, {"b1", "c1"}, {"", "c2"}};
  char path[512], field[256];
  size_t bytes;
  path_in(path, *state, "columns.csv");
  for (int line = 0; line < 3; line++) {
    dm_record *record;
    ok(dm_record_new("multiply", "x", &record));
    if (line == 1) dm_record_text(record, "x.a", NULL, "more");
    if (line != 2) dm_record_text(record, "x.b", NULL, "b%d", line);
    dm_record_text(record, "x.c", NULL, "c%d", line);
    add(record, path, true, 1);
    dm_record_free(record);
  }
  char *text = contents_of(path, &bytes);
  for (int which = 0; which < 2; which++) {
    const char *at = text;
    for (int line = 0; line < 4; line++) {
      assert_int_equal(csv_fields(&at, field, 6 + which), 8);
      assert_string_equal(field, wanted[line][which]);
    }
    assert_int_equal(*at, '\0');
  }
  free(text);
  FILE *file = fopen(path, "w");
  fputs("\"time\",\"of others\"\n1,2\n", file);
  fclose(file);
  dm_report_file report;
  fails(dm_report_open(path, true, &report), DM_E_USAGE, "no line of the names");
}

/* The file contains only one run: a record, or an array of records; earlier contents are replaced.
 */
TEST(documents_are_made_anew) {
  char path[512];
  path_in(path, *state, "r.json");
  dm_record *record = filled();
  for (int count = 1; count <= 3; count++) {
    add(record, path, false, 4 - count);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root) fail_msg("%s in %s", error.text, path);
    assert_int_equal(json_array_size(root), count == 3 ? 0 : 4 - count);
    assert_int_equal(json_is_object(root), count == 3);
    json_decref(root);
  }
  dm_record_free(record);
}

TEST(files_that_cannot_be_written) {
  char path[512];
  dm_report_file file;
  fails(dm_report_open("/no/such/place/r.json", false, &file), DM_E_IO, "cannot be written");
  fails(dm_report_open("/tmp", true, &file), DM_E_IO, "cannot be written");
  dm_record *record = filled();
  for (int csv = 0; csv < 2; csv++) {
    ok(dm_report_open("/dev/full", csv, &file));
    fails(dm_report_add(&file, record), DM_E_IO, "failed");
    ok(dm_report_close(&file));
  }
  dm_record_free(record);
  dm_record_free(NULL);
  assert_int_equal(mkfifo(path_in(path, *state, "fifo"), 0600), 0);
  fails(dm_report_open(path, false, &file), DM_E_IO, "no process reads");
}

/* A wrong name never overwrites a matrix, and failures leave no file. */
TEST(only_records_are_written_to) {
  char path[512];
  dm_report_file file;
  write_text(path_in(path, *state, "matrix.h5"), "\x89HDF\r\n");
  fails(dm_report_open(path, false, &file), DM_E_USAGE, "does not hold records");
  fails(dm_report_open(path, true, &file), DM_E_USAGE, "does not hold records");
  assert_int_equal(access(path, F_OK), 0);
  unlink(path);
  add(NULL, path, false, 0);
  assert_int_not_equal(access(path, F_OK), 0);
}

RUN_ALL_IN_FOLDER(test_run_record)
