/* Inspects and reads one matrix again and again, while the caller changes bytes of its file.
 * usage: read_flipped FILE.h5[:/dataset] [external] [no-data]
 * For each line on stdin one on stdout: "0 ROWS COLUMNS VALUES", elements as numbers of 64 bits in
 * hexadecimal, complex ones as two, missing ones as NaN; or "CODE MESSAGE". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/hdf5_use.h"
#include "inspect/inspect.h"
#include "io/read.h"

enum { MOST = 1 << 14 };

static dm_status read_elements(const dm_dataset *d, int64_t parts, uint64_t *values) {
  dm_reader *reader;
  const dm_view view = dm_view_row_major(values, parts == 2 ? DM_C128 : DM_F64, d->rows, d->cols);
  DM_TRY(dm_reader_open(d, DM_DTYPE_NONE, &reader));
  dm_status status = dm_reader_read(reader, 0, 0, &view, 1, false);
  dm_reader_close(reader);
  return status;
}

static dm_status answer(const char *name, const dm_trust *trust, uint64_t *values) {
  dm_location location;
  dm_dataset d;
  DM_TRY(dm_location_parse(name, &location));
  DM_TRY(dm_file_inspect(&location, trust, &d, NULL));
  const int64_t parts = dm_dtype_is_complex(d.dtype) ? 2 : 1, count = d.rows * d.cols * parts;
  dm_status status = d.rows > MOST || d.cols > MOST || count > MOST
                         ? dm_fail(DM_E_FIT, "more elements than were written")
                         : read_elements(&d, parts, values);
  dm_dataset_free(&d);
  DM_TRY(status);
  printf("0 %" PRId64 " %" PRId64, d.rows, d.cols);
  for (int64_t i = 0; i < count; i++) printf(" %016" PRIx64, values[i]);
  printf("\n");
  return DM_OK;
}

int main(int count, char **words) {
  dm_trust trust = {.missing = DM_MISSING_NAN};
  uint64_t *values = malloc(MOST * sizeof *values);
  char line[16];
  /* The inspecting children find HDF5 started. */
  if (count < 2 || !values || dm_h5_start(false)) return 2;
  for (int i = 2; i < count; i++) {
    if (strcmp(words[i], "external") == 0) trust.external = true;
    if (strcmp(words[i], "no-data") == 0) trust.no_data = true;
  }
  while (fgets(line, sizeof line, stdin)) {
    dm_status status = answer(words[1], &trust, values);
    if (status) printf("%d %s\n", (int)status->code, status->message);
    dm_status_free(status);
    fflush(stdout);
  }
  free(values);
  return 0;
}
