/* npy: NumPy's format for one array: a magic number, a header that is a Python dictionary, and the
 * packed elements. As a dataset it has no name. */
#ifndef DM_INSPECT_NPY_H
#define DM_INSPECT_NPY_H

#include "inspect/inspect_impl.h"

extern const dm_format dm_format_npy;

#endif
