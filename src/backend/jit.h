/* jit: the interface of a backend whose kernel is compiled on the user's machine, for its tile
 * sizes. */
#ifndef DM_BACKEND_JIT_H
#define DM_BACKEND_JIT_H

#include "backend/backend.h"
#include "backend/tiling.h"

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
