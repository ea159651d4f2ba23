/* roofline: the time that a piece of work takes at least on a device (Williams, Waterman,
 * Patterson, CACM 2009): by its arithmetic, or by the bytes that must come and go. */
#ifndef DM_MEASURE_ROOFLINE_H
#define DM_MEASURE_ROOFLINE_H

#include "backend/lab.h"
#include "measure/kernel_choice.h"

/* Bytes per second, measured: read and written by copies; read alone. */
typedef struct dm_roof {
  dm_lab_limits limits;
  double copy, read;
} dm_roof;

/* What WORK must do: operations on numbers, and bytes if each matrix is moved once. */
typedef struct dm_load {
  double flops, bytes;
} dm_load;

dm_load dm_load_of(dm_kernel_op op, dm_operand type, dm_kernel_size size, bool accumulate);

/* Operations per second of TYPE: the most that a multiprocessor begins in a cycle, by its tensor
 * cores where they take the type, at its highest clock.  0 where that is not known. */
double dm_roof_peak(const dm_lab_limits *limits, dm_operand type);

/* Least seconds; *by is "compute" or "memory".  NAN where the peak is not known. */
double dm_roof_bound(const dm_roof *roof, dm_kernel_op op, dm_operand type, dm_load load,
                     const char **by);

#endif
