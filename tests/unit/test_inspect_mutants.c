/* Files with a few wrong bytes: inspection and reading end with an answer, never with a crash here.
 * usage: test_inspect_mutants [COUNT [SEED]] */
#include <signal.h>

#include "core/clock.h"
#include "file_cases.h"
#include "io/file_queue.h"

enum { LARGEST = 1 << 16, SIDE = 24 };

typedef struct local {
  const char *folder;
  int count;
  unsigned seed;
} local;

/* Changes 1 to 8 bytes, mostly of the metadata at the front. */
static void mutate(unsigned char *data, size_t length) {
  for (int changes = 1 + rand() % 8; changes > 0; changes--) {
    size_t where = (size_t)rand() % (rand() % 4 ? (length < 2400 ? length : 2400) : length);
    static const unsigned char telling[] = {0, 1, 0x7f, 0x80, 0xff};
    if (rand() % 3)
      data[where] = (unsigned char)rand();
    else
      data[where] = telling[rand() % 5];
  }
}

/* Reads accepted files, with a thread for chunks: only a refusal is allowed. */
static void read_accepted(const dm_dataset *dataset) {
  if (dataset->rows != SIDE || dataset->cols != SIDE) return;
  static char data[16 * SIDE * SIDE];
  dm_view view = dm_view_row_major(data, dataset->dtype, SIDE, SIDE);
  dm_file_queue *ahead;
  dm_reader *reader = NULL;
  dm_transfer *reading;
  ok(dm_file_queue_open(1, 1 << 20, &ahead));
  dm_status status = dm_reader_open(dataset, DM_DTYPE_NONE, &reader);
  if (!status) status = dm_file_queue_read(ahead, reader, 0, 0, &view, 1, false, &reading);
  if (!status) status = dm_transfer_wait(reading, NULL);
  dm_file_queue_close(ahead);
  dm_reader_close(reader);
  if (status && status->code != DM_E_INPUT && status->code != DM_E_IO)
    fail_msg("code %d: %s", (int)status->code, status->message);
  dm_status_free(status);
}

/* Returns the outcome's code, 0 for success; *crash: the child crashed. */
static int outcome(const dm_location *location, bool *crash) {
  dm_dataset dataset;
  static dm_attributes provenance;
  dm_status status = dm_file_inspect(location, &(dm_trust){0}, &dataset, &provenance);
  *crash = status && strstr(status->message, "rejected:") != NULL;
  if (!status) {
    assert_true(dataset.rows > 0 && dataset.cols > 0 && dataset.dtype < DM_DTYPE_COUNT);
    assert_true(dataset.offset < dataset.file_bytes);
    read_accepted(&dataset);
  }
  int code = status ? (int)status->code : 0;
  dm_status_free(status);
  return code;
}

TEST(test_mutants) {
  const local *work = *state;
  char *whole[2];
  static unsigned char data[LARGEST];
  size_t length[2];
  const file_form forms[2] = {{0}, {.chunk_rows = 8, .chunk_cols = 8, .filters = true}};
  dm_location location = at(work->folder, "m.h5");
  for (int i = 0; i < 2; i++) {
    write_file(location.file, DM_F64, SIDE, SIDE, &forms[i]);
    whole[i] = contents_of(location.file, &length[i]);
    assert_true(length[i] <= LARGEST);
  }
  int accepted = 0, refused = 0, crashes = 0;
  double slowest = 0;
  srand(work->seed);
  for (int i = 0; i < work->count; i++) {
    bool crash;
    memcpy(data, whole[i % 2], length[i % 2]);
    mutate(data, length[i % 2]);
    write_bytes(location.file, data, rand() % 10 ? length[i % 2] : (size_t)rand() % length[i % 2]);
    snprintf(location.dataset, sizeof location.dataset, "%s", rand() % 3 ? "/m" : "");
    double begin = dm_now();
    int code = outcome(&location, &crash);
    if (dm_now() - begin > slowest) slowest = dm_now() - begin;
    if (code != 0 && code != DM_E_INPUT && code != DM_E_IO) /* HDF5 fails to read an attribute */
      fail_msg("mutant %d: code %d", i, code);
    code ? refused++ : accepted++;
    crashes += crash;
  }
  free(whole[0]), free(whole[1]);
  print_message("%d mutants: %d accepted, %d refused, %d of them after a crash; slowest %.2f s\n",
                work->count, accepted, refused, crashes, slowest);
}

TEST_PROGRAM(test_inspect_mutants) {
  char folder[64];
  local work = {.folder = new_folder(folder),
                .count = argc > 1 ? atoi(argv[1]) : 200,
                .seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1};
  const int failed = run_all(&work);
  remove_folder(folder);
  return failed;
}
