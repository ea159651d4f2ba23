/* Stored numbers that mean "missing". */
#include <math.h>
#include <string.h>

#include "core/copy.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "inspect/examine_meaning_impl.h"

enum { EXAMINE_MEANING_NUMBERS_WORD = 64 };

static bool meaning_fits(const dm_number *n, dm_dtype type) {
  if (!n->is_integer) return false;
  const bool to_unsigned =
      type == DM_U8 || type == DM_U16 || type == DM_U32 || type == DM_U64 || type == DM_BOOL;
  const int bits = 8 * (int)dm_dtype_size(type);
  if (n->integer < 0) { /* as unsigned: at least 2^63 */
    if (n->is_unsigned) return type == DM_U64;
    return !to_unsigned && (bits == 64 || n->integer >= -(INT64_C(1) << (bits - 1)));
  }
  return bits == 64 || n->integer < INT64_C(1) << (bits - !to_unsigned);
}

/* What the bits of stored N mean in TYPE. */
static void meaning_reinterpret(const dm_number *n, dm_dtype type, double *real, int64_t *whole) {
  char bytes[8];
  const int64_t size = dm_dtype_size(type);
  memcpy(bytes, (const char *)&n->integer + (*(const uint8_t *)&(uint16_t){1} ? 0 : 8 - size),
         (size_t)size);
  dm_load_wide(real, bytes, type, 1, 1);
  *whole = n->integer;
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

/* *real: N as it is compared; *new: it was not known to be missing, but is now. */
static dm_status meaning_take(const dm_examined *e, const dm_number *n, const char *why,
                              double *real, bool *new) {
  dm_meaning *m = &e->find->meaning;
  int64_t whole;
  *new = dm_meaning_as_stored(e->find, n, real, &whole);
  if (!*new) {
    dm_meaning_add(m->warning, "attribute %s = %.9g cannot occur among numbers of type %s", why,
                   n->real, dm_dtype_name(e->find->dtype));
    return DM_OK;
  }
  const bool is_nan = isnan(*real);
  *new = !is_nan || !m->nan;
  for (int i = 0; i < m->count; i++) *new &= m->real[i] != *real || m->integers[i] != whole;
  if (!*new) return DM_OK;
  if (!is_nan && m->count == DM_MISSING_VALUES)
    return dm_hint(dm_fail_at(DM_E_INPUT, e->at, "refused: it states more than %d missing values",
                              DM_MISSING_VALUES),
                   "--raw takes the stored numbers");
  m->active = m->found = true;
  if (is_nan) m->nan = true;
  if (!is_nan) m->real[m->count] = *real;
  if (!is_nan) m->integers[m->count++] = whole;
  return DM_OK;
}

dm_status dm_meaning_add_missing(const dm_examined *e, const dm_number *n, const char *why) {
  dm_meaning *m = &e->find->meaning;
  double real;
  bool new;
  DM_TRY(meaning_take(e, n, why, &real, &new));
  if (!new) return DM_OK;
  if (dm_dtype_size(e->find->dtype) == 8 && dm_dtype_is_integer(e->find->dtype))
    dm_meaning_add(m->text, n->is_unsigned ? "missing: %llu (%s)" : "missing: %lld (%s)",
                   (long long)n->integer, why);
  else
    dm_meaning_add(m->text, "missing: %.9g (%s)", real, why);
  return DM_OK;
}

/* Several numbers of an attribute are several missing ones. */
dm_status dm_meaning_missing(dm_examined *e) {
  dm_number list[DM_MISSING_VALUES] = {e->sign->member};
  char text[EXAMINE_MEANING_NUMBERS_WORD];
  const bool member = e->row->mark.place == DM_MEMBER;
  int count = 1;
  bool is_text = false;
  if (!member) DM_TRY(dm_attribute_numbers(e->at, e->sign->object, e->sign->name, list, &count));
  H5T_class_t kind = H5T_NO_CLASS;
  if (count == DM_NO_NUMBERS)
    DM_TRY(dm_h5_attribute_class(e->at, e->sign->object, e->sign->name, &kind));
  if (kind == H5T_STRING) /* a number of a damaged type is not text */
    DM_TRY(dm_h5_text_of(e->at, e->sign->object, e->sign->name, text, sizeof text, &is_text));
  if (is_text) {
    dm_meaning_add(e->find->meaning.warning,
                   "attribute %s = '%.20s' is not a number, and is not applied", e->sign->name,
                   text);
    return DM_OK;
  }
  if (count == DM_NO_NUMBERS || (count > 0 && dm_dtype_is_complex(e->find->dtype)))
    return dm_meaning_not_understood(e, e->sign->name);
  const bool is_fill = strcmp(e->sign->name, "_FillValue") == 0;
  for (int i = 0; i < count; i++) {
    double real = (double)NAN;
    int64_t stored;
    DM_TRY(dm_meaning_add_missing(e, &list[i], member ? e->row->means : e->sign->name));
    const bool holds = dm_meaning_as_stored(e->find, &list[i], &real, &stored) &&
                       (real == list[i].real || isnan(list[i].real) || list[i].is_integer);
    e->has_fill |= is_fill && holds;
  }
  return DM_OK;
}

static dm_number meaning_integer(int64_t whole) {
  return (dm_number){.real = (double)whole, .integer = whole, .is_integer = true};
}

dm_status dm_meaning_missing_these(dm_examined *e) {
  const bool whole = dm_dtype_is_integer(e->find->dtype);
  double low = (double)INFINITY, high = -(double)INFINITY, real;
  bool new;
  for (int i = 0; i < 8 && e->row->numbers[i] != 0.0; i++) {
    const dm_number n = whole ? meaning_integer((int64_t)e->row->numbers[i])
                              : (dm_number){.real = e->row->numbers[i]};
    DM_TRY(meaning_take(e, &n, e->row->means, &real, &new));
    low = fmin(low, e->row->numbers[i]);
    high = fmax(high, e->row->numbers[i]);
  }
  if (low < high)
    dm_meaning_add(e->find->meaning.text, "missing: %.9g to %.9g (%s)", low, high, e->row->means);
  else
    dm_meaning_add(e->find->meaning.text, "missing: %.9g (%s)", low, e->row->means);
  return DM_OK;
}

/* R's NA of integers is their smallest number; what R stores in 64 bits had 32 or 64. */
dm_status dm_meaning_missing_smallest(dm_examined *e) {
  const dm_dtype type = e->find->dtype;
  const dm_number na = meaning_integer(-(INT64_C(1) << 31)), small = meaning_integer(INT64_MIN);
  bool stated = true;
  if (!e->row->mark.value)
    DM_TRY(dm_attribute_is_true(e->at, e->sign->object, e->sign->name, &stated));
  if (!stated) return DM_OK;
  if (type == DM_I64) DM_TRY(dm_meaning_add_missing(e, &small, e->row->means));
  if (type == DM_I32 || type == DM_I64) return dm_meaning_add_missing(e, &na, e->row->means);
  const dm_number smaller = meaning_integer(type == DM_I16 ? INT16_MIN : INT8_MIN);
  return type == DM_I16 || type == DM_I8 ? dm_meaning_add_missing(e, &smaller, e->row->means)
                                         : DM_OK;
}

/* Numbers below LOW or above HIGH, as they are compared, are missing, too. */
static void meaning_narrow(dm_meaning *m, double low, double high) {
  if (!m->ranged || low > m->low) m->low = low;
  if (!m->ranged || high < m->high) m->high = high;
  m->active = m->ranged = m->found = true;
}

/* As netCDF4-python: the bounds are stored numbers, of a type that may be another. */
dm_status dm_meaning_valid(dm_examined *e) {
  dm_number list[DM_MISSING_VALUES];
  dm_meaning *m = &e->find->meaning;
  double bound[2];
  int64_t whole;
  const char *what = e->sign->name + strlen("valid_");
  const bool range = strcmp(what, "range") == 0, low = strcmp(what, "min") == 0;
  int count;
  DM_TRY(dm_attribute_numbers(e->at, e->sign->object, e->sign->name, list, &count));
  if (count == 0 || (!range && e->has_range)) return DM_OK;
  bool holds = count == 1 + range && !dm_dtype_is_complex(e->find->dtype);
  const bool integers = dm_dtype_is_integer(e->find->dtype);
  for (int i = 0; i < count && holds; i++)
    holds = (!integers || meaning_fits(&list[i], e->find->dtype)) &&
            dm_meaning_as_stored(e->find, &list[i], &bound[i], &whole) && !isnan(bound[i]);
  if (!holds) {
    dm_meaning_add(m->warning, "attribute %s is not applied", e->sign->name);
    return DM_OK;
  }
  e->has_range |= range;
  meaning_narrow(m, low || range ? bound[0] : -(double)INFINITY,
                 low ? (double)INFINITY : bound[range]);
  if (range)
    dm_meaning_add(m->text, "valid: %.9g to %.9g", bound[0], bound[1]);
  else
    dm_meaning_add(m->text, "valid: %s %.9g", low ? "at least" : "at most", bound[0]);
  return DM_OK;
}

/* The number by which netCDF fills a new variable. */
static bool meaning_default_of(dm_dtype type, dm_number *n) {
  switch (type) {
  case DM_I8:
    *n = meaning_integer(-127);
    return true;
  case DM_U8:
    *n = meaning_integer(UINT8_MAX);
    return true;
  case DM_I16:
    *n = meaning_integer(-32767);
    return true;
  case DM_U16:
    *n = meaning_integer(UINT16_MAX);
    return true;
  case DM_I32:
    *n = meaning_integer(-INT32_MAX);
    return true;
  case DM_U32:
    *n = meaning_integer(UINT32_MAX);
    return true;
  case DM_I64:
    *n = meaning_integer(INT64_MIN + 2);
    return true;
  case DM_U64:
    *n = (dm_number){.real = 0x1p64, .integer = -2, .is_integer = true, .is_unsigned = true};
    return true;
  case DM_F32:
  case DM_F64:
    *n = (dm_number){.real = 9.9692099683868690e+36};
    return true;
  default:
    return false;
  }
}

dm_status dm_meaning_missing_default_set(dm_examined *e) {
  dm_number n;
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  if (e->has_fill || e->find->meaning.other_sign || !meaning_default_of(e->find->dtype, &n))
    return DM_OK;
  DM_H5_HELD hid_t creation = H5Dget_create_plist(e->set);
  if (creation < 0 || H5Pfill_value_defined(creation, &fill) < 0)
    return dm_h5_fail(DM_E_IO, e->at, "its fill value cannot be read");
  return fill == H5D_FILL_VALUE_USER_DEFINED ? dm_meaning_add_missing(e, &n, e->row->means) : DM_OK;
}

/* As netCDF4-python: also where netCDF was told not to fill, but not of one byte. */
dm_status dm_meaning_missing_default(dm_examined *e) {
  dm_number n;
  if (dm_dtype_size(e->find->dtype) == 1) return dm_meaning_missing_default_set(e);
  if (e->has_fill || e->find->meaning.other_sign || !meaning_default_of(e->find->dtype, &n))
    return DM_OK;
  return dm_meaning_add_missing(e, &n, e->row->means);
}
