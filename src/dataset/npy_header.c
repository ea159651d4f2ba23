#include "dataset/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"

/* All types that NumPy and damier have in common, and their other names in headers, which NumPy
 * reads, too. The first of each type is written. */
static const struct {
  const char *name;
  dm_dtype dtype;
} npy_header_types[] = {
    {"f8", DM_F64},        {"f4", DM_F32},       {"f2", DM_F16},       {"c8", DM_C64},
    {"c16", DM_C128},      {"i1", DM_I8},        {"i2", DM_I16},       {"i4", DM_I32},
    {"i8", DM_I64},        {"u1", DM_U8},        {"u2", DM_U16},       {"u4", DM_U32},
    {"u8", DM_U64},        {"b1", DM_BOOL},      {"float64", DM_F64},  {"double", DM_F64},
    {"float", DM_F64},     {"d", DM_F64},        {"float32", DM_F32},  {"single", DM_F32},
    {"f", DM_F32},         {"float16", DM_F16},  {"half", DM_F16},     {"e", DM_F16},
    {"complex64", DM_C64}, {"csingle", DM_C64},  {"F", DM_C64},        {"complex128", DM_C128},
    {"cdouble", DM_C128},  {"complex", DM_C128}, {"D", DM_C128},       {"int8", DM_I8},
    {"byte", DM_I8},       {"b", DM_I8},         {"int16", DM_I16},    {"short", DM_I16},
    {"h", DM_I16},         {"int32", DM_I32},    {"intc", DM_I32},     {"i", DM_I32},
    {"int64", DM_I64},     {"int", DM_I64},      {"longlong", DM_I64}, {"q", DM_I64},
    {"uint8", DM_U8},      {"ubyte", DM_U8},     {"B", DM_U8},         {"uint16", DM_U16},
    {"ushort", DM_U16},    {"H", DM_U16},        {"uint32", DM_U32},   {"uintc", DM_U32},
    {"I", DM_U32},         {"uint64", DM_U64},   {"uint", DM_U64},     {"ulonglong", DM_U64},
    {"Q", DM_U64},         {"bool", DM_BOOL},    {"bool_", DM_BOOL},   {"?", DM_BOOL},
#if __SIZEOF_LONG__ == 8
    {"l", DM_I64},         {"L", DM_U64},        {"long", DM_I64},     {"ulong", DM_U64},
#endif
    {"p", DM_I64},         {"intp", DM_I64},     {"P", DM_U64},        {"uintp", DM_U64}};

enum { TYPES = sizeof npy_header_types / sizeof npy_header_types[0] };

dm_dtype dm_npy_dtype(const char *name) {
  for (int i = 0; i < TYPES; i++)
    if (strcmp(npy_header_types[i].name, name) == 0) return npy_header_types[i].dtype;
  return DM_DTYPE_NONE;
}

enum {
  NPY_HEADER_MAGIC = DM_NPY_MAGIC,
  NPY_HEADER_STEP = 64,
  START = NPY_HEADER_MAGIC + 4 /* of the text */
};

dm_status dm_npy_type(dm_dtype dtype, char text[DM_NPY_TYPE]) {
  const char *name = NULL;
  for (int i = 0; i < TYPES && !name; i++)
    if (npy_header_types[i].dtype == dtype) name = npy_header_types[i].name;
  if (!name) return dm_fail(DM_E_USAGE, "a .npy file has no name for %s", dm_dtype_name(dtype));
  const char order = dm_dtype_size(dtype) == 1                ? '|'
                     : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>'
                                                              : '<';
  snprintf(text, DM_NPY_TYPE, "%c%s", order, name);
  return DM_OK;
}

int64_t dm_npy_header_of(const char *type, const char *shape, char text[DM_NPY_HEADER]) {
  memset(text, ' ', DM_NPY_HEADER);
  memcpy(text, "\x93NUMPY\1\0", NPY_HEADER_MAGIC + 2);
  const int used =
      snprintf(text + START, DM_NPY_HEADER - START,
               "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
  text[START + used] = ' ';
  const int64_t length = dm_round_up(START + used + 1, NPY_HEADER_STEP);
  text[length - 1] = '\n';
  text[NPY_HEADER_MAGIC + 2] = (char)(length - START);
  text[NPY_HEADER_MAGIC + 3] = 0;
  return length;
}

dm_status dm_npy_header(dm_dtype dtype, int64_t rows, int64_t cols, const dm_leads *leads,
                        char text[DM_NPY_HEADER], int64_t *length) {
  char type[DM_NPY_TYPE], shape[DM_SHAPE_TEXT] = "";
  int shaped = 0;
  DM_TRY(dm_npy_type(dtype, type));
  for (int i = 0; i < leads->count; i++)
    shaped += snprintf(shape + shaped, sizeof shape - (size_t)shaped, "%lld, ",
                       (long long)leads->extent[i]);
  rows /= dm_leads_entries(leads);
  if (leads->vector != DM_NO_VECTOR)
    snprintf(shape + shaped, sizeof shape - (size_t)shaped, "%lld,", (long long)(rows * cols));
  else
    snprintf(shape + shaped, sizeof shape - (size_t)shaped, "%lld, %lld", (long long)rows,
             (long long)cols);
  *length = dm_npy_header_of(type, shape, text);
  return DM_OK;
}
