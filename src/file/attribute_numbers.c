#include "file/attribute_numbers.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/units.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"

enum { WORD = 64 };

static dm_number of_real(double real) {
  const bool whole = real == floor(real) && fabs(real) < 0x1p63;
  return (dm_number){.real = real, .whole = whole ? (int64_t)real : 0, .is_whole = whole};
}

bool dm_number_of_text(char *text, dm_number *n) {
  double real = (double)NAN;
  for (size_t used = strlen(text); used > 0 && text[used - 1] == ' ';) text[--used] = '\0';
  text += strspn(text, " ");
  if (strcasecmp(text, "nan") != 0 && !dm_parse_real(text, &real)) return false;
  *n = of_real(real);
  return true;
}

static bool read_whole(hid_t attribute, hid_t type, int count, dm_number *list) {
  long long whole[DM_MISSING_VALUES];
  const bool is_unsigned = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  if (H5Aread(attribute, is_unsigned ? H5T_NATIVE_ULLONG : H5T_NATIVE_LLONG, whole) < 0)
    return false;
  for (int i = 0; i < count; i++)
    list[i] =
        (dm_number){.real = is_unsigned ? (double)(unsigned long long)whole[i] : (double)whole[i],
                    .whole = whole[i],
                    .is_whole = true,
                    .is_unsigned = is_unsigned};
  return true;
}

static bool read_reals(hid_t attribute, hid_t type, int count, dm_number *list) {
  double real[DM_MISSING_VALUES];
  if (H5Aread(attribute, H5T_NATIVE_DOUBLE, real) < 0) return false;
  for (int i = 0; i < count; i++) {
    list[i] = of_real(real[i]);
    list[i].is_single = H5Tget_size(type) <= 4;
  }
  return true;
}

int dm_attribute_numbers(int64_t object, const char *name, dm_number list[DM_MISSING_VALUES]) {
  char text[WORD];
  if (H5Aexists(object, name) <= 0) return -1;
  DM_H5_HELD hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return -2;
  DM_H5_HELD hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  bool read = count >= 0 && count <= DM_MISSING_VALUES;
  if (read && count > 0 && (kind == H5T_INTEGER || kind == H5T_ENUM))
    read = read_whole(attribute, type, (int)count, list);
  else if (read && count > 0 && kind == H5T_FLOAT)
    read = read_reals(attribute, type, (int)count, list);
  else if (read && count > 0)
    read = count == 1 && kind == H5T_STRING && dm_h5_text_of(object, name, text, sizeof text) &&
           dm_number_of_text(text, &list[0]);
  return read ? (int)count : -2;
}

bool dm_attribute_is_true(int64_t object, const char *name) {
  dm_number list[DM_MISSING_VALUES];
  char text[WORD] = "";
  const int count = dm_attribute_numbers(object, name, list);
  if (count == 1) return list[0].real != 0.0;
  return count == -2 && dm_h5_text_of(object, name, text, sizeof text) && text[0] &&
         strcasecmp(text, "false") != 0;
}
