/* Memory that is kept for the next product. */
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "checks.h"
#include "core/buffer.h"
#include "core/cached_memory.h"

enum { MIB = 1 << 20 };

static void *take(dm_cached_memory *kept, int64_t bytes) {
  void *memory = dm_cached_take(kept, bytes);
  if (!memory) ok(dm_buffer_alloc(bytes, &memory));
  memset(memory, 1, (size_t)bytes);
  return memory;
}

TEST(is_taken_again) {
  dm_cached_memory kept = {0};
  (void)state;
  void *small = take(&kept, 16 * MIB), *large = take(&kept, 32 * MIB);
  dm_cached_give(&kept, small, 16 * MIB);
  dm_cached_give(&kept, large, 32 * MIB);
  assert_int_equal(dm_cached_bytes(&kept), 48 * MIB);
  assert_ptr_equal(take(&kept, 31 * MIB), large); /* whatever the system took of it */
  assert_ptr_equal(take(&kept, 16 * MIB), small);
  assert_int_equal(dm_cached_bytes(&kept), 0);
  free(large);
  free(small);
}

TEST(other_sizes_are_not) {
  dm_cached_memory kept = {0};
  (void)state;
  void *memory = take(&kept, 16 * MIB);
  dm_cached_give(&kept, memory, 16 * MIB);
  void *larger = take(&kept, 17 * MIB), *half = take(&kept, 8 * MIB);
  assert_ptr_not_equal(larger, memory);
  assert_ptr_not_equal(half, memory);
  assert_int_equal(dm_cached_bytes(&kept), 16 * MIB);
  dm_cached_drop(&kept);
  assert_int_equal(dm_cached_bytes(&kept), 0);
  free(larger);
  free(half);
}

TEST(what_is_small_or_too_much_is_freed) {
  dm_cached_memory kept = {0};
  void *blocks[DM_CACHED + 2];
  (void)state;
  dm_cached_give(&kept, take(&kept, MIB), MIB);
  assert_int_equal(dm_cached_bytes(&kept), 0);
  for (int i = 0; i < DM_CACHED + 2; i++) blocks[i] = take(&kept, 4 * MIB);
  for (int i = 0; i < DM_CACHED + 2; i++) dm_cached_give(&kept, blocks[i], 4 * MIB);
  assert_int_equal(dm_cached_bytes(&kept), (int64_t)DM_CACHED * 4 * MIB);
  dm_cached_drop(&kept);
}

TEST(nothing_is_kept_of_limited_address_space) {
  dm_cached_memory kept = {0};
  struct rlimit before, limited;
  (void)state;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) skip();
  limited = before;
  limited.rlim_cur = (rlim_t)1 << 46;
  if (setrlimit(RLIMIT_AS, &limited) != 0) skip();
  void *memory = take(&kept, 16 * MIB);
  dm_cached_give(&kept, memory, 16 * MIB);
  assert_int_equal(dm_cached_bytes(&kept), 0);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

RUN_ALL(test_core_cached_memory)
