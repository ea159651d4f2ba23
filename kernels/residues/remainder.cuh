/* remainder: reconstructs a number from its residues by the Chinese remainder theorem,
 * bit-identical to dm_residues_value: X = the sum of residues times weights modulo P, exactly, in
 * limbs of 16 bits, two products per dp2a. */
#ifndef DM_KERNELS_REMAINDER_CUH
#define DM_KERNELS_REMAINDER_CUH

#include "core/residues.h"

#ifdef __CUDA_ARCH__
#define DM_UNROLL _Pragma("unroll")
#else
#define DM_UNROLL
#endif

/* A quad: four residues in a word.  The product P of 4 QUADS moduli has at most 32 QUADS bits. */
constexpr int QUADS_MOST = DM_LIMBS;

template <int QUADS> struct Remainder {
  static constexpr int LIMBS = 2 * QUADS; /* of 16 bits, lowest first */
  uint32_t weight[QUADS][2][LIMBS];       /* of two moduli per word */
  uint32_t product[LIMBS];                /* P */
  uint32_t whole[QUADS], half[QUADS];     /* P and P / 2 in limbs of 32 bits */
  float per_product[LIMBS];               /* 2^(16 l) / P for the highest three limbs; else 0 */
};

template <int QUADS> static Remainder<QUADS> remainder_of(const dm_moduli *moduli) {
  Remainder<QUADS> r = {};
  for (int l = 0; l < Remainder<QUADS>::LIMBS; l++) {
    const auto limb = [l](const uint32_t *limbs) { return limbs[l / 2] >> l % 2 * 16 & 0xffff; };
    for (int x = 0; x < moduli->count; x++)
      r.weight[x / 4][x % 4 / 2][l] |= limb(moduli->weight[x]) << x % 2 * 16;
    r.product[l] = limb(moduli->product);
    if (l + 3 >= Remainder<QUADS>::LIMBS)
      r.per_product[l] = (float)ldexp(moduli->per_product, 16 * l - 32 * (moduli->limbs - 1));
  }
  for (int l = 0; l < QUADS; l++) r.whole[l] = moduli->product[l], r.half[l] = moduli->half[l];
  return r;
}

/* SUM + the products of two 16-bit weights and the lower or higher two residues of a quad. */
template <bool HIGHER>
static DM_HOST_DEVICE inline int add_products(uint32_t weight, uint32_t quad, int sum) {
#ifdef __CUDA_ARCH__
  int result;
  if (HIGHER)
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(weight), "r"(quad), "r"(sum));
  else
    asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(weight), "r"(quad), "r"(sum));
  return result;
#else
  const uint32_t two = HIGHER ? quad >> 16 : quad;
  return sum + (int)(weight & 0xffff) * (int8_t)(two & 0xff) +
         (int)(weight >> 16) * (int8_t)(two >> 8 & 0xff);
#endif
}

/* Sums of residues times weights for COUNT numbers, in limbs; loads each weight once for all. */
template <int QUADS, int COUNT>
static DM_HOST_DEVICE inline void sum_products(const Remainder<QUADS> &r,
                                               const uint32_t (&quad)[COUNT][QUADS],
                                               int (&sum)[COUNT][2 * QUADS]) {
  DM_UNROLL
  for (int l = 0; l < 2 * QUADS; l++) {
    DM_UNROLL
    for (int i = 0; i < COUNT; i++) sum[i][l] = 0;
    DM_UNROLL
    for (int q = 0; q < QUADS; q++) {
      const uint32_t lower = r.weight[q][0][l], higher = r.weight[q][1][l];
      DM_UNROLL
      for (int i = 0; i < COUNT; i++) {
        sum[i][l] = add_products<false>(lower, quad[i][q], sum[i][l]);
        sum[i][l] = add_products<true>(higher, quad[i][q], sum[i][l]);
      }
    }
  }
}

/* SUM minus the nearest multiple of P, in limbs of 32 bits; returns the sign. */
template <int QUADS>
static DM_HOST_DEVICE inline int
take_multiple(const Remainder<QUADS> &r, const int (&sum)[2 * QUADS], uint32_t (&limb)[QUADS]) {
  constexpr int LIMBS = 2 * QUADS;
  float quotient = 0.0f;
  DM_UNROLL
  for (int l = LIMBS > 3 ? LIMBS - 3 : 0; l < LIMBS; l++)
    quotient += (float)sum[l] * r.per_product[l];
#ifdef __CUDA_ARCH__
  const int times = __float2int_rn(quotient);
#else
  const int times = (int)rintf(quotient);
#endif
  int carry = 0;
  DM_UNROLL
  for (int l = 0; l < LIMBS; l++) {
    const int all = sum[l] - times * (int)r.product[l] + carry;
    if (l % 2)
      limb[l / 2] |= (uint32_t)all << 16;
    else
      limb[l / 2] = (uint32_t)all & 0xffff;
    carry = all >> 16;
  }
  return carry;
}

template <int QUADS> static DM_HOST_DEVICE inline void negate(uint32_t (&limb)[QUADS]) {
  uint32_t carry = 1;
  DM_UNROLL
  for (int l = 0; l < QUADS; l++) {
    limb[l] = ~limb[l] + carry;
    carry = carry && limb[l] == 0;
  }
}

/* If LIMB, a magnitude, is above P / 2, replaces it by P - LIMB and changes the sign; exactly P / 2
 * becomes positive.  Corrects quotients that are off by one.  Returns the sign. */
template <int QUADS>
static DM_HOST_DEVICE inline bool turn_over(const Remainder<QUADS> &r, uint32_t (&limb)[QUADS],
                                            bool negative) {
  int order = 0;
  for (int l = QUADS - 1; l >= 0 && order == 0; l--)
    order = limb[l] == r.half[l] ? 0 : limb[l] > r.half[l] ? 1 : -1;
  if (order <= 0) return order < 0 && negative;
  int64_t carry = 0;
  for (int l = 0; l < QUADS; l++) {
    carry += (int64_t)r.whole[l] - (int64_t)limb[l];
    limb[l] = (uint32_t)carry;
    carry >>= 32;
  }
  return !negative;
}

/* LIMB rounded to nearest even: the result times 2^*exponent. */
template <int QUADS>
static DM_HOST_DEVICE inline double round_limbs(const uint32_t (&limb)[QUADS], int *exponent) {
  uint32_t top = limb[QUADS - 1], next = QUADS > 1 ? limb[QUADS > 1 ? QUADS - 2 : 0] : 0,
           last = QUADS > 2 ? limb[QUADS > 2 ? QUADS - 3 : 0] : 0, rest = 0;
  DM_UNROLL
  for (int l = QUADS - 4; l >= 0; l--) rest |= limb[l];
  *exponent = 32 * (QUADS - 3);
  DM_UNROLL
  for (int l = QUADS - 4; l >= 0; l--) /* skips leading zero limbs */
    if (top == 0) {
      top = next, next = last, last = limb[l], rest = 0;
      DM_UNROLL
      for (int below = l - 1; below >= 0; below--) rest |= limb[below];
      *exponent -= 32;
    }
  /* Both parts are exact; a nonzero REST sets a sticky lowest bit for the rounding. */
  const double upper = (double)(int64_t)((uint64_t)top << 21 | next >> 11);
  const double lower = (double)(int64_t)((uint64_t)(next & 0x7ff) << 32 | last | (rest != 0));
  return upper * 0x1p43 + lower;
}

/* The number represented by SUM, times 2^EXPONENT. */
template <int QUADS>
static DM_HOST_DEVICE inline double value_of(const Remainder<QUADS> &r, const int (&sum)[2 * QUADS],
                                             int exponent) {
  uint32_t limb[QUADS];
  bool negative = take_multiple(r, sum, limb) < 0;
  if (negative) negate(limb);
  if (limb[QUADS - 1] >= r.half[QUADS - 1] &&
      (QUADS == 1 || limb[QUADS - 1] > r.half[QUADS - 1] ||
       limb[QUADS > 1 ? QUADS - 2 : 0] >= r.half[QUADS > 1 ? QUADS - 2 : 0]))
    negative = turn_over(r, limb, negative);
  int by;
  const double value = round_limbs(limb, &by);
  const double scaled = dm_times_two_to(value, exponent + by);
  return negative ? -scaled : scaled;
}

#undef DM_UNROLL

#endif
