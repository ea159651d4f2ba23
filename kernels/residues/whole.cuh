/* whole: truncates scaled numbers to integers of two or three words, and computes their residues
 * modulo all moduli. */
#ifndef DM_KERNELS_WHOLE_CUH
#define DM_KERNELS_WHOLE_CUH

#include "core/residues.h"
#include "kernels/residues/modulus.cuh"

/* Lowest word first, with the highest bit flipped (modulus.cuh). */
template <int LENGTH> struct Whole { uint32_t word[LENGTH]; };

constexpr uint32_t HIGHEST_BIT = 0x80000000u;

/* trunc(SCALED); |SCALED| < 2^63 for two words, 2^95 for three. */
template <int LENGTH> static DM_HOST_DEVICE inline Whole<LENGTH> whole_of(double scaled);

template <> DM_HOST_DEVICE inline Whole<2> whole_of<2>(double scaled) {
  const int64_t value = (int64_t)scaled;
  return {{(uint32_t)value, (uint32_t)((uint64_t)value >> 32) ^ HIGHEST_BIT}};
}

template <> DM_HOST_DEVICE inline Whole<3> whole_of<3>(double scaled) {
  const double size = fabs(scaled);
  const uint32_t above = (uint32_t)(size * 0x1p-64);
  const uint64_t below = (uint64_t)(size - (double)above * 0x1p64); /* exact */
  const bool negative = scaled < 0.0;
  const uint64_t low = negative ? 0 - below : below;
  const uint32_t high = negative ? ~above + (below == 0) : above;
  return {{(uint32_t)low, (uint32_t)(low >> 32), high ^ HIGHEST_BIT}};
}

/* A word whose byte 2 is the residue for modulus X > 0. */
template <int X, int LENGTH>
static DM_HOST_DEVICE inline uint32_t residue_of(const Whole<LENGTH> &whole) {
  constexpr Modulus m = modulus_of(modulus_number(X));
  int near = dot_bytes(whole.word[0], m.powers[0], 0);
  near = dot_bytes(whole.word[1], m.powers[1], near);
  if (LENGTH > 2) near = dot_bytes(whole.word[LENGTH - 1], m.powers[LENGTH - 1], near);
  return times_number((uint32_t)near * m.inverse + m.start[LENGTH], m.number);
}

static __device__ __forceinline__ uint32_t bytes_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                                    uint32_t from_two) {
  return __byte_perm(__byte_perm(a, b, from_two), __byte_perm(c, d, from_two), 0x5410);
}

/* Stores residues of four neighbours for moduli X .. COUNT - 1, to TO and every PLANE bytes. */
template <int X, int LENGTH>
static __device__ __forceinline__ void store_residues(const Whole<LENGTH> (&whole)[4], int count,
                                                      int8_t *to, int64_t plane) {
  if constexpr (X < MODULI) {
    if (X >= count) return;
    uint32_t four;
    if constexpr (X == 0) /* 256 */
      four =
          bytes_of(whole[0].word[0], whole[1].word[0], whole[2].word[0], whole[3].word[0], 0x0040);
    else
      four = bytes_of(residue_of<X>(whole[0]), residue_of<X>(whole[1]), residue_of<X>(whole[2]),
                      residue_of<X>(whole[3]), 0x0062);
    *reinterpret_cast<uint32_t *>(to) = four;
    store_residues<X + 1>(whole, count, to + plane, plane);
  }
}

template <int LENGTH>
static __device__ __forceinline__ void store_four(const double (&scaled)[4], int count, int8_t *to,
                                                  int64_t plane) {
  Whole<LENGTH> whole[4];
#pragma unroll
  for (int i = 0; i < 4; i++) whole[i] = whole_of<LENGTH>(scaled[i]);
  store_residues<0>(whole, count, to, plane);
}

/* The same for four numbers of a row, collectively in the warp; this thread stores if WANTED. */
static __device__ __forceinline__ void split_four(const double (&numbers)[4], dm_power power,
                                                  int count, int8_t *to, int64_t plane,
                                                  bool wanted) {
  double scaled[4];
  bool small = true;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    scaled[i] = numbers[i] * power.by * power.then;
    small &= fabs(scaled[i]) < 0x1p63;
  }
  const bool all_small = __all_sync(~0u, small);
  if (!wanted) return;
  if (all_small)
    store_four<2>(scaled, count, to, plane);
  else
    store_four<3>(scaled, count, to, plane);
}

#endif
