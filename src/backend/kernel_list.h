/* kernel_list: the kernels for GPUs, and the tile sizes of jit, in every build. */
#ifndef DM_BACKEND_KERNEL_LIST_H
#define DM_BACKEND_KERNEL_LIST_H

#include <stdint.h>

#include "backend/backend_table.h"
#include "core/dtype.h"
#include "kernels/registry.h"

/* The functions of the backend's table: names for --kernel. */
const char *const *dm_cuda_kernels(void);
bool dm_cuda_takes(const char *kernel, dm_dtype work, const dm_compute *compute, const char **why);

/* Whether KERNEL multiplies WORK as OPERAND; none of our own kernels multiplies complex numbers in
 * TF32. */
static inline bool dm_cuda_multiplies(const dm_kernel *kernel, dm_dtype work, dm_operand operand) {
  return dm_kernel_takes(kernel, operand) &&
         (!dm_dtype_is_complex(work) || dm_kernel_takes(kernel, (dm_operand)work));
}

/* Number of whole panels of A and B that KERNEL copies to its own memory, if rows are aligned to 16
 * bytes, as those of jobs are. */
void dm_cuda_copies(const char *kernel, dm_dtype work, const dm_compute *compute, int *of_a,
                    int *of_b);

/* All DM_KERNEL_COUNT kernels, by dm_kernel_id. */
const dm_kernel *dm_cuda_registry(void);

/* The product of that name; NULL: "auto", or an unknown name. */
const dm_kernel *dm_cuda_find_kernel(const char *name);

/* ---- the tile sizes that jit chooses from ----
 *
 * Plain arithmetic, in every build. */

/* Parameters of a warp_tile kernel; see kernels/ladder/17_warp_tile.cu. */
typedef struct dm_tiling {
  int bm, bn;  /* the block's tile of C */
  int bk;      /* depth of a stage */
  int stages;  /* stages of the ring in shared memory */
  int wm, wn;  /* the warp's tile */
  int down;    /* rows of threads in a warp */
  int blocks;  /* resident blocks per multiprocessor */
  int group;   /* rows of tiles in a group of blocks (grouped_corner) */
  int parts;   /* parts into which the copies of a stage are split */
  int by_rows; /* 1: outer products by rows, 0: by columns */
} dm_tiling;

/* Resources of a block. */
typedef struct dm_tiling_need {
  int threads;
  int64_t shared; /* bytes */
} dm_tiling_need;

/* The COUNT tilings of DTYPE, those for a large C first; NULL: jit does not multiply this type. */
const dm_tiling *dm_tiling_candidates(dm_dtype dtype, int *count);

dm_tiling_need dm_tiling_need_of(const dm_tiling *tiling, dm_dtype dtype);

/* Writes "256x128x8 stages=4 warp=64x64 down=8 blocks=1 group=8 parts=2 rows=0"; returns TEXT. */
char *dm_tiling_format(const dm_tiling *tiling, char text[128]);

/* The interface of a backend whose kernel is compiled on the user's machine, for its tile
 * sizes. */

/* All return DM_E_DEVICE without a compiler. */
struct dm_jit_ops {
  /* Finds the compiler. */
  dm_status (*open)(dm_backend *backend);

  /* Compiles TILING, and uses it for products of DTYPE from now on. */
  dm_status (*use)(dm_backend *backend, dm_dtype dtype, const dm_tiling *tiling);

  /* Compiles all tilings for DTYPE, and uses the one that is fastest for a C of ROWS x COLS, best
   * of three; those that do not fit this GPU are left out. All give the same bits. Without it, the
   * first product does this. */
  dm_status (*prepare)(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols);
};

#endif
