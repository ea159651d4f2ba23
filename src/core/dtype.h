/* dtype: the element types that damier reads, multiplies and writes. */
#ifndef DM_CORE_DTYPE_H
#define DM_CORE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum dm_dtype {
  DM_F64,
  DM_F32,
  DM_F16,
  DM_BF16,
  DM_C64,  /* two f32: real, imaginary */
  DM_C128, /* two f64: real, imaginary */
  DM_I8,
  DM_I32,
  DM_DTYPE_COUNT,
  DM_DTYPE_NONE = DM_DTYPE_COUNT,

  /* Types of inputs only; reading converts them. */
  DM_I16 = 16,
  DM_I64,
  DM_U8,
  DM_U16,
  DM_U32,
  DM_U64,
  DM_BOOL, /* one byte; anything but 0 is 1 */
  DM_DTYPE_END,
} dm_dtype;

/* "f64", "bf16", ... */
const char *dm_dtype_name(dm_dtype dtype);

/* Whether DTYPE is one of the above, including types of inputs only. */
bool dm_dtype_is_known(dm_dtype dtype);

/* False if NAME is not a type that can be multiplied or written; *dtype is then unchanged. */
bool dm_dtype_parse(const char *name, dm_dtype *dtype);

int64_t dm_dtype_size(dm_dtype dtype); /* bytes of one element */
bool dm_dtype_is_complex(dm_dtype dtype);
bool dm_dtype_is_integer(dm_dtype dtype);
bool dm_dtype_is_signed(dm_dtype dtype); /* an integer that may be negative */

/* Of types that are multiplied: whether it is shorter than those of BLAS, so that CPUs widen it. */
bool dm_dtype_is_short(dm_dtype dtype);

/* Whether DTYPE holds every value of FROM exactly: complex types hold real numbers. */
bool dm_dtype_holds(dm_dtype dtype, dm_dtype from);

/* Unit roundoff 2^-p, p the bits of the significand: half the distance from 1 to the next number.
 * 0 for integers, whose arithmetic here is exact. */
double dm_dtype_roundoff(dm_dtype dtype);

/* Smallest positive number, which is the spacing of subnormal numbers; 0 for integers. */
double dm_dtype_smallest(dm_dtype dtype);

double dm_dtype_largest(dm_dtype dtype); /* finite magnitude */

/* The widest type of DTYPE's kind: f64, c128, or i32 for integers. */
dm_dtype dm_dtype_widest(dm_dtype dtype);
/* The type of a complex type's parts; a real type itself. */
dm_dtype dm_dtype_real(dm_dtype dtype);

#endif
