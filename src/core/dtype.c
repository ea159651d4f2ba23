#include "core/dtype.h"

#include <float.h>
#include <string.h>

typedef struct traits {
  const char *name;
  int64_t size;
  bool complex, integer;
  int significand; /* bits, with the hidden one; of one part */
  double largest;
  dm_dtype real;
} traits;

static const traits table[DM_DTYPE_COUNT] = {
    [DM_F64] = {"f64", 8, false, false, 53, DBL_MAX, DM_F64},
    [DM_F32] = {"f32", 4, false, false, 24, FLT_MAX, DM_F32},
    [DM_F16] = {"f16", 2, false, false, 11, 65504.0, DM_F16},
    [DM_BF16] = {"bf16", 2, false, false, 8, 0x1.fep127, DM_BF16},
    [DM_C64] = {"c64", 8, true, false, 24, FLT_MAX, DM_F32},
    [DM_C128] = {"c128", 16, true, false, 53, DBL_MAX, DM_F64},
    [DM_I8] = {"i8", 1, false, true, 8, 127.0, DM_I8},
    [DM_I32] = {"i32", 4, false, true, 32, 2147483647.0, DM_I32},
};

const char *dm_dtype_name(dm_dtype dtype) {
  return dtype < DM_DTYPE_COUNT ? table[dtype].name : "none";
}

bool dm_dtype_parse(const char *name, dm_dtype *dtype) {
  for (int i = 0; i < DM_DTYPE_COUNT; i++) {
    if (strcmp(name, table[i].name) == 0) {
      *dtype = (dm_dtype)i;
      return true;
    }
  }
  return false;
}

int64_t dm_dtype_size(dm_dtype dtype) {
  return table[dtype].size;
}

bool dm_dtype_is_complex(dm_dtype dtype) {
  return table[dtype].complex;
}

bool dm_dtype_is_integer(dm_dtype dtype) {
  return table[dtype].integer;
}

double dm_dtype_roundoff(dm_dtype dtype) {
  if (table[dtype].integer) return 0.0;
  double roundoff = 1.0;
  for (int i = 0; i < table[dtype].significand; i++) roundoff *= 0.5;
  return roundoff;
}

double dm_dtype_largest(dm_dtype dtype) {
  return table[dtype].largest;
}

dm_dtype dm_dtype_widest(dm_dtype dtype) {
  return table[dtype].complex ? DM_C128 : table[dtype].integer ? DM_I32 : DM_F64;
}

dm_dtype dm_dtype_real(dm_dtype dtype) {
  return table[dtype].real;
}
