/* The formats besides HDF5 that are read. */
#include <stddef.h>

#include "file/bed.h"
#include "file/inspect_impl.h"
#include "file/npy.h"

const dm_format *const dm_formats[] = {&dm_format_npy, &dm_format_bed, NULL};
