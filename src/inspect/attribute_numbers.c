#include "inspect/attribute_numbers.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/units.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"

enum { ATTRIBUTE_WORD = 64 };

static dm_number of_real(double real) {
  const bool whole = real == floor(real) && fabs(real) < 0x1p63;
  return (dm_number){.real = real, .integer = whole ? (int64_t)real : 0, .is_integer = whole};
}

bool dm_number_of_text(char *text, dm_number *n) {
  double real = (double)NAN;
  for (size_t used = strlen(text); used > 0 && text[used - 1] == ' ';) text[--used] = '\0';
  text += strspn(text, " ");
  if (strcasecmp(text, "nan") != 0 && !dm_parse_real(text, &real)) return false;
  *n = of_real(real);
  return true;
}

static bool attribute_read_integers(hid_t attribute, hid_t type, int count, dm_number *list) {
  long long whole[DM_MISSING_VALUES];
  const bool is_unsigned = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE;
  if (H5Aread(attribute, is_unsigned ? H5T_NATIVE_ULLONG : H5T_NATIVE_LLONG, whole) < 0)
    return false;
  for (int i = 0; i < count; i++)
    list[i] =
        (dm_number){.real = is_unsigned ? (double)(unsigned long long)whole[i] : (double)whole[i],
                    .integer = whole[i],
                    .is_integer = true,
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

/* Whether TYPE is a number as machines have them, or an enumeration of such. A damaged one, with
 * another width or place of its bits, may make HDF5 read beyond an element. */
static bool attribute_is_usual(hid_t type, H5T_class_t kind) {
  char text[DM_TYPE_TEXT];
  dm_dtype dtype;
  bool swapped;
  DM_H5_HELD hid_t base = kind == H5T_ENUM ? H5Tget_super(type) : -1;
  if (kind == H5T_ENUM && (base < 0 || H5Tget_size(base) != H5Tget_size(type))) return false;
  return dm_h5_read_type(base < 0 ? type : base, false, &dtype, &swapped, text) ||
         H5Tequal(type, H5T_NATIVE_LDOUBLE) > 0;
}

dm_status dm_attribute_numbers(const dm_location *at, int64_t object, const char *name,
                               dm_number list[DM_MISSING_VALUES], int *count) {
  char text[ATTRIBUTE_WORD];
  DM_H5_HELD hid_t attribute = -1;
  *count = DM_NO_ATTRIBUTE;
  DM_TRY(dm_h5_open_attribute(at, object, name, &attribute));
  if (attribute < 0) return DM_OK;
  DM_H5_HELD hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  const hssize_t all = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  if (all < 0 || kind == H5T_NO_CLASS) return dm_h5_unreadable(at, object, name);
  const bool whole = kind == H5T_INTEGER || kind == H5T_ENUM;
  bool numbers = whole || kind == H5T_FLOAT;
  if (numbers && !attribute_is_usual(type, kind))
    return dm_hint(dm_fail_at(DM_E_INPUT, at,
                              "refused: its attribute '%.80s' has numbers of an unusual type",
                              name),
                   "--raw takes the stored numbers");
  numbers = numbers && all <= DM_MISSING_VALUES;
  if (numbers && all > 0 &&
      !(whole ? attribute_read_integers : read_reals)(attribute, type, (int)all, list))
    return dm_h5_unreadable(at, object, name);
  if (!numbers && all == 1 && kind == H5T_STRING) {
    DM_TRY(dm_h5_text_of(at, object, name, text, sizeof text, &numbers));
    numbers = numbers && dm_number_of_text(text, &list[0]);
  }
  *count = numbers || all == 0 ? (int)all : DM_NO_NUMBERS;
  return DM_OK;
}

dm_status dm_attribute_is_true(const dm_location *at, int64_t object, const char *name, bool *is) {
  dm_number list[DM_MISSING_VALUES];
  char text[ATTRIBUTE_WORD] = "";
  int count;
  H5T_class_t kind;
  DM_TRY(dm_attribute_numbers(at, object, name, list, &count));
  *is = count == 1 && list[0].real != 0.0;
  if (count != DM_NO_NUMBERS) return DM_OK;
  DM_TRY(dm_h5_attribute_class(at, object, name, &kind));
  if (kind != H5T_STRING)
    return dm_hint(dm_fail_at(DM_E_INPUT, at,
                              "refused: its attribute '%.80s' is neither numbers nor a text", name),
                   "--raw takes the stored numbers");
  DM_TRY(dm_h5_text_of(at, object, name, text, sizeof text, is));
  *is = *is && text[0] && strcasecmp(text, "false") != 0;
  return DM_OK;
}
