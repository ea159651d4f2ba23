#include "file/chunk_place.h"

#include "file/hdf5_use.h"

/* Whether the file has no such chunk, as opposed to one that cannot be found. */
static bool is_absent(hid_t set, const hsize_t *offset) {
#if H5_VERSION_GE(1, 10, 5)
  haddr_t address = 0;
  hsize_t bytes;
  unsigned skipped;
  return H5Dget_chunk_info_by_coord(set, offset, &skipped, &address, &bytes) >= 0 &&
         address == HADDR_UNDEF;
#else
  (void)set, (void)offset;
  return true;
#endif
}

dm_status dm_chunk_find(const dm_dataset *dataset, hid_t set, dm_h5_ear *ear,
                        dm_chunk_place *place) {
  const dm_location *at = &dataset->at;
  hsize_t offset[DM_AXES];
  dm_h5_place(dataset, place->row, place->col, offset);
  hsize_t stored = 0;
  char nothing[1];
  place->offset = place->bytes = 0;
  if (H5Dget_chunk_storage_size(set, offset, &stored) < 0 || stored == 0) {
    bool absent = is_absent(set, offset);
    H5Eclear2(H5E_DEFAULT);
    return absent ? DM_OK
                  : dm_h5_fail(DM_E_INPUT, at, "the chunk at (%lld, %lld) cannot be found",
                               (long long)place->row, (long long)place->col);
  }
  place->bytes = stored > INT64_MAX ? INT64_MAX : (int64_t)stored;
  if (!ear) return DM_OK;
  /* Nothing is read: the driver only observes the request. */
  ear->listening = true;
  ear->heard = false;
  herr_t result = H5Dread_chunk(set, H5P_DEFAULT, offset, &place->skipped, nothing);
  ear->listening = false;
  if (result < 0 || !ear->heard || (hsize_t)ear->bytes != stored)
    return dm_h5_fail(DM_E_INPUT, at, "the chunk at (%lld, %lld) cannot be found",
                      (long long)place->row, (long long)place->col);
  place->offset = ear->offset;
  return DM_OK;
}
