/* Control groups of both versions, as files in a folder of the test. */
#include <errno.h>
#include <sys/stat.h>

#include "checks.h"
#include "core/cgroup.h"

typedef struct group_file {
  const char *name, *text;
} group_file;

static void put(const char *root, const group_file *file) {
  char path[512];
  path_in(path, root, file->name);
  for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
    *at = 0;
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
  }
  write_text(path, file->text);
}

/* What FILES say, of which the last one has no name. */
static void expect(const group_file *files, double cores, int64_t memory, int64_t left) {
  char root[64];
  new_folder(root);
  for (; files->name; files++) put(root, files);
  assert_true(dm_cgroup_cores(root) == cores);
  assert_int_equal(dm_cgroup_memory(root), memory);
  assert_int_equal(dm_cgroup_memory_left(root), left);
  remove_folder(root);
}

TEST(no_groups) {
  expect(&(group_file){0}, 0, 0, 0);
}

/* The narrowest of a group and those above it counts. */
TEST(nested_second_version) {
  static const group_file files[] = {
      {"proc/self/cgroup", "0::/slice/job\n"},
      {"sys/fs/cgroup/slice/job/cgroup.procs", "1\n"},
      {"sys/fs/cgroup/slice/job/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/slice/cpu.max", "250000 100000\n"},
      {"sys/fs/cgroup/slice/job/memory.max", "2000000\n"},
      {"sys/fs/cgroup/slice/job/memory.current", "1500000\n"},
      {"sys/fs/cgroup/slice/job/memory.stat", "anon 5\ninactive_file 1000000\n"},
      {"sys/fs/cgroup/slice/memory.max", "3000000\n"},
      {"sys/fs/cgroup/slice/memory.current", "2900000\n"},
      {NULL, NULL},
  };
  expect(files, 2.5, 2000000, 100000);
}

/* A container sees its own group as the top; the path is the outer one. */
TEST(container) {
  static const group_file files[] = {
      {"proc/self/cgroup", "0::/system.slice/docker-1.scope\n"},
      {"sys/fs/cgroup/cgroup.procs", "1\n"},
      {"sys/fs/cgroup/cpu.max", "400000 100000\n"},
      {"sys/fs/cgroup/memory.max", "1000\n"},
      {"sys/fs/cgroup/memory.current", "5000\n"},
      {NULL, NULL},
  };
  expect(files, 4, 1000, 1); /* nothing left, as opposed to no limit */
}

TEST(first_version) {
  static const group_file files[] = {
      {"proc/self/cgroup", "4:memory:/a/b\n3:cpu,cpuacct:/a\n0::/\n"},
      {"sys/fs/cgroup/cpu/a/cgroup.procs", "1\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/memory/a/b/cgroup.procs", "1\n"},
      {"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"},
      {"sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4000000\n"},
      {"sys/fs/cgroup/memory/a/memory.usage_in_bytes", "3000000\n"},
      {"sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 500000\n"},
      {NULL, NULL},
  };
  expect(files, 1.5, 4000000, 1500000);
}

RUN_ALL(test_core_cgroup)
