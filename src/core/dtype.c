#include "core/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct traits {
  const char *name;
  int64_t size;
  bool complex, integer;
  int significand;          /* bits of one part, including the hidden bit */
  double smallest, largest; /* positive; of integers 0 and the largest */
  dm_dtype real;
} traits;

static const traits table[DM_DTYPE_END] = {
    [DM_F64] = {"f64", 8, false, false, 53, 0x1p-1074, DBL_MAX, DM_F64},
    [DM_F32] = {"f32", 4, false, false, 24, 0x1p-149, FLT_MAX, DM_F32},
    [DM_F16] = {"f16", 2, false, false, 11, 0x1p-24, 65504.0, DM_F16},
    [DM_BF16] = {"bf16", 2, false, false, 8, 0x1p-133, 0x1.fep127, DM_BF16},
    [DM_C64] = {"c64", 8, true, false, 24, 0x1p-149, FLT_MAX, DM_F32},
    [DM_C128] = {"c128", 16, true, false, 53, 0x1p-1074, DBL_MAX, DM_F64},
    [DM_I8] = {"i8", 1, false, true, 8, 0, 127.0, DM_I8},
    [DM_I32] = {"i32", 4, false, true, 32, 0, 2147483647.0, DM_I32},
    [DM_I16] = {"i16", 2, false, true, 16, 0, 32767.0, DM_I16},
    [DM_I64] = {"i64", 8, false, true, 64, 0, 0x1p63, DM_I64},
    [DM_U8] = {"u8", 1, false, true, 8, 0, 255.0, DM_U8},
    [DM_U16] = {"u16", 2, false, true, 16, 0, 65535.0, DM_U16},
    [DM_U32] = {"u32", 4, false, true, 32, 0, 4294967295.0, DM_U32},
    [DM_U64] = {"u64", 8, false, true, 64, 0, 0x1p64, DM_U64},
    [DM_BOOL] = {"bool", 1, false, true, 1, 0, 1.0, DM_BOOL},
};

const char *dm_dtype_name(dm_dtype dtype) {
  return dm_dtype_is_known(dtype) ? table[dtype].name : "none";
}

bool dm_dtype_is_known(dm_dtype dtype) {
  return (unsigned)dtype < DM_DTYPE_END && table[dtype].name;
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

bool dm_dtype_is_signed(dm_dtype dtype) {
  return dtype == DM_I8 || dtype == DM_I16 || dtype == DM_I32 || dtype == DM_I64;
}

bool dm_dtype_is_short(dm_dtype dtype) {
  return table[dtype].size < table[DM_F32].size;
}

bool dm_dtype_holds(dm_dtype dtype, dm_dtype from) {
  const traits *to = &table[dtype], *of = &table[from];
  if (!of->integer)
    return to->complex >= of->complex && to->significand >= of->significand &&
           to->largest >= of->largest && !to->integer;
  /* The smallest number of a signed type is a power of two, so it needs one bit less. */
  const int bits = of->significand - dm_dtype_is_signed(from);
  if (!to->integer) return bits <= to->significand;
  return bits <= to->significand - dm_dtype_is_signed(dtype) &&
         (dm_dtype_is_signed(dtype) || !dm_dtype_is_signed(from));
}

double dm_dtype_roundoff(dm_dtype dtype) {
  if (table[dtype].integer) return 0.0;
  return ldexp(1.0, -table[dtype].significand);
}

double dm_dtype_smallest(dm_dtype dtype) {
  return table[dtype].smallest;
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
