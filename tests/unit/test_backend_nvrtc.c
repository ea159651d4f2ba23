/* NVRTC compiles the program's embedded source: needs the library, but no GPU. */
#include "checks.h"

#ifdef DM_HAVE_CUDA

#include "backend/nvrtc.h"

static dm_nvrtc nvrtc;

static dm_status compile(const char *tiling, const char *type, int capability, char **image,
                         size_t *size) {
  char source[400];
  snprintf(source, sizeof source,
           "#include \"kernels/ladder/17_warp_tile.cu\"\n"
           "struct Tuned : Tiling<%s> {};\n"
           "extern \"C\" __global__ void __launch_bounds__(Tuned::THREADS, Tuned::BLOCKS)\n"
           "    jit(Product<%s> p, Wide wide) {\n"
           "  multiply_warp_tiles<Tuned>(p, wide);\n"
           "}\n",
           tiling, type);
  return dm_nvrtc_compile(&nvrtc, source, capability, image, size);
}

TEST(machine_code) {
  static const int capabilities[] = {80, 90};
  char *image;
  size_t size;
  for (int i = 0; i < 2; i++) {
    ok(compile("64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0", "float", capabilities[i], &image, &size));
    assert_true(size > 1000);
    assert_memory_equal(image, "\177ELF", 4);
    free(image);
    ok(compile("64, 64, 8, 4, 32, 32, 8, 3, 8, 2, 0", "double", capabilities[i], &image, &size));
    assert_memory_equal(image, "\177ELF", 4);
    free(image);
  }
}

/* A GPU newer than the compiler gets PTX for the newest one that the compiler knows. */
TEST(newer_gpu) {
  char *image;
  size_t size;
  ok(compile("64, 64, 8, 4, 32, 32, 8, 4, 8, 2, 0", "float", 9990, &image, &size));
  assert_non_null(strstr(image, ".visible .entry jit("));
  free(image);
}

TEST(errors_are_told) {
  char *image;
  size_t size;
  fails(compile("64, 64, 7, 4, 32, 32, 8, 4, 8, 2, 0", "float", 90, &image, &size), DM_E_DEVICE,
        "two fragments take turns");
  assert_null(image);
  fails(compile("", "float", 90, &image, &size), DM_E_DEVICE, "error");
}

TEST_PROGRAM(test_backend_nvrtc) {
  dm_status status = dm_nvrtc_load(&nvrtc);
  if (status) {
    printf("skipped: %s\n", status->message);
    dm_status_free(status);
    return SKIPPED;
  }
  return run_all(NULL);
}

#else

TEST_PROGRAM(test_backend_nvrtc) {
  return SKIPPED;
}

#endif
