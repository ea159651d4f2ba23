/* cpu: products through CBLAS, cut into pieces so that messages move on between them. */
#ifndef DM_BACKEND_CPU_H
#define DM_BACKEND_CPU_H

#include "backend/backend.h"

extern const dm_backend_ops dm_backend_cpu;

/* ---- inside the cpu backend ---- */

enum { DM_CPU_SCRATCH = 36 << 20 }; /* bytes of all of it */

/* Scratch for types that CBLAS does not know, allocated when first needed. */
typedef struct dm_cpu_scratch {
  float *a, *b, *c;
} dm_cpu_scratch;

void dm_cpu_scratch_free(dm_cpu_scratch *scratch);

/* What one piece of a product covers at most: rows and columns of C, and so much of k. */
typedef struct dm_cpu_box {
  int64_t rows, cols, depth;
} dm_cpu_box;

/* Pieces depend on the product alone, never on time: the same product has the same bits. */
dm_cpu_box dm_cpu_piece(dm_dtype work, int64_t tile, int threads, int64_t rows, int64_t cols,
                        int64_t k);

/* C (+)= A B for one piece, at once. (cpu_product.c) */
dm_status dm_cpu_product(dm_view c, dm_view a, dm_view b, bool accumulate, dm_cpu_scratch *scratch);

/* Threads of the BLAS that is loaded, where it is one that can be told. (cpu_threads.c) */
void dm_cpu_set_threads(int threads);
void dm_cpu_library(char *text, int64_t size);

/* A warning where the library uses kernels far older than this CPU, else "". */
void dm_cpu_advice(char *text, int64_t size);

#endif
