/* A file that is like a known one gets the answer that HDF5 would give: with any byte of the known
 * file changed, both agree.
 *
 * HDF5 1.10 reads beyond a message whose stated size is too large: its answer then depends on what
 * happens to be in memory, and may change from one examination to the next. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "dataset/child.h"
#include "dataset/hdf5_use.h"
#include "file_cases.h"
#include "inspect/inspect_impl.h"
#include "inspect/known_files.h"

enum { SIDE = 12, FRONT = 6000, STEP = FEWER > 1 ? 29 : 7, BATCH = 64 };

/* Of OTHER, a copy of KNOWN, BATCH bytes are changed in turn, from FIRST on; 0: none, once. */
typedef struct question {
  dm_location known, other;
  size_t first;
  unsigned seed;
} question;

typedef struct answer {
  int tried, recognised;
  int unsteady; /* files of which HDF5 said one thing, then another */
  int code;     /* of the last file; 0: accepted */
  bool wrong;   /* what a known file says is not what HDF5 says */
  size_t where;
} answer;

static int examine(dm_known_files *known, const dm_location *location, dm_dataset *found) {
  const dm_trust trust = {.known = known};
  *found = (dm_dataset){.at = *location};
  dm_status status = dm_examine_at(&trust, found, NULL);
  const int code = status ? (int)status->code : 0;
  dm_status_free(status);
  return code;
}

static bool is_same(const dm_dataset *x, const dm_dataset *y) {
  return x->rows == y->rows && x->cols == y->cols && x->dtype == y->dtype &&
         x->swapped == y->swapped && x->vector == y->vector && x->layout == y->layout &&
         x->offset == y->offset && x->chunk_rows == y->chunk_rows && x->filters == y->filters &&
         x->stored_bytes == y->stored_bytes && x->inode == y->inode && x->device == y->device &&
         x->modified_ns == y->modified_ns && x->file_bytes == y->file_bytes &&
         x->meaning.active == y->meaning.active && x->meaning.type == y->meaning.type &&
         memcmp(&x->few, &y->few, sizeof x->few) == 0 &&
         strcmp(x->meaning.text, y->meaning.text) == 0 &&
         strcmp(x->meaning.warning, y->meaning.warning) == 0 &&
         strcmp(x->at.dataset, y->at.dataset) == 0 && strcmp(x->at.file, y->at.file) == 0;
}

static dm_status compare(const question *q, answer *a) {
  dm_known_files *none, *files;
  dm_dataset found[2], tried = {.at = q->other};
  DM_TRY(dm_known_new(&none));
  DM_TRY(dm_known_new(&files));
  a->code = examine(none, &q->other, &found[0]);
  if (examine(files, &q->known, &found[1]) != 0) return dm_fail(DM_E_INPUT, "the known is bad");
  const bool recognised = dm_known_find(files, &(dm_trust){.known = files}, &tried);
  const bool differs = examine(files, &q->other, &found[1]) != a->code ||
                       (a->code == 0 && !is_same(&found[0], &found[1]));
  a->wrong = recognised && differs;
  a->unsteady += !recognised && differs;
  a->recognised += recognised;
  a->tried++;
  dm_known_free(files);
  dm_known_free(none);
  return DM_OK;
}

/* A dm_child_work: question -> answer. HDF5 may crash. */
static dm_status compare_all(const void *argument, void *result) {
  const question *q = argument;
  answer *a = result;
  size_t length;
  *a = (answer){0};
  DM_TRY(dm_h5_start(false));
  if (q->first == 0) return compare(q, a);
  char *whole = contents_of(q->known.file, &length);
  srand(q->seed);
  for (int i = 0; i < BATCH && !a->wrong; i++) {
    a->where = q->first + (size_t)(STEP * i);
    if (a->where >= length || a->where >= FRONT) break;
    const char before = whole[a->where];
    whole[a->where] ^= (char)(1 << rand() % 8);
    write_bytes(q->other.file, whole, length);
    whole[a->where] = before;
    DM_TRY(compare(q, a));
  }
  free(whole);
  return DM_OK;
}

/* False: HDF5 crashed. */
static bool ask(const question *q, answer *a, const char *what) {
  dm_status status = dm_child_run(&q->other, compare_all, q, a, sizeof *a);
  const bool answered = !status;
  if (status && !strstr(status->message, "rejected:")) fail_msg("%s", status->message);
  dm_status_free(status);
  if (answered && a->wrong)
    fail_msg("%s, byte %zu: another answer with a known file", what, a->where);
  return answered;
}

/* Gives /m of FILE an attribute that says what its numbers mean. */
static void add_fill_value(const char *path) {
  const double value = 77.0;
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
  const hid_t set = H5Dopen2(file, "m", H5P_DEFAULT);
  const hid_t made = H5Acreate2(set, "_FillValue", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(made, H5T_NATIVE_DOUBLE, &value) >= 0);
  H5Aclose(made);
  H5Dclose(set);
  H5Sclose(space);
  H5Fclose(file);
}

static void try_form(const char *folder, const file_form *form, const char *dataset) {
  question q = {.known = at(folder, "known.h5"), .other = at(folder, "other.h5")};
  size_t length;
  answer a;
  int recognised = 0, crashes = 0, tried = 0, unsteady = 0;
  strcpy(q.known.dataset, dataset);
  strcpy(q.other.dataset, dataset);
  write_file(q.known.file, DM_F64, SIDE, SIDE, form);
  add_fill_value(q.known.file);
  char *whole = contents_of(q.known.file, &length);
  write_bytes(q.other.file, whole, length);
  assert_true(ask(&q, &a, form->name) && a.recognised == 1 && a.code == 0);
  write_bytes(q.other.file, whole, length - 1);
  assert_true(ask(&q, &a, form->name) && a.recognised == 0);
  free(whole);
  for (q.first = 1; q.first < length && q.first < FRONT; q.first += STEP * BATCH) {
    q.seed = (unsigned)rand();
    if (ask(&q, &a, form->name)) {
      recognised += a.recognised;
      tried += a.tried;
      unsteady += a.unsteady;
    } else {
      crashes++;
    }
  }
  print_message(
      "%s: %d files with a changed byte, %d recognised, %d crashes of HDF5, %d answers changed\n",
      form->name, tried, recognised, crashes, unsteady);
  assert_true(recognised < tried && (form->compact || recognised > 0));
  assert_true(20 * unsteady <= tried);
}

TEST(test_any_byte_may_differ) {
  static const file_form forms[] = {
      {.name = "contiguous"},
      {.name = "swapped", .swapped = true},
      {.name = "compact", .compact = true},
      {.name = "user block", .user_block = 512},
      {.name = "chunked", .chunk_rows = 5, .chunk_cols = 7},
      {.name = "filters", .chunk_rows = 6, .chunk_cols = 6, .filters = true}};
  srand(5);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    try_form(*state, &forms[i], i % 2 ? "/m" : "");
}

static void copy_file(const char *from, const char *to) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_true(in && out);
  for (int byte; (byte = fgetc(in)) != EOF;) assert_true(fputc(byte, out) != EOF);
  assert_true(fclose(in) == 0 && fclose(out) == 0);
}

/* Writes other elements to /m of FILE: its packed chunks get other sizes and places. */
static void write_others(const char *path) {
  double other[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) other[i] = i % 5 == 0 ? 1.0 / (i + 1) : 3.0;
  const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "m", H5P_DEFAULT);
  assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, other) >= 0);
  H5Dclose(set);
  H5Fclose(file);
}

/* Files of packed chunks differ in the places of these, and in their length. */
TEST(test_other_chunks) {
  const file_form form = {.name = "packed", .chunk_rows = 6, .chunk_cols = 6, .filters = true};
  question q = {.known = at(*state, "known.h5:/m"), .other = at(*state, "other.h5:/m")};
  answer a;
  size_t length[2];
  write_file(q.known.file, DM_F64, SIDE, SIDE, &form);
  copy_file(q.known.file, q.other.file); /* HDF5 would store another time */
  write_others(q.other.file);
  char *known = contents_of(q.known.file, &length[0]),
       *other = contents_of(q.other.file, &length[1]);
  assert_true(length[0] != length[1]);
  assert_true(ask(&q, &a, "other chunks") && a.recognised && a.code == 0);
  write_bytes(q.other.file, other, length[1] - 1); /* cut off */
  assert_true(ask(&q, &a, "cut off") && !a.recognised && a.code != 0);
  free(known);
  free(other);
}

/* What was asked, and how, is a part of what is known. */
TEST(test_other_questions) {
  question q = {.known = at(*state, "known.h5:/m"), .other = at(*state, "known.h5:/n")};
  answer a;
  write_file(q.known.file, DM_F64, SIDE, SIDE, &(file_form){.name = "plain"});
  assert_true(ask(&q, &a, "another dataset") && !a.recognised && a.code == DM_E_INPUT);
  q.other = q.known;
  assert_true(ask(&q, &a, "the same") && a.recognised);
  strcpy(q.other.part, "[0:3]");
  assert_true(ask(&q, &a, "a part") && !a.recognised && a.code == 0);
  /* A writer has locked it, which counts unless locks are switched off. */
  q.other = at(*state, "other.h5:/m");
  copy_file(q.known.file, q.other.file); /* HDF5 would store another time */
  assert_true(ask(&q, &a, "a copy") && a.recognised);
  const int fd = open(q.other.file, O_RDONLY);
  assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
  assert_true(ask(&q, &a, "locked") && (a.recognised == 1) == (a.code == 0));
  close(fd);
}

RUN_ALL_IN_FOLDER(test_inspect_known_files)
