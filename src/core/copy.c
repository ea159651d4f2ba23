#include "core/copy.h"

#include <string.h>

#include "core/checked.h"
#include "core/elementary.h"
#include "core/wide_vectors.h"

enum { COPY_CHUNK = 256, COPY_BLOCK = 64, COPY_NARROW = 8, COPY_TALL = 512 };

/* A case of the functions below, for elements of TYPE; V is one of them. */
#define LOAD(dtype, type, expression)                                                              \
  case dtype: {                                                                                    \
    const type *s = src;                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const type v = s[i * stride];                                                                \
      dst[i] = (expression);                                                                       \
    }                                                                                              \
    break;                                                                                         \
  }
#define LOAD_PARTS(dtype, type)                                                                    \
  case dtype: {                                                                                    \
    const type *s = src;                                                                           \
    for (int64_t i = 0; i < count; i++) {                                                          \
      dst[2 * i] = (double)s[2 * i * stride];                                                      \
      dst[2 * i + 1] = (double)s[2 * i * stride + 1];                                              \
    }                                                                                              \
    break;                                                                                         \
  }

/* A STRIDE that is a constant lets the compiler make vectors. */
/* clang-format off */
DM_INLINE void load_apart(double *dst, const void *src, dm_dtype dtype, int64_t stride, int64_t count) {
  switch (dtype) {
  LOAD(DM_F64, double, v)
  LOAD(DM_F32, float, (double)v)
  LOAD(DM_F16, uint16_t, (double)dm_f16_to_f32(v))
  LOAD(DM_BF16, uint16_t, (double)dm_bf16_to_f32(v))
  LOAD(DM_I8, int8_t, (double)v)
  LOAD(DM_I16, int16_t, (double)v)
  LOAD(DM_I32, int32_t, (double)v)
  LOAD(DM_I64, int64_t, (double)v)
  LOAD(DM_U8, uint8_t, (double)v)
  LOAD(DM_U16, uint16_t, (double)v)
  LOAD(DM_U32, uint32_t, (double)v)
  LOAD(DM_U64, uint64_t, (double)v)
  LOAD(DM_BOOL, uint8_t, v ? 1.0 : 0.0)
  LOAD_PARTS(DM_C64, float)
  LOAD_PARTS(DM_C128, double)
  case DM_DTYPE_COUNT:
  case DM_DTYPE_END:
    break;
  }
}
/* clang-format on */

void dm_load_wide(double *dst, const void *src, dm_dtype dtype, int64_t stride, int64_t count) {
  if (stride == 1)
    load_apart(dst, src, dtype, 1, count);
  else
    load_apart(dst, src, dtype, stride, count);
}

static double copy_clamp(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

#define STORE(dtype, type, expression)                                                             \
  case dtype: {                                                                                    \
    type *d = dst;                                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const double v = src[i];                                                                     \
      d[i * stride] = (type)(expression);                                                          \
    }                                                                                              \
    break;                                                                                         \
  }
#define STORE_PARTS(dtype, type)                                                                   \
  case dtype: {                                                                                    \
    type *d = dst;                                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
      d[2 * i * stride] = (type)src[2 * i];                                                        \
      d[2 * i * stride + 1] = (type)src[2 * i + 1];                                                \
    }                                                                                              \
    break;                                                                                         \
  }

/* clang-format off */
DM_INLINE void store_apart(void *dst, dm_dtype dtype, int64_t stride, const double *src, int64_t count) {
  switch (dtype) {
  STORE(DM_F64, double, v)
  STORE(DM_F32, float, v)
  STORE(DM_F16, uint16_t, dm_f64_to_f16(v))
  STORE(DM_BF16, uint16_t, dm_f64_to_bf16(v))
  STORE(DM_I8, int8_t, copy_clamp(nearbyint(v), -128, 127))
  STORE(DM_I32, int32_t, copy_clamp(nearbyint(v), -2147483648.0, 2147483647.0))
  STORE(DM_I64, int64_t, v >= 0x1p63 ? (double)(INT64_MAX - 1023) : v < -0x1p63 ? -0x1p63 : nearbyint(v))
  STORE_PARTS(DM_C64, float)
  STORE_PARTS(DM_C128, double)
  default: /* types of inputs only */
    break;
  }
}
/* clang-format on */

void dm_store_wide(void *dst, dm_dtype dtype, int64_t stride, const double *src, int64_t count) {
  if (stride == 1)
    store_apart(dst, dtype, 1, src, count);
  else
    store_apart(dst, dtype, stride, src, count);
}

/* One run of elements of equal type. */
static void copy_run(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                     int64_t size, int64_t count) {
  if (dst_stride == 1 && src_stride == 1) {
    memcpy(dst, src, (size_t)(count * size));
    return;
  }
#define MOVE(bytes)                                                                                \
  for (int64_t i = 0; i < count; i++)                                                              \
  memcpy(dst + i * dst_stride * (bytes), src + i * src_stride * (bytes), (bytes))
  switch (size) {
  case 1:
    MOVE(1);
    break;
  case 2:
    MOVE(2);
    break;
  case 4:
    MOVE(4);
    break;
  case 8:
    MOVE(8);
    break;
  default:
    MOVE(16);
    break;
  }
#undef MOVE
}

static void widen_to_complex(double *wide, int64_t count) {
  for (int64_t i = count - 1; i >= 0; i--) {
    double real = wide[i];
    wide[2 * i] = real;
    wide[2 * i + 1] = 0.0;
  }
}

static void convert_run(dm_view dst, dm_view src, int64_t row, bool conjugate) {
  bool from_complex = dm_dtype_is_complex(src.dtype), to_complex = dm_dtype_is_complex(dst.dtype);
  double wide[2 * COPY_CHUNK];
  for (int64_t col = 0; col < src.cols; col += COPY_CHUNK) {
    int64_t count = dm_min(COPY_CHUNK, src.cols - col);
    dm_load_wide(wide, dm_view_at(src, row, col), src.dtype, src.col_stride, count);
    if (from_complex && conjugate)
      for (int64_t i = 0; i < count; i++) wide[2 * i + 1] = -wide[2 * i + 1];
    if (to_complex && !from_complex) widen_to_complex(wide, count);
    if (from_complex && !to_complex)
      for (int64_t i = 0; i < count; i++) wide[i] = wide[2 * i];
    dm_store_wide(dm_view_at(dst, row, col), dst.dtype, dst.col_stride, wide, count);
  }
}

void dm_conjugate(dm_view view) {
  for (int64_t i = 0; i < view.rows; i++) {
    void *row = dm_view_at(view, i, 0);
    if (view.dtype == DM_C128)
      for (int64_t j = 0; j < view.cols; j++) {
        double *imaginary = (double *)row + 2 * j * view.col_stride + 1;
        *imaginary = -*imaginary;
      }
    if (view.dtype == DM_C64)
      for (int64_t j = 0; j < view.cols; j++) {
        float *imaginary = (float *)row + 2 * j * view.col_stride + 1;
        *imaginary = -*imaginary;
      }
  }
}

static void copy_rows(dm_view dst, dm_view src, bool conjugate) {
  const int64_t size = dm_dtype_size(src.dtype);
  if (dst.dtype != src.dtype) {
    for (int64_t row = 0; row < src.rows; row++) convert_run(dst, src, row, conjugate);
    return;
  }
  char *to = dst.base;
  const char *from = src.base;
  for (int64_t row = 0; row < src.rows; row++) {
    copy_run(to, dst.col_stride, from, src.col_stride, size, src.cols);
    to += dst.row_stride * size;
    from += src.row_stride * size;
  }
  if (conjugate) dm_conjugate(dst);
}

/* Rows are so short that a loop over them costs more than the copy: loops along the columns of
 * parts that stay in the cache. */
static void copy_narrow(dm_view dst, dm_view src, bool conjugate) {
  for (int64_t row = 0; row < src.rows; row += COPY_TALL) {
    const int64_t rows = dm_min(COPY_TALL, src.rows - row);
    copy_rows(dm_view_transpose(dm_view_sub(dst, row, 0, rows, dst.cols)),
              dm_view_transpose(dm_view_sub(src, row, 0, rows, src.cols)), conjugate);
  }
}

void dm_copy(dm_view dst, dm_view src, bool conjugate) {
  if (dm_view_is_empty(src)) return;
  if (dst.col_stride > dst.row_stride && src.col_stride > src.row_stride) {
    dst = dm_view_transpose(dst); /* both are column-major: loop along columns */
    src = dm_view_transpose(src);
  }
  if (dm_view_is_packed(dst) && dm_view_is_packed(src)) {
    copy_rows(dm_view_one_row(dst), dm_view_one_row(src), conjugate);
    return;
  }
  if (src.cols <= COPY_NARROW && src.rows > src.cols) {
    copy_narrow(dst, src, conjugate);
    return;
  }
  if ((dst.col_stride == 1) == (src.col_stride == 1)) {
    copy_rows(dst, src, conjugate);
    return;
  }
  /* A transposition: square blocks keep source and destination in the cache. */
  for (int64_t row = 0; row < src.rows; row += COPY_BLOCK) {
    for (int64_t col = 0; col < src.cols; col += COPY_BLOCK) {
      int64_t rows = dm_min(COPY_BLOCK, src.rows - row), cols = dm_min(COPY_BLOCK, src.cols - col);
      copy_rows(dm_view_sub(dst, row, col, rows, cols), dm_view_sub(src, row, col, rows, cols),
                conjugate);
    }
  }
}

void dm_swap_bytes(void *data, dm_dtype dtype, int64_t count) {
  int64_t part = dm_dtype_size(dm_dtype_real(dtype));
  int64_t parts = count * (dm_dtype_is_complex(dtype) ? 2 : 1);
  if (part == 2) {
    uint16_t *p = data;
    for (int64_t i = 0; i < parts; i++) p[i] = __builtin_bswap16(p[i]);
  } else if (part == 4) {
    uint32_t *p = data;
    for (int64_t i = 0; i < parts; i++) p[i] = __builtin_bswap32(p[i]);
  } else if (part == 8) {
    uint64_t *p = data;
    for (int64_t i = 0; i < parts; i++) p[i] = __builtin_bswap64(p[i]);
  }
}

enum { MIRROR_BLOCK = 64 };

static void copy_make_real(dm_view view, int64_t i) {
  const int64_t part = dm_dtype_size(view.dtype) / 2;
  if (dm_dtype_is_complex(view.dtype))
    memset((char *)dm_view_at(view, i, i) + part, 0, (size_t)part);
}

/* The block of COUNT rows and columns on the diagonal from I on. */
static void mirror_block(dm_view square, int64_t first, int64_t i, int64_t count, bool conjugate) {
  for (int64_t row = dm_max(first, i + 1); row < i + count; row++) {
    const dm_view above = dm_view_transpose(dm_view_sub(square, i, row, row - i, 1));
    copy_rows(above, dm_view_sub(square, row, i, 1, row - i), conjugate);
  }
  for (int64_t row = dm_max(first, i); row < i + count && conjugate; row++)
    copy_make_real(square, row);
}

void dm_mirror(dm_view square, int64_t first, int64_t row, int64_t count, bool conjugate) {
  for (int64_t i = row; i < row + count; i += MIRROR_BLOCK) {
    const int64_t rows = dm_min(MIRROR_BLOCK, row + count - i), from = dm_max(first, i + rows);
    mirror_block(square, first, i, rows, conjugate);
    if (from >= square.rows) continue;
    const dm_view below = dm_view_sub(square, from, i, square.rows - from, rows);
    dm_copy(dm_view_sub(square, i, from, rows, square.rows - from), dm_view_transpose(below),
            conjugate);
  }
}

void dm_clear_triangle(dm_view view, int64_t row, int64_t col, bool below) {
  const int64_t size = dm_dtype_size(view.dtype);
  for (int64_t i = 0; i < view.rows; i++) {
    const int64_t diagonal = dm_max(0, dm_min(view.cols, row + i - col + !below));
    const int64_t first = below ? 0 : diagonal, end = below ? diagonal : view.cols;
    for (int64_t j = first; j < end; j++) memset(dm_view_at(view, i, j), 0, (size_t)size);
  }
}
