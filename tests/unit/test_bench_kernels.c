/* Types and patterns of `bench kernels`, and its comparisons. */
#include "backend/cuda.h"
#include "bench/bench_kernels.h"
#include "checks.h"

TEST(types) {
  unsigned set;
  char text[64];
  ok(dm_kernel_types_parse("f32", &set));
  assert_int_equal(set, DM_KERNEL_F32);
  ok(dm_kernel_types_parse("tf32,i8,f64", &set));
  assert_int_equal(set, DM_KERNEL_TF32 | DM_KERNEL_I8 | DM_KERNEL_F64);
  assert_string_equal(dm_kernel_types_text(set, text), "f64 tf32 i8");
  ok(dm_kernel_types_parse("all", &set));
  for (int i = 0; i < DM_KERNEL_TYPES; i++) assert_true(set & 1u << dm_kernel_types[i]);
  fails(dm_kernel_types_parse("tf23", &set), DM_E_USAGE, "did you mean 'tf32'?");
  fails(dm_kernel_types_parse("f32,", &set), DM_E_USAGE, "unknown type");
}

static int chosen(const char *text, dm_kernel_op op, unsigned set, bool list[DM_KERNEL_COUNT]) {
  int count = 0;
  ok(dm_kernels_choose(text, op, set, list));
  for (int i = 0; i < DM_KERNEL_COUNT; i++) count += list[i];
  return count;
}

TEST(choice) {
  bool list[DM_KERNEL_COUNT];
  assert_int_equal(chosen("*", DM_KERNEL_OPS, ~0u, list), DM_KERNEL_COUNT);
  assert_int_equal(chosen("warp_tile", DM_GEMM, DM_KERNEL_F32, list), 1);
  assert_true(list[DM_KERNEL_warp_tile]);
  assert_int_equal(chosen("double_buffer*,cublas", DM_KERNEL_OPS, ~0u, list), 3);
  assert_true(list[DM_KERNEL_double_buffer] && list[DM_KERNEL_double_buffer_async] &&
              list[DM_KERNEL_cublas]);
  /* A pattern skips kernels without the type; a name does not. */
  chosen("*", DM_GEMM, 1u << DM_C64, list);
  assert_true(list[DM_KERNEL_cublas] && list[DM_KERNEL_tiled] && !list[DM_KERNEL_warp_tile]);
  fails(dm_kernels_choose("warp_tile", DM_GEMM, 1u << DM_F16, list), DM_E_USAGE,
        "it supports f32 f64");
  fails(dm_kernels_choose("warp_tyle", DM_GEMM, ~0u, list), DM_E_USAGE,
        "did you mean 'warp_tile'?");
  fails(dm_kernels_choose("cublas,zzz*", DM_KERNEL_OPS, ~0u, list), DM_E_USAGE, "--list");
  fails(dm_kernels_choose("warp_tile", DM_DOT, ~0u, list), DM_E_USAGE, "is of --op gemm");
}

TEST(roof) {
  const dm_kernel_size size = {128, 256, 512};
  const dm_operand half = DM_BF16;
  const dm_load load = dm_load_of(DM_GEMM, half, size, true);
  assert_true(load.flops == 2.0 * 128 * 256 * 512);
  assert_true(load.bytes == 2.0 * (128 * 512 + 512 * 256) + 2.0 * 4 * 128 * 256);
  assert_true(dm_load_of(DM_TRANSPOSE, half, size, false).bytes == 4.0 * 128 * 256);

  /* An H200: 989 TFLOP/s of bf16 at 1.83 GHz, according to its data sheet. */
  dm_roof r = {.limits = {.capability = 90, .processors = 132, .clock = 1.83e9}, .copy = 4e12};
  const double peak = dm_roof_peak(&r.limits, half);
  assert_true(peak > 985e12 && peak < 995e12);
  const char *by;
  const double small = dm_roof_bound(&r, DM_GEMM, half, load, &by);
  assert_string_equal(by, "memory");
  assert_true(small == load.bytes / 4e12);
  const dm_load large = dm_load_of(DM_GEMM, half, (dm_kernel_size){8192, 8192, 8192}, false);
  assert_true(dm_roof_bound(&r, DM_GEMM, half, large, &by) == large.flops / peak);
  assert_string_equal(by, "compute");
  r.limits.capability = 61; /* unknown */
  assert_true(isnan(dm_roof_bound(&r, DM_GEMM, half, large, &by)));
}

/* The bound depends on how a kernel adds, and is 0 for exact results. */
TEST(bounds) {
  const dm_kernel chain = {.op = DM_GEMM, .sums = DM_SUM_CHAIN},
                  careful = {.op = DM_GEMM, .sums = DM_SUM_COMPENSATED},
                  grouped = {.op = DM_GEMM, .sums = DM_SUM_GROUPED}, moved = {.op = DM_TRANSPOSE};
  const dm_operand f32 = DM_F32, f64 = DM_F64, tf32 = DM_TF32, i8 = DM_I8;
  assert_true(dm_kernel_bound(&chain, f32, 1) == 2.0);
  assert_true(dm_kernel_bound(&chain, f32, 9999) == 600.0);
  assert_true(dm_kernel_bound(&grouped, f32, 9999) == 1200.0);
  assert_true(dm_kernel_bound(&grouped, f64, 9999) == 600.0);
  assert_true(dm_kernel_bound(&careful, f32, 9999) == 3.0);
  assert_true(dm_kernel_bound(&chain, tf32, 9999) == 600.0 + 32768.0);
  assert_true(dm_kernel_bound(&chain, i8, 9999) == 0.0);
  assert_true(dm_kernel_bound(&moved, f32, 9999) == 0.0);
}

/* NaN counts as the largest. */
TEST(largest) {
  const double values[] = {-1.0, 3.0, 2.0, NAN, 4.0};
  assert_true(dm_largest(values, 0) == 0.0);
  assert_true(dm_largest(values, 3) == 3.0);
  assert_true(isnan(dm_largest(values, 5)));
}

RUN_ALL(test_bench_kernels)
