#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/checked.h"
#include "file/output_impl.h"

enum { HEAD_BYTES = 1 << 20 };

static dm_status create_locked(dm_output_file *out, dm_reservation **reservation) {
  int model;
  int64_t length;
  DM_TRY(dm_output_lock(&out->at, out->part, out->made, LOCK_EX));
  DM_TRY(dm_output_make_id(out));
  DM_TRY(dm_output_model(out, NULL, &model));
  dm_status status = dm_output_copy_model(out, model, out->made, &length);
  close(model);
  DM_TRY(status);
  /* The name appears after the mark is on the disk, so no loss of power leaves a stranger. */
  if (fsync(out->made) < 0) return dm_io_failed(&out->at, out->part, "synced");
  DM_TRY(dm_output_name(out));
  DM_TRY(dm_output_share(out));
  return dm_reservation_start(out, length, reservation);
}

dm_status dm_output_create_early(const dm_location *location, dm_dtype dtype, int64_t rows,
                                 int64_t cols, const dm_leads *leads, dm_output_file *file,
                                 dm_reservation **reservation) {
  char directory[DM_PATH];
  int64_t bytes = 0;
  *reservation = NULL;
  *file = (dm_output_file){.at = *location, .rows = rows, .cols = cols, .dtype = dtype, .made = -1};
  if (leads) file->leads = *leads;
  DM_TRY(dm_bytes_of(rows, cols, dm_dtype_size(dtype), &bytes));
  if (bytes <= 0 || bytes > INT64_MAX - HEAD_BYTES)
    return dm_fail_at(DM_E_FIT, location, "a matrix of %lld bytes cannot be written",
                      (long long)bytes);
  DM_TRY(dm_output_forget(location));
  dm_io_directory(location->file, directory);
  DM_TRY(dm_output_room(location, directory, bytes + HEAD_BYTES / 64));
  DM_TRY(dm_output_make_unnamed(file));
  dm_status status = create_locked(file, reservation);
  if (!status) return DM_OK;
  status = dm_status_first(status, dm_reservation_end(*reservation));
  *reservation = NULL;
  dm_output_discard(file);
  dm_output_release(file);
  return status;
}

dm_status dm_output_create(const dm_location *location, dm_dtype dtype, int64_t rows, int64_t cols,
                           dm_output_file *file) {
  dm_reservation *reservation;
  DM_TRY(dm_output_create_early(location, dtype, rows, cols, NULL, file, &reservation));
  dm_status status = dm_reservation_end(reservation);
  if (!status) return DM_OK;
  dm_output_discard(file);
  dm_output_release(file);
  return status;
}
