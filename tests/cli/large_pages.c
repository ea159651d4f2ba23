/* Pretends that pages have 64 KiB, as on some Arm and POWER systems: what assumes 4 KiB fails, or
 * loses data, as it would there. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 1 << 16, REAL = 1 << 12, AT_ONCE = 1 << 16 };

static void *real_function(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

static size_t to_pages(size_t bytes) {
  return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* 0, or -1 if ADDRESS begins no page. */
static int check(const void *address, const char *caller) {
  static const char words[] = ": not at the beginning of a page of 64 KiB\n";
  if ((uintptr_t)address % PAGE == 0) return 0;
  (void)!write(STDERR_FILENO, caller, strlen(caller));
  (void)!write(STDERR_FILENO, words, sizeof words - 1);
  errno = EINVAL;
  return -1;
}

long sysconf(int name) {
  long (*real)(int);
  *(void **)&real = real_function("sysconf");
  return name == _SC_PAGESIZE ? PAGE : real(name);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  void *(*real)(void *, size_t, int, int, int, off_t);
  *(void **)&real = real_function("mmap");
  if (check((void *)(uintptr_t)offset, "mmap")) return MAP_FAILED;
  if (flags & MAP_FIXED) return real(address, bytes, protection, flags, file, offset);
  char *room = real(NULL, to_pages(bytes) + PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return MAP_FAILED;
  char *at = room + (PAGE - (uintptr_t)room % PAGE) % PAGE;
  char *made = real(at, bytes, protection, flags | MAP_FIXED, file, offset);
  const int failed = errno;
  if (made == MAP_FAILED) at = room + to_pages(bytes) + PAGE; /* all goes */
  if (at > room) (void)munmap(room, (size_t)(at - room));
  char *end = made == MAP_FAILED ? at : at + (bytes + REAL - 1) / REAL * REAL;
  if (end < room + to_pages(bytes) + PAGE)
    (void)munmap(end, (size_t)(room + to_pages(bytes) + PAGE - end));
  errno = failed;
  return made;
}

/* Of whole pages, where these are mapped. */
int madvise(void *address, size_t bytes, int advice) {
  int (*real)(void *, size_t, int);
  *(void **)&real = real_function("madvise");
  if (check(address, "madvise")) return -1;
  if (real(address, to_pages(bytes), advice) == 0) return 0;
  return real(address, bytes, advice);
}

int mincore(void *address, size_t bytes, unsigned char *resident) {
  static __thread unsigned char real_pages[AT_ONCE / REAL];
  int (*real)(void *, size_t, unsigned char *);
  *(void **)&real = real_function("mincore");
  if (check(address, "mincore")) return -1;
  for (size_t at = 0; at < bytes; at += AT_ONCE) {
    const size_t part = bytes - at < AT_ONCE ? bytes - at : AT_ONCE;
    if (real((char *)address + at, part, real_pages) != 0) return -1;
    resident[at / PAGE] = real_pages[0];
  }
  return 0;
}
