/* The cuda backend: one rank's GPU. */
#include "backend/cuda.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda_gemm.h"
#include "backend/cuda_state.h"
#include "backend/gpu_list.h"
#include "backend/kernel_list.h"
#include "core/buffer.h"
#include "core/status.h"
#include "core/suggest.h"
#include "kernels/kernels.h"

static const char install_hint[] = "nvidia-smi lists the GPUs; CUDA_VISIBLE_DEVICES or the batch "
                                   "system may hide them; --backend cpu "
                                   "works without";

int dm_cuda_device_count(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

void dm_cuda_use_one_gpu(void) {
  char first[128];
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  snprintf(first, sizeof first, "%.*s", visible ? (int)strcspn(visible, ",") : 1,
           visible ? visible : "0");
  (void)setenv("CUDA_VISIBLE_DEVICES", first, 1); /* on failure the start only takes longer */
}

int dm_cuda_current(void) {
  int index = -1;
  if (cudaGetDevice(&index) == cudaSuccess) return index;
  (void)cudaGetLastError();
  return -1;
}

void dm_cuda_select(int index) {
  (void)cudaSetDevice(index);
}

bool dm_cuda_has_driver(void) {
  return access("/dev/nvidiactl", F_OK) == 0;
}

static bool select_gpu(int local_rank) {
  const int count = dm_cuda_device_count();
  return count > 0 && cudaSetDevice(local_rank % count) == cudaSuccess;
}

static void *load_cublas(void *unused) {
  (void)unused;
  (void)dm_cuda_library_open("cublas", CUBLAS_VER_MAJOR); /* the first product reports an error */
  return NULL;
}

/* cuBLAS is loaded while the context is created, after the driver's own libraries. */
bool dm_cuda_start(int local_rank) {
  pthread_t loading;
  const bool loads =
      dm_cuda_device_count() > 0 && pthread_create(&loading, NULL, load_cublas, NULL) == 0;
  const bool started = select_gpu(local_rank) && cudaFree(NULL) == cudaSuccess;
  (void)cudaGetLastError();
  if (loads) pthread_join(loading, NULL);
  return started;
}

void dm_cuda_stop(int local_rank) {
  if (select_gpu(local_rank)) (void)cudaDeviceReset();
}

/* 0.08 s for each GPU, and more for its memory. */
bool dm_cuda_ends_slowly(void) {
  const int count = dm_cuda_device_count();
  for (int i = 0; i < count; i++) {
    int mode;
    if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, i) != cudaSuccess ||
        mode != cudaComputeModeDefault)
      return false;
  }
  return count > 0;
}

/* The format of nvidia-smi -L. */
static void format_uuid(char text[48], const char bytes[16]) {
  char *end = text + snprintf(text, 48, "GPU");
  for (int i = 0; i < 16; i++) {
    bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    end += snprintf(end, (size_t)(text + 48 - end), "%s%02x", dash ? "-" : "",
                    (unsigned)(unsigned char)bytes[i]);
  }
}

enum { CUDA_KEPT = 16 }; /* part of the GPU's memory that is kept for later allocations, at most */

static dm_status choose_device(dm_cuda *gpu, const dm_backend_config *config) {
  cudaError_t answer = cudaGetDeviceCount(&gpu->visible);
  if (answer == cudaErrorNoDevice || (answer == cudaSuccess && gpu->visible == 0)) {
    (void)cudaGetLastError();
    return dm_hint(dm_fail(DM_E_DEVICE, "this process sees no GPU"), install_hint);
  }
  if (answer != cudaSuccess)
    return dm_hint(dm_cuda_error(NULL, answer, "cudaGetDeviceCount", __FILE__, __LINE__, __func__),
                   install_hint);

  gpu->index = config->local_rank % gpu->visible;
  gpu->sharing = 0;
  for (int rank = gpu->index; rank < config->local_ranks; rank += gpu->visible) gpu->sharing++;
  if (gpu->sharing < 1) gpu->sharing = 1;

  struct cudaDeviceProp properties;
  DM_CUDA(NULL, cudaGetDeviceProperties(&properties, gpu->index));
  snprintf(gpu->name, sizeof gpu->name, "%.63s", properties.name);
  format_uuid(gpu->id, properties.uuid.bytes);
  gpu->processors = properties.multiProcessorCount;
  gpu->capability = properties.major * 10 + properties.minor;
  gpu->pitch_limit = (int64_t)properties.memPitch;
  gpu->keeps = config->caches ? properties.totalGlobalMem / CUDA_KEPT : 0;
  return DM_OK;
}

/* Kernels that copy within the GPU come before blocks of products that have not begun: otherwise
 * the peers, who wait for what they copy, idle (one run of Gram products of 16384 on two H200: 2 to
 * 5 %). */
static dm_status open_lanes(dm_cuda *gpu) {
  int least, greatest;
  DM_CUDA(gpu, cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int i = 0; i < DM_LANES; i++) {
    DM_CUDA(gpu, cudaStreamCreateWithPriority(&gpu->lanes[i].stream, cudaStreamNonBlocking,
                                              i == DM_INWARD ? greatest : least));
    void *ring;
    DM_TRY(dm_buffer_zeroed(DM_CUDA_RING, sizeof(cudaEvent_t), &ring));
    gpu->lanes[i].ring = ring;
  }
  DM_CUDA(gpu, cudaStreamCreateWithPriority(&gpu->side, cudaStreamNonBlocking, greatest));
  return DM_OK;
}

static dm_status choose_kernel(dm_cuda *gpu, const char *name) {
  const char *const *names = dm_cuda_kernels();
  int count = 0, found = -1;
  if (!name) name = names[0];
  for (; names[count]; count++)
    if (strcmp(names[count], name) == 0) found = count;
  if (found < 0)
    return dm_suggest(dm_fail(DM_E_USAGE, "the cuda backend has no kernel '%s'", name), name, names,
                      count);
  gpu->kernel = dm_cuda_find_kernel(name);
  if (gpu->kernel && gpu->kernel->id == DM_KERNEL_jit)
    DM_TRY(dm_context(dm_cuda_need_nvrtc(gpu), "kernel %s", name));
  if (!gpu->kernel || dm_cuda_runs(gpu, gpu->kernel)) return DM_OK;
  const int first = gpu->kernel->first, last = gpu->kernel->last;
  return dm_fail(DM_E_USAGE, "kernel %s runs on compute capability %d.%d%s: %s has %d.%d", name,
                 first / 10, first % 10, last == first ? " alone" : " and later", gpu->name,
                 gpu->capability / 10, gpu->capability % 10);
}

static void cuda_leave(dm_backend *backend) {
  dm_cuda_of(backend)->leaves = true;
}

static void cuda_close(dm_backend *backend) {
  dm_cuda *gpu = dm_cuda_of(backend);
  /* Errors are ignored here: they were reported where they occurred. */
  (void)cudaSetDevice(gpu->index);
  dm_cuda_expect_end(gpu);
  for (int i = 0; i < DM_LANES; i++)
    if (gpu->lanes[i].stream) (void)cudaStreamSynchronize(gpu->lanes[i].stream);
  if (gpu->leaves) return;
  dm_cuda_close_lt(gpu);
  if (gpu->cublas) (void)cublasDestroy(gpu->cublas);
  if (gpu->whole) (void)cublasDestroy(gpu->whole);
  if (gpu->whole_beside) (void)cublasDestroy(gpu->whole_beside);
  dm_kernels_forget(gpu->compiled);
  dm_cuda_release_all(gpu);
  for (int i = 0; i < DM_LANES; i++) {
    dm_cuda_lane *lane = &gpu->lanes[i];
    for (int k = 0; lane->ring && k < DM_CUDA_RING; k++)
      if (lane->ring[k]) (void)cudaEventDestroy(lane->ring[k]);
    free(lane->ring);
    if (lane->stream) (void)cudaStreamDestroy(lane->stream);
  }
  if (gpu->side) (void)cudaStreamDestroy(gpu->side);
  if (gpu->beside) (void)cudaStreamDestroy(gpu->beside);
  if (gpu->ordered) (void)cudaEventDestroy(gpu->ordered);
  if (gpu->summed_lanes) (void)cudaEventDestroy(gpu->summed_lanes);
  if (gpu->brought) (void)cudaEventDestroy(gpu->brought);
  free(gpu->pending);
  (void)cudaGetLastError();
  free(gpu);
}

static const char *const asks_f64 = "CUBLAS_EMULATE_DOUBLE_PRECISION";
static const char *const asks_f32 = "CUBLAS_EMULATE_SINGLE_PRECISION";

static bool cuda_is_asked(const char *variable) {
  const char *value = getenv(variable);
  return value && value[0] && strcmp(value, "0") != 0;
}

/* All but what needs lanes. */
static dm_status choose_mode(dm_cuda *gpu, const dm_compute *compute, const char *kernel) {
  gpu->mode = compute ? *compute : (dm_compute){.name = ""};
  gpu->operand = gpu->mode.operand;
  DM_TRY(choose_kernel(gpu, kernel));
  return dm_cuda_open_residues(gpu);
}

static dm_status cuda_set_mode(dm_backend *backend, const dm_backend_mode *mode) {
  dm_cuda *gpu = dm_cuda_of(backend);
  gpu->tile = mode->tile;
  DM_TRY(dm_cuda_enter(gpu));
  DM_TRY(choose_mode(gpu, mode->compute, mode->kernel));
  return dm_cuda_open_split(gpu);
}

static dm_status cuda_open(dm_backend **backend, const dm_backend_config *config) {
  dm_cuda *gpu;
  DM_TRY(dm_buffer_table(1, &gpu));
  gpu->base.ops = &dm_backend_cuda;
  gpu->tile = config->tile;
  gpu->pedantic_f64 = cuda_is_asked(asks_f64);
  gpu->pedantic_f32 = cuda_is_asked(asks_f32);

  dm_status status;
  DM_TRY_GOTO(status, choose_device(gpu, config), failed_early);
  DM_TRY_GOTO(status, choose_mode(gpu, config->compute, config->kernel), failed_early);
  DM_TRY_GOTO(status, dm_cuda_enter(gpu), failed_early);
  DM_TRY_GOTO(status, open_lanes(gpu), failed);
  /* Allocated now, so that it is not counted as free. */
  if (!config->whole) DM_TRY_GOTO(status, dm_cuda_need_workspace(gpu), failed);
  DM_TRY_GOTO(status, dm_cuda_open_split(gpu), failed);
  *backend = &gpu->base;
  return DM_OK;

failed:
  cuda_close(&gpu->base);
  return status;
failed_early:
  free(gpu);
  return status;
}

/* The CPUs next to the GPU's slot, from Linux; empty on error. */
static void cuda_find_neighbours(const dm_cuda *gpu, char *near, int size) {
  char bus[32], path[96];
  near[0] = 0;
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, gpu->index) != cudaSuccess) return;
  for (char *at = bus; *at; at++) *at = (char)tolower((unsigned char)*at);
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", bus);
  FILE *file = fopen(path, "r");
  if (!file) return;
  if (!fgets(near, size, file)) near[0] = 0;
  near[strcspn(near, "\n")] = 0;
  fclose(file);
}

static dm_status cuda_device(dm_backend *backend, dm_device *device) {
  dm_cuda *gpu = dm_cuda_of(backend);
  DM_TRY(dm_cuda_enter(gpu));
  *device = (dm_device){
      .index = gpu->index, .visible = gpu->visible, .sharing = gpu->sharing, .threads = 1};
  device->own_kernels = dm_cuda_is_hopper(gpu);
  memcpy(device->name, gpu->name, sizeof device->name);
  memcpy(device->id, gpu->id, sizeof device->id);
  cuda_find_neighbours(gpu, device->near, sizeof device->near);

  size_t available, total;
  DM_CUDA(gpu, cudaMemGetInfo(&available, &total));
  device->memory_free = (int64_t)available + dm_cuda_cached_bytes(gpu);
  device->memory_total = (int64_t)total;

  int version[3];
  dm_cuda_cublas_version(version);
  snprintf(device->library, sizeof device->library, "cuBLAS %d.%d.%d%s", version[0], version[1],
           version[2], gpu->pedantic_f64 || gpu->pedantic_f32 ? ", pedantic" : "");
  if (gpu->pedantic_f64 || gpu->pedantic_f32)
    snprintf(
        device->advice, sizeof device->advice,
        "%s asks cuBLAS to emulate, but products stay native, with its slower pedantic kernels: "
        "unset it; --compute %s emulates",
        gpu->pedantic_f64 ? asks_f64 : asks_f32, gpu->pedantic_f64 ? "f64:int8" : "f32:f16");
  return DM_OK;
}

const dm_backend_ops dm_backend_cuda = {
    .name = "cuda",
    .about = "NVIDIA GPUs: cuBLAS and own kernels",
    .device_memory = true,
    .slow_start = true,
    .open = cuda_open,
    .leave = cuda_leave,
    .close = cuda_close,
    .device = cuda_device,
    .set_mode = cuda_set_mode,
    .alloc = dm_cuda_alloc,
    .release = dm_cuda_release,
    .copy = dm_cuda_copy,
    .copy_runs = dm_cuda_copy_runs,
    .transpose = dm_cuda_transpose,
    .memory_kind = dm_cuda_kind,
    .await = dm_cuda_await,
    .gemm = dm_cuda_gemm,
    .gemm_parts = dm_cuda_multiply_residues,
    .finish = dm_cuda_finish_residues,
    .mirror = dm_cuda_mirror,
    .join = dm_cuda_join_residues,
    .native_lines = dm_cuda_natively,
    .extremes = dm_cuda_extremes,
    .line_sums = dm_cuda_line_sums,
    .test = dm_cuda_test,
    .wait = dm_cuda_wait,
    .probe = dm_cuda_probe,
    .scan = dm_cuda_scan,
    .checksum = dm_cuda_checksum,
    .settle = dm_cuda_settle,
    .expect_sums = dm_cuda_expect_sums,
    .fill = dm_cuda_fill,
    .add = dm_cuda_add,
    .dot = dm_cuda_dot,
    .epilogue = dm_cuda_epilogue,
    .moments = dm_cuda_moments,
    .center = dm_cuda_center,
    .pairs = dm_cuda_pairs,
    .correlate = dm_cuda_correlate,
    .sift = dm_cuda_sift,
    .raise = dm_cuda_raise,
    .kernel_names = dm_cuda_kernels,
    .can_multiply = dm_cuda_suits,
    .multiplies_in_mode = dm_cuda_has_in_mode,
    .prefers_panels = dm_cuda_prefers_panels,
    .multiply = dm_cuda_multiply_whole,
    .multiply_verified = dm_cuda_multiply_verified,
    .library_gemm = dm_cuda_time_direct,
    .kernel_multiplies = dm_cuda_takes,
    .kernel_copies = dm_cuda_copies,
};

/* ---- the GPUs of this computer, as the driver lists them in /proc, or else its management library
 * ----
 */

#define FOLDER "/proc/driver/nvidia/gpus"

/* The text after KEY in LINE, without blanks around it; false: LINE is another one. */
static bool cuda_take(const char *line, const char *key, char *to, size_t room) {
  const size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return false;
  line += length + strspn(line + length, " \t");
  snprintf(to, room, "%.*s", (int)strcspn(line, "\n"), line);
  return true;
}

/* False: it cannot be read, or a container hides the device. */
static bool read_gpu(const char *bus, dm_listed_gpu *gpu) {
  char path[sizeof FOLDER + 300], line[256], minor[16] = "", device[40];
  *gpu = (dm_listed_gpu){.id = ""};
  snprintf(path, sizeof path, FOLDER "/%.255s/information", bus);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  while (fgets(line, sizeof line, file)) {
    (void)(cuda_take(line, "Model:", gpu->name, sizeof gpu->name) ||
           cuda_take(line, "GPU UUID:", gpu->id, sizeof gpu->id) ||
           cuda_take(line, "Device Minor:", minor, sizeof minor));
  }
  fclose(file);
  snprintf(device, sizeof device, "/dev/nvidia%s", minor);
  return minor[0] && access(device, R_OK | W_OK) == 0;
}

static int skip_dots(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

void dm_cuda_list(dm_gpu_list *list) {
  struct dirent **entries = NULL;
  const int count = scandir(FOLDER, &entries, skip_dots, alphasort); /* by bus, as CUDA does */
  list->count = 0;
  for (int i = 0; i < count; i++) {
    if (list->count < DM_GPUS && read_gpu(entries[i]->d_name, &list->gpu[list->count]))
      list->count++;
    free(entries[i]);
  }
  free(entries);
  if (list->count == 0 && dm_cuda_has_driver()) dm_nvml_list(list);
}
