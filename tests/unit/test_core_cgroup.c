/* Control groups of both versions, as files in a folder of the test. */
#include <errno.h>
#include <sys/stat.h>

#include "checks.h"
#include "core/cgroup.h"

static char root[64];

static void put(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s%s", root, name);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = 0;
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void forget(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s/*", root);
  assert_int_equal(system(command), 0);
}

TEST(no_groups) {
  forget();
  assert_true(dm_cgroup_cores(root) == 0);
  assert_int_equal(dm_cgroup_memory(root), 0);
  assert_int_equal(dm_cgroup_memory_left(root), 0);
}

/* The narrowest of a group and those above it counts. */
TEST(nested_second_version) {
  forget();
  put("/proc/self/cgroup", "0::/slice/job\n");
  put("/sys/fs/cgroup/slice/job/cgroup.procs", "1\n");
  put("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/slice/cpu.max", "250000 100000\n");
  put("/sys/fs/cgroup/slice/job/memory.max", "2000000\n");
  put("/sys/fs/cgroup/slice/job/memory.current", "1500000\n");
  put("/sys/fs/cgroup/slice/job/memory.stat", "anon 5\ninactive_file 1000000\n");
  put("/sys/fs/cgroup/slice/memory.max", "3000000\n");
  put("/sys/fs/cgroup/slice/memory.current", "2900000\n");
  assert_true(dm_cgroup_cores(root) == 2.5);
  assert_int_equal(dm_cgroup_memory(root), 2000000);
  assert_int_equal(dm_cgroup_memory_left(root), 100000);
}

/* A container sees its own group as the top; the path is the outer one. */
TEST(container) {
  forget();
  put("/proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  put("/sys/fs/cgroup/cgroup.procs", "1\n");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  put("/sys/fs/cgroup/memory.max", "1000\n");
  put("/sys/fs/cgroup/memory.current", "5000\n");
  assert_true(dm_cgroup_cores(root) == 4);
  assert_int_equal(dm_cgroup_memory(root), 1000);
  assert_int_equal(dm_cgroup_memory_left(root), 1); /* nothing left, as opposed to no limit */
}

TEST(first_version) {
  forget();
  put("/proc/self/cgroup", "4:memory:/a/b\n3:cpu,cpuacct:/a\n0::/\n");
  put("/sys/fs/cgroup/cpu/a/cgroup.procs", "1\n");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/memory/a/b/cgroup.procs", "1\n");
  put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4000000\n");
  put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "3000000\n");
  put("/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 500000\n");
  assert_true(dm_cgroup_cores(root) == 1.5);
  assert_int_equal(dm_cgroup_memory(root), 4000000);
  assert_int_equal(dm_cgroup_memory_left(root), 1500000);
}

TEST_PROGRAM(test_core_cgroup) {
  const int failed = run_all(new_folder(root));
  remove_folder(root);
  return failed;
}
