/* The resource named as the limit of a phase. */
#include "plan/grid_cost.h"
#include "plan_cases.h"

static dm_limits limits_of(const char *machine_text, int ranks, int64_t size, dm_wishes wishes) {
  dm_problem problem = problem_of(size, size, size, DM_F64);
  dm_machine machine = machine_of(machine_text);
  const dm_plan plan = planned(&problem, &machine, ranks, wishes);
  return dm_plan_limits(&plan, &machine);
}

static void is(dm_resource found, dm_resource wanted) {
  assert_string_equal(dm_resource_name(found), dm_resource_name(wanted));
}

TEST(each_resource_can_be_the_limit) {
  const dm_wishes square = {.pm = 2, .pn = 2, .pk = 1}, deep = {.pm = 1, .pn = 1, .pk = 4};
  dm_limits cpu = limits_of("ranks=4 links=host", 4, 8192, square);
  is(cpu.gemm, DM_RESOURCE_COMPUTE);
  is(cpu.fetch, DM_RESOURCE_LINK);
  is(cpu.read, DM_RESOURCE_FILES);
  is(cpu.upload, DM_RESOURCE_NONE);
  is(cpu.reduce, DM_RESOURCE_NONE);
  is(cpu.total, DM_RESOURCE_COMPUTE);
  is(limits_of("ranks=4", 4, 8192, square).fetch,
     DM_RESOURCE_NONE); /* shared slots: nothing moves */
  is(limits_of("ranks=4 gflops=1e6", 4, 8192, square).gemm, DM_RESOURCE_HOST_MEMORY);
  is(limits_of("ranks=4 read=0.01", 4, 8192, square).total, DM_RESOURCE_FILES);
  is(limits_of("ranks=4 copy=0.1", 4, 8192, deep).reduce, DM_RESOURCE_HOST_MEMORY);
  is(limits_of("ranks=4 links=host latency=1e6", 4, 8192, square).fetch, DM_RESOURCE_LATENCY);
  is(limits_of("nodes=4", 4, 8192, square).fetch, DM_RESOURCE_NETWORK);
  dm_limits gpu = limits_of("gpu=h200 gpus=4 links=device", 4, 32768, square);
  is(gpu.gemm, DM_RESOURCE_COMPUTE);
  is(gpu.fetch, DM_RESOURCE_LINK);
  dm_limits hosted = limits_of("gpu=h200 gpus=4 links=host", 4, 32768, square);
  is(hosted.upload, DM_RESOURCE_UPLOAD);
  is(hosted.exposed, DM_RESOURCE_LINK);
  const dm_wishes panels = {.pm = 2, .pn = 2, .pk = 1, .panel = 64};
  is(limits_of("gpu=h200 gpus=4 links=device gflops=1e9", 4, 32768, panels).gemm,
     DM_RESOURCE_DEVICE_MEMORY);
}

/* Panels from host memory, through the host or through the GPUs that uploaded them. */
TEST(hosted_panels_are_bound_by_links) {
  const dm_wishes wishes = {.from_host = true, .pm = 2, .pn = 2, .pk = 1};
  for (int links = 0; links < 2; links++) {
    const char *machine = links ? "gpu=h200 gpus=4 links=device" : "gpu=h200 gpus=4 links=host";
    const dm_limits limits = limits_of(machine, 4, 32768, wishes);
    is(limits.fetch, DM_RESOURCE_LINK);
    is(limits.upload, DM_RESOURCE_UPLOAD);
  }
}

RUN_ALL(test_plan_limits)
