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

/* A small number congruent to WHOLE modulo X > 0, but for the added power; such numbers of a few
 * WHOLEs may be added.  X = 0, 256: any lowest word. */
template <int X, int LENGTH> static DM_HOST_DEVICE inline int near_of(const Whole<LENGTH> &whole) {
  if (X == 0) return (int)whole.word[0];
  constexpr Modulus m = modulus_of(modulus_number(X));
  int near = dot_bytes(whole.word[0], m.powers[0], 0);
  near = dot_bytes(whole.word[1], m.powers[1], near);
  if (LENGTH > 2) near = dot_bytes(whole.word[LENGTH - 1], m.powers[LENGTH - 1], near);
  return near;
}

/* A word whose byte 2 (X = 0: byte 0) is the residue of the sum of TERMS WHOLEs, of which NEAR is
 * the sum of near_of. */
template <int X, int LENGTH, int TERMS> static DM_HOST_DEVICE inline uint32_t residue_of(int near) {
  if (X == 0) return (uint32_t)near;
  constexpr Modulus m = modulus_of(modulus_number(X));
  constexpr uint32_t start = TERMS * m.start[LENGTH] - (TERMS - 1) * (m.inverse / 4);
  return times_number((uint32_t)near * m.inverse + start, m.number);
}

/* The residues of four neighbours. */
template <int X, int LENGTH, int TERMS>
static __device__ __forceinline__ uint32_t residues_of(const int (&near)[4]) {
  constexpr uint32_t pick = X == 0 ? 0x0040 : 0x0062;
  uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; i++) word[i] = residue_of<X, LENGTH, TERMS>(near[i]);
  return __byte_perm(__byte_perm(word[0], word[1], pick), __byte_perm(word[2], word[3], pick),
                     0x5410);
}

/* Stores residues of four neighbours for moduli X .. COUNT - 1, to TO and every PLANE bytes; of
 * those of complex numbers, which have two PARTS, the sum, too. */
template <int X, int PARTS, int LENGTH>
static __device__ __forceinline__ void store_residues(const Whole<LENGTH> (&whole)[PARTS][4],
                                                      int count, int8_t *to, int64_t plane) {
  if constexpr (X < MODULI) {
    if (X >= count) return;
    int near[4], sum[4] = {};
#pragma unroll
    for (int part = 0; part < PARTS; part++, to += plane) {
#pragma unroll
      for (int i = 0; i < 4; i++) sum[i] += near[i] = near_of<X>(whole[part][i]);
      *reinterpret_cast<uint32_t *>(to) = residues_of<X, LENGTH, 1>(near);
    }
    if constexpr (PARTS > 1) {
      *reinterpret_cast<uint32_t *>(to) = residues_of<X, LENGTH, PARTS>(sum);
      to += plane;
    }
    store_residues<X + 1>(whole, count, to, plane);
  }
}

template <int LENGTH, int PARTS>
static __device__ __forceinline__ void store_four(const double (&scaled)[PARTS][4], int count,
                                                  int8_t *to, int64_t plane) {
  Whole<LENGTH> whole[PARTS][4];
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll
    for (int i = 0; i < 4; i++) whole[part][i] = whole_of<LENGTH>(scaled[part][i]);
  store_residues<0>(whole, count, to, plane);
}

/* The same for four numbers of a row, collectively in the warp; this thread stores if WANTED. */
template <int PARTS>
static __device__ __forceinline__ void split_four(const double (&numbers)[PARTS][4], dm_power power,
                                                  int count, int8_t *to, int64_t plane,
                                                  bool wanted) {
  double scaled[PARTS][4];
  bool small = true;
#pragma unroll
  for (int part = 0; part < PARTS; part++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      scaled[part][i] = numbers[part][i] * power.by * power.then;
      small &= fabs(scaled[part][i]) < 0x1p63;
    }
  const bool all_small = __all_sync(~0u, small);
  if (!wanted) return;
  if (all_small)
    store_four<2>(scaled, count, to, plane);
  else
    store_four<3>(scaled, count, to, plane);
}

#endif
