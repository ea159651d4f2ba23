#include "dataset/hdf5_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_use.h"
#include "dataset/naming.h"

/* Whether TYPE is DTYPE in either byte order. */
static bool is_spelled(hid_t type, dm_dtype dtype, bool *swapped) {
  static const H5T_order_t orders[] = {H5T_ORDER_LE, H5T_ORDER_BE};
  DM_H5_HELD hid_t ours = dm_h5_make_type(dtype);
  const H5T_order_t native = ours < 0 ? H5T_ORDER_ERROR : H5Tget_order(ours);
  bool same = false;
  for (int i = 0; i < 2 && !same && ours >= 0; i++) {
    same = H5Tset_order(ours, orders[i]) >= 0 && H5Tequal(ours, type) > 0;
    *swapped = orders[i] != native && dm_dtype_size(dtype) > 1;
  }
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

/* Bit fields of one byte: PyTables and Julia store booleans in them, others any byte. */
static bool read_bits(hid_t type, dm_dtype *dtype, bool *swapped) {
  *dtype = DM_U8;
  *swapped = false;
  return H5Tget_size(type) == 1 && H5Tget_precision(type) == 8;
}

/* Member INDEX of an enumeration of truth values: FALSE, 0; TRUE, 1; or NA, as in R. */
static bool read_truth(hid_t type, hid_t base, unsigned index, bool *na) {
  long long value = -1;
  *na = member_is(type, index, "NA");
  return H5Tget_member_value(type, index, &value) >= 0 &&
         H5Tconvert(base, H5T_NATIVE_LLONG, 1, &value, NULL, H5P_DEFAULT) >= 0 &&
         (*na || (value == 0 && member_is(type, index, "FALSE")) ||
          (value == 1 && member_is(type, index, "TRUE")));
}

/* Truth values of h5py and others: an enumeration of one byte. With NA, or of other integers, they
 * are numbers: what NA means is said in conventions.c. */
static bool read_truths(hid_t type, dm_dtype *dtype, bool *swapped) {
  const int members = H5Tget_nmembers(type);
  DM_H5_HELD hid_t base = H5Tget_super(type);
  bool missing = false;
  if (members < 2 || members > 3 || base < 0 || H5Tget_size(base) > sizeof(long long)) return false;
  for (int i = 0; i < members; i++) {
    bool na = false;
    if (!read_truth(type, base, (unsigned)i, &na)) return false;
    missing |= na;
  }
  if (!read_integer(base, false, dtype, swapped)) return false;
  if (!missing && dm_dtype_size(*dtype) == 1) *dtype = DM_BOOL;
  return missing == (members == 3);
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

static const char *const complex_names[][2] = {[DM_NAMES_R_I] = {"r", "i"},
                                               [DM_NAMES_RE_IM] = {"re", "im"},
                                               [DM_NAMES_REAL_IMAG] = {"real", "imag"},
                                               [DM_NAMES_REAL_IMAGINARY] = {"Real", "Imaginary"}};

static bool are_names(hid_t type, int names) {
  return member_is(type, 0, complex_names[names][0]) && member_is(type, 1, complex_names[names][1]);
}

static bool has_complex_names(hid_t type) {
  for (int i = DM_NAMES_R_I; i <= DM_NAMES_REAL_IMAGINARY; i++)
    if (are_names(type, i)) return true;
  return false;
}

dm_complex_names dm_h5_complex_names(hid_t type) {
  const bool pair = H5Tget_class(type) == H5T_COMPOUND && H5Tget_nmembers(type) == 2;
  for (int i = DM_NAMES_RE_IM; pair && i <= DM_NAMES_REAL_IMAGINARY; i++)
    if (are_names(type, i)) return (dm_complex_names)i;
  return DM_NAMES_R_I;
}

static bool read_compound(hid_t type, dm_dtype *dtype, bool *swapped) {
  if (H5Tget_nmembers(type) != 2 || !has_complex_names(type)) return false;
  dm_dtype part[2] = {DM_DTYPE_NONE, DM_DTYPE_NONE};
  bool turned[2] = {false, false};
  for (unsigned i = 0; i < 2; i++) {
    DM_H5_HELD hid_t member = H5Tget_member_type(type, i);
    if (member < 0 || H5Tget_class(member) != H5T_FLOAT ||
        !read_float(member, &part[i], &turned[i]))
      return false;
  }
  if (part[0] != part[1] || turned[0] != turned[1] || !to_complex(part[0], dtype)) return false;
  *swapped = turned[0];
  size_t half = (size_t)dm_dtype_size(part[0]);
  return H5Tget_size(type) == 2 * half && H5Tget_member_offset(type, 0) == 0 &&
         H5Tget_member_offset(type, 1) == half;
}

#if H5_VERSION_GE(2, 0, 0)
static bool read_complex(hid_t type, dm_dtype *dtype, bool *swapped) {
  DM_H5_HELD hid_t base = H5Tget_super(type);
  dm_dtype part = DM_DTYPE_NONE;
  return base >= 0 && read_float(base, &part, swapped) && to_complex(part, dtype);
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
                                      [H5T_COMPOUND] = "compounds that are not complex numbers"};
  unsigned long long bits = 8ull * H5Tget_size(type), used = H5Tget_precision(type);
  if (kind == H5T_INTEGER)
    snprintf(text, DM_TYPE_TEXT, "%llu-bit %s integers%s", used,
             H5Tget_sign(type) == H5T_SGN_2 ? "signed" : "unsigned",
             used < bits ? " in more bits" : "");
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
    known = read_truths(type, dtype, swapped);
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

static hid_t make_complex(hid_t part, dm_complex_names names) {
  size_t half = H5Tget_size(part);
  hid_t type = H5Tcreate(H5T_COMPOUND, 2 * half);
  if (type >= 0 && (H5Tinsert(type, complex_names[names][0], 0, part) < 0 ||
                    H5Tinsert(type, complex_names[names][1], half, part) < 0)) {
    H5Tclose(type);
    return -1;
  }
  return type;
}

hid_t dm_h5_make_named_type(dm_dtype dtype, dm_complex_names names) {
  /* Of complex types that of their parts; DM_BOOL is never written. */
  const hid_t natives[DM_DTYPE_END] = {
      [DM_F64] = H5T_NATIVE_DOUBLE,  [DM_F32] = H5T_NATIVE_FLOAT,  [DM_C64] = H5T_NATIVE_FLOAT,
      [DM_C128] = H5T_NATIVE_DOUBLE, [DM_I8] = H5T_NATIVE_INT8,    [DM_I16] = H5T_NATIVE_INT16,
      [DM_I32] = H5T_NATIVE_INT32,   [DM_I64] = H5T_NATIVE_INT64,  [DM_U8] = H5T_NATIVE_UINT8,
      [DM_U16] = H5T_NATIVE_UINT16,  [DM_U32] = H5T_NATIVE_UINT32, [DM_U64] = H5T_NATIVE_UINT64};
  if (dtype == DM_F16) return make_half(5);
  if (dtype == DM_BF16) return make_half(8);
  if (!dm_dtype_is_known(dtype) || natives[dtype] == 0) return -1;
  return dm_dtype_is_complex(dtype) ? make_complex(natives[dtype], names) : H5Tcopy(natives[dtype]);
}

hid_t dm_h5_make_type(dm_dtype dtype) {
  return dm_h5_make_named_type(dtype, DM_NAMES_R_I);
}

/* ---- attributes ---- */

enum { TEXT_LIMIT = 1 << 16, TEXT_IN = 256 };

/* 1: TEXT is the attribute's; 0: it is not of that kind; -1: HDF5 failed. */
static int read_fixed_text(hid_t attribute, hid_t type, char *text, size_t size) {
  size_t length = H5Tget_size(type);
  if (length == 0) return -1;
  if (length > TEXT_LIMIT) return 0;
  DM_FREED char *buffer = calloc(length + 1, 1); /* the stored text may lack a final zero */
  if (!buffer || H5Aread(attribute, type, buffer) < 0) return -1;
  snprintf(text, size, "%s", buffer);
  return 1;
}

static int read_free_text(hid_t attribute, hid_t type, char *text, size_t size) {
  char *buffer = NULL;
  const bool read = H5Aread(attribute, type, &buffer) >= 0;
  if (read) snprintf(text, size, "%s", buffer ? buffer : "");
  if (buffer) H5free_memory(buffer);
  return read ? 1 : -1;
}

static int read_text(hid_t attribute, hid_t type, char *text, size_t size) {
  const htri_t is_free = H5Tis_variable_str(type);
  const H5T_str_t padding = H5Tget_strpad(type);
  const H5T_cset_t letters = H5Tget_cset(type);
  if (is_free < 0 || padding < 0 || padding > H5T_STR_SPACEPAD || letters < 0 ||
      letters > H5T_CSET_UTF8)
    return -1; /* a damaged type, which HDF5 takes */
  return is_free ? read_free_text(attribute, type, text, size)
                 : read_fixed_text(attribute, type, text, size);
}

static int read_value(hid_t attribute, hid_t type, char *text, size_t size) {
  long long whole = 0;
  double real = 0;
  switch (H5Tget_class(type)) {
  case H5T_NO_CLASS:
    return -1;
  case H5T_STRING:
    return read_text(attribute, type, text, size);
  case H5T_INTEGER:
    if (H5Aread(attribute, H5T_NATIVE_LLONG, &whole) < 0) return -1;
    snprintf(text, size, "%lld", whole);
    return 1;
  case H5T_FLOAT:
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) return -1;
    snprintf(text, size, "%.17g", real);
    return 1;
  default:
    return 0;
  }
}

dm_status dm_h5_text_of(const dm_location *at, hid_t object, const char *name, char *text,
                        size_t size, bool *is_text) {
  DM_H5_HELD hid_t attribute = -1;
  *is_text = false;
  DM_TRY(dm_h5_open_attribute(at, object, name, &attribute));
  if (attribute < 0) return DM_OK;
  DM_H5_HELD hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  if (count >= 0 && count != 1) return DM_OK;
  const int read = count < 0 || type < 0 ? -1 : read_value(attribute, type, text, size);
  if (read < 0) return dm_h5_unreadable(at, object, name);
  *is_text = read > 0;
  if (*is_text) dm_text_clean(text);
  return DM_OK;
}

dm_status dm_h5_attribute_class(const dm_location *at, hid_t object, const char *name,
                                H5T_class_t *kind) {
  DM_H5_HELD hid_t attribute = -1;
  *kind = H5T_NO_CLASS;
  DM_TRY(dm_h5_open_attribute(at, object, name, &attribute));
  if (attribute < 0) return DM_OK;
  DM_H5_HELD hid_t type = H5Aget_type(attribute);
  if (type >= 0) *kind = H5Tget_class(type);
  return *kind == H5T_NO_CLASS ? dm_h5_unreadable(at, object, name) : DM_OK;
}

dm_status dm_h5_text_is(const dm_location *at, hid_t object, const char *name, const char *wanted,
                        bool *is) {
  char text[DM_ATTRIBUTE_TEXT] = "";
  DM_TRY(dm_h5_text_of(at, object, name, text, sizeof text, is));
  *is = *is && strcmp(text, wanted) == 0;
  return DM_OK;
}

dm_status dm_h5_text_in(const dm_location *at, hid_t set, char *text, size_t size) {
  char whole[TEXT_IN] = "";
  text[0] = '\0';
  DM_H5_HELD hid_t type = H5Dget_type(set), space = H5Dget_space(set);
  if (type < 0 || space < 0) return dm_h5_fail(DM_E_IO, at, "a text beside it cannot be read");
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      H5Tget_size(type) >= sizeof whole || H5Sget_simple_extent_npoints(space) != 1)
    return DM_OK;
  if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole) < 0)
    return dm_h5_fail(DM_E_IO, at, "a text beside it cannot be read");
  snprintf(text, size, "%s", whole);
  return DM_OK;
}

dm_status dm_h5_member_text(const dm_location *at, hid_t group, const char *name, char *text,
                            size_t size) {
  DM_H5_HELD hid_t set = -1;
  text[0] = '\0';
  DM_TRY(dm_h5_open_member(at, group, name, false, &set));
  return set < 0 || H5Iget_type(set) != H5I_DATASET ? DM_OK : dm_h5_text_in(at, set, text, size);
}

static const char MARK_OF_TYPE[] = "dtype";

dm_status dm_h5_is_bfloat16(const dm_location *at, hid_t set, hid_t type, bool *is) {
  const H5T_class_t kind = H5Tget_class(type);
  *is = false;
  if (H5Tget_size(type) != 2 || (kind != H5T_INTEGER && kind != H5T_OPAQUE)) return DM_OK;
  H5T_class_t said;
  DM_TRY(dm_h5_attribute_class(at, set, MARK_OF_TYPE, &said));
  if (said == H5T_NO_CLASS) return DM_OK;
  if (said != H5T_STRING)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "refused: its attribute '%s' is not text", MARK_OF_TYPE),
        "it may name the type of the numbers; --raw takes them as stored");
  return dm_h5_text_is(at, set, MARK_OF_TYPE, "bfloat16", is);
}

dm_status dm_h5_is_complete(const dm_location *at, hid_t set, bool *is) {
  return dm_h5_text_is(at, set, "damier_state", "complete", is);
}

typedef struct collection {
  const dm_location *at;
  dm_attributes *attributes;
} collection;

/* A dm_h5_visit. */
static dm_status hdf5_type_collect(void *context, hid_t object, const char *name) {
  const collection *c = context;
  dm_attributes *all = c->attributes;
  if (all->count == DM_ATTRIBUTES) return DM_OK;
  dm_attribute *next = &all->list[all->count];
  bool is_text;
  if (strlen(name) >= sizeof next->name) return DM_OK;
  DM_TRY(dm_h5_text_of(c->at, object, name, next->text, sizeof next->text, &is_text));
  if (!is_text) return DM_OK;
  snprintf(next->name, sizeof next->name, "%s", name);
  dm_text_clean(next->name);
  all->count++;
  return DM_OK;
}

dm_status dm_h5_read_attributes(const dm_location *at, hid_t object, dm_attributes *attributes) {
  memset(attributes, 0, sizeof *attributes);
  return dm_h5_each_attribute(at, object, hdf5_type_collect, &(collection){at, attributes});
}

dm_status dm_h5_write_text(const dm_location *at, hid_t object, const char *name,
                           const char *text) {
  hid_t attribute = -1;
  DM_H5_HELD hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
  bool exists;
  DM_TRY(dm_h5_has_attribute(at, object, name, &exists));
  bool ready = space >= 0 && type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
               H5Tset_cset(type, H5T_CSET_UTF8) >= 0 && (!exists || H5Adelete(object, name) >= 0);
  if (ready) attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  const bool written = attribute >= 0 && H5Awrite(attribute, type, &text) >= 0;
  dm_status status =
      written ? DM_OK : dm_h5_fail(DM_E_IO, at, "its attribute '%s' cannot be written", name);
  if (attribute >= 0 && H5Aclose(attribute) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, at, "its attribute '%s' cannot be written", name);
  return status;
}
