/* record_shim: records what a program does to the files of one folder; loaded by LD_PRELOAD.
 *
 *   RECORD=FILE         the record
 *   RECORD_FOLDER=PATH  absolute; files elsewhere are not recorded
 *
 * The record is a sequence of operations: one line "KIND INODE ARGUMENTS", and for "write" the
 * bytes and a line's end, in the order in which the calls ended. Files are known by their inode.
 * KIND: file (a new file without a name), open (INODE NAME, a new file or an existing one), write
 * (INODE OFFSET BYTES), cut (INODE LENGTH), reserve (INODE LENGTH), sync (INODE), folder (the
 * folder is synced), link (INODE NAME), rename (FROM TO), unlink (NAME). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

enum { MAPS = 16 };

/* A file that is written through memory: its contents are recorded with each sync and at the end.
 */
typedef struct map {
  void *memory;
  size_t length;
  unsigned long long inode;
} map;

static struct {
  int fd;
  pid_t pid;
  const char *folder;
  size_t length;
  map maps[MAPS];
  pthread_mutex_t lock;
} record = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static __attribute__((constructor)) void start(void) {
  const char *file = getenv("RECORD");
  record.folder = getenv("RECORD_FOLDER");
  if (!file || !record.folder || strncmp(program_invocation_short_name, "damier", 6) != 0) return;
  record.length = strlen(record.folder);
  record.pid = getpid();
  record.fd = NEXT(open)(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (record.fd < 0) _exit(99);
}

/* Not in the children that inspect files. */
static bool is_on(void) {
  return record.fd >= 0 && getpid() == record.pid;
}

static void put(const void *data, size_t bytes) {
  if (NEXT(write)(record.fd, data, bytes) != (ssize_t)bytes) _exit(99);
}

static void note(const void *data, size_t bytes, const char *format, ...) {
  char line[2400];
  const int error = errno;
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof line) _exit(99);
  pthread_mutex_lock(&record.lock);
  put(line, (size_t)length);
  if (bytes > 0) put(data, bytes);
  if (bytes > 0) put("\n", 1);
  pthread_mutex_unlock(&record.lock);
  errno = error;
}

/* The name of PATH in the folder, or NULL. */
static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!is_on()) return NULL;
  if (!slash) return NULL; /* tests name files by absolute paths */
  if ((size_t)(slash - path) != record.length || strncmp(path, record.folder, record.length) != 0)
    return NULL;
  return slash + 1;
}

/* The inode of FD if it is a file of the folder; 0: it is not. */
static unsigned long long inode_of(int fd) {
  char link[64], path[2200];
  struct stat info;
  if (!is_on()) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return name_of(path) && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? info.st_ino : 0;
}

static bool is_folder(int fd) {
  char link[64], path[2200];
  if (!is_on()) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return strcmp(path, record.folder) == 0;
}

/* ---- names ---- */

static void note_open(const char *path, int flags, int fd) {
  struct stat info;
  const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  if (fd < 0 || !is_on() || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (unnamed && strcmp(path, record.folder) == 0)
    note(NULL, 0, "file %llu\n", (unsigned long long)info.st_ino);
  if (unnamed || (flags & O_ACCMODE) == O_RDONLY || !name_of(path)) return;
  note(NULL, 0, "open %llu %s\n", (unsigned long long)info.st_ino, name_of(path));
  if (flags & O_TRUNC) note(NULL, 0, "cut %llu 0\n", (unsigned long long)info.st_ino);
}

#define OPENER(name)                                                                               \
  int name(const char *path, int flags, ...) {                                                     \
    va_list arguments;                                                                             \
    va_start(arguments, flags);                                                                    \
    const mode_t mode = va_arg(arguments, mode_t);                                                 \
    va_end(arguments);                                                                             \
    const int fd = NEXT(name)(path, flags, mode);                                                  \
    note_open(path, flags, fd);                                                                    \
    return fd;                                                                                     \
  }
OPENER(open)
OPENER(open64)

int rename(const char *from, const char *to) {
  const int failed = NEXT(rename)(from, to);
  if (!failed && name_of(from)) note(NULL, 0, "rename %s %s\n", name_of(from), name_of(to));
  return failed;
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  const int failed = NEXT(renameat2)(a, from, b, to, flags);
  if (!failed && name_of(from)) note(NULL, 0, "rename %s %s\n", name_of(from), name_of(to));
  return failed;
}

static void note_link(const char *to) {
  struct stat info;
  if (name_of(to) && lstat(to, &info) == 0)
    note(NULL, 0, "link %llu %s\n", (unsigned long long)info.st_ino, name_of(to));
}

int link(const char *from, const char *to) {
  const int failed = NEXT(link)(from, to);
  if (!failed) note_link(to);
  return failed;
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
  const int failed = NEXT(linkat)(a, from, b, to, flags);
  if (!failed) note_link(to);
  return failed;
}

int unlink(const char *path) {
  const int failed = NEXT(unlink)(path);
  if (!failed && name_of(path)) note(NULL, 0, "unlink %s\n", name_of(path));
  return failed;
}

/* ---- contents ---- */

static void note_write(int fd, const void *data, ssize_t bytes, off_t offset) {
  const unsigned long long inode = bytes > 0 ? inode_of(fd) : 0;
  if (inode) note(data, (size_t)bytes, "write %llu %lld %zd\n", inode, (long long)offset, bytes);
}

#define WRITER(name)                                                                               \
  ssize_t name(int fd, const void *data, size_t bytes, off_t offset) {                             \
    const ssize_t done = NEXT(name)(fd, data, bytes, offset);                                      \
    note_write(fd, data, done, offset);                                                            \
    return done;                                                                                   \
  }
WRITER(pwrite)
WRITER(pwrite64)

#define WRITER_OF_PIECES(name)                                                                     \
  ssize_t name(int fd, const struct iovec *list, int count, off_t offset) {                        \
    const ssize_t done = NEXT(name)(fd, list, count, offset);                                      \
    ssize_t left = done;                                                                           \
    for (int i = 0; i < count && left > 0; i++) {                                                  \
      const ssize_t part = left < (ssize_t)list[i].iov_len ? left : (ssize_t)list[i].iov_len;      \
      note_write(fd, list[i].iov_base, part, offset + (done - left));                              \
      left -= part;                                                                                \
    }                                                                                              \
    return done;                                                                                   \
  }
WRITER_OF_PIECES(pwritev)
WRITER_OF_PIECES(pwritev64)

ssize_t write(int fd, const void *data, size_t bytes) {
  const off_t offset = fd == record.fd || !inode_of(fd) ? -1 : lseek(fd, 0, SEEK_CUR);
  const ssize_t done = NEXT(write)(fd, data, bytes);
  if (offset >= 0) note_write(fd, data, done, offset);
  return done;
}

#define CUTTER(name)                                                                               \
  int name(int fd, off_t length) {                                                                 \
    const int failed = NEXT(name)(fd, length);                                                     \
    if (!failed && inode_of(fd))                                                                   \
      note(NULL, 0, "cut %llu %lld\n", inode_of(fd), (long long)length);                           \
    return failed;                                                                                 \
  }
CUTTER(ftruncate)
CUTTER(ftruncate64)

#define RESERVER(name)                                                                             \
  int name(int fd, int mode, off_t offset, off_t length) {                                         \
    const int failed = NEXT(name)(fd, mode, offset, length);                                       \
    if (!failed && !(mode & FALLOC_FL_KEEP_SIZE) && inode_of(fd))                                  \
      note(NULL, 0, "reserve %llu %lld\n", inode_of(fd), (long long)(offset + length));            \
    return failed;                                                                                 \
  }
RESERVER(fallocate)
RESERVER(fallocate64)

/* ---- memory ---- */

static void note_maps(unsigned long long inode) {
  for (int i = 0; i < MAPS; i++)
    if (record.maps[i].memory && record.maps[i].inode == inode)
      note(record.maps[i].memory, record.maps[i].length, "write %llu 0 %zd\n", inode,
           (ssize_t)record.maps[i].length);
}

#define MAPPER(name)                                                                               \
  void *name(void *at, size_t length, int rights, int flags, int fd, off_t offset) {               \
    void *memory = NEXT(name)(at, length, rights, flags, fd, offset);                              \
    if (memory == MAP_FAILED || fd < 0 || !(flags & MAP_SHARED) || !(rights & PROT_WRITE))         \
      return memory;                                                                               \
    const unsigned long long inode = inode_of(fd);                                                 \
    for (int i = 0; inode && i < MAPS; i++)                                                        \
      if (!record.maps[i].memory) {                                                                \
        record.maps[i] = (map){memory, length, inode};                                             \
        break;                                                                                     \
      }                                                                                            \
    return memory;                                                                                 \
  }
MAPPER(mmap)
MAPPER(mmap64)

int munmap(void *memory, size_t length) {
  for (int i = 0; record.fd >= 0 && i < MAPS; i++)
    if (record.maps[i].memory == memory && memory) {
      if (is_on()) note_maps(record.maps[i].inode);
      record.maps[i].memory = NULL;
    }
  return NEXT(munmap)(memory, length);
}

#define SYNCER(name)                                                                               \
  int name(int fd) {                                                                               \
    const unsigned long long inode = inode_of(fd);                                                 \
    if (inode) note_maps(inode);                                                                   \
    const int failed = NEXT(name)(fd);                                                             \
    if (!failed && inode) note(NULL, 0, "sync %llu\n", inode);                                     \
    if (!failed && is_folder(fd)) note(NULL, 0, "folder 0\n");                                     \
    return failed;                                                                                 \
  }
SYNCER(fsync)
SYNCER(fdatasync)
