/* tmpfs_pages: how fast pages and data of a new file on a tmpfs can be written.
 *
 *   cc -O2 -pthread scripts/bench/tmpfs_pages.c -o tmpfs_pages
 *   ./tmpfs_pages FILE GIB THREADS
 *
 * Each output line is one way to write the file, in pieces of 1 MiB, with or without space that one
 * thread reserves before (fallocate).  damier writes as in "reserved: populate, copy, leave". */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

enum { PIECE = 1 << 20, MOST = 64 };
enum { RESERVE = 1, POPULATE = 2, COPY = 4, LEAVE = 8, PWRITE = 16, RESERVE_PIECES = 32 };

static const struct {
  const char *name;
  int steps;
} ways[] = {
    {"reserved: populate, copy, leave", RESERVE | POPULATE | COPY | LEAVE},
    {"reserved: populate, copy", RESERVE | POPULATE | COPY},
    {"reserved: pwrite", RESERVE | PWRITE},
    {"populate, copy", POPULATE | COPY},
    {"pwrite", PWRITE},
    {"fallocate in pieces", RESERVE_PIECES},
};

static int fd, steps;
static long bytes;
static char *map;
static atomic_long next;

static void check(int failed, const char *what) {
  if (!failed) return;
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void move(const char *from, long at) {
  char *to = map + at;
  if (steps & RESERVE_PIECES) check(fallocate(fd, 0, at, PIECE), "fallocate");
  if (steps & POPULATE) check(madvise(to, PIECE, MADV_POPULATE_WRITE), "MADV_POPULATE_WRITE");
  if (steps & COPY) memcpy(to, from, PIECE);
  if (steps & LEAVE) check(madvise(to, PIECE, MADV_DONTNEED), "MADV_DONTNEED");
  if (steps & PWRITE) check(pwrite(fd, from, PIECE, at) != PIECE, "pwrite");
}

static void *work(void *from) {
  for (long at; (at = atomic_fetch_add(&next, PIECE)) < bytes;) move(from, at);
  return NULL;
}

static void measure(const char *file, int way, char *const *from, int threads) {
  pthread_t thread[MOST];
  unlink(file);
  fd = open(file, O_RDWR | O_CREAT | O_EXCL, 0600);
  check(fd < 0 || ftruncate(fd, bytes), file);
  steps = ways[way].steps;
  const double reserving = now();
  if (steps & RESERVE) check(fallocate(fd, 0, 0, bytes), "fallocate");
  map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check(map == MAP_FAILED, "mmap");
  const double start = now();
  atomic_store(&next, 0);
  for (int i = 0; i < threads; i++)
    check(pthread_create(&thread[i], NULL, work, from[i]), "pthread_create");
  for (int i = 0; i < threads; i++) check(pthread_join(thread[i], NULL), "pthread_join");
  const double end = now();
  check(munmap(map, (size_t)bytes), "munmap");
  printf("%-32s %7.3f s %6.1f GB/s; reserving %.3f s, munmap %.3f s\n", ways[way].name, end - start,
         (double)bytes / (end - start) * 1e-9, steps & RESERVE ? start - reserving : 0.0,
         now() - end);
  close(fd);
}

int main(int count, char **words) {
  char *from[MOST];
  const int threads = count == 4 ? atoi(words[3]) : 0;
  bytes = count == 4 ? atol(words[2]) << 30 : 0;
  if (bytes <= 0 || threads < 1 || threads > MOST) {
    fprintf(stderr, "usage: tmpfs_pages FILE GIB THREADS (at most %d)\n", MOST);
    return 2;
  }
  for (int i = 0; i < threads; i++) {
    from[i] = malloc(PIECE);
    check(!from[i], "malloc");
    memset(from[i], i + 1, PIECE);
  }
  for (int round = 0; round < 2; round++)
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
      measure(words[1], (int)way, from, threads);
  unlink(words[1]);
  return 0;
}
