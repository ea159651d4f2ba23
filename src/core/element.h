/* element: matrices whose every element is a function of seed, row and column alone.
 *
 * The same bits on any number of ranks, on CPU and GPU: only integer operations, correctly rounded
 * + - * / sqrt, and explicit fma are used, so this header must be compiled without contraction
 * (-ffp-contract=off, nvcc -fmad=false) and without fast-math. */
#ifndef DM_CORE_ELEMENT_H
#define DM_CORE_ELEMENT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/elementary.h"
#include "core/view.h"

typedef enum dm_kind {
  DM_UNIFORM,  /* [-1, 1) */
  DM_NORMAL,   /* mean 0, variance 1 */
  DM_OZAKI,    /* (rand - 0.5) exp(phi randn): Ozaki et al., wide exponents; parameter phi */
  DM_IDENTITY, /* 1 on the diagonal */
  DM_INTEGER,  /* whole numbers in [-r, r]; parameter r */
  DM_CONSTANT, /* the parameter everywhere */
  DM_HILBERT,  /* 1 / (row + col + 1) */
  DM_LEVEL,    /* random signs, magnitudes in [r, 1]; parameter r */
} dm_kind;

typedef struct dm_generator {
  dm_kind kind;
  uint64_t seed;
  double parameter;
} dm_generator;

/* Stafford's mix 13 of the SplitMix64 generator (Steele, Lea, Flood, OOPSLA 2014). */
static inline DM_HOST_DEVICE uint64_t dm_mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* 64 random bits, draw number DRAW of an element. */
static inline DM_HOST_DEVICE uint64_t dm_random_bits(uint64_t seed, int64_t row, int64_t col,
                                                     int draw) {
  uint64_t line = dm_mix(dm_mix(seed) + (uint64_t)row);
  return dm_mix(dm_mix(line + (uint64_t)col) + (uint64_t)draw);
}

/* [0, 1), a multiple of 2^-53. */
static inline DM_HOST_DEVICE double dm_unit(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

/* Marsaglia's polar method; after a rejected pair the next draws are used. */
static inline DM_HOST_DEVICE double dm_normal(uint64_t seed, int64_t row, int64_t col, int draw) {
  for (;; draw += 2) {
    double u = 2.0 * dm_unit(dm_random_bits(seed, row, col, draw)) - 1.0;
    double v = 2.0 * dm_unit(dm_random_bits(seed, row, col, draw + 1)) - 1.0;
    double s = u * u + v * v;
    if (s < 1.0 && s > 0.0) return u * sqrt(-2.0 * dm_ln(s) / s);
  }
}

/* The real (PART 0) or imaginary (PART 1) part of element (row, col) in f64; the caller rounds it
 * to the matrix's type. Identity, constant and Hilbert matrices are real. */
static inline DM_HOST_DEVICE double dm_element(const dm_generator *g, int64_t row, int64_t col,
                                               int part) {
  const int draw = part * 1024; /* parts draw from separate sequences */
  switch (g->kind) {
  case DM_UNIFORM:
    return 2.0 * dm_unit(dm_random_bits(g->seed, row, col, draw)) - 1.0;
  case DM_NORMAL:
    return dm_normal(g->seed, row, col, draw);
  case DM_OZAKI: {
    double r = dm_unit(dm_random_bits(g->seed, row, col, draw)) - 0.5;
    return r * dm_exponential(g->parameter * dm_normal(g->seed, row, col, draw + 1));
  }
  case DM_INTEGER: {
    double width = 2.0 * g->parameter + 1.0;
    double scaled = dm_unit(dm_random_bits(g->seed, row, col, draw)) * width;
    return (double)(int64_t)scaled - g->parameter;
  }
  case DM_IDENTITY:
    return part == 0 && row == col ? 1.0 : 0.0;
  case DM_CONSTANT:
    return part == 0 ? g->parameter : 0.0;
  case DM_HILBERT:
    return part == 0 ? 1.0 / (double)(row + col + 1) : 0.0;
  case DM_LEVEL: {
    double x = 2.0 * dm_unit(dm_random_bits(g->seed, row, col, draw)) - 1.0;
    return (1.0 - g->parameter) * x + (x < 0.0 ? -g->parameter : g->parameter);
  }
  }
  return 0.0;
}

/* ---- in host memory (element.c) ---- */

/* VIEW(i, j) = element (row + i, col + j) of the generated matrix, rounded to VIEW's type. */
void dm_fill(dm_view view, const dm_generator *generator, int64_t row, int64_t col);

/* "uniform", "normal", ... */
const char *dm_kind_name(dm_kind kind);

#endif
