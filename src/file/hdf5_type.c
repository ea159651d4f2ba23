#include "file/hdf5_type.h"

#include <stdio.h>
#include <string.h>

/* Whether TYPE is DTYPE in either byte order. */
static bool is_spelled(hid_t type, dm_dtype dtype, bool *swapped) {
  static const H5T_order_t orders[] = {H5T_ORDER_LE, H5T_ORDER_BE};
  hid_t ours = dm_h5_make_type(dtype);
  const H5T_order_t native = ours < 0 ? H5T_ORDER_ERROR : H5Tget_order(ours);
  bool same = false;
  for (int i = 0; i < 2 && !same && ours >= 0; i++) {
    same = H5Tset_order(ours, orders[i]) >= 0 && H5Tequal(ours, type) > 0;
    *swapped = orders[i] != native && dm_dtype_size(dtype) > 1;
  }
  if (ours >= 0) H5Tclose(ours);
  return same;
}

/* Finds which of COUNT candidates TYPE is. */
static bool read_as(hid_t type, const dm_dtype *candidates, int count, dm_dtype *dtype,
                    bool *swapped) {
  for (int i = 0; i < count; i++) {
    *dtype = candidates[i];
    if (is_spelled(type, candidates[i], swapped)) return true;
  }
  return false;
}

static bool read_float(hid_t type, dm_dtype *dtype, bool *swapped) {
  static const dm_dtype floats[] = {DM_F64, DM_F32, DM_F16, DM_BF16};
  return read_as(type, floats, 4, dtype, swapped);
}

static bool read_integer(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped) {
  static const dm_dtype integers[] = {DM_I8, DM_I32, DM_I16, DM_I64, DM_U8, DM_U16, DM_U32, DM_U64};
  const bool big = bfloat16 && H5Tequal(type, H5T_STD_U16BE) > 0;
  if (!big && !(bfloat16 && H5Tequal(type, H5T_STD_U16LE) > 0))
    return read_as(type, integers, 8, dtype, swapped);
  *dtype = DM_BF16;
  *swapped = big != (H5Tget_order(H5T_NATIVE_UINT16) == H5T_ORDER_BE);
  return true;
}

static bool member_is(hid_t type, unsigned index, const char *wanted) {
  char *name = H5Tget_member_name(type, index);
  bool same = name && strcmp(name, wanted) == 0;
  if (name) H5free_memory(name);
  return same;
}

/* Bit fields of one byte, as PyTables and Julia store booleans. */
static bool read_bits(hid_t type, dm_dtype *dtype, bool *swapped) {
  *dtype = DM_BOOL;
  *swapped = false;
  return H5Tget_size(type) == 1 && H5Tget_precision(type) == 8;
}

/* Booleans of h5py and others: an enumeration of one byte. */
static bool read_bool(hid_t type, dm_dtype *dtype, bool *swapped) {
  *dtype = DM_BOOL;
  *swapped = false;
  for (unsigned i = 0; i < 2; i++) {
    signed char value = -1;
    if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2 ||
        !member_is(type, i, i == 0 ? "FALSE" : "TRUE") ||
        H5Tget_member_value(type, i, &value) < 0 || value != (signed char)i)
      return false;
  }
  return true;
}

/* ml_dtypes' bfloat16 is stored by h5py as two opaque bytes; its tag or an attribute names it. */
static bool read_opaque(hid_t type, bool bfloat16, dm_dtype *dtype, bool *swapped) {
  char *tag = H5Tget_tag(type);
  *dtype = DM_BF16;
  *swapped = H5Tget_order(H5T_NATIVE_UINT16) == H5T_ORDER_BE; /* native order, as NumPy writes */
  bool known = H5Tget_size(type) == 2 && (bfloat16 || (tag && strstr(tag, "bfloat16")));
  if (tag) H5free_memory(tag);
  return known;
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

/* Field names used by h5py, by PyTables and others, by MATLAB, and by R's hdf5r. */
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
  else if (kind == H5T_ENUM)
    known = read_bool(type, dtype, swapped);
  else if (kind == H5T_BITFIELD)
    known = read_bits(type, dtype, swapped);
  else if (kind == H5T_OPAQUE)
    known = read_opaque(type, bfloat16, dtype, swapped);
#if H5_VERSION_GE(2, 0, 0)
  else if (kind == H5T_COMPLEX)
    known = read_complex(type, dtype, swapped);
#endif
  if (!known) name_type(type, kind, text);
  return known;
}

/* Creates a float of 16 bits. */
static hid_t make_half(size_t exponent_bits) {
  const size_t fraction_bits = 15 - exponent_bits;
  hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
  if (type >= 0 && (H5Tset_fields(type, 15, fraction_bits, exponent_bits, 0, fraction_bits) < 0 ||
                    H5Tset_size(type, 2) < 0 ||
                    H5Tset_ebias(type, ((size_t)1 << (exponent_bits - 1)) - 1) < 0)) {
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
    return make_half(5);
  case DM_BF16:
    return make_half(8);
  case DM_C64:
    return make_complex(H5T_NATIVE_FLOAT);
  case DM_C128:
    return make_complex(H5T_NATIVE_DOUBLE);
  case DM_I8:
    return H5Tcopy(H5T_NATIVE_INT8);
  case DM_I32:
    return H5Tcopy(H5T_NATIVE_INT32);
  case DM_I16:
    return H5Tcopy(H5T_NATIVE_INT16);
  case DM_I64:
    return H5Tcopy(H5T_NATIVE_INT64);
  case DM_U8:
    return H5Tcopy(H5T_NATIVE_UINT8);
  case DM_U16:
    return H5Tcopy(H5T_NATIVE_UINT16);
  case DM_U32:
    return H5Tcopy(H5T_NATIVE_UINT32);
  case DM_U64:
    return H5Tcopy(H5T_NATIVE_UINT64);
  case DM_BOOL: /* never written */
  case DM_DTYPE_COUNT:
  case DM_DTYPE_END:
    break;
  }
  return -1;
}
