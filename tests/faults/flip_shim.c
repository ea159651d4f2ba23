/* flip_shim: flips one bit in the operands or the result of a CBLAS product; loaded by LD_PRELOAD.
 *
 *   FLIP=WHAT:CALL:BIT:PLACE  in the CALLth product of a rank, counted from 1; N+: also in all
 *                      later ones.  WHAT is c (the result), a or b (a factor in place: a share, a
 *                      panel or a widened copy), or at, bt (the same, but only for this product).
 *                      BIT counts from the lowest bit of an element; PLACE, from 0 to 1, selects
 *                      the element.
 *   FLIP_RANK=R        only in this rank
 *   FLIP_COUNT=FILE    appends a line "RANK CALLS" at exit
 *
 * A process that multiplies more than once calls flip_next() before each product instead.
 *
 * A factor must be in writable memory: --read-by pread. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own_rank.h"

static struct {
  char what[4];
  long call, bit;
  bool on, from_there_on;
  double place;
  const char *rank, *count_file;
  atomic_long calls;
} flip;

/* A misspelled flip must not make a test pass. */
static void parse(const char *text) {
  char call[24];
  if (sscanf(text, "%3[^:]:%23[^:]:%ld:%lf", flip.what, call, &flip.bit, &flip.place) != 4)
    _exit(99);
  if (!strchr("abc", flip.what[0]) || (flip.what[1] && flip.what[1] != 't')) _exit(99);
  flip.call = atol(call);
  flip.from_there_on = strchr(call, '+') != NULL;
  flip.on = true;
}

static __attribute__((constructor)) void start(void) {
  const char *rank = getenv("FLIP_RANK"), *text = getenv("FLIP");
  flip.rank = own_rank();
  flip.count_file = getenv("FLIP_COUNT");
  if (text && (!rank || strcmp(rank, flip.rank) == 0)) parse(text);
}

long flip_next(const char *text);

/* Sets TEXT in the format of FLIP, or NULL: no flip. Returns the number of calls so far and
 * restarts counting. */
long flip_next(const char *text) {
  flip.on = flip.from_there_on = false;
  if (text) parse(text);
  return atomic_exchange(&flip.calls, 0);
}

static __attribute__((destructor)) void finish(void) {
  const long calls = atomic_load(&flip.calls);
  FILE *file = flip.count_file && calls > 0 ? fopen(flip.count_file, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %ld\n", flip.rank, calls);
  fclose(file);
}

/* A row-major matrix; COLS and STRIDE count numbers of SIZE bytes. */
typedef struct matrix {
  void *base;
  long rows, cols, stride, size;
} matrix;

static void strike(char what, bool is_hit, matrix m) {
  const long count = m.rows * m.cols;
  if (!is_hit || flip.what[0] != what || count <= 0) return;
  long at = (long)(flip.place * (double)count);
  at = at < count ? at : count - 1;
  unsigned char *element =
      (unsigned char *)m.base + (at / m.cols * m.stride + at % m.cols) * m.size;
  element[flip.bit / 8 % m.size] ^= (unsigned char)(1u << flip.bit % 8);
}

static bool is_hit(void) {
  const long number = atomic_fetch_add(&flip.calls, 1) + 1;
  return flip.on && (flip.from_there_on ? number >= flip.call : number == flip.call);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* An element has PARTS numbers of SIZE bytes; all products are row-major, without transposes, or
 * column-major ones of their transposes: order 102. */
#define PRODUCT(name, scalar, vector, parts, bytes)                                                \
  void name(int order, int op_a, int op_b, int m, int n, int k, scalar alpha, const vector *a,     \
            int lda, const vector *b, int ldb, scalar beta, vector *c, int ldc) {                  \
    static __typeof__(&name) real;                                                                 \
    if (!real) real = NEXT(name);                                                                  \
    if (!real) abort();                                                                            \
    const bool hit = is_hit(), turned = order == 102;                                              \
    const long rows = turned ? n : m, cols = turned ? m : n;                                       \
    const matrix of_a = {(void *)(turned ? b : a), rows, (long)k * (parts),                        \
                         (long)(turned ? ldb : lda) * (parts), bytes};                             \
    const matrix of_b = {(void *)(turned ? a : b), k, cols * (parts),                              \
                         (long)(turned ? lda : ldb) * (parts), bytes};                             \
    const matrix of_c = {c, rows, cols * (parts), (long)ldc * (parts), bytes};                     \
    strike('a', hit, of_a);                                                                        \
    strike('b', hit, of_b);                                                                        \
    real(order, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                         \
    strike('a', hit &&flip.what[1], of_a);                                                         \
    strike('b', hit &&flip.what[1], of_b);                                                         \
    strike('c', hit, of_c);                                                                        \
  }
PRODUCT(cblas_dgemm, double, double, 1, 8)
PRODUCT(cblas_sgemm, float, float, 1, 4)
PRODUCT(cblas_zgemm, const void *, void, 2, 8)
PRODUCT(cblas_cgemm, const void *, void, 2, 4)

/* Symmetric products of a column-major A: a factor is struck wherever it is a or b, and C on its
 * diagonal, which every triangle has. */
#define SQUARE(name, scalar, vector, parts, bytes)                                                 \
  void name(int order, int triangle, int op, int n, int k, scalar alpha, const vector *a, int lda, \
            scalar beta, vector *c, int ldc) {                                                     \
    static __typeof__(&name) real;                                                                 \
    if (!real) real = NEXT(name);                                                                  \
    if (!real) abort();                                                                            \
    const bool hit = is_hit(), plain = op == 111; /* CblasNoTrans */                               \
    const matrix of_a = {(void *)a, plain ? k : n, (long)(plain ? n : k) * (parts),                \
                         (long)lda * (parts), bytes};                                              \
    const matrix of_c = {c, n, parts, ((long)ldc + 1) * (parts), bytes};                           \
    strike('a', hit, of_a);                                                                        \
    strike('b', hit, of_a);                                                                        \
    real(order, triangle, op, n, k, alpha, a, lda, beta, c, ldc);                                  \
    strike('a', hit &&flip.what[1], of_a);                                                         \
    strike('b', hit &&flip.what[1], of_a);                                                         \
    strike('c', hit, of_c);                                                                        \
  }
SQUARE(cblas_dsyrk, double, double, 1, 8)
SQUARE(cblas_ssyrk, float, float, 1, 4)
SQUARE(cblas_zsyrk, const void *, void, 2, 8)
SQUARE(cblas_csyrk, const void *, void, 2, 4)
SQUARE(cblas_zherk, double, void, 2, 8)
SQUARE(cblas_cherk, float, void, 2, 4)
