/* Machines described in words. */
#include "plan_cases.h"

TEST(plain_rank) {
  dm_machine m = machine_of("");
  assert_string_equal(m.name, "cpu");
  assert_true(m.nodes == 1 && m.ranks_per_node == 1 && m.cores_per_rank == 1);
  assert_false(m.gpu || m.device_links || m.rates_of_user);
  assert_true(m.flops[DM_F64] == 32e9 && m.flops[DM_F32] == 64e9);
  assert_true(m.host_bytes == 0 && m.device_bytes == 0);
}

TEST(cluster_of_gpus) {
  dm_machine m = machine_of(
      "nodes=16 gpus=8 gpu=h200 links=device cores=12 memory=64GiB network=400 latency=2");
  assert_true(m.nodes == 16 && m.ranks_per_node == 8 && m.cores_per_rank == 12);
  assert_true(m.gpu && m.device_links);
  assert_true(m.link == 374e9 && m.network == 400e9 && m.upload == 55e9);
  assert_true(m.latency == 2e-6);
  assert_true(m.host_bytes == INT64_C(64) << 30 && m.device_bytes == INT64_C(139) << 30);
  assert_true(dm_machine_flops(&m, dm_compute_by(DM_F64), DM_F64) == 64.7e12);
  assert_true(dm_machine_flops(&m, dm_compute_by(DM_TF32), DM_F32) == 428e12);
  assert_true(dm_machine_flops(&m, dm_compute_by(DM_I8), DM_I8) == 1524e12);
}

/* The power limit slows down long products in f64, not in f32, and no rate that the user states. */
TEST(long_products_are_slower) {
  const dm_compute *f64 = dm_compute_by(DM_F64), *f32 = dm_compute_by(DM_F32);
  const dm_machine m = machine_of("gpu=h200"), stated = machine_of("gpu=h200 gflops=64700");
  assert_true(dm_machine_product_seconds(&m, f64, DM_F64, 64.7e10) == 0.01);
  const double longer = dm_machine_product_seconds(&m, f64, DM_F64, 64.7e12);
  assert_true(longer > 1.1 && longer < 1.2);
  assert_true(dm_machine_product_seconds(&stated, f64, DM_F64, 64.7e12) == 1);
  assert_true(dm_machine_product_seconds(&m, f32, DM_F32, 51.1e12) == 1);
}

/* As for runs on such machines. */
TEST(gpus_have_links_unless_told_otherwise) {
  dm_machine m = machine_of("gpu=a100,gpus=4"), stated = machine_of("gpu=a100,gpus=4,links=device");
  assert_true(m.device_links && m.link == dm_machine_device_link("a100"));
  assert_memory_equal(&m, &stated, sizeof m);
}

TEST(links_through_the_host) {
  dm_machine m = machine_of("gpu=h200,gpus=4,links=host");
  assert_false(m.device_links);
  assert_true(m.link == 2.1e9 && m.ranks_per_node == 4);
}

TEST(other_rates_keep_their_proportion) {
  dm_machine m = machine_of("cores=4 gflops=64");
  assert_true(m.flops[DM_F64] == 64e9 && m.flops[DM_F32] == 128e9);
}

TEST(a_file_of_rates_is_read_back) {
  char text[1024] = "# rates of some computer, nodes=7\nnodes=2 ranks=3 cores=4 links=host\n";
  dm_machine here, m = machine_of("nodes=2 ranks=3 cores=4 links=host gflops=61 gflops-bf16=30 "
                                  "link=7.5 network=1.25 copy=11 read=2.5 write=0.8");
  dm_machine_put_rates(&m, true, text, sizeof text);
  const dm_machine again = machine_of(text);
  assert_true(again.nodes == 2 && again.ranks_per_node == 3 && again.rates_of_user);
  assert_true(again.flops[DM_BF16] == 30e9 && again.flops[DM_F64] == m.flops[DM_F64]);
  assert_true(again.network == m.network && again.file_write == m.file_write);
  dm_machine_stated(NULL, 1, &here); /* a job: only the rates */
  ok(dm_machine_take_rates(text, &here));
  assert_true(here.nodes == 1 && here.flops[DM_F32] == m.flops[DM_F32] && here.link == m.link);
  assert_true(here.read_now == 2.5e9 && here.write_now == 0.8e9);
  fails(dm_machine_take_rates("gflops-f23=1", &here), DM_E_USAGE, "unknown key");
}

TEST(ranks_share_gpus) {
  dm_machine m = machine_of("gpu=h200 gpus=1 ranks=4");
  assert_int_equal(m.ranks_per_node, 4);
  assert_true(m.flops[DM_F64] == 64.7e12 / 4);
  assert_true(m.device_bytes == (INT64_C(139) << 30) / 4);
}

TEST(product_names_are_found) {
  dm_machine m;
  dm_machine_stated("NVIDIA H200", 8, &m);
  assert_string_equal(m.name, "h200");
  dm_machine_stated("NVIDIA A100-SXM4-80GB", 8, &m);
  assert_string_equal(m.name, "a100");
  assert_true(m.device_bytes == 0 && !m.device_links);
  dm_machine_stated("Some GPU of the future", 8, &m);
  assert_true(m.gpu && m.flops[DM_F64] > 0);
}

TEST(every_known_gpu_is_complete) {
  for (const char *const *name = dm_machine_gpus(); *name; name++) {
    char text[64] = "gpu=";
    dm_machine m = machine_of(strcat(text, *name));
    for (int type = 0; type < DM_OPERANDS; type++)
      assert_true(m.flops[type] > 0 || type == DM_I32); /* which nothing multiplies */
    assert_true(m.upload > 0 && m.link > 0 && m.device_bytes > 0);
  }
}

TEST(mistakes_are_explained) {
  static const struct {
    const char *text, *words;
  } cases[] = {
      {"node=2", "did you mean \"nodes\"?"},
      {"quux=2", "known keys: nodes"},
      {"nodes", "key=value"},
      {"nodes=", "key=value"},
      {"=2", "key=value"},
      {"nodes=0", "nodes=0 is not a whole number"},
      {"nodes=1.5", "not a whole number"},
      {"nodes=-1", "not a whole number"},
      {"nodes=2 nodes=3", "stated twice"},
      {"nodes=16777216 ranks=2", "more than 16777216 ranks"},
      {"gpus=2", "gpu=h200"},
      {"gpu=h20", "did you mean \"h200\"?"},
      {"gpu=mi300x", "known: h200"},
      {"memory=lots", "such as 64GiB"},
      {"memory=0", "such as 64GiB"},
      {"link=0", "not a number above 0"},
      {"link=nan", "not a number above 0"},
      {"latency=-1", "not a number above 0"},
      {"links=wifi", "device or host"},
      {"links=device", "without a GPU"},
  };
  dm_machine m;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    fails(dm_machine_parse(cases[i].text, &m), DM_E_USAGE, cases[i].words);
  char text[300];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  fails(dm_machine_parse(text, &m), DM_E_USAGE, "more than 127 characters");
}

RUN_ALL(test_plan_machine)
