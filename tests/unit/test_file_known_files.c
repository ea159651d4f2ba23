/* A file that is like a known one gets the answer that HDF5 would give: with any byte of the known
 * file changed, both agree. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "file/child.h"
#include "file/hdf5_use.h"
#include "file/inspect_impl.h"
#include "file/known_files.h"
#include "file_cases.h"

enum { SIDE = 12, FRONT = 6000, STEP = 7 };

typedef struct question {
  dm_location known, other;
} question;

typedef struct answer {
  bool recognised;
  int codes[2]; /* of HDF5 alone, and with a known file; 0: accepted */
  dm_dataset found[2];
} answer;

static int examine(dm_known_files *known, const dm_location *location, dm_dataset *found) {
  const dm_trust trust = {.known = known};
  *found = (dm_dataset){.at = *location};
  dm_status status = dm_examine_at(&trust, found, NULL);
  const int code = status ? (int)status->code : 0;
  dm_status_free(status);
  return code;
}

/* A dm_child_work: question -> answer. HDF5 may crash. */
static dm_status compare(const void *argument, void *result) {
  const question *q = argument;
  answer *a = result;
  dm_known_files *none, *files;
  dm_dataset found, tried = {.at = q->other};
  DM_TRY(dm_h5_start(false));
  DM_TRY(dm_known_new(&none));
  DM_TRY(dm_known_new(&files));
  a->codes[0] = examine(none, &q->other, &a->found[0]);
  if (examine(files, &q->known, &found) != 0) return dm_fail(DM_E_INPUT, "the known file is bad");
  a->recognised = dm_known_find(files, &(dm_trust){.known = files}, &tried);
  a->codes[1] = examine(files, &q->other, &a->found[1]);
  dm_known_free(files);
  dm_known_free(none);
  return DM_OK;
}

/* False: HDF5 crashed. */
static bool ask(const question *q, answer *a) {
  dm_status status = dm_child_run(&q->other, compare, q, a, sizeof *a);
  const bool answered = !status;
  if (status && !strstr(status->message, "rejected:")) fail_msg("%s", status->message);
  dm_status_free(status);
  return answered;
}

static void expect_same(const answer *a, const char *what, size_t where) {
  const dm_dataset *x = &a->found[0], *y = &a->found[1];
  if (a->codes[0] != a->codes[1])
    fail_msg("%s, byte %zu: code %d, with a known file %d", what, where, a->codes[0], a->codes[1]);
  if (a->codes[0] != 0) return;
  if (x->rows != y->rows || x->cols != y->cols || x->dtype != y->dtype ||
      x->swapped != y->swapped || x->vector != y->vector || x->layout != y->layout ||
      x->offset != y->offset || x->chunk_rows != y->chunk_rows || x->filters != y->filters ||
      x->stored_bytes != y->stored_bytes || x->inode != y->inode || x->device != y->device ||
      x->modified_ns != y->modified_ns || x->file_bytes != y->file_bytes ||
      x->meaning.active != y->meaning.active || x->meaning.type != y->meaning.type ||
      strcmp(x->meaning.text, y->meaning.text) != 0 ||
      strcmp(x->meaning.warning, y->meaning.warning) != 0 ||
      strcmp(x->at.dataset, y->at.dataset) != 0 || strcmp(x->at.file, y->at.file) != 0)
    fail_msg("%s, byte %zu: another answer with a known file", what, where);
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
  int recognised = 0, crashes = 0, tried = 0;
  strcpy(q.known.dataset, dataset);
  strcpy(q.other.dataset, dataset);
  write_file(q.known.file, DM_F64, SIDE, SIDE, form);
  add_fill_value(q.known.file);
  char *whole = contents_of(q.known.file, &length);
  write_bytes(q.other.file, whole, length);
  assert_true(ask(&q, &a) && a.recognised && a.codes[0] == 0);
  expect_same(&a, form->name, 0);
  write_bytes(q.other.file, whole, length - 1);
  assert_true(ask(&q, &a) && !a.recognised);
  expect_same(&a, form->name, length);
  for (size_t i = 0; i < length && i < FRONT; i += STEP, tried++) {
    const char before = whole[i];
    whole[i] ^= (char)(1 << rand() % 8);
    write_bytes(q.other.file, whole, length);
    whole[i] = before;
    const bool answered = ask(&q, &a);
    if (answered) expect_same(&a, form->name, i);
    recognised += answered && a.recognised;
    crashes += !answered;
  }
  free(whole);
  print_message("%s: %d files with a changed byte, %d recognised, %d crashes of HDF5\n", form->name,
                tried, recognised, crashes);
  assert_true(recognised < tried && (form->compact || recognised > 0));
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

/* What was asked, and how, is a part of what is known. */
TEST(test_other_questions) {
  question q = {.known = at(*state, "known.h5:/m"), .other = at(*state, "known.h5:/n")};
  answer a;
  write_file(q.known.file, DM_F64, SIDE, SIDE, &(file_form){.name = "plain"});
  assert_true(ask(&q, &a) && !a.recognised && a.codes[0] == DM_E_INPUT);
  expect_same(&a, "another dataset", 0);
  q.other = q.known;
  assert_true(ask(&q, &a) && a.recognised);
  strcpy(q.other.part, "[0:3]");
  assert_true(ask(&q, &a) && !a.recognised && a.codes[0] == 0);
  expect_same(&a, "a part", 0);
  /* A writer has locked it, which counts unless locks are switched off. */
  q.other = at(*state, "other.h5:/m");
  write_file(q.other.file, DM_F64, SIDE, SIDE, &(file_form){.name = "plain"});
  assert_true(ask(&q, &a) && a.recognised);
  const int fd = open(q.other.file, O_RDONLY);
  assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
  assert_true(ask(&q, &a) && a.recognised == (a.codes[0] == 0));
  expect_same(&a, "locked", 0);
  close(fd);
}

RUN_ALL_IN_FOLDER(test_file_known_files)
