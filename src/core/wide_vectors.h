/* wide_vectors: compiles loops a second time, for the wider vectors of most processors. Both
 * versions do the same operations in the same order, so results have the same bits.
 *
 *   DM_INLINE void work(...) { the loop }
 *   static void work_plain(...) { work(...); }
 *   DM_WIDE_VECTORS static void work_wide(...) { work(...); }
 *   ... (dm_has_wide_vectors() ? work_wide : work_plain)(...); */
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

#endif
