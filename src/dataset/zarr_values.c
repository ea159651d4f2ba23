/* Fill values, as Zarr writes them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/json_file.h"
#include "dataset/zarr_impl.h"

/* A float: a number, "NaN", "Infinity", "-Infinity"; or the bits of SIZE bytes, "0x7fc00000". */
static bool value_real(const json_t *value, dm_dtype type, unsigned char *element) {
  const char *text = json_string_value(value);
  double real = json_is_number(value) ? json_number_value(value) : 0.0;
  char *end;
  if (text && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    errno = 0;
    const unsigned long long bits = strtoull(text, &end, 16);
    const int64_t size = dm_dtype_size(type);
    if (*end || errno || strlen(text) != (size_t)(2 + 2 * size)) return false;
    const uint64_t word = bits;
    for (int64_t i = 0; i < size; i++)
      element[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - i : i] =
          (unsigned char)(word >> 8 * i);
    return true;
  }
  if (text && strcmp(text, "NaN") == 0)
    real = (double)NAN;
  else if (text && (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0))
    real = text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
  else if (text) { /* a long integer, which json_file.h made a text */
    real = strtod(text, &end);
    if (end == text || *end) return false;
  } else if (!json_is_number(value))
    return false;
  double aligned; /* large enough for all */
  dm_store_wide(&aligned, type, 1, &real, 1);
  memcpy(element, &aligned, (size_t)dm_dtype_size(type));
  return true;
}

static bool value_complex(const json_t *value, dm_dtype type, unsigned char *element) {
  const dm_dtype part = dm_dtype_real(type);
  const json_t *imaginary = json_array_get(value, 1);
  if (json_is_array(value))
    return json_array_size(value) == 2 && value_real(json_array_get(value, 0), part, element) &&
           value_real(imaginary, part, element + dm_dtype_size(part));
  return value_real(value, part, element); /* version 2 may state a real number */
}

/* The value of LONG_TEXT, an integer of more than 18 digits. */
static bool value_long(const char *text, bool is_signed, uint64_t *bits) {
  char *end;
  errno = 0;
  if (text[0] == '-' && !is_signed) return false;
  *bits = is_signed ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

static bool zarr_integer(const json_t *value, dm_dtype type, unsigned char *element) {
  const int64_t size = dm_dtype_size(type);
  const bool is_signed = dm_dtype_is_signed(type);
  const int spare = 64 - 8 * (int)size;
  int64_t number = 0;
  uint64_t bits;
  if (json_is_string(value)) {
    if (size < 8 || !value_long(json_string_value(value), is_signed, &bits)) return false;
  } else {
    if (!dm_json_integer(value, &number) || (number < 0 && !is_signed)) return false;
    bits = (uint64_t)number;
    if (is_signed ? (int64_t)(bits << spare) >> spare != number : bits << spare >> spare != bits)
      return false;
  }
  for (int64_t i = 0; i < size; i++)
    element[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - i : i] =
        (unsigned char)(bits >> 8 * i);
  return true;
}

bool dm_zarr_value(const json_t *value, dm_dtype type, unsigned char element[16]) {
  memset(element, 0, 16);
  if (type == DM_BOOL && json_is_boolean(value)) {
    element[0] = json_is_true(value);
    return true;
  }
  if (type == DM_BOOL) return zarr_integer(value, DM_U8, element);
  if (dm_dtype_is_complex(type)) return value_complex(value, type, element);
  return dm_dtype_is_integer(type) ? zarr_integer(value, type, element)
                                   : value_real(value, type, element);
}
