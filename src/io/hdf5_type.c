#include "io/hdf5_type.h"

#include <stdio.h>
#include <string.h>

/* The fields of a binary float, as H5Tget_fields counts them. */
typedef struct float_format {
  dm_dtype dtype;
  size_t size, sign, exponent_at, exponent_bits, fraction_bits, bias;
} float_format;

static const float_format float_formats[] = {
    {DM_F64, 8, 63, 52, 11, 52, 1023},
    {DM_F32, 4, 31, 23, 8, 23, 127},
    {DM_F16, 2, 15, 10, 5, 10, 15},
    {DM_BF16, 2, 15, 7, 8, 7, 127},
};

enum { FLOAT_FORMATS = sizeof float_formats / sizeof float_formats[0] };

static bool is_swapped(H5T_order_t order) {
  return order != H5Tget_order(H5T_NATIVE_DOUBLE);
}

static bool is_plain_order(H5T_order_t order) {
  return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

static bool read_float(hid_t type, dm_dtype *dtype, bool *swapped) {
  size_t sign, exponent_at, exponent_bits, fraction_at, fraction_bits, size = H5Tget_size(type);
  if (H5Tget_fields(type, &sign, &exponent_at, &exponent_bits, &fraction_at, &fraction_bits) < 0 ||
      H5Tget_precision(type) != 8 * size || H5Tget_offset(type) != 0 ||
      H5Tget_norm(type) != H5T_NORM_IMPLIED || fraction_at != 0 ||
      !is_plain_order(H5Tget_order(type)))
    return false;
  for (int i = 0; i < FLOAT_FORMATS; i++) {
    const float_format *f = &float_formats[i];
    if (size != f->size || sign != f->sign || exponent_at != f->exponent_at ||
        exponent_bits != f->exponent_bits || fraction_bits != f->fraction_bits ||
        H5Tget_ebias(type) != f->bias)
      continue;
    *dtype = f->dtype;
    *swapped = is_swapped(H5Tget_order(type));
    return true;
  }
  return false;
}

static bool read_integer(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped) {
  size_t size = H5Tget_size(type);
  bool has_sign = H5Tget_sign(type) == H5T_SGN_2;
  if (H5Tget_precision(type) != 8 * size || H5Tget_offset(type) != 0 ||
      !is_plain_order(H5Tget_order(type)))
    return false;
  if (has_sign && size == 1)
    *dtype = DM_I8;
  else if (has_sign && size == 4)
    *dtype = DM_I32;
  else if (!has_sign && size == 2 && bfloat16)
    *dtype = DM_BF16;
  else
    return false;
  *swapped = size > 1 && is_swapped(H5Tget_order(type));
  return true;
}

static bool to_complex(dm_dtype part, dm_dtype *dtype) {
  if (part == DM_F32)
    *dtype = DM_C64;
  else if (part == DM_F64)
    *dtype = DM_C128;
  else
    return false;
  return true;
}

static bool member_is(hid_t type, unsigned index, const char *wanted) {
  char *name = H5Tget_member_name(type, index);
  bool same = name && strcmp(name, wanted) == 0;
  if (name) H5free_memory(name);
  return same;
}

/* The spellings of h5py, of PyTables and others, of MATLAB, of R's hdf5r. */
static bool has_complex_names(hid_t type) {
  static const char *const names[][2] = {
      {"r", "i"}, {"re", "im"}, {"real", "imag"}, {"Real", "Imaginary"}};
  for (int i = 0; i < 4; i++)
    if (member_is(type, 0, names[i][0]) && member_is(type, 1, names[i][1])) return true;
  return false;
}

static bool read_compound(hid_t type, dm_dtype *dtype, bool *swapped) {
  if (H5Tget_nmembers(type) != 2 || !has_complex_names(type)) return false;
  dm_dtype part[2] = {DM_DTYPE_NONE, DM_DTYPE_NONE};
  bool turned[2] = {false, false};
  for (unsigned i = 0; i < 2; i++) {
    hid_t member = H5Tget_member_type(type, i);
    if (member < 0) return false;
    bool known = H5Tget_class(member) == H5T_FLOAT && read_float(member, &part[i], &turned[i]);
    H5Tclose(member);
    if (!known) return false;
  }
  if (part[0] != part[1] || turned[0] != turned[1] || !to_complex(part[0], dtype)) return false;
  *swapped = turned[0];
  size_t half = (size_t)dm_dtype_size(part[0]);
  return H5Tget_size(type) == 2 * half && H5Tget_member_offset(type, 0) == 0 &&
         H5Tget_member_offset(type, 1) == half;
}

#if H5_VERSION_GE(2, 0, 0)
static bool read_complex(hid_t type, dm_dtype *dtype, bool *swapped) {
  hid_t base = H5Tget_super(type);
  if (base < 0) return false;
  dm_dtype part = DM_DTYPE_NONE;
  bool known = read_float(base, &part, swapped) && to_complex(part, dtype);
  H5Tclose(base);
  return known;
}
#endif

static void name_type(hid_t type, H5T_class_t kind, char text[DM_TYPE_TEXT]) {
  static const char *const names[] = {[H5T_TIME] = "times",
                                      [H5T_STRING] = "strings",
                                      [H5T_BITFIELD] = "bit fields",
                                      [H5T_OPAQUE] = "opaque bytes",
                                      [H5T_REFERENCE] = "references",
                                      [H5T_ENUM] = "enumerated values",
                                      [H5T_VLEN] = "sequences",
                                      [H5T_ARRAY] = "arrays",
                                      [H5T_COMPOUND] = "compounds that spell no complex number"};
  unsigned long long bits = 8ull * H5Tget_size(type);
  if (kind == H5T_INTEGER)
    snprintf(text, DM_TYPE_TEXT, "%llu-bit %s integers", bits,
             H5Tget_sign(type) == H5T_SGN_2 ? "signed" : "unsigned");
  else if (kind == H5T_FLOAT)
    snprintf(text, DM_TYPE_TEXT, "%llu-bit floats of an unknown format", bits);
  else
    snprintf(text, DM_TYPE_TEXT, "%s",
             kind >= 0 && kind <= H5T_ARRAY && names[kind] ? names[kind] : "of an unknown type");
}

bool dm_h5_read_type(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped,
                     char text[DM_TYPE_TEXT]) {
  H5T_class_t kind = H5Tget_class(type);
  bool known = false;
  if (kind == H5T_FLOAT)
    known = read_float(type, dtype, swapped);
  else if (kind == H5T_INTEGER)
    known = read_integer(type, bfloat16, dtype, swapped);
  else if (kind == H5T_COMPOUND)
    known = read_compound(type, dtype, swapped);
#if H5_VERSION_GE(2, 0, 0)
  else if (kind == H5T_COMPLEX)
    known = read_complex(type, dtype, swapped);
#endif
  if (!known) name_type(type, kind, text);
  return known;
}

static hid_t make_half(const float_format *f) {
  hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
  if (type >= 0 &&
      (H5Tset_fields(type, f->sign, f->exponent_at, f->exponent_bits, 0, f->fraction_bits) < 0 ||
       H5Tset_size(type, f->size) < 0 || H5Tset_ebias(type, f->bias) < 0)) {
    H5Tclose(type);
    return -1;
  }
  return type;
}

static hid_t make_complex(hid_t part) {
  size_t half = H5Tget_size(part);
  hid_t type = H5Tcreate(H5T_COMPOUND, 2 * half);
  if (type >= 0 && (H5Tinsert(type, "r", 0, part) < 0 || H5Tinsert(type, "i", half, part) < 0)) {
    H5Tclose(type);
    return -1;
  }
  return type;
}

hid_t dm_h5_make_type(dm_dtype dtype) {
  switch (dtype) {
  case DM_F64:
    return H5Tcopy(H5T_NATIVE_DOUBLE);
  case DM_F32:
    return H5Tcopy(H5T_NATIVE_FLOAT);
  case DM_F16:
    return make_half(&float_formats[2]);
  case DM_BF16:
    return make_half(&float_formats[3]);
  case DM_C64:
    return make_complex(H5T_NATIVE_FLOAT);
  case DM_C128:
    return make_complex(H5T_NATIVE_DOUBLE);
  case DM_I8:
    return H5Tcopy(H5T_NATIVE_INT8);
  case DM_I32:
    return H5Tcopy(H5T_NATIVE_INT32);
  case DM_DTYPE_COUNT:
    break;
  }
  return -1;
}
