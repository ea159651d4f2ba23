/* modulus: residues of integers in 32-bit arithmetic, with three or four instructions each.
 *
 * A number is the sum of its bytes times powers of 2^8, which have small residues: a dot product of
 * four bytes with four residues (dp4a) reduces 32 bits to a congruent number of 20 bits.  Its
 * product with 2^32 / p, modulo 2^32, is the remainder as a fraction of p; as a signed integer it
 * represents the symmetric residue. */
#ifndef DM_KERNELS_MODULUS_CUH
#define DM_KERNELS_MODULUS_CUH

#include <stdint.h>

#include "core/elementary.h"

constexpr int MODULI = 20, WORDS = 3; /* numbers have at most 32 WORDS bits */

/* The residue of VALUE modulo P in [-p/2, p/2). */
static constexpr DM_HOST_DEVICE int symmetric(int64_t value, int p) {
  const int rest = (int)((value % p + p) % p);
  return 2 * rest < p ? rest : rest - p;
}

static constexpr DM_HOST_DEVICE int power_of_two(int exponent, int p) {
  int64_t power = 1;
  for (int e = 0; e < exponent; e++) power = power * 2 % p;
  return symmetric(power, p);
}

/* Numbers of LENGTH words are stored unsigned, with 2^(32 LENGTH - 1) added: the highest bit is
 * flipped. */
struct Modulus {
  uint32_t number, inverse;  /* p; 2^32 / p, rounded */
  uint32_t powers[WORDS];    /* residues of powers of 2^8, four bytes per word */
  uint32_t start[WORDS + 1]; /* by LENGTH: subtracts the added power, and adds a quarter, which
                                exceeds the error of fractions */
};

static constexpr DM_HOST_DEVICE Modulus modulus_of(int p) {
  Modulus m = {};
  m.number = (uint32_t)p;
  m.inverse = (uint32_t)((((int64_t)1 << 33) / p + 1) / 2);
  for (int word = 0; word < WORDS; word++)
    for (int byte = 0; byte < 4; byte++)
      m.powers[word] |= (uint32_t)(power_of_two(32 * word + 8 * byte, p) & 0xff) << 8 * byte;
  for (int length = 1; length <= WORDS; length++) {
    const int away = symmetric(-power_of_two(32 * length - 1, p), p);
    m.start[length] = (uint32_t)away * m.inverse + m.inverse / 4;
  }
  return m;
}

static constexpr DM_HOST_DEVICE int modulus_number(int x) {
  constexpr int numbers[MODULI] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                   223, 217, 211, 199, 197, 193, 191, 181, 179, 173};
  return numbers[x];
}

struct ModulusTable {
  Modulus at[MODULI];
};

static constexpr ModulusTable modulus_table() {
  ModulusTable table = {};
  for (int x = 0; x < MODULI; x++) table.at[x] = modulus_of(modulus_number(x));
  return table;
}

/* C + the dot product of four unsigned BYTES and four signed POWERS. */
static DM_HOST_DEVICE inline int dot_bytes(uint32_t bytes, uint32_t powers, int c) {
#ifdef __CUDA_ARCH__
  int sum;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(bytes), "r"(powers), "r"(c));
  return sum;
#else
  for (int i = 0; i < 32; i += 8) c += (int)(bytes >> i & 0xff) * (int8_t)(powers >> i & 0xff);
  return c;
#endif
}

/* The signed high 16 bits of FRACTION times NUMBER < 256. */
static DM_HOST_DEVICE inline uint32_t times_number(uint32_t fraction, uint32_t number) {
#ifdef __CUDA_ARCH__
  uint32_t product;
  asm("dp2a.lo.s32.u32 %0, %1, %2, 0;" : "=r"(product) : "r"(fraction), "r"(number << 8));
  return product;
#else
  return (uint32_t)((int32_t)fraction >> 16) * number;
#endif
}

/* A word whose highest byte is the residue of OLD + VALUE; |OLD| <= 128. */
static DM_HOST_DEVICE inline uint32_t reduce(const Modulus &m, int32_t value, int old) {
  const int near = dot_bytes((uint32_t)value ^ 0x80000000u, m.powers[0], old);
  const int32_t fraction = (int32_t)((uint32_t)near * m.inverse + m.start[1]);
  return (uint32_t)(fraction >> 8) * m.number;
}

/* The highest bytes of four words, as one word. */
static __device__ __forceinline__ uint32_t highest_bytes(const uint32_t (&from)[4]) {
  return __byte_perm(__byte_perm(from[0], from[1], 0x0073), __byte_perm(from[2], from[3], 0x0073),
                     0x5410);
}

#endif
