/* run: 16 bytes of a row at once.  Kernels that read a matrix once reach memory speed if every load
 * moves 16 bytes; WIDE: all rows allow it; otherwise a run is one element. */
#ifndef DM_KERNELS_RUN_CUH
#define DM_KERNELS_RUN_CUH

#include <stdint.h>
#include <string.h>

#include "core/view.h"

template <class Element, bool WIDE> struct Run {
  static constexpr int LENGTH = WIDE ? 16 / (int)sizeof(Element) : 1;
  Element at[LENGTH];
};

/* Loads the run at P from global memory that is read only once. */
template <class Element, bool WIDE>
static __device__ __forceinline__ Run<Element, WIDE> load_run(const Element *p) {
  Run<Element, WIDE> run;
  if (WIDE) {
    const uint4 bits = __ldcs(reinterpret_cast<const uint4 *>(p));
    memcpy(&run, &bits, sizeof run);
  } else {
    run.at[0] = p[0];
  }
  return run;
}

/* The same if only COUNT elements are left in the row; the others are 0. */
template <class Element, bool WIDE>
static __device__ __forceinline__ Run<Element, WIDE> load_run(const Element *p, int64_t count) {
  Run<Element, WIDE> run;
  memset(&run, 0, sizeof run);
#pragma unroll
  for (int v = 0; v < Run<Element, WIDE>::LENGTH; v++)
    if (v < count) run.at[v] = p[v];
  return run;
}

/* The transpose of M. */
static inline dm_view turned(dm_view m) {
  return {m.base, m.dtype, m.space, m.cols, m.rows, m.col_stride, m.row_stride};
}

/* Whether columns are contiguous, and rows are not. */
static inline bool has_columns(dm_view m) {
  return m.col_stride != 1 && m.row_stride == 1;
}

static inline bool rows_are_wide(dm_view m, int64_t size) {
  return m.col_stride == 1 && (uintptr_t)m.base % 16 == 0 &&
         (m.rows == 1 || m.row_stride * size % 16 == 0);
}

#endif
