/* create_output: the part file of a C, with all of its space. */
#ifndef DM_TEST_CREATE_OUTPUT_H
#define DM_TEST_CREATE_OUTPUT_H

#include "io/output.h"

static inline dm_status create_output(const dm_location *location, dm_dtype dtype, int64_t rows,
                                      int64_t cols, dm_output_file *file) {
  dm_reservation *reservation;
  DM_TRY(dm_output_create_early(location, dtype, rows, cols, NULL, file, &reservation));
  dm_status status = dm_reservation_end(reservation, true);
  if (!status) return DM_OK;
  dm_output_discard(file);
  dm_output_release(file);
  return status;
}

#endif
