/* score: what elements of real matrices are compared by (core/sieve.h): f32, but f64 for f64. */
#ifndef DM_KERNELS_SCORE_CUH
#define DM_KERNELS_SCORE_CUH

#include "core/sieve.h"
#include "kernels/helpers/number.cuh"

template <class Element> struct ScoreOf { typedef float Type; };
template <> struct ScoreOf<double> { typedef double Type; };

template <class Score> static __device__ __forceinline__ Score score_of(dm_score by, Score value) {
  if (by.magnitude) value = value < Score(0) ? -value : value;
  return by.negative ? -value : value;
}

#endif
