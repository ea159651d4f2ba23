#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/checked.h"
#include "dataset/npy_header.h"
#include "inspect/inspect.h"
#include "inspect/npy.h"
#include "io/journal.h"
#include "io/read.h"
#include "plan/machine.h"

/* Reports a violation and aborts, which fuzzers treat as a crash. */
static void demand(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  abort();
}

static void expect_refusal(dm_status status) {
  demand(status->message[0] && (status->code == DM_E_INPUT || status->code == DM_E_IO ||
                                status->code == DM_E_USAGE || status->code == DM_E_FIT),
         "a refusal has a message and a code of files");
  dm_status_free(status);
}

/* A private file in memory with DATA. */
static const char *put(const uint8_t *data, size_t length, const char *ending) {
  static char path[64];
  snprintf(path, sizeof path, "/dev/shm/damier-fuzz-%d%s", (int)getpid(), ending);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  demand(fd >= 0 && write(fd, data, length) == (ssize_t)length, "the file can be written");
  close(fd);
  return path;
}

/* Reads and removes the file PATH. */
static size_t take(const char *path, uint8_t *data) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = fd < 0 ? -1 : read(fd, data, FUZZ_ROOM);
  demand(length >= 0, "a seed can be read");
  close(fd);
  unlink(path);
  return (size_t)length;
}

/* ---- headers of .npy files ---- */

static size_t seed_npy(int number, uint8_t *data) {
  static const dm_dtype types[] = {DM_F64, DM_F32, DM_C128, DM_I8};
  char text[DM_NPY_HEADER];
  int64_t length;
  if (number >= 4) return 0;
  dm_status status = dm_npy_header(types[number], 3, 5, &(dm_leads){0}, text, &length);
  demand(!status, "a header is written");
  memset(data, 7, (size_t)length + 240);
  memcpy(data, text, (size_t)length);
  return (size_t)length + 240;
}

static void one_npy(const uint8_t *data, size_t length) {
  dm_dataset found = {.file_bytes = (int64_t)length};
  int fd = memfd_create("npy", MFD_CLOEXEC);
  int64_t bytes;
  demand(fd >= 0 && write(fd, data, length) == (ssize_t)length, "the file can be written");
  dm_status status = DM_OK;
  if (dm_format_npy.is(fd)) {
    status = dm_format_npy.examine(fd, &(dm_trust){0}, &found);
    if (status)
      expect_refusal(status);
    else
      demand(found.rows + found.cols > 0 && found.rows >= 0 && found.cols >= 0 &&
                 found.offset >= 0 && !dm_mul_overflows(found.rows, found.cols, &bytes) &&
                 !dm_mul_overflows(bytes, dm_dtype_size(found.dtype), &bytes) &&
                 bytes <= (int64_t)length - found.offset,
             "what is accepted lies in the file");
  }
  close(fd);
}

/* ---- journals ---- */

static dm_location output_at(const char *path) {
  dm_location at = {.dataset = "/c"};
  snprintf(at.file, sizeof at.file, "%.*s", (int)(strlen(path) - strlen(".journal")), path);
  return at;
}

static size_t seed_journal(int number, uint8_t *data) {
  dm_tile_record records[3] = {{.rows = 4, .cols = 9}, {.row = 4, .rows = 4, .cols = 9}, {0}};
  dm_attributes *fields = calloc(1, sizeof *fields);
  dm_journal *journal;
  bool locked;
  if (number >= 3 || !fields) {
    free(fields);
    return 0;
  }
  const char *path = put(data, 0, ".journal");
  const dm_location at = output_at(path);
  dm_status status = dm_journal_open(&at, &journal, &locked);
  if (!status) status = dm_attributes_add(fields, "alpha", "1,0");
  if (!status) status = dm_attributes_add(fields, "part", "0123456789abcdef");
  if (!status) status = dm_journal_begin(journal, fields);
  if (!status) status = dm_journal_append(journal, records, number);
  demand(!status, "a journal is written");
  dm_journal_close(journal);
  free(fields);
  return take(path, data);
}

static void one_journal(const uint8_t *data, size_t length) {
  const char *path = put(data, length, ".journal");
  const dm_location at = output_at(path);
  dm_journal *journal;
  bool locked, present;
  int64_t count;
  dm_status status = dm_journal_inspect(&at, &present);
  if (status) expect_refusal(status);
  status = dm_journal_open(&at, &journal, &locked);
  if (status) {
    expect_refusal(status);
    return;
  }
  if (dm_journal_state_of(journal) == DM_JOURNAL_PRESENT) {
    const dm_tile_record *tiles = dm_journal_tiles(journal, &count);
    demand(count >= 0 && (size_t)count * sizeof *tiles <= length, "its records fit into it");
    for (int64_t i = 0; i < count; i++) demand(tiles[i].parts == 1, "its tiles are whole");
    demand(dm_journal_fields(journal)->count <= DM_ATTRIBUTES, "its fields are counted");
  }
  dm_journal_close(journal);
}

/* ---- words of --machine, which may come from a file ---- */

static size_t seed_machine(int number, uint8_t *data) {
  static const char *const texts[] = {
      "# rates\nnodes=2 gpus=4 gpu=h200 links=device memory=64GiB\ngflops=61.2 link=2.5\n",
      "ranks=4,cores=2,gflops-bf16=30 read=1 write=0.5 latency=3"};
  if (number >= 2) return 0;
  memcpy(data, texts[number], strlen(texts[number]));
  return strlen(texts[number]);
}

static void one_machine(const uint8_t *data, size_t length) {
  char text[FUZZ_ROOM + 1];
  dm_machine machine;
  memcpy(text, data, length);
  text[length] = '\0';
  dm_status status = dm_machine_parse(text, &machine);
  if (status) {
    demand(status->code == DM_E_USAGE, "words are refused as such");
    dm_status_free(status);
    return;
  }
  for (int i = 0; i < DM_OPERANDS; i++)
    demand(isfinite(machine.flops[i]) && machine.flops[i] >= 0, "rates are numbers");
  demand(machine.nodes > 0 && machine.ranks_per_node > 0, "there are ranks");
}

/* ---- HDF5 files, in the inspecting child process ---- */

static size_t seed_inspect(int number, uint8_t *data) {
  const hsize_t dims[2] = {24, 20}, chunk[2] = {8, 20};
  double elements[24 * 20] = {0};
  if (number >= 3) return 0;
  const char *path = put(data, 0, ".h5");
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(2, dims, NULL), made = H5Pcreate(H5P_DATASET_CREATE);
  if (number > 0) H5Pset_chunk(made, 2, chunk);
  if (number > 1) H5Pset_deflate(made, 4);
  hid_t set = H5Dcreate2(file, "a", H5T_IEEE_F64LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
  demand(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements) >= 0,
         "HDF5 writes a seed");
  H5Dclose(set);
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
  return take(path, data);
}

static void one_inspect(const uint8_t *data, size_t length) {
  dm_location at = {.dataset = "/a"};
  dm_dataset found;
  snprintf(at.file, sizeof at.file, "%s", put(data, length, ".h5"));
  dm_status status = dm_file_inspect(&at, &(dm_trust){0}, &found, NULL);
  if (status) {
    expect_refusal(status);
    return;
  }
  demand(found.rows >= 0 && found.cols >= 0 && found.rows + found.cols > 0,
         "what is accepted has a shape");
  if (found.offset >= 0)
    demand(found.rows * found.cols * dm_dtype_size(found.dtype) <= (int64_t)length - found.offset,
           "what is accepted lies in the file");
}

const fuzz_target fuzz_targets[] = {{"npy", 1, seed_npy, one_npy},
                                    {"machine", 1, seed_machine, one_machine},
                                    {"journal", 10, seed_journal, one_journal},
                                    {"inspect", 400, seed_inspect, one_inspect}};
const int fuzz_target_count = sizeof fuzz_targets / sizeof fuzz_targets[0];

const fuzz_target *fuzz_target_find(const char *name) {
  for (int i = 0; name && i < fuzz_target_count; i++)
    if (strcmp(fuzz_targets[i].name, name) == 0) return &fuzz_targets[i];
  fprintf(stderr, "there is no target '%s'\n", name ? name : "");
  exit(2);
}
