/* jit: the interface of a backend whose kernel is compiled on the user's machine, for its tile
 * sizes. */
#ifndef DM_BACKEND_JIT_H
#define DM_BACKEND_JIT_H

#include "backend/backend.h"
#include "backend/tiling.h"

/* The facts that determine a tiling's speed, the same for all GPUs of a model. */
typedef struct dm_jit_facts {
  char gpu[64]; /* "NVIDIA H200" */
  int capability, processors;
  int driver;     /* CUDA's version number of the driver: 13000 */
  int compiler;   /* NVRTC's version, in the same format */
  int64_t shared; /* shared memory available to a block, in bytes */
} dm_jit_facts;

/* All return DM_E_DEVICE without a compiler. */
struct dm_jit_ops {
  dm_status (*facts)(dm_backend *backend, dm_jit_facts *facts);

  /* Uses TILINGS from now on, but the built-in one instead of any that needs too much shared
   * memory. Default: all built-in. */
  dm_status (*use)(dm_backend *backend, const dm_tilings *tilings);

  /* Compiles the kernels for a product with a C of ROWS x COLS, so that errors show now and not
   * later. */
  dm_status (*prepare)(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols);
};

#endif
