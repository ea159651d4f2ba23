/* flip_memory: flips bits in the memory of a device during a product. Linked into a library, it
 * wraps the library's calls of the backend (LINKER:--wrap): it thus knows the job's allocations and
 * can strike at any call. */
#include "backend/backend.h"
#include "backend/verify_sums.h"

enum { MOST = 64, SHARES = 2 }; /* the first allocations are the shares of A and B */

typedef struct block {
  char *memory; /* NULL: released */
  int64_t bytes;
} block;

static struct {
  block blocks[MOST]; /* in order of allocation */
  block pieces[MOST]; /* pieces of shares with checksums */
  int count, taken;
  long calls; /* so far */
  long call;  /* the call at which a bit flips; 0: none */
  int of;     /* index of the block */
  int64_t bit;
  bool struck;
  dm_event product;  /* the last one: its output must not change while it runs */
  long copies, copy; /* to the host: so far, and the one whose data change on arrival */
  dm_event arrival;
  dm_view arrived;
} flips;

void flip_memory_next(long call, int of, int64_t bit);
void flip_memory_copy(long copy);
long flip_memory_calls(void);
long flip_memory_copies(void);
int64_t flip_memory_bytes(int of);
int flip_memory_struck(void);

/* At the CALLth call from now on, flips BIT of block OF; in a share only if that piece has arrived
 * and has a checksum. */
void flip_memory_next(long call, int of, int64_t bit) {
  flips.count = flips.taken = 0;
  flips.calls = 0;
  flips.call = call;
  flips.of = of;
  flips.bit = bit;
  flips.struck = false;
  flips.product = 0;
  flips.copies = flips.copy = 0;
  flips.arrival = 0;
}

/* After flip_memory_next: flips bit 61 of an element of the COPYth copy to the host. */
void flip_memory_copy(long copy) {
  flips.copy = copy;
}

long flip_memory_copies(void) {
  return flips.copies;
}

/* Since the last flip_memory_next: number of calls; bytes of a block, 0 if there is none; whether a
 * bit has flipped. */
long flip_memory_calls(void) {
  return flips.calls;
}

int64_t flip_memory_bytes(int of) {
  return of < flips.count ? flips.blocks[of].bytes : 0;
}

int flip_memory_struck(void) {
  return flips.struck;
}

#define WRAPPED(name)                                                                              \
  extern __typeof__(name) __real_##name; /* NOLINT: the linker's name */                           \
  __typeof__(name) __wrap_##name;
WRAPPED(dm_backend_alloc)
WRAPPED(dm_backend_release)
WRAPPED(dm_backend_copy)
WRAPPED(dm_backend_gemm)
WRAPPED(dm_backend_probe)
WRAPPED(dm_backend_checksum)
WRAPPED(dm_backend_settle)
WRAPPED(dm_backend_test)

static dm_status copy_byte(dm_backend *backend, char *device, unsigned char *host, bool outward) {
  const dm_view there = dm_view_strided(device, DM_I8, DM_DEVICE, 1, 1, 1);
  const dm_view here = dm_view_row_major(host, DM_I8, 1, 1);
  dm_event done;
  dm_status status =
      __real_dm_backend_copy(backend, outward ? here : there, outward ? there : here, &done);
  return status ? status : dm_backend_wait(backend, done);
}

static bool is_taken(const char *at) {
  for (int i = 0; i < flips.taken; i++) {
    const block *piece = &flips.pieces[i];
    if (at >= piece->memory && at < piece->memory + piece->bytes) return true;
  }
  return flips.of >= SHARES;
}

/* Counts the next call, and flips the bit if it is the chosen one. Skips the CPU backend that the
 * emulated device uses. */
static dm_status strike(dm_backend *backend) {
  const block *hit = &flips.blocks[flips.of];
  unsigned char byte;
  if (!backend->ops->device_memory) return DM_OK;
  if (++flips.calls != flips.call || flips.of >= flips.count || !hit->memory ||
      flips.bit / 8 >= hit->bytes || !is_taken(hit->memory + flips.bit / 8))
    return DM_OK;
  dm_status status = dm_backend_wait(backend, flips.product);
  if (!status) status = copy_byte(backend, hit->memory + flips.bit / 8, &byte, true);
  byte ^= (unsigned char)(1u << flips.bit % 8);
  if (!status) status = copy_byte(backend, hit->memory + flips.bit / 8, &byte, false);
  flips.struck = !status;
  return status;
}

dm_status __wrap_dm_backend_alloc(dm_backend *backend, dm_space space, int64_t bytes,
                                  void **memory) {
  dm_status status = __real_dm_backend_alloc(backend, space, bytes, memory);
  if (!status && space == DM_DEVICE && flips.count < MOST)
    flips.blocks[flips.count++] = (block){*memory, bytes};
  return status;
}

void __wrap_dm_backend_release(dm_backend *backend, dm_space space, void *memory) {
  for (int i = 0; i < flips.count; i++)
    if (flips.blocks[i].memory == memory) flips.blocks[i].memory = NULL;
  __real_dm_backend_release(backend, space, memory);
}

dm_status __wrap_dm_backend_copy(dm_backend *backend, dm_view dst, dm_view src, dm_event *done) {
  dm_status status = strike(backend);
  if (!status) status = __real_dm_backend_copy(backend, dst, src, done);
  if (status || src.space != DM_DEVICE || dst.space != DM_HOST) return status;
  if (++flips.copies != flips.copy) return DM_OK;
  flips.arrival = *done;
  flips.arrived = dst;
  return DM_OK;
}

dm_status __wrap_dm_backend_test(dm_backend *backend, dm_event event, bool *done) {
  dm_status status = __real_dm_backend_test(backend, event, done);
  if (status || !*done || event == 0 || event != flips.arrival) return status;
  const dm_view at = flips.arrived;
  ((unsigned char *)dm_view_at(at, at.rows / 2, at.cols / 2))[dm_dtype_size(at.dtype) - 1] ^= 0x20;
  flips.arrival = 0;
  flips.struck = true;
  return DM_OK;
}

dm_status __wrap_dm_backend_gemm(dm_backend *backend, dm_view c, dm_view a, dm_view b,
                                 bool accumulate, dm_event *done) {
  dm_status status = strike(backend);
  if (!status) status = __real_dm_backend_gemm(backend, c, a, b, accumulate, done);
  if (!status && backend->ops->device_memory) flips.product = *done;
  return status;
}

dm_status __wrap_dm_backend_probe(dm_backend *backend, dm_view matrix, const void *x, void *y,
                                  double *squares) {
  dm_status status = strike(backend);
  return status ? status : __real_dm_backend_probe(backend, matrix, x, y, squares);
}

dm_status __wrap_dm_backend_checksum(dm_backend *backend, dm_view matrix, dm_element_place place,
                                     bool subtract, uint64_t *sum) {
  dm_status status = strike(backend);
  if (!status) status = __real_dm_backend_checksum(backend, matrix, place, subtract, sum);
  if (!status && !subtract && flips.taken < MOST)
    flips.pieces[flips.taken++] =
        (block){matrix.base, ((matrix.rows - 1) * matrix.row_stride + matrix.cols) *
                                 dm_dtype_size(matrix.dtype)};
  return status;
}

dm_status __wrap_dm_backend_settle(dm_backend *backend) {
  dm_status status = strike(backend);
  return status ? status : __real_dm_backend_settle(backend);
}
