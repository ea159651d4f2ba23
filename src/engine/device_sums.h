/* device_sums: checksums accumulated in device memory (dm_backend_checksum). */
#ifndef DM_ENGINE_DEVICE_SUMS_H
#define DM_ENGINE_DEVICE_SUMS_H

#include "backend/verify_sums.h"

/* Copies COUNT sums from HOST to DEVICE. */
dm_status dm_device_sums_set(dm_backend *backend, uint64_t *device, uint64_t *host, int64_t count);

/* Copies COUNT sums from DEVICE to HOST once all posted sums are done. */
dm_status dm_device_sums_get(dm_backend *backend, uint64_t *host, uint64_t *device, int64_t count);

#endif
