/* Inspects one matrix like damier before a run, and reads it; exits with the status's code.
 * usage: inspect_file FILE.h5[:/dataset] [external] [virtual] [filters] [no-data] [raw] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset_text.h"
#include "inspect/inspect.h"
#include "io/read.h"

static dm_status read_all(const dm_dataset *dataset) {
  dm_reader *reader;
  int64_t size = dm_dtype_size(dataset->dtype);
  void *row = malloc((size_t)(dataset->cols * size));
  if (!row) return dm_fail(DM_E_FIT, "no memory for a row");
  dm_status status = dm_reader_open(dataset, DM_DTYPE_NONE, &reader);
  for (int64_t i = 0; i < dataset->rows && !status; i++) {
    dm_view view = dm_view_row_major(row, dataset->dtype, 1, dataset->cols);
    status = dm_reader_read(reader, i, 0, &view, 1, false);
  }
  dm_reader_close(reader);
  free(row);
  return status;
}

static dm_status run(int count, char **words) {
  dm_location location;
  dm_dataset dataset;
  dm_trust trust = {0};
  if (count < 2) return dm_fail(DM_E_USAGE, "no file named");
  for (int i = 2; i < count; i++) {
    if (strcmp(words[i], "external") == 0) trust.external = true;
    if (strcmp(words[i], "virtual") == 0) trust.virtual = true;
    if (strcmp(words[i], "filters") == 0) trust.filters = true;
    if (strcmp(words[i], "no-data") == 0) trust.no_data = true;
    if (strcmp(words[i], "raw") == 0) trust.raw = true;
  }
  DM_TRY(dm_location_parse(words[1], &location));
  DM_TRY(dm_file_inspect(&location, &trust, &dataset, NULL));
  char layout[120];
  dm_dataset_describe(&dataset, layout, sizeof layout);
  printf("%s: %lld x %lld %s, %s, offset %lld\n", dataset.at.dataset, (long long)dataset.rows,
         (long long)dataset.cols, dm_dtype_name(dataset.dtype), layout, (long long)dataset.offset);
  dm_status status = read_all(&dataset);
  dm_dataset_free(&dataset);
  return status;
}

int main(int count, char **words) {
  dm_status status = run(count, words);
  if (!status) return 0;
  fprintf(stderr, "%s\n  hint: %s\n", status->message, status->hint);
  int code = (int)status->code;
  dm_status_free(status);
  return code;
}
