/* What the planner sees of files: whether they are in memory. */
#include "checks.h"
#include "dataset/file_system.h"
#include "engine/setup.h"
#include "plan_cases.h"

/* Files in memory are recognised, and assumed to be read as fast as cores copy. */
TEST(files_in_memory_are_seen) {
  static const char *const path = "/dev/shm/damier-seen";
  if (access("/dev/shm", W_OK) != 0) skip(); /* no file system in memory */
  write_text(path, "here");
  const dm_seen_files seen =
      dm_see_files(&(dm_named_files){.reads = {path, path, NULL}, .writes = "/dev/shm/new"});
  assert_int_equal(remove(path), 0);
  assert_true(seen.cached && seen.in_memory && seen.fit);
  const dm_seen_files unseen =
      dm_see_files(&(dm_named_files){.reads = {"/no/such", NULL, NULL}, .writes = "/proc/x"});
  assert_true(!unseen.cached && !unseen.in_memory && !unseen.fit);
  dm_machine machine, stated;
  dm_machine_stated(NULL, 4, &stated);
  machine = stated;
  dm_state_files(unseen, 4, 1, &machine);
  assert_true(machine.file_read == stated.file_read && machine.file_write == stated.file_write);
  dm_state_files(seen, 4, 1, &machine);
  assert_true(machine.file_read == 12e9 && machine.file_write == 6e9);
  assert_true(machine.read_now == 12e9 && machine.write_now == 6e9 && machine.inputs_cached);
  machine = stated;
  dm_state_files((dm_seen_files){.fit = true}, 4, 1, &machine); /* on a disk: the same plan */
  assert_true(machine.file_read == 12e9 && machine.file_write == 6e9 && !machine.inputs_cached);
  assert_true(machine.read_now == stated.file_read && machine.write_now == stated.file_write);
  dm_state_files(seen, 1000, 2, &machine);
  assert_true(machine.file_read == 90e9 && machine.file_write == 50e9);
}

/* Only the forecast considers the speed of cores, and that ranks share them. */
TEST(products_are_forecast_by_the_cores) {
  dm_machine machine, stated;
  dm_machine_stated(NULL, 4, &stated);
  machine = stated;
  dm_state_cores(4, 4, 1, &machine);
  const double alone = machine.speed_now;
  assert_true(alone >= 1 && machine.flops[DM_F64] == stated.flops[DM_F64]);
  dm_state_cores(4, 8, 1, &machine);
  assert_true(machine.speed_now == alone / 2);
  dm_state_cores(64, 64, 1, &machine);
  assert_true(machine.speed_now <= alone);
}

/* 4096^3 from a tmpfs to a tmpfs, verified, on 32 cores: 0.20 to 0.24 s after the plan was made. */
TEST(a_command_on_many_cores_is_forecast) {
  const dm_problem p = problem_of(4096, 4096, 4096, DM_F64);
  const dm_seen_files seen = {.cached = true, .in_memory = true, .new_pages = true, .fit = true};
  dm_machine machine;
  dm_machine_stated(NULL, 32, &machine);
  dm_state_files(seen, 32, 1, &machine);
  machine.speed_now = 0.83; /* of these cores, with AVX-512 */
  const double total = planned(&p, &machine, 1, (dm_wishes){0}).forecast.total;
  assert_true(fabs(total / 0.22 - 1) < 0.1);
}

/* 4096^3 as measured on a node with GPUs, in seconds: the slower choice
 * costs at most a tenth. */
TEST(the_sooner_of_cpu_and_gpu) {
  static const struct {
    int cores;
    dm_dtype type;
    double cpu, gpu;
  } commands[] = {{2, DM_F64, 1.44, 0.281},  {16, DM_F64, 0.333, 0.281}, {32, DM_F64, 0.266, 0.281},
                  {32, DM_F64, 0.289, 0.33}, {16, DM_F32, 0.198, 0.25},  {2, DM_F32, 0.78, 0.25}};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const bool cpu =
        dm_cpu_is_sooner(2.0 * 4096 * 4096 * 4096, commands[i].type, commands[i].cores);
    const double taken = cpu ? commands[i].cpu : commands[i].gpu;
    assert_true(taken <= 1.1 * fmin(commands[i].cpu, commands[i].gpu));
  }
}

RUN_ALL(test_engine_seen_files)
