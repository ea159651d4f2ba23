#include "engine/device_sums.h"

/* The views treat each sum as two i32. */
static dm_status move(dm_backend *backend, dm_view to, dm_view from) {
  dm_event moved;
  DM_TRY(dm_backend_copy(backend, to, from, &moved));
  return dm_backend_wait(backend, moved);
}

static dm_view view_of(uint64_t *sums, dm_space space, int64_t count) {
  return dm_view_strided(sums, DM_I32, space, 1, 2 * count, 2 * count);
}

dm_status dm_device_sums_set(dm_backend *backend, uint64_t *device, uint64_t *host, int64_t count) {
  return move(backend, view_of(device, DM_DEVICE, count), view_of(host, DM_HOST, count));
}

dm_status dm_device_sums_get(dm_backend *backend, uint64_t *host, uint64_t *device, int64_t count) {
  DM_TRY(dm_backend_settle(backend));
  return move(backend, view_of(host, DM_HOST, count), view_of(device, DM_DEVICE, count));
}
