/* cpu: products through CBLAS, cut into pieces so that communication progresses between them; and
 * the parts of the cpu backend. */
#ifndef DM_BACKEND_CPU_H
#define DM_BACKEND_CPU_H

#include "backend/backend_table.h"
#include "core/compute.h"
#include "core/crew.h"

extern const dm_backend_ops dm_backend_cpu;

/* ---- the BLAS library: products of pieces and of whole matrices, its threads, memory and kernels
 * (cpu_blas.c) ---- */

/* Scratch for types without a CBLAS product, allocated on first use. */
typedef struct dm_cpu_scratch {
  float *a, *b, *c;
} dm_cpu_scratch;

void dm_cpu_scratch_free(dm_cpu_scratch *scratch);

/* Largest piece of a product: rows and columns of C, and depth of k; and the blocks, each one
 * library call. A piece of one block is computed by the library's own threads, which share packed
 * operands and are up to a third faster than one block per thread; but then the bits depend on how
 * they cut it. Blocks of a fixed size, one thread each, have the same bits on any number of
 * threads. */
typedef struct dm_cpu_box {
  int64_t rows, cols, depth;
  int64_t block_rows, block_cols;
} dm_cpu_box;

/* Pieces depend only on the arguments, never on time: the same product has the same bits. */
dm_cpu_box dm_cpu_piece(dm_dtype work, int64_t tile, int threads, int64_t rows, int64_t cols,
                        int64_t k);

/* DM_E_DEVICE: more rows than CBLAS can count. */
dm_status dm_cpu_fits(dm_view c, dm_view a, dm_view b);

/* C (+)= A B for one piece, synchronous. ALIKE: as larger pieces, so that bits do not depend on the
 * shape; else a row or column of C takes the routine for vectors, which is faster. */
dm_status dm_cpu_product(dm_view c, dm_view a, dm_view b, bool accumulate, bool alike,
                         dm_cpu_scratch *scratch);

/* C (+)= A A^T on and below the diagonal, of f64, f32 or complex numbers that fit. */
void dm_cpu_half(dm_view c, dm_view a, bool accumulate);

/* C (+)= A B of f32; rows are LDC, LDA and LDB elements apart. */
void dm_cpu_sgemm(float *c, int64_t ldc, const float *a, int64_t lda, const float *b, int64_t ldb,
                  int64_t m, int64_t n, int64_t k, bool accumulate);

/* Reserves the library's own buffers for THREADS threads. DM_E_FIT: a limit on address space or
 * data leaves no room for them. */
dm_status dm_cpu_room(int threads);

/* Sets the threads of the loaded BLAS; false: a library that offers no such call. */
bool dm_cpu_set_threads(int threads);
void dm_cpu_library(char *text, int64_t size);

/* See dm_backend_prepare. KEEP: OPENBLAS_CORETYPE stays set, for records and other programs. */
void dm_cpu_name_kernels(bool keep);

/* A warning if OpenBLAS uses kernels far older than this CPU, else "". */
void dm_cpu_kernel_warning(char *text, int64_t size);

/* Whole products by CBLAS, of f64, f32, c128 and c64. */
bool dm_cpu_suits(const dm_whole_product *product);
void dm_cpu_multiply(const dm_whole_product *product);

/* The same for a small complex product, as one of real numbers: A's parts side by side times those
 * of B and of i B, one below the other. OpenBLAS multiplies small real matrices without a lock that
 * threads wait for, and in less time. ROOM has dm_cpu_real_room(PRODUCT) bytes; 0: it does not
 * suit. */
int64_t dm_cpu_real_room(const dm_whole_product *product);
void dm_cpu_multiply_as_real(const dm_whole_product *product, void *room);

/* ---- products made of exact products of residues (core/residues.h; cpu_residues.c) ----
 *
 * Residues are bytes, multiplied as f32; their sums are short enough to be exact. */

/* Largest product: rows and columns of C, for any k. */
enum { DM_CPU_RESIDUES_ROWS = 512, DM_CPU_RESIDUES_COLS = 1024 };

typedef struct dm_cpu_residues dm_cpu_residues;

/* For ROW, which has moduli. CREW, of THREADS threads, shares the work and remains the caller's. */
dm_status dm_cpu_residues_new(const dm_compute *row, dm_crew *crew, int threads,
                              dm_cpu_residues **residues);
void dm_cpu_residues_free(dm_cpu_residues *residues);

/* The BLAS must use one thread during these calls. */
dm_compute_calls dm_cpu_residues_calls(dm_cpu_residues *residues);

#endif
