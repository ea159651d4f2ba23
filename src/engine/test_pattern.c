#include "engine/test_pattern.h"

#include <sched.h>
#include <string.h>

#include "core/checked.h"
#include "core/clock.h"
#include "core/element.h"

enum { TAGS = 1 << 15 };

static const double patience = 30.0; /* seconds; a link that hangs is not used */

void dm_test_pattern_write(void *memory, int64_t bytes, int rank, int step) {
  const uint64_t first = ((uint64_t)rank << 40) + ((uint64_t)step << 32);
  for (int64_t i = 0; i < bytes / 8; i++) {
    const uint64_t word = dm_mix(first + (uint64_t)i);
    memcpy((char *)memory + 8 * i, &word, 8);
  }
}

static dm_view run_of(const void *memory, dm_space space, int64_t bytes) {
  return dm_view_strided((void *)memory, DM_I8, space, 1, bytes, bytes);
}

dm_status dm_test_pattern_copy(dm_backend *backend, void *dst, dm_space dst_space, const void *src,
                               dm_space src_space, int64_t bytes) {
  dm_event copied;
  DM_TRY(dm_backend_copy(backend, run_of(dst, dst_space, bytes), run_of(src, src_space, bytes),
                         &copied));
  return dm_backend_wait(backend, copied);
}

dm_status dm_test_pattern_compare(const char *arrived, const char *wanted, int64_t bytes,
                                  int from) {
  int64_t at = 0;
  if (memcmp(arrived, wanted, (size_t)bytes) == 0) return DM_OK;
  while (arrived[at] == wanted[at]) at++;
  return dm_fail(DM_E_DEVICE, "byte %lld of %lld from neighbour %d arrived as %02x, not %02x",
                 (long long)at, (long long)bytes, from, arrived[at] & 0xff, wanted[at] & 0xff);
}

/* Until the gather of TICKET is done. */
static dm_status wait_for(dm_transport *transport, dm_watch *watch, int ticket) {
  const double start = dm_now();
  for (bool done = false;;) {
    DM_TRY(dm_transport_test(transport, ticket, &done));
    if (done) dm_watch_moved(watch);
    dm_watch_poll(watch);
    if (done) return DM_OK;
    if (dm_now() - start > patience)
      return dm_fail(DM_E_DEVICE, "nothing arrived for %.0f s", patience);
    sched_yield();
  }
}

dm_status dm_gathers_run(dm_transport *transport, dm_watch *watch, dm_gather_of *wanted,
                         const void *context, int count, int at_once) {
  int tickets[DM_GATHERS];
  for (int i = 0; i < count + at_once; i++) {
    if (i >= at_once && i - at_once < count)
      DM_TRY(wait_for(transport, watch, tickets[(i - at_once) % at_once]));
    if (i >= count) continue;
    dm_gather gather = wanted(context, i);
    gather.tag = i % TAGS;
    DM_TRY(dm_transport_post(transport, &gather, &tickets[i % at_once]));
  }
  return DM_OK;
}
