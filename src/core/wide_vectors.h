/* wide_vectors: compiles loops a second time, for the wider vectors of most processors. Both
 * versions do the same operations in the same order, so results have the same bits.
 *
 *   DM_INLINE void work_loop(int64_t count, double *sums) { the loop }
 *   DM_BOTH_WIDTHS(work, (int64_t count, double *sums), (count, sums)) */
#ifndef DM_CORE_WIDE_VECTORS_H
#define DM_CORE_WIDE_VECTORS_H

#include <stdbool.h>

#define DM_INLINE static inline __attribute__((always_inline))

#ifdef __x86_64__
#define DM_WIDE_VECTORS __attribute__((target("avx2")))
static inline bool dm_has_wide_vectors(void) {
  return __builtin_cpu_supports("avx2");
}
#else
#define DM_WIDE_VECTORS
static inline bool dm_has_wide_vectors(void) {
  return false;
}
#endif

/* Defines NAME, which calls NAME_loop with its own PARAMETERS, listed in ARGUMENTS, as this
 * processor allows. */
#define DM_BOTH_WIDTHS(name, parameters, arguments)                                                \
  static void name##_plain parameters {                                                            \
    name##_loop arguments;                                                                         \
  }                                                                                                \
  DM_WIDE_VECTORS static void name##_wide parameters {                                             \
    name##_loop arguments;                                                                         \
  }                                                                                                \
  static void name parameters {                                                                    \
    (dm_has_wide_vectors() ? name##_wide : name##_plain) arguments;                                \
  }

#endif
