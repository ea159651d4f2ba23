#include "inspect/zarr_attributes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_use.h"
#include "dataset/json_file.h"
#include "dataset/naming.h"

enum { ZARR_ATTRIBUTES_MOST_NUMBERS = 1 << 16, MOST_TEXT = 1 << 16 };

static const char attribute_fill[] = "_FillValue";

/* Writes COUNT elements of TYPE, a list if LISTED, as attribute NAME. */
static dm_status attribute_write(const dm_location *at, hid_t object, const char *name, hid_t type,
                                 bool listed, int64_t count, const void *data) {
  const hsize_t dims = (hsize_t)count;
  DM_H5_HELD hid_t space = listed ? H5Screate_simple(1, &dims, NULL) : H5Screate(H5S_SCALAR);
  DM_H5_HELD hid_t attribute =
      space < 0 || type < 0 ? -1 : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  return attribute >= 0 && (count == 0 || H5Awrite(attribute, type, data) >= 0)
             ? DM_OK
             : dm_h5_fail(DM_E_INPUT, at, "its attribute '%.60s' cannot be mirrored", name);
}

static dm_status attribute_text(const dm_location *at, hid_t object, const char *name,
                                const char *text) {
  DM_H5_HELD hid_t type = H5Tcopy(H5T_C_S1);
  DM_FREED char *copy = NULL;
  const size_t length = strnlen(text, MOST_TEXT);
  DM_TRY(dm_buffer_table((int64_t)length + 1, &copy));
  memcpy(copy, text, length);
  if (type < 0 || H5Tset_size(type, length + 1) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)
    return dm_h5_fail(DM_E_INPUT, at, "its attribute '%.60s' cannot be mirrored", name);
  return attribute_write(at, object, name, type, false, 1, copy);
}

/* The 6 bits of a character of base64; -1: it is none. */
static int attribute_bits(char c) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *found = c ? strchr(letters, c) : NULL;
  return found ? (int)(found - letters) : -1;
}

/* xarray's fill value of floats: 8 bytes, little-endian, in base64. */
static bool attribute_packed(const char *text, double *number) {
  enum { LETTERS = 11 };
  uint64_t word = 0;
  unsigned held = 0;
  int bits = 0, byte = 0;
  if (strlen(text) != LETTERS + 1 || text[LETTERS] != '=') return false;
  for (int i = 0; i < LETTERS; i++) {
    const int six = attribute_bits(text[i]);
    if (six < 0) return false;
    held = held << 6 | (unsigned)six;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    word |= (uint64_t)(held >> bits & 0xff) << 8 * byte++;
  }
  memcpy(number, &word, sizeof word);
  return byte == 8;
}

/* A list of numbers or truth values; *done: it is one. */
static dm_status attribute_numbers_of(const dm_location *at, hid_t object, const char *name,
                                      const json_t *list, bool *done) {
  const size_t count = json_array_size(list);
  DM_FREED double *reals = NULL;
  DM_FREED int64_t *whole = NULL;
  bool all_whole = true;
  *done = count > 0 && count <= ZARR_ATTRIBUTES_MOST_NUMBERS;
  if (!*done) return DM_OK;
  DM_TRY(dm_buffer_table((int64_t)count, &reals));
  DM_TRY(dm_buffer_table((int64_t)count, &whole));
  for (size_t i = 0; i < count && *done; i++) {
    const json_t *each = json_array_get(list, i);
    *done = json_is_number(each) || json_is_boolean(each);
    all_whole &= !json_is_real(each);
    whole[i] = json_is_integer(each) ? json_integer_value(each) : json_is_true(each);
    reals[i] = json_is_number(each) ? json_number_value(each) : json_is_true(each);
  }
  if (!*done) return DM_OK;
  return all_whole
             ? attribute_write(at, object, name, H5T_NATIVE_INT64, true, (int64_t)count, whole)
             : attribute_write(at, object, name, H5T_NATIVE_DOUBLE, true, (int64_t)count, reals);
}

/* Others, and lists of others: as text. */
static dm_status attribute_document(const dm_location *at, hid_t object, const char *name,
                                    const json_t *value) {
  char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
  if (!text) return dm_fail_at(DM_E_FIT, at, "no memory for its attribute '%.60s'", name);
  dm_status status = attribute_text(at, object, name, text);
  free(text);
  return status;
}

/* An unsigned integer that 63 bits do not hold, which json_file.h made a text; *number. */
static bool attribute_large(const char *text, uint64_t *number) {
  char *end;
  if (text[0] < '0' || text[0] > '9' || strlen(text) < 19) return false;
  *number = strtoull(text, &end, 10);
  return *end == '\0';
}

static dm_status attribute_one(const dm_location *at, hid_t object, const char *name,
                               const json_t *value, const dm_zarr *zarr) {
  const bool fill = zarr && zarr->dtype != DM_DTYPE_NONE && strcmp(name, attribute_fill) == 0;
  const json_int_t whole = json_is_true(value) ? 1 : json_integer_value(value);
  double real = json_real_value(value);
  uint64_t large;
  bool done = false;
  if (json_is_array(value)) DM_TRY(attribute_numbers_of(at, object, name, value, &done));
  if (done || json_is_null(value)) return DM_OK;
  if (json_is_string(value) && fill && attribute_packed(json_string_value(value), &real))
    return attribute_write(at, object, name, H5T_NATIVE_DOUBLE, false, 1, &real);
  if (json_is_string(value) && attribute_large(json_string_value(value), &large))
    return attribute_write(at, object, name, H5T_NATIVE_UINT64, false, 1, &large);
  if (json_is_string(value)) return attribute_text(at, object, name, json_string_value(value));
  if (json_is_real(value))
    return attribute_write(at, object, name, H5T_NATIVE_DOUBLE, false, 1, &real);
  if (json_is_integer(value) || json_is_boolean(value))
    return attribute_write(at, object, name, H5T_NATIVE_INT64, false, 1, &whole);
  return attribute_document(at, object, name, value);
}

dm_status dm_zarr_attributes(const dm_location *at, const dm_zarr_node *node, const dm_zarr *zarr,
                             int64_t object) {
  const char *key;
  json_t *value;
  if (!node->attributes) return DM_OK;
  json_object_foreach(node->attributes, key, value) {
    if (key[0]) DM_TRY(attribute_one(at, object, key, value, zarr));
  }
  const json_t *fill = json_object_get(node->document, "fill_value");
  if (!zarr || node->version != 2 || !fill || json_object_get(node->attributes, attribute_fill) ||
      !json_object_get(node->attributes, "_ARRAY_DIMENSIONS"))
    return DM_OK;
  return attribute_one(at, object, attribute_fill, fill, zarr);
}
