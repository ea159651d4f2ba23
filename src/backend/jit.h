/* jit: what a backend offers whose kernel is compiled on the user's machine, for its tile sizes. */
#ifndef DM_BACKEND_JIT_H
#define DM_BACKEND_JIT_H

#include "backend/backend.h"
#include "backend/tiling.h"

/* What the speed of a tiling depends on, the same for all GPUs of a model. */
typedef struct dm_jit_facts {
  char gpu[64]; /* "NVIDIA H200" */
  int capability, processors;
  int driver;   /* CUDA's number of it: 13000 */
  int compiler; /* NVRTC's version, in the same way */
  dm_tiling_limits limits;
} dm_jit_facts;

typedef struct dm_jit_report {
  int registers;
  int local_bytes; /* of a thread: what did not fit into registers */
  int blocks;      /* on a multiprocessor */
  double seconds;  /* to compile */
} dm_jit_report;

/* All of them DM_E_DEVICE where there is no compiler. */
struct dm_jit_ops {
  dm_status (*facts)(dm_backend *backend, dm_jit_facts *facts);

  /* TILINGS from now on; without this those that are built in. */
  dm_status (*use)(dm_backend *backend, const dm_tilings *tilings);

  /* Compiles what a product with a C of ROWS x COLS needs, so that it fails now and not later. */
  dm_status (*prepare)(dm_backend *backend, dm_dtype dtype, int64_t rows, int64_t cols);

  /* Compiles TILING, which fits the limits, if it was not yet. */
  dm_status (*compile)(dm_backend *backend, dm_dtype dtype, const dm_tiling *tiling,
                       dm_jit_report *report);

  /* The same for COUNT tilings, side by side; those that fail are told of by compile. */
  dm_status (*compile_all)(dm_backend *backend, dm_dtype dtype, const dm_tiling *tilings,
                           int count);

  /* C (+)= A B, REPEATS times, by TILING (compiled), or by warp_tile itself where it is NULL;
   * waits, and tells the GPU's seconds of each. */
  dm_status (*time)(dm_backend *backend, const dm_tiling *tiling, dm_view c, dm_view a, dm_view b,
                    bool accumulate, int repeats, double *seconds);
};

#endif
