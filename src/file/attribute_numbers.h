/* attribute_numbers: numbers in attributes of HDF5, whatever their type; call with the lock of
 * hdf5_use.h. */
#ifndef DM_FILE_ATTRIBUTE_NUMBERS_H
#define DM_FILE_ATTRIBUTE_NUMBERS_H

#include "file/meaning.h"

/* A number of an attribute. */
typedef struct dm_number {
  double real;
  int64_t whole; /* if IS_WHOLE; a pattern of 64 bits if IS_UNSIGNED */
  bool is_whole, is_unsigned;
  bool is_single; /* a float of at most 32 bits */
} dm_number;

/* The numbers of attribute NAME of the HDF5 object OBJECT: their count. -1: there is no such
 * attribute; -2: it is no list of at most DM_MISSING_VALUES numbers, nor the text of one. */
int dm_attribute_numbers(int64_t object, const char *name, dm_number list[DM_MISSING_VALUES]);

/* Whether it is a number or truth value other than 0, or a text other than "" and "false". */
bool dm_attribute_is_true(int64_t object, const char *name);

/* TEXT, which may be changed, as a number; "nan" is one. */
bool dm_number_of_text(char *text, dm_number *number);

#endif
