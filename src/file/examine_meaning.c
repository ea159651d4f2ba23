/* What stands beside the numbers of a dataset: one table of the attributes and encodings known, and
 * what is done about each. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/copy.h"
#include "file/attribute_numbers.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"
#include "file/inspect_impl.h"

enum { WORD = 64 };

typedef struct scope {
  const dm_location *at;
  hid_t file, set;
  hid_t group;  /* that the dataset is in, or negative */
  bool bare[2]; /* the dataset, and the group: without attributes */
  dm_dataset *find;
} scope;

typedef struct rule rule;
typedef dm_status work(const scope *l, const rule *r);

struct rule {
  bool in_group; /* the attribute is that of the group */
  const char *attribute;
  const char *value; /* how its text begins, or NULL: anything */
  work *act;
  const char *means, *remedy; /* for messages */
};

/* ---- telling ---- */

__attribute__((format(printf, 2, 3))) static void add(char text[DM_MEANING_TEXT],
                                                      const char *format, ...) {
  const size_t used = strlen(text);
  va_list list;
  va_start(list, format);
  if (used > 0) snprintf(text + used, DM_MEANING_TEXT - used, "; ");
  vsnprintf(text + strlen(text), DM_MEANING_TEXT - strlen(text), format, list);
  va_end(list);
}

static dm_status refuse(const scope *l, const rule *r) {
  return dm_hint(dm_fail_at(DM_E_INPUT, l->at, "refused: %s", r->means),
                 "%s; --raw takes the stored numbers", r->remedy);
}

static dm_status refuse_if_true(const scope *l, const rule *r) {
  return dm_attribute_is_true(r->in_group ? l->group : l->set, r->attribute) ? refuse(l, r) : DM_OK;
}

static dm_status refuse_integers(const scope *l, const rule *r) {
  return dm_dtype_is_integer(l->find->dtype) ? refuse(l, r) : DM_OK;
}

/* Texts beside integers. */
static dm_status warn_of_labels(const scope *l, const rule *r) {
  DM_H5_HELD hid_t attribute = H5Aopen(l->set, r->attribute, H5P_DEFAULT);
  DM_H5_HELD hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
  if (type >= 0 && H5Tget_class(type) == H5T_STRING && dm_dtype_is_integer(l->find->dtype))
    add(l->find->meaning.warning, "%s", r->means);
  return DM_OK;
}

/* CF's "days since 2000-01-01". */
static dm_status warn_of_times(const scope *l, const rule *r) {
  char text[WORD] = "";
  if (dm_h5_text_of(l->set, r->attribute, text, sizeof text) && strstr(text, " since "))
    add(l->find->meaning.warning, "its numbers are times ('%.30s')", text);
  return DM_OK;
}

/* A number other than NEUTRAL (1 for factors, 0 for shifts), which may or may not concern the
 * stored ones: warns. */
static bool is_doubtful(const scope *l, const char *attribute, double neutral) {
  dm_number list[DM_MISSING_VALUES];
  const int count = dm_attribute_numbers(l->set, attribute, list);
  if (count < 1 || list[0].real == neutral || !(fabs(list[0].real) <= 0x1p1000)) return false;
  add(l->find->meaning.warning, "attribute %s = %.6g is not applied", attribute, list[0].real);
  return true;
}

static dm_status pixels(const scope *l, const rule *r, double neutral) {
  return is_doubtful(l, r->attribute, neutral) && dm_dtype_is_integer(l->find->dtype) ? refuse(l, r)
                                                                                      : DM_OK;
}

static dm_status pixels_factor(const scope *l, const rule *r) {
  return pixels(l, r, 1.0);
}

static dm_status pixels_shift(const scope *l, const rule *r) {
  return pixels(l, r, 0.0);
}

/* ---- encodings of programs ---- */

static dm_status matlab_class(const scope *l, const rule *r) {
  static const char *const numbers[] = {"double", "single", "logical", "int8",  "uint8", "int16",
                                        "uint16", "int32",  "uint32",  "int64", "uint64"};
  char text[WORD];
  if (!dm_h5_text_of(l->set, r->attribute, text, sizeof text)) return DM_OK;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(text, numbers[i]) == 0) return DM_OK;
  if (strcmp(text, "char") == 0)
    return dm_hint(dm_fail_at(DM_E_INPUT, l->at, "refused: it is text of MATLAB"),
                   "save double(x) to multiply the codes of its characters; --raw takes the stored "
                   "numbers");
  return dm_hint(
      dm_fail_at(DM_E_INPUT, l->at, "refused: it is a %.40s of MATLAB, not a matrix", text),
      "%s; --raw takes the stored numbers", r->remedy);
}

static dm_status octave(const scope *l, const rule *r) {
  char text[WORD] = "";
  DM_H5_HELD hid_t type = l->group < 0 ? -1 : H5Dopen2(l->group, "type", H5P_DEFAULT);
  if (type < 0) {
    H5Eclear2(H5E_DEFAULT);
    return DM_OK;
  }
  DM_H5_HELD hid_t of = H5Dget_type(type), space = H5Dget_space(type);
  const bool plain = of >= 0 && space >= 0 && H5Tget_class(of) == H5T_STRING &&
                     H5Tis_variable_str(of) == 0 && H5Tget_size(of) < sizeof text &&
                     H5Sget_simple_extent_npoints(space) == 1 &&
                     H5Dread(type, of, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
  const bool is_text =
      strcmp(text, "string") == 0 || strcmp(text, "sq_string") == 0 || strcmp(text, "char") == 0;
  return plain && is_text ? refuse(l, r) : DM_OK;
}

static dm_status petsc_complex(const scope *l, const rule *r) {
  return l->find->cols == 2 ? refuse_if_true(l, r) : DM_OK;
}

/* pandas stores an empty block as one element, and its shape beside it. */
static dm_status pandas_shape(const scope *l, const rule *r) {
  dm_number list[DM_MISSING_VALUES];
  if (H5Aexists(l->set, "value_type") <= 0) return DM_OK;
  const int count = dm_attribute_numbers(l->set, r->attribute, list);
  bool empty = false;
  for (int i = 0; i < count; i++) empty |= list[i].real == 0.0;
  return empty ? refuse(l, r) : DM_OK;
}

static dm_status indexed_image(const scope *l, const rule *r) {
  char text[WORD];
  const bool indexed = dm_h5_text_of(l->set, "IMAGE_SUBCLASS", text, sizeof text) &&
                       strcmp(text, "IMAGE_INDEXED") == 0;
  return indexed ? refuse(l, r) : DM_OK;
}

static dm_status bare_dimension(const scope *l, const rule *r) {
  static const char none[] = "This is a netCDF dimension but not a netCDF variable";
  char text[WORD];
  const bool bare =
      dm_h5_text_of(l->set, "NAME", text, sizeof text) && strncmp(text, none, sizeof none - 1) == 0;
  return bare ? refuse(l, r) : DM_OK;
}

/* ---- CF and netCDF: missing values ---- */

static bool fits(const dm_number *n, dm_dtype type) {
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
static void reinterpret(const dm_number *n, dm_dtype type, double *real, int64_t *whole) {
  char bytes[8];
  const int64_t size = dm_dtype_size(type);
  memcpy(bytes, (const char *)&n->whole + (*(const uint8_t *)&(uint16_t){1} ? 0 : 8 - size),
         (size_t)size);
  dm_load_wide(real, bytes, type, 1, 1);
  *whole = n->whole;
}

/* The stored numbers of FIND that N stands for, as they are compared; false: there are none. */
static bool as_stored(const dm_dataset *find, const dm_number *n, double *real, int64_t *whole) {
  const dm_dtype type = dm_meaning_number(&find->meaning, find->dtype);
  char bytes[16];
  *whole = 0;
  if (!dm_dtype_is_integer(type)) {
    dm_store_wide(bytes, type, 1, &n->real, 1);
    dm_load_wide(real, bytes, type, 1, 1);
    return isfinite(*real) || !isfinite(n->real);
  }
  if (!fits(n, find->dtype) && !fits(n, type)) return false;
  reinterpret(n, type, real, whole);
  return true;
}

static dm_status add_missing(const scope *l, const dm_number *n, const char *why) {
  dm_meaning *m = &l->find->meaning;
  double real;
  int64_t whole;
  if (!as_stored(l->find, n, &real, &whole)) {
    add(m->warning, "attribute %s = %.9g cannot occur among numbers of type %s", why, n->real,
        dm_dtype_name(l->find->dtype));
    return DM_OK;
  }
  const bool is_nan = isnan(real);
  bool known = is_nan && m->nan;
  for (int i = 0; i < m->count; i++) known |= m->real[i] == real && m->whole[i] == whole;
  if (known) return DM_OK;
  if (!is_nan && m->count == DM_MISSING_VALUES)
    return dm_hint(dm_fail_at(DM_E_INPUT, l->at, "refused: it states more than %d missing values",
                              DM_MISSING_VALUES),
                   "--raw takes the stored numbers");
  m->active = m->found = true;
  if (is_nan) m->nan = true;
  if (!is_nan) m->real[m->count] = real;
  if (!is_nan) m->whole[m->count++] = whole;
  if (dm_dtype_size(l->find->dtype) == 8 && dm_dtype_is_integer(l->find->dtype))
    add(m->text, n->is_unsigned ? "missing: %llu (%s)" : "missing: %lld (%s)", (long long)n->whole,
        why);
  else
    add(m->text, "missing: %.9g (%s)", real, why);
  return DM_OK;
}

static dm_status not_understood(const scope *l, const char *attribute) {
  return dm_hint(dm_fail_at(DM_E_INPUT, l->at,
                            "refused: its attribute '%s' says what its numbers mean, but is not "
                            "understood",
                            attribute),
                 "it must be a number; --raw takes the stored numbers");
}

static dm_status missing(const scope *l, const rule *r) {
  dm_number list[DM_MISSING_VALUES];
  char text[WORD];
  const int count = dm_attribute_numbers(l->set, r->attribute, list);
  if (count == -2 && dm_h5_text_of(l->set, r->attribute, text, sizeof text)) {
    add(l->find->meaning.warning, "attribute %s = '%.20s' is not a number, and is not applied",
        r->attribute, text);
    return DM_OK;
  }
  if (count == -2 || (count > 0 && dm_dtype_is_complex(l->find->dtype)))
    return not_understood(l, r->attribute);
  for (int i = 0; i < count; i++) DM_TRY(add_missing(l, &list[i], r->attribute));
  return DM_OK;
}

/* R's NA of integers is their smallest number. */
static dm_status r_na(const scope *l, const rule *r) {
  const dm_number na = {.real = -0x1p31, .whole = INT32_MIN, .is_whole = true};
  const bool stated = r->value || dm_attribute_is_true(l->set, r->attribute);
  return l->find->dtype == DM_I32 && stated ? add_missing(l, &na, "NA of R") : DM_OK;
}

/* LOW or HIGH = N, as it is compared. */
static void set_bound(const dm_dataset *find, const dm_number *n, double *bound) {
  int64_t whole;
  if (find->meaning.of_values || !as_stored(find, n, bound, &whole)) *bound = n->real;
}

/* The NetCDF User's Guide: bounds of a float type beside packed integers are those of the values.
 */
static dm_status valid(const scope *l, const rule *r) {
  dm_number list[DM_MISSING_VALUES];
  dm_meaning *m = &l->find->meaning;
  const char *what = r->attribute + strlen("valid_");
  const bool range = strcmp(what, "range") == 0;
  const int count = dm_attribute_numbers(l->set, r->attribute, list);
  if (count <= 0 || (!range && m->ranged && H5Aexists(l->set, "valid_range") > 0)) return DM_OK;
  if (count != 1 + range || dm_dtype_is_complex(l->find->dtype)) {
    add(m->warning, "attribute %s is not applied", r->attribute);
    return DM_OK;
  }
  DM_H5_HELD hid_t attribute = H5Aopen(l->set, r->attribute, H5P_DEFAULT),
                   type = H5Aget_type(attribute);
  const bool floats = type >= 0 && H5Tget_class(type) == H5T_FLOAT;
  if (!m->ranged) {
    m->low = -(double)INFINITY;
    m->high = (double)INFINITY;
    m->of_values = m->packed && floats && dm_dtype_is_integer(l->find->dtype);
  }
  m->active = m->ranged = m->found = true;
  if (strcmp(what, "max") != 0) set_bound(l->find, &list[0], &m->low);
  if (strcmp(what, "min") != 0) set_bound(l->find, &list[range], &m->high);
  if (range)
    add(m->text, "valid: %.9g to %.9g", m->low, m->high);
  else
    add(m->text, "valid: %s %.9g", strcmp(what, "min") == 0 ? "at least" : "at most",
        strcmp(what, "min") == 0 ? m->low : m->high);
  return DM_OK;
}

/* netCDF 4 fills what was never written with HDF5's fill value, unless the file says otherwise. */
static dm_status netcdf_fill(const scope *l, const rule *r) {
  const dm_dataset *d = l->find;
  const bool stated = H5Aexists(l->set, "_FillValue") > 0 || H5Aexists(l->set, "missing_value") > 0;
  const bool is = H5Aexists_by_name(l->file, "/", "_NCProperties", H5P_DEFAULT) > 0 ||
                  H5Aexists(l->set, "_Netcdf4Dimid") > 0 ||
                  H5Aexists(l->set, "_Netcdf4Coordinates") > 0 ||
                  H5Aexists(l->set, "DIMENSION_LIST") > 0;
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t when = H5D_FILL_TIME_NEVER;
  dm_number n = {.is_whole = dm_dtype_is_integer(d->dtype)};
  (void)r;
  if (stated || !is || dm_dtype_size(d->dtype) == 1 || dm_dtype_is_complex(d->dtype)) return DM_OK;
  DM_H5_HELD hid_t creation = H5Dget_create_plist(l->set);
  bool read = creation >= 0 && H5Pfill_value_defined(creation, &fill) >= 0 &&
              fill == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_time(creation, &when) >= 0 &&
              when != H5D_FILL_TIME_NEVER &&
              H5Pget_fill_value(creation, H5T_NATIVE_DOUBLE, &n.real) >= 0;
  const bool is_unsigned = d->dtype == DM_U16 || d->dtype == DM_U32 || d->dtype == DM_U64;
  if (read && n.is_whole)
    read = H5Pget_fill_value(creation, is_unsigned ? H5T_NATIVE_ULLONG : H5T_NATIVE_LLONG,
                             &n.whole) >= 0;
  n.is_unsigned = is_unsigned;
  if (!read) H5Eclear2(H5E_DEFAULT);
  return read ? add_missing(l, &n, "netCDF's default") : DM_OK;
}

/* ---- CF and netCDF: packing ---- */

static dm_status other_sign(const scope *l, const rule *r) {
  dm_meaning *m = &l->find->meaning;
  const dm_dtype type = l->find->dtype;
  char text[WORD] = "";
  (void)dm_h5_text_of(l->set, r->attribute, text, sizeof text);
  const bool to_unsigned = dm_attribute_is_true(l->set, r->attribute);
  const bool is_signed = type == DM_I8 || type == DM_I16 || type == DM_I32 || type == DM_I64;
  m->other_sign = true;
  const dm_dtype other = dm_meaning_number(m, type);
  m->other_sign =
      other != type && to_unsigned == is_signed && (to_unsigned || strcasecmp(text, "false") == 0);
  if (!m->other_sign) return DM_OK;
  m->active = true;
  m->type = other;
  add(m->text, "meant as %s (%s)", dm_dtype_name(other), r->attribute);
  return DM_OK;
}

/* The factor or shift NAME, or FALLBACK if there is none. */
static dm_status read_factor(const scope *l, const char *name, dm_number fallback, dm_number *n) {
  dm_number list[DM_MISSING_VALUES];
  const int count = dm_attribute_numbers(l->set, name, list);
  *n = count > 0 ? list[0] : fallback;
  return count == -2 || count > 1 || !isfinite(n->real) ? not_understood(l, name) : DM_OK;
}

static dm_status packing(const scope *l, const rule *r) {
  dm_meaning *m = &l->find->meaning;
  const dm_dtype type = l->find->dtype;
  const dm_number one = {.real = 1.0, .is_single = true}, zero = {.is_single = true};
  dm_number scale, offset;
  if (m->packed) return DM_OK;
  DM_TRY(read_factor(l, "scale_factor", one, &scale));
  DM_TRY(read_factor(l, "add_offset", zero, &offset));
  const bool whole = dm_dtype_is_integer(type);
  if (!whole && scale.real == 1.0 && offset.real == 0.0) return DM_OK;
  if (dm_dtype_is_complex(type)) return not_understood(l, r->attribute);
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
  add(m->text, "packed: value = %.9g * stored%s, in %s", scale.real, shift, dm_dtype_name(m->type));
  return DM_OK;
}

/* ---- attributes of other conventions ---- */

/* Names, in lower case, letters and digits alone, of NeXus, ODIM, NWB and others. */
static const struct {
  double neutral;
  const char *names;
} doubtful[] = {{1.0, " scale scalefactor scalingfactor slope gain multiplier factor conversion "
                      "conversionfactor "},
                {0.0, " offset addoffset intercept "},
                {(double)NAN,
                 " fillvalue missingvalue nodata nodatavalue undetect novalue nullvalue navalue "
                 "invalidvalue "}};

static bool is_in_table(const char *attribute);

/* An H5A_operator2_t for a scope: warns of attributes that other conventions give a meaning. */
static herr_t doubt(hid_t set, const char *name, const H5A_info_t *info, void *data) {
  const scope *l = data;
  char plain[WORD] = " ";
  size_t used = 1;
  (void)set, (void)info;
  for (const char *at = name; *at && used + 2 < sizeof plain; at++)
    if (isalnum((unsigned char)*at)) plain[used++] = (char)tolower((unsigned char)*at);
  plain[used] = ' ';
  for (size_t i = 0; i < sizeof doubtful / sizeof doubtful[0]; i++)
    if (strstr(doubtful[i].names, plain) && !is_in_table(name))
      (void)is_doubtful(l, name, doubtful[i].neutral);
  return 0;
}

static dm_status other_names(const scope *l, const rule *r) {
  (void)r;
  if (!l->bare[0] && H5Aiterate2(l->set, H5_INDEX_NAME, H5_ITER_INC, NULL, doubt, (void *)l) < 0)
    H5Eclear2(H5E_DEFAULT);
  return DM_OK;
}

/* ---- the table ---- */

#define LABELS "write the numbers they stand for as a dataset of their own"

/* In this order: what is no matrix of numbers; the sign; packing, before the range of values; what
 * is missing; what may have a meaning and is only named. */
static const rule rules[] = {
    {false, "MATLAB_empty", NULL, refuse_if_true,
     "it is an empty array of MATLAB: the stored numbers are its dimensions",
     "there is nothing to multiply"},
    {false, "MATLAB_class", NULL, matlab_class, NULL, "save its numbers as a matrix of double"},
    {false, "MATLAB_object_decode", NULL, refuse_if_true, "it is an object of MATLAB, not a matrix",
     "save its numbers as a matrix of double"},
    {false, "OCTAVE_EMPTY_MATRIX", NULL, refuse,
     "it is an empty matrix of Octave: the stored numbers are its dimensions",
     "there is nothing to multiply"},
    {true, "OCTAVE_NEW_FORMAT", NULL, octave, "it is text of Octave",
     "save double(x) to multiply the codes of its characters"},
    {false, "complex", NULL, petsc_complex,
     "its two columns are the real and imaginary parts of PETSc's complex numbers",
     "write x[:, :1] + 1j * x[:, 1:] as a matrix of complex numbers"},
    {false, "categories", NULL, refuse_integers, "its numbers are codes of categories", LABELS},
    {true, "encoding-type", "categorical", refuse, "its numbers are codes of categories", LABELS},
    {true, "encoding-type", "nullable-", refuse,
     "it belongs to an array with missing values (a mask lies beside it)",
     "write the array without missing values as a dataset of its own"},
    {false, "class", "factor", refuse_integers, "its numbers are codes of R's factor", LABELS},
    {false, "shape", NULL, pandas_shape, "it is an empty array of pandas",
     "there is nothing to multiply"},
    {false, "value_type", "datetime64", refuse, "its numbers are dates of pandas", LABELS},
    {false, "value_type", "timedelta64", refuse, "its numbers are durations of pandas", LABELS},
    {false, "CLASS", "PALETTE", refuse, "it is the palette of an image", "name the image"},
    {false, "CLASS", "IMAGE", indexed_image, "its numbers are indices into a palette", LABELS},
    {false, "CLASS", "DIMENSION_SCALE", bare_dimension, "it is a dimension of netCDF without data",
     "name a variable"},
    {false, "_Unsigned", NULL, other_sign, NULL, NULL},
    {false, "scale_factor", NULL, packing, NULL, NULL},
    {false, "add_offset", NULL, packing, NULL, NULL},
    {false, "_FillValue", NULL, missing, NULL, NULL},
    {false, "missing_value", NULL, missing, NULL, NULL},
    {false, "MissingValue", NULL, missing, NULL, NULL},     /* HDF-EOS 5 */
    {false, "CodeMissingValue", NULL, missing, NULL, NULL}, /* GPM */
    {false, "valid_range", NULL, valid, NULL, NULL},
    {false, "valid_min", NULL, valid, NULL, NULL},
    {false, "valid_max", NULL, valid, NULL, NULL},
    {false, NULL, NULL, netcdf_fill, NULL, NULL},
    {false, "rhdf5-NA.OK", NULL, r_na, NULL, NULL},
    {false, "storage.mode", "logical", r_na, NULL, NULL}, /* R's truth values */
    {false, "BSCALE", NULL, pixels_factor, "FITS' BSCALE and BZERO may still be to be applied",
     "write BZERO + BSCALE * x if so"},
    {false, "BZERO", NULL, pixels_shift, "FITS' BSCALE and BZERO may still be to be applied",
     "write BZERO + BSCALE * x if so"},
    {false, "ScaleFactor", NULL, pixels_factor,
     "HDF-EOS's ScaleFactor and Offset may still be to be applied",
     "write ScaleFactor * x + Offset if so"},
    {false, "Offset", NULL, pixels_shift,
     "HDF-EOS's ScaleFactor and Offset may still be to be applied",
     "write ScaleFactor * x + Offset if so"},
    {false, "units", NULL, warn_of_times, NULL, NULL},
    {false, NULL, NULL, other_names, NULL, NULL},
    {false, "flag_meanings", NULL, warn_of_labels, "its numbers are codes (flag_meanings)", NULL},
    {false, "levels", NULL, warn_of_labels, "its numbers may be codes (levels)", NULL},
};

static bool is_in_table(const char *attribute) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].attribute && strcmp(rules[i].attribute, attribute) == 0) return true;
  return false;
}

static dm_status apply(const scope *l, const rule *r) {
  const hid_t object = r->in_group ? l->group : l->set;
  char text[WORD] = "";
  if (!r->attribute) return r->act(l, r);
  if (object < 0 || l->bare[r->in_group] || H5Aexists(object, r->attribute) <= 0) return DM_OK;
  if (r->value && (!dm_h5_text_of(object, r->attribute, text, sizeof text) ||
                   strncmp(text, r->value, strlen(r->value)) != 0))
    return DM_OK;
  return r->act(l, r);
}

/* The group that the dataset is in; negative: not known. */
static hid_t open_group(const dm_trust *trust, hid_t file, const dm_location *at) {
  dm_h5_exit leave;
  char path[DM_PATH];
  snprintf(path, sizeof path, "%s", at->dataset);
  char *end = strrchr(path, '/');
  if (!end) return -1;
  end[end == path] = '\0';
  DM_H5_HELD hid_t access = dm_h5_access(trust->external, &leave);
  hid_t group = access < 0 ? -1 : H5Oopen(file, path, access);
  if (group < 0) H5Eclear2(H5E_DEFAULT);
  return group;
}

static bool is_bare(hid_t object) {
  H5O_info_t info;
#if H5_VERSION_GE(1, 10, 3)
  /* Not the sizes of its metadata, for which HDF5 reads its layout again. */
  const bool known = object >= 0 && H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) >= 0;
#else
  const bool known = object >= 0 && H5Oget_info(object, &info) >= 0;
#endif
  return known && info.num_attrs == 0;
}

/* The user's own number, exact if it is whole. */
static dm_number stated_number(const char *text) {
  dm_number n = {.real = 0.0};
  char copy[DM_MISSING_TEXT], *end;
  snprintf(copy, sizeof copy, "%s", text);
  (void)dm_number_of_text(copy, &n);
  errno = 0;
  const long long whole = strtoll(text, &end, 10);
  if (*end == '\0' && errno == 0)
    return (dm_number){.real = (double)whole, .whole = whole, .is_whole = true};
  errno = 0;
  const unsigned long long large = strtoull(text, &end, 10);
  if (*end == '\0' && errno == 0 && text[0] != '-') /* at least 2^63 */
    n = (dm_number){
        .real = (double)large, .whole = (int64_t)large, .is_whole = true, .is_unsigned = true};
  return n;
}

dm_status dm_examine_stated(const dm_trust *trust, dm_dataset *find) {
  dm_meaning *m = &find->meaning;
  const scope l = {.at = &find->at, .group = -1, .find = find};
  const bool silent = !m->active, is_complex = dm_dtype_is_complex(find->dtype);
  if (find->layout == DM_VIRTUAL) return DM_OK; /* its sources are stored numbers */
  if (silent) m->type = find->dtype;
  if (trust->missing_value[0] && !m->found) {
    const dm_number n = stated_number(trust->missing_value);
    if (is_complex && !isnan(n.real))
      return dm_fail_at(DM_E_INPUT, &find->at, "--missing-value %s names no complex number",
                        trust->missing_value);
    double real;
    int64_t whole;
    if (!is_complex && !as_stored(find, &n, &real, &whole))
      return dm_fail_at(DM_E_INPUT, &find->at,
                        "--missing-value %s cannot occur among numbers of type %s",
                        trust->missing_value, dm_dtype_name(find->dtype));
    if (!is_complex) DM_TRY(add_missing(&l, &n, "--missing-value"));
    m->nan |= is_complex;
  }
  if ((trust->nan && !dm_dtype_is_integer(find->dtype)) || (is_complex && m->nan)) {
    if (!m->nan || is_complex) add(m->text, "missing: nan");
    m->active = m->nan = m->found = true;
  }
  m->asked = silent && m->active;
  return DM_OK;
}

dm_status dm_examine_meaning(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find) {
  find->meaning = (dm_meaning){.missing = trust->missing, .type = find->dtype};
  if (trust->raw) return dm_examine_stated(trust, find);
  DM_H5_HELD const hid_t group = open_group(trust, file, &find->at);
  const scope l = {&find->at, file, set, group, {is_bare(set), is_bare(group)}, find};
  dm_status status = DM_OK;
  for (size_t i = 0; i < sizeof rules / sizeof *rules && !status; i++)
    status = apply(&l, &rules[i]);
  return status ? status : dm_examine_stated(trust, find);
}
