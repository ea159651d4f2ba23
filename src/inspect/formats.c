/* The formats besides HDF5 that are read. */
#include <stddef.h>

#include "inspect/bed.h"
#include "inspect/inspect_impl.h"
#include "inspect/npy.h"

const dm_format *const dm_formats[] = {&dm_format_npy, &dm_format_bed, NULL};
