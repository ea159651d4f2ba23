/* attribute_numbers: numbers in attributes of HDF5, whatever their type; call with the lock of
 * hdf5_use.h. */
#ifndef DM_INSPECT_ATTRIBUTE_NUMBERS_H
#define DM_INSPECT_ATTRIBUTE_NUMBERS_H

#include "dataset/dataset.h"

/* A number of an attribute. */
typedef struct dm_number {
  double real;
  int64_t integer; /* if IS_INTEGER; a pattern of 64 bits if IS_UNSIGNED */
  bool is_integer, is_unsigned;
  bool is_single; /* a float of at most 32 bits */
} dm_number;

/* Instead of a count of numbers: there is no such attribute; it is no list of at most
 * DM_MISSING_VALUES numbers, nor the text of one. */
enum { DM_NO_ATTRIBUTE = -1, DM_NO_NUMBERS = -2 };

/* The numbers of attribute NAME of the HDF5 object OBJECT, and their *COUNT. DM_E_IO: it cannot be
 * looked up or read. DM_E_INPUT: its numbers have a type that is no machine's. AT is the dataset in
 * question, for messages. */
dm_status dm_attribute_numbers(const dm_location *at, int64_t object, const char *name,
                               dm_number list[DM_MISSING_VALUES], int *count);

/* Whether it is a number or truth value other than 0, or a text other than "" and "false". */
dm_status dm_attribute_is_true(const dm_location *at, int64_t object, const char *name, bool *is);

/* TEXT, which may be changed, as a number; "nan" is one. */
bool dm_number_of_text(char *text, dm_number *number);

#endif
