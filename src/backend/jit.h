/* jit: what a backend offers whose kernel is compiled on the user's machine, for its tile sizes. */
#ifndef DM_BACKEND_JIT_H
#define DM_BACKEND_JIT_H

#include "backend/backend.h"
#include "backend/tiling.h"

/* What the speed of a tiling depends on, the same for all GPUs of a model. */
typedef struct dm_jit_facts {
  char gpu[64]; /* "NVIDIA H200" */
  int capability, processors;
  int driver;     /* CUDA's number of it: 13000 */
  int compiler;   /* NVRTC's version, in the same way */
  int64_t shared; /* bytes of shared memory that a block may have */
} dm_jit_facts;

/* All of them DM_E_DEVICE where there is no compiler. */
struct dm_jit_ops {
  dm_status (*facts)(dm_backend *backend, dm_jit_facts *facts);

  /* TILINGS from now on, those that are built in where one needs more shared memory than there is;
   * without this they all are. */
  dm_status (*use)(dm_backend *backend, const dm_tilings *tilings);

  /* Compiles what a product with a C of ROWS x COLS needs, so that it fails now and not later. */
  dm_status (*prepare)(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols);
};

#endif
