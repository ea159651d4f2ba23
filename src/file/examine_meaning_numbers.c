/* Packed numbers, their signs, and numbers that mean "missing". */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/copy.h"
#include "file/examine_meaning_impl.h"
#include "file/hdf5_has.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"

enum { WORD = 64 };

/* ---- missing values ---- */

static bool meaning_fits(const dm_number *n, dm_dtype type) {
  if (!n->is_whole) return false;
  const bool to_unsigned =
      type == DM_U8 || type == DM_U16 || type == DM_U32 || type == DM_U64 || type == DM_BOOL;
  const int bits = 8 * (int)dm_dtype_size(type);
  if (n->whole < 0) { /* as unsigned: at least 2^63 */
    if (n->is_unsigned) return type == DM_U64;
    return !to_unsigned && (bits == 64 || n->whole >= -(INT64_C(1) << (bits - 1)));
  }
  return bits == 64 || n->whole < INT64_C(1) << (bits - !to_unsigned);
}

/* What the bits of stored N mean in TYPE. */
static void meaning_reinterpret(const dm_number *n, dm_dtype type, double *real, int64_t *whole) {
  char bytes[8];
  const int64_t size = dm_dtype_size(type);
  memcpy(bytes, (const char *)&n->whole + (*(const uint8_t *)&(uint16_t){1} ? 0 : 8 - size),
         (size_t)size);
  dm_load_wide(real, bytes, type, 1, 1);
  *whole = n->whole;
}

/* The stored numbers of FIND that N stands for, as they are compared; false: there are none. */
bool dm_meaning_as_stored(const dm_dataset *find, const dm_number *n, double *real,
                          int64_t *whole) {
  const dm_dtype type = dm_meaning_number(&find->meaning, find->dtype);
  char bytes[16];
  *whole = 0;
  if (!dm_dtype_is_integer(type)) {
    dm_store_wide(bytes, type, 1, &n->real, 1);
    dm_load_wide(real, bytes, type, 1, 1);
    return isfinite(*real) || !isfinite(n->real);
  }
  if (!meaning_fits(n, find->dtype) && !meaning_fits(n, type)) return false;
  meaning_reinterpret(n, type, real, whole);
  return true;
}

dm_status dm_meaning_add_missing(const dm_examined *e, const dm_number *n, const char *why) {
  dm_meaning *m = &e->find->meaning;
  double real;
  int64_t whole;
  if (!dm_meaning_as_stored(e->find, n, &real, &whole)) {
    dm_meaning_add(m->warning, "attribute %s = %.9g cannot occur among numbers of type %s", why,
                   n->real, dm_dtype_name(e->find->dtype));
    return DM_OK;
  }
  const bool is_nan = isnan(real);
  bool known = is_nan && m->nan;
  for (int i = 0; i < m->count; i++) known |= m->real[i] == real && m->whole[i] == whole;
  if (known) return DM_OK;
  if (!is_nan && m->count == DM_MISSING_VALUES)
    return dm_hint(dm_fail_at(DM_E_INPUT, e->at, "refused: it states more than %d missing values",
                              DM_MISSING_VALUES),
                   "--raw takes the stored numbers");
  m->active = m->found = true;
  if (is_nan) m->nan = true;
  if (!is_nan) m->real[m->count] = real;
  if (!is_nan) m->whole[m->count++] = whole;
  if (dm_dtype_size(e->find->dtype) == 8 && dm_dtype_is_integer(e->find->dtype))
    dm_meaning_add(m->text, n->is_unsigned ? "missing: %llu (%s)" : "missing: %lld (%s)",
                   (long long)n->whole, why);
  else
    dm_meaning_add(m->text, "missing: %.9g (%s)", real, why);
  return DM_OK;
}

dm_status dm_meaning_missing(const dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  (void)row;
  dm_number list[DM_MISSING_VALUES];
  char text[WORD];
  int count;
  bool is_text = false;
  DM_TRY(dm_attribute_numbers(e->at, sign->object, sign->name, list, &count));
  if (count == DM_NO_NUMBERS)
    DM_TRY(dm_h5_text_of(e->at, sign->object, sign->name, text, sizeof text, &is_text));
  if (is_text) {
    dm_meaning_add(e->find->meaning.warning,
                   "attribute %s = '%.20s' is not a number, and is not applied", sign->name, text);
    return DM_OK;
  }
  if (count == DM_NO_NUMBERS || (count > 0 && dm_dtype_is_complex(e->find->dtype)))
    return dm_meaning_not_understood(e, sign->name);
  for (int i = 0; i < count; i++) DM_TRY(dm_meaning_add_missing(e, &list[i], sign->name));
  return DM_OK;
}

/* R's NA of integers is their smallest number. */
dm_status dm_meaning_r_na(const dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  const dm_number na = {.real = -0x1p31, .whole = INT32_MIN, .is_whole = true};
  bool stated = true;
  if (!row->mark.value) DM_TRY(dm_attribute_is_true(e->at, sign->object, sign->name, &stated));
  return e->find->dtype == DM_I32 && stated ? dm_meaning_add_missing(e, &na, "NA of R") : DM_OK;
}

/* LOW or HIGH = N, as it is compared. */
static void meaning_set_bound(const dm_dataset *find, const dm_number *n, double *bound) {
  int64_t whole;
  if (find->meaning.of_values || !dm_meaning_as_stored(find, n, bound, &whole)) *bound = n->real;
}

/* The NetCDF User's Guide: bounds of a float type beside packed integers are those of the values.
 */
dm_status dm_meaning_valid(const dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  (void)row;
  dm_number list[DM_MISSING_VALUES];
  dm_meaning *m = &e->find->meaning;
  const char *what = sign->name + strlen("valid_");
  const bool range = strcmp(what, "range") == 0;
  int count;
  bool overruled = false;
  H5T_class_t kind;
  DM_TRY(dm_attribute_numbers(e->at, sign->object, sign->name, list, &count));
  if (!range && m->ranged) DM_TRY(dm_h5_has_attribute(e->at, e->set, "valid_range", &overruled));
  if (count == 0 || overruled) return DM_OK;
  if (count != 1 + range || dm_dtype_is_complex(e->find->dtype)) {
    dm_meaning_add(m->warning, "attribute %s is not applied", sign->name);
    return DM_OK;
  }
  DM_TRY(dm_h5_attribute_class(e->at, sign->object, sign->name, &kind));
  if (!m->ranged) {
    m->low = -(double)INFINITY;
    m->high = (double)INFINITY;
    m->of_values = m->packed && kind == H5T_FLOAT && dm_dtype_is_integer(e->find->dtype);
  }
  m->active = m->ranged = m->found = true;
  if (strcmp(what, "max") != 0) meaning_set_bound(e->find, &list[0], &m->low);
  if (strcmp(what, "min") != 0) meaning_set_bound(e->find, &list[range], &m->high);
  if (range)
    dm_meaning_add(m->text, "valid: %.9g to %.9g", m->low, m->high);
  else
    dm_meaning_add(m->text, "valid: %s %.9g", strcmp(what, "min") == 0 ? "at least" : "at most",
                   strcmp(what, "min") == 0 ? m->low : m->high);
  return DM_OK;
}

/* Whether OBJECT has one of the attributes NAMES, which end with NULL. */
static dm_status meaning_has_any(const dm_examined *e, hid_t object, const char *const *names,
                                 bool *has) {
  *has = false;
  for (int i = 0; names[i] && !*has; i++) DM_TRY(dm_h5_has_attribute(e->at, object, names[i], has));
  return DM_OK;
}

/* The fill value that the writer chose; *chosen. */
static dm_status meaning_read_fill(const dm_examined *e, dm_number *n, bool *chosen) {
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
  const dm_dtype type = e->find->dtype;
  DM_H5_HELD hid_t creation = H5Dget_create_plist(e->set);
  bool read = creation >= 0 && H5Pfill_value_defined(creation, &fill) >= 0 &&
              H5Pget_fill_time(creation, &when) >= 0;
  *chosen = read && fill == H5D_FILL_VALUE_USER_DEFINED && when != H5D_FILL_TIME_NEVER;
  *n = (dm_number){.is_whole = dm_dtype_is_integer(type),
                   .is_unsigned = type == DM_U16 || type == DM_U32 || type == DM_U64};
  if (*chosen) read = H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &n->real) >= 0;
  if (*chosen && read && n->is_whole)
    read = H5Pget_fill_value(creation, n->is_unsigned ? H5T_NATIVE_ULLONG : H5T_NATIVE_LLONG,
                             &n->whole) >= 0;
  return read ? DM_OK : dm_h5_fail(DM_E_IO, e->at, "its fill value cannot be read");
}

/* netCDF 4 fills what was never written with HDF5's fill value, unless the file says otherwise. */
dm_status dm_meaning_netcdf_fill(const dm_examined *e, const dm_convention *row,
                                 const dm_sign *sign) {
  static const char *const statements[] = {"_FillValue", "missing_value", NULL};
  static const char *const of_file[] = {"_NCProperties", NULL};
  static const char *const of_set[] = {"_Netcdf4Dimid", "_Netcdf4Coordinates", "DIMENSION_LIST",
                                       NULL};
  const dm_dtype type = e->find->dtype;
  bool stated, is, chosen;
  dm_number n;
  (void)row, (void)sign;
  if (dm_dtype_size(type) == 1 || dm_dtype_is_complex(type)) return DM_OK;
  DM_TRY(meaning_has_any(e, e->set, statements, &stated));
  DM_TRY(meaning_has_any(e, e->file, of_file, &is));
  if (!is) DM_TRY(meaning_has_any(e, e->set, of_set, &is));
  if (stated || !is) return DM_OK;
  DM_TRY(meaning_read_fill(e, &n, &chosen));
  return chosen ? dm_meaning_add_missing(e, &n, "netCDF's default") : DM_OK;
}

/* ---- signs and factors ---- */

dm_status dm_meaning_unsigned(const dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  (void)row;
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  char text[WORD] = "";
  bool is_text, to_unsigned;
  DM_TRY(dm_h5_text_of(e->at, sign->object, sign->name, text, sizeof text, &is_text));
  DM_TRY(dm_attribute_is_true(e->at, sign->object, sign->name, &to_unsigned));
  const bool is_signed = type == DM_I8 || type == DM_I16 || type == DM_I32 || type == DM_I64;
  m->other_sign = true;
  const dm_dtype other = dm_meaning_number(m, type);
  m->other_sign =
      other != type && to_unsigned == is_signed && (to_unsigned || strcasecmp(text, "false") == 0);
  if (!m->other_sign) return DM_OK;
  m->active = true;
  m->type = other;
  dm_meaning_add(m->text, "meant as %s (%s)", dm_dtype_name(other), sign->name);
  return DM_OK;
}

/* The factor or shift that ROW names, or FALLBACK if there is none. */
static dm_status meaning_factor(const dm_examined *e, const dm_convention *row, int which,
                                dm_number fallback, dm_number *n) {
  dm_number list[DM_MISSING_VALUES];
  dm_sign sign;
  *n = fallback;
  DM_TRY(dm_beside_find(e->beside, &row->mark, which, &sign));
  if (!sign.is) return DM_OK;
  int count = 0;
  dm_status status = dm_attribute_numbers(e->at, sign.object, sign.name, list, &count);
  if (!status && count > 0) *n = list[0];
  if (!status && (count < 0 || count > 1 || !isfinite(n->real)))
    status = dm_meaning_not_understood(e, sign.name);
  dm_sign_close(&sign);
  return status;
}

dm_status dm_meaning_unpack(const dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  const dm_number one = {.real = 1.0, .is_single = true}, zero = {.is_single = true};
  dm_number scale, offset;
  DM_TRY(meaning_factor(e, row, 0, one, &scale));
  DM_TRY(meaning_factor(e, row, 1, zero, &offset));
  const bool whole = dm_dtype_is_integer(type);
  if (!whole && scale.real == 1.0 && offset.real == 0.0) return DM_OK;
  if (dm_dtype_is_complex(type)) return dm_meaning_not_understood(e, sign->name);
  m->active = m->packed = true;
  m->scale = scale.real;
  m->offset = offset.real;
  m->type =
      !scale.is_single || !offset.is_single || type == DM_F64 || (whole && dm_dtype_size(type) > 2)
          ? DM_F64
          : DM_F32;
  char shift[WORD] = "";
  if (offset.real != 0.0)
    snprintf(shift, sizeof shift, " %c %.9g", offset.real < 0.0 ? '-' : '+', fabs(offset.real));
  dm_meaning_add(m->text, "packed: value = %.9g * stored%s, in %s", scale.real, shift,
                 dm_dtype_name(m->type));
  return DM_OK;
}
