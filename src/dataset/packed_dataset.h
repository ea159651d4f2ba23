/* packed_dataset: a dataset without the room for the longest names, which would take most of the
 * memory, and of the time, where thousands of files are inspected. */
#ifndef DM_DATASET_PACKED_DATASET_H
#define DM_DATASET_PACKED_DATASET_H

#include <stddef.h>
#include <string.h>

#include "dataset/dataset.h"

/* What follows the location and the memory in a dataset. */
enum { DM_PACKED_REST = sizeof(dm_dataset) - offsetof(dm_dataset, rows) };

typedef struct dm_packed_dataset {
  int64_t file, dataset; /* offsets of the names in memory that many share */
  char rest[DM_PACKED_REST];
} dm_packed_dataset;

/* Bytes that the names of AT take. */
static inline int64_t dm_packed_names(const dm_location *at) {
  return (int64_t)(strlen(at->file) + strlen(at->dataset)) + 2;
}

/* Packs DATASET, without a part; its names go to NAMES + USED. */
static inline void dm_dataset_pack(const dm_dataset *dataset, char *names, int64_t used,
                                   dm_packed_dataset *to) {
  to->file = used;
  to->dataset = used + (int64_t)strlen(dataset->at.file) + 1;
  strcpy(names + to->file, dataset->at.file);
  strcpy(names + to->dataset, dataset->at.dataset);
  memcpy(to->rest, &dataset->rows, DM_PACKED_REST);
}

static inline void dm_dataset_unpack(const dm_packed_dataset *from, const char *names,
                                     dm_dataset *dataset) {
  memset(&dataset->at, 0, sizeof dataset->at);
  dataset->memory = (dm_view){0};
  strcpy(dataset->at.file, names + from->file);
  strcpy(dataset->at.dataset, names + from->dataset);
  memcpy(&dataset->rows, from->rest, DM_PACKED_REST);
}

#endif
