/* fault_shim: makes one system call fail, fall short or be interrupted; loaded by LD_PRELOAD.
 *
 *   FAULT=CALL:N:KIND[,...]  the Nth matching CALL; N+: also all later ones.  KIND is an error
 *                      number, "short" (half the bytes), "kill" (SIGKILL instead of the call),
 *                      "term" (SIGTERM before the call),
 *                      "lie" (statvfs reports endless space), "flip" (read, write: flips a bit
 *                      in the exponent of one f64 in the middle of the bytes), "lose" (another
 *                      file gets its name before the call), or a delay such as "1500ms"
 *   FAULT_RANK=R       only in this rank; FAULT_PATH=TEXT  only files with TEXT in their path
 *   FAULT_SIZE=BYTES   only open files of at least BYTES bytes
 *   FAULT_TILES=N      only an open journal with all parts of at least N tiles
 *   FAULT_COUNT=FILE   appends a line "RANK CALL COUNT" for each matching call at exit
 *
 * CALL: read (pread, preadv), write (pwrite, pwritev), fsync, fdatasync, sync_file_range, rename,
 * fallocate, ftruncate, unlink, statvfs, and malloc (all allocating functions), if called by
 * the program, not by libraries, and not by CUDA's static one in it: that allocates for each
 * kernel before main starts, and crashes if it gets nothing. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "own_rank.h"

enum {
  READ,
  WRITE,
  FSYNC,
  FDATASYNC,
  SYNC_FILE_RANGE,
  RENAME,
  FALLOCATE,
  FTRUNCATE,
  UNLINK,
  STATVFS,
  MALLOC,
  CALLS
};
static const char *const names[CALLS] = {
    "read",      "write",     "fsync",  "fdatasync", "sync_file_range", "rename",
    "fallocate", "ftruncate", "unlink", "statvfs",   "malloc"};
enum { SHORT = -1, KILL = -2, LIE = -3, FLIP = -4, SLOW = -5, LOSE = -6, TERM = -7, FAULTS = 4 };

typedef struct planned {
  int call, kind; /* kind: an error number, or one of the above */
  long at;
  bool from_there_on;
  long milliseconds; /* of a slow call */
} planned;

static struct {
  planned list[FAULTS];
  int count;
  const char *path, *rank, *count_file;
  long long size, tiles;
  uintptr_t first, last; /* the program's code */
  uintptr_t base;        /* what its symbols count from */
  const ElfW(Sym) * symbols, *symbols_end;
  const char *symbol_names;
  long counts[CALLS];
  pid_t process;
  bool ready;
} fault;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);

static int note_program(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size, (void)data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    fault.first = info->dlpi_addr + part->p_vaddr;
    fault.last = fault.first + part->p_memsz;
  }
  fault.base = info->dlpi_addr;
  return 1; /* the first object is the program */
}

/* Maps the program's symbols; none if it was stripped. */
static void note_symbols(void) {
  struct stat seen;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const bool is_there = fd >= 0 && fstat(fd, &seen) == 0;
  const char *file =
      is_there ? mmap(NULL, (size_t)seen.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (fd >= 0) close(fd);
  if (file == MAP_FAILED) return;
  const ElfW(Ehdr) *head = (const void *)file;
  const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
  for (const ElfW(Shdr) *one = sections; one < sections + head->e_shnum; one++) {
    if (one->sh_type != SHT_SYMTAB) continue;
    fault.symbols = (const void *)(file + one->sh_offset);
    fault.symbols_end = fault.symbols + one->sh_size / sizeof *fault.symbols;
    fault.symbol_names = file + sections[one->sh_link].sh_offset;
  }
}

/* Whether PLACE, in the program, is in CUDA's static library. */
static bool is_in_cuda(uintptr_t place) {
  for (const ElfW(Sym) *one = fault.symbols; one < fault.symbols_end; one++) {
    if (place - fault.base - one->st_value >= one->st_size) continue;
    if (strncmp(fault.symbol_names + one->st_name, "libcudart_static_", 17) == 0) return true;
  }
  return false;
}

static int kind_of(const char *text) {
  return strcmp(text, "short") == 0  ? SHORT
         : strcmp(text, "kill") == 0 ? KILL
         : strcmp(text, "term") == 0 ? TERM
         : strcmp(text, "lie") == 0  ? LIE
         : strcmp(text, "flip") == 0 ? FLIP
         : strcmp(text, "lose") == 0 ? LOSE
         : strstr(text, "ms")        ? SLOW
                                     : atoi(text);
}

/* A misspelled fault must not make a test pass. */
static void parse_one(const char *text) {
  char call[32], number[32], kind[32];
  planned *new = &fault.list[fault.count];
  if (fault.count == FAULTS || sscanf(text, "%31[^:]:%31[^:]:%31s", call, number, kind) != 3)
    _exit(99);
  *new = (planned){.call = CALLS, .kind = kind_of(kind), .at = atol(number)};
  new->milliseconds = atol(kind);
  new->from_there_on = strchr(number, '+') != NULL;
  for (int i = 0; i < CALLS; i++)
    if (strcmp(call, names[i]) == 0) new->call = i;
  if (new->call == CALLS || new->kind == 0 || new->at <= 0) _exit(99);
  fault.count++;
}

static void parse(const char *text) {
  char copy[256], *rest = copy, *one;
  if (!text) return;
  snprintf(copy, sizeof copy, "%s", text);
  while ((one = strsep(&rest, ","))) parse_one(one);
}

static __attribute__((constructor)) void start(void) {
  if (strncmp(program_invocation_short_name, "damier", 6) != 0) return; /* a launcher */
  fault.process = getpid();
  fault.rank = own_rank();
  fault.path = getenv("FAULT_PATH");
  fault.count_file = getenv("FAULT_COUNT");
  if (getenv("FAULT_SIZE")) fault.size = atoll(getenv("FAULT_SIZE"));
  if (getenv("FAULT_TILES")) fault.tiles = atoll(getenv("FAULT_TILES"));
  dl_iterate_phdr(note_program, NULL);
  note_symbols();
  const char *rank = getenv("FAULT_RANK");
  if (!rank || strcmp(rank, fault.rank) == 0) parse(getenv("FAULT"));
  fault.ready = true;
}

static __attribute__((destructor)) void finish(void) {
  fault.ready = false;
  FILE *file = fault.count_file ? fopen(fault.count_file, "a") : NULL;
  for (int i = 0; file && i < CALLS; i++)
    if (fault.counts[i]) fprintf(file, "%s %s %ld\n", fault.rank, names[i], fault.counts[i]);
  if (file) fclose(file);
}

/* The program may end without destructors; its inspecting children do, uncounted. */
void _exit(int code) {
  if (getpid() == fault.process) finish();
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

static void pause_for(long milliseconds) {
  struct timespec left = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

/* Returns 0, or the kind of failure for this call. */
static int strike(int call) {
  const long number = __atomic_add_fetch(&fault.counts[call], 1, __ATOMIC_RELAXED);
  for (const planned *one = fault.list; one < fault.list + fault.count; one++) {
    if (call != one->call || (one->from_there_on ? number < one->at : number != one->at)) continue;
    if (one->kind == KILL) kill(getpid(), SIGKILL);
    if (one->kind == TERM) kill(getpid(), SIGTERM);
    if (one->kind == SLOW) pause_for(one->milliseconds);
    if (one->kind != SLOW && one->kind != TERM) return one->kind;
  }
  return 0;
}

static int strike_path(int call, const char *path) {
  const int hit = fault.ready && (!fault.path || strstr(path, fault.path)) ? strike(call) : 0;
  if (hit != LOSE) return hit;
  if (syscall(SYS_unlink, path) == 0) close((int)syscall(SYS_creat, path, 0644));
  return 0;
}

/* /dev/shm holds ordinary files. */
static bool is_device(const char *path) {
  return strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Tiles of which the journal LINK has all parts: each run's ranks record theirs in one order. */
static long long tiles_of(const char *link) {
  enum { HEADER = 1 << 16, RUNS = 8, PARTS = 8 };
  struct {
    long long tile[5], run;
    int part, parts;
    unsigned long long own;
  } record;
  long long counts[RUNS][PARTS] = {{0}}, tiles = 0;
  int parts[RUNS] = {0};
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
  for (off_t at = HEADER; NEXT(pread)(fd, &record, sizeof record, at) == sizeof record;
       at += sizeof record)
    if (record.parts > 0 && record.parts <= PARTS && record.run < RUNS) {
      parts[record.run] = record.parts;
      counts[record.run][record.part]++;
    }
  close(fd);
  for (int run = 0; run < RUNS; run++) {
    long long least = parts[run] > 0 ? counts[run][0] : 0;
    for (int part = 1; part < parts[run]; part++)
      if (counts[run][part] < least) least = counts[run][part];
    tiles += least;
  }
  return tiles;
}

static int strike_file(int call, int fd) {
  char link[64], path[1100];
  if (!fault.ready) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  if (path[0] != '/' || is_device(path)) return 0;
  struct stat seen;
  if (fault.size > 0 && (fstat(fd, &seen) != 0 || seen.st_size < fault.size)) return 0;
  if (fault.tiles > 0 && (!strstr(path, ".journal") || tiles_of(link) < fault.tiles)) return 0;
  return strike_path(call, path);
}

static int strike_memory(const void *caller) {
  const uintptr_t place = (uintptr_t)caller;
  const bool is_ours = place >= fault.first && place < fault.last;
  return fault.ready && is_ours && !is_in_cuda(place) ? strike(MALLOC) : 0;
}

#define HALF(bytes) ((bytes) > 1 ? (bytes) / 2 : (bytes))
#define FAIL(hit, value)                                                                           \
  do {                                                                                             \
    errno = (hit);                                                                                 \
    return value;                                                                                  \
  } while (0)

/* Flips one bit of the exponent, if the data are f64. */
static void flip(void *data, size_t bytes) {
  const size_t at = bytes / 2 | 7;
  if (at < bytes) ((unsigned char *)data)[at] ^= 0x10;
}

/* Copies the data: the caller's memory may be read-only. */
static ssize_t write_flipped(int fd, const void *data, size_t bytes, off_t offset) {
  void *copy = __libc_malloc(bytes);
  if (!copy) _exit(99);
  memcpy(copy, data, bytes);
  flip(copy, bytes);
  const ssize_t done = NEXT(pwrite)(fd, copy, bytes, offset);
  free(copy);
  return done;
}

#define READER(name)                                                                               \
  ssize_t name(int fd, void *data, size_t bytes, off_t offset) {                                   \
    const int hit = strike_file(READ, fd);                                                         \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    const ssize_t got = NEXT(name)(fd, data, hit == SHORT ? HALF(bytes) : bytes, offset);          \
    if (hit == FLIP && got > 0) flip(data, (size_t)got);                                           \
    return got;                                                                                    \
  }
READER(pread)
READER(pread64)

#define WRITER(name)                                                                               \
  ssize_t name(int fd, const void *data, size_t bytes, off_t offset) {                             \
    const int hit = strike_file(WRITE, fd);                                                        \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    if (hit == FLIP) return write_flipped(fd, data, bytes, offset);                                \
    return NEXT(name)(fd, data, hit == SHORT ? HALF(bytes) : bytes, offset);                       \
  }
WRITER(pwrite)
WRITER(pwrite64)

/* SHORT: half of the first piece. FLIP: in the first piece. */
#define READER_OF_PIECES(name)                                                                     \
  ssize_t name(int fd, const struct iovec *list, int count, off_t offset) {                        \
    const int hit = strike_file(READ, fd);                                                         \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    if (hit == SHORT) return NEXT(pread)(fd, list->iov_base, HALF(list->iov_len), offset);         \
    const ssize_t got = NEXT(name)(fd, list, count, offset);                                       \
    if (hit == FLIP && got >= (ssize_t)list->iov_len) flip(list->iov_base, list->iov_len);         \
    return got;                                                                                    \
  }
READER_OF_PIECES(preadv)
READER_OF_PIECES(preadv64)

#define WRITER_OF_PIECES(name)                                                                     \
  ssize_t name(int fd, const struct iovec *list, int count, off_t offset) {                        \
    const int hit = strike_file(WRITE, fd);                                                        \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    if (hit == SHORT) return NEXT(pwrite)(fd, list->iov_base, HALF(list->iov_len), offset);        \
    if (hit == FLIP) return write_flipped(fd, list->iov_base, list->iov_len, offset);              \
    return NEXT(name)(fd, list, count, offset);                                                    \
  }
WRITER_OF_PIECES(pwritev)
WRITER_OF_PIECES(pwritev64)

#define OF_FILE(name, call, parameters, ...)                                                       \
  int name parameters {                                                                            \
    const int hit = strike_file(call, fd);                                                         \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    return NEXT(name)(__VA_ARGS__);                                                                \
  }
OF_FILE(fsync, FSYNC, (int fd), fd)
OF_FILE(fdatasync, FDATASYNC, (int fd), fd)
OF_FILE(sync_file_range, SYNC_FILE_RANGE, (int fd, off_t from, off_t bytes, unsigned flags), fd,
        from, bytes, flags)
OF_FILE(fallocate, FALLOCATE, (int fd, int mode, off_t offset, off_t bytes), fd, mode, offset,
        bytes)
OF_FILE(ftruncate, FTRUNCATE, (int fd, off_t bytes), fd, bytes)
OF_FILE(ftruncate64, FTRUNCATE, (int fd, off_t bytes), fd, bytes)

#define OF_PATH(name, call, parameters, path, ...)                                                 \
  int name parameters {                                                                            \
    const int hit = strike_path(call, path);                                                       \
    if (hit > 0) FAIL(hit, -1);                                                                    \
    return NEXT(name)(__VA_ARGS__);                                                                \
  }
OF_PATH(rename, RENAME, (const char *from, const char *to), from, from, to)
OF_PATH(renameat2, RENAME, (int a, const char *from, int b, const char *to, unsigned int flags),
        from, a, from, b, to, flags)
OF_PATH(unlink, UNLINK, (const char *path), path, path)

int statvfs(const char *path, struct statvfs *info) {
  const int hit = fault.ready ? strike(STATVFS) : 0;
  if (hit > 0) FAIL(hit, -1);
  const int failed = NEXT(statvfs)(path, info);
  if (hit == LIE) info->f_bavail = info->f_bfree = (fsblkcnt_t)1 << 40;
  return failed;
}

void *malloc(size_t bytes) {
  const int hit = strike_memory(__builtin_return_address(0));
  if (hit > 0) FAIL(hit, NULL);
  return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
  const int hit = strike_memory(__builtin_return_address(0));
  if (hit > 0) FAIL(hit, NULL);
  return __libc_calloc(count, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  const int hit = strike_memory(__builtin_return_address(0));
  if (hit > 0) FAIL(hit, NULL);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  const int hit = strike_memory(__builtin_return_address(0));
  if (hit > 0) return hit;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
