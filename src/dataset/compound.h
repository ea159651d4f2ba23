/* compound: numbers inside of the elements of a dataset: members of compounds, arrays, and complex
 * numbers that are stored otherwise than in two neighbouring floats. */
#ifndef DM_DATASET_COMPOUND_H
#define DM_DATASET_COMPOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"

enum { DM_FIELDS = 12, DM_INNER = 4, DM_COMPOUND_BYTES = 1 << 24 };

/* COUNT real numbers of TYPE, STRIDE bytes apart, from byte OFFSET of a record on. */
typedef struct dm_field {
  int32_t offset, stride, count;
  int16_t type;    /* dm_dtype */
  int16_t swapped; /* 0 or 1 */
} dm_field;

/* BYTES 0: the elements of the dataset are numbers. */
typedef struct dm_compound {
  int32_t bytes; /* of an element in the file */
  int32_t path;  /* characters of the dataset's name that are not of a member; 0: all */
  int32_t inner; /* the last axes of the matrix are inside of an element; as stored: */
  int32_t extent[DM_INNER];
  int32_t count; /* of the fields */
  int32_t pairs; /* complex numbers of two members whose names do not say so: 0 or 1 */
  int32_t apart; /* its numbers are not simply one after another, as those of a plain dataset */
  dm_field field[DM_FIELDS];
} dm_compound;

/* Appends FIELD, or extends the last one; false: there is no room. */
bool dm_compound_add(dm_compound *record, dm_field field);

/* Real numbers in a compound; complex ones are two. */
int64_t dm_compound_reals(const dm_compound *record);

/* Completes RECORD, whose numbers are read as reals of the type TYPE. */
void dm_compound_finish(dm_compound *record, dm_dtype type);

/* Whether RECORD, which comes from a process that read an untrusted file, can be used for NUMBERS
 * numbers of TYPE in each element. */
bool dm_compound_is_sane(const dm_compound *record, dm_dtype type, int64_t numbers);

/* The smallest type that holds all values of A and B; f64 for wide integers beside floats, of which
 * large ones are then refused. */
dm_dtype dm_compound_common(dm_dtype a, dm_dtype b);

/* COUNT records, APART bytes from one to the next, and as many rows that numbers of them go to. */
typedef struct dm_records {
  int64_t count;
  const char *from;
  int64_t apart;
  char *to;
  int64_t to_apart;
} dm_records;

/* Copies the reals FIRST to FIRST + COUNT - 1 of RECORDS to packed rows of TYPE. False: TYPE does
 * not hold a whole number. */
bool dm_compound_gather(const dm_compound *record, dm_dtype type, const dm_records *records,
                        int64_t first, int64_t count);

#endif
