/* device_sums: checksums that are added up in device memory (dm_backend_checksum). */
#ifndef DM_ENGINE_DEVICE_SUMS_H
#define DM_ENGINE_DEVICE_SUMS_H

#include "backend/verify_sums.h"

/* COUNT of them, at DEVICE, become those at HOST. */
dm_status dm_device_sums_set(dm_backend *backend, uint64_t *device, uint64_t *host, int64_t count);

/* The other way, when all that was posted is done. */
dm_status dm_device_sums_get(dm_backend *backend, uint64_t *host, uint64_t *device, int64_t count);

#endif
