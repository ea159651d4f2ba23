/* pattern: bytes that tell who sent them, and gathers that are waited for no longer than a while:
 * what transports are proved and measured with. */
#ifndef DM_ENGINE_TEST_PATTERN_H
#define DM_ENGINE_TEST_PATTERN_H

#include "backend/backend.h"
#include "run/watch.h"
#include "transport/transport.h"

/* BYTES of MEMORY, rounded down to whole words, become what RANK sends in STEP: nowhere the bytes
 * of another rank or step. */
void dm_test_pattern_write(void *memory, int64_t bytes, int rank, int step);

/* Copies BYTES between memory of any space, and waits. */
dm_status dm_test_pattern_copy(dm_backend *backend, void *dst, dm_space dst_space, const void *src,
                               dm_space src_space, int64_t bytes);

/* DM_E_DEVICE where ARRIVED is not what was WANTED, both in host memory, from the rank FROM. */
dm_status dm_test_pattern_compare(const char *arrived, const char *wanted, int64_t bytes, int from);

/* Posts COUNT gathers, of which WANTED(i) is the one with tag i, and waits for all; at most
 * AT_ONCE, no more than DM_GATHERS, are under way.  DM_E_DEVICE where nothing arrives for half a
 * minute. */
typedef dm_gather dm_gather_of(const void *context, int i);
dm_status dm_gathers_run(dm_transport *transport, dm_watch *watch, dm_gather_of *wanted,
                         const void *context, int count, int at_once);

#endif
