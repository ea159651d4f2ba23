/* read_strips: the cost of reading columns of a row-major matrix from a file.
 *
 *   cc -O2 -pthread scripts/bench/read_strips.c -o read_strips
 *   ./read_strips FILE ROWS COLS STRIP THREADS warm|cold
 *
 * The file has ROWS x COLS f64 (and is created if missing).  THREADS read STRIP columns of all rows
 * in three ways: a pread per row; whole rows, of which STRIP columns are kept (data sieving); and,
 * for comparison, as many contiguous bytes.  cold: the file is dropped from the page cache before
 * each run.  Medians of 5, in GB/s of kept data. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BAND = 8 << 20, TIMES = 5, MOST = 64 };

static int fd;
static long rows, cols, strip, threads;
static char *kept;

typedef struct part {
  pthread_t thread;
  int way;
  long first, last; /* rows */
} part;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void get(char *to, long bytes, long at) {
  for (long done = 0; done < bytes;) {
    ssize_t n = pread(fd, to + done, (size_t)(bytes - done), at + done);
    if (n <= 0) fail("pread");
    done += n;
  }
}

static void *work(void *argument) {
  part *p = argument;
  long run = strip * 8, row = cols * 8, band = BAND / row > 0 ? BAND / row : 1;
  char *wide = p->way == 1 ? malloc((size_t)(band * row)) : NULL;
  if (p->way == 2) get(kept + p->first * run, (p->last - p->first) * run, p->first * run);
  for (long i = p->first; i < p->last && p->way == 0; i++) get(kept + i * run, run, i * row);
  for (long i = p->first; i < p->last && p->way == 1; i += band) {
    long count = p->last - i < band ? p->last - i : band;
    get(wide, (count - 1) * row + run, i * row);
    for (long j = 0; j < count; j++) memcpy(kept + (i + j) * run, wide + j * row, (size_t)run);
  }
  free(wide);
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double once(int way, int cold) {
  part parts[MOST];
  if (cold && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)) fail("posix_fadvise");
  double start = now();
  for (long i = 0; i < threads; i++) {
    parts[i] = (part){.way = way, .first = rows * i / threads, .last = rows * (i + 1) / threads};
    if (pthread_create(&parts[i].thread, NULL, work, &parts[i])) fail("pthread_create");
  }
  for (long i = 0; i < threads; i++) pthread_join(parts[i].thread, NULL);
  return now() - start;
}

static int compare(const void *a, const void *b) {
  return *(const double *)a > *(const double *)b ? 1 : -1;
}

static void make(const char *path) {
  struct stat info;
  fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || fstat(fd, &info)) fail(path);
  if (info.st_size == rows * cols * 8) return;
  char *row = malloc((size_t)cols * 8);
  for (long i = 0; i < rows; i++) {
    memset(row, (int)i, (size_t)cols * 8);
    if (pwrite(fd, row, (size_t)cols * 8, i * cols * 8) != cols * 8) fail("pwrite");
  }
  free(row);
  if (fsync(fd)) fail("fsync");
}

int main(int count, char **words) {
  if (count != 7) {
    fprintf(stderr, "usage: %s FILE ROWS COLS STRIP THREADS warm|cold\n", words[0]);
    return 2;
  }
  rows = atol(words[2]), cols = atol(words[3]), strip = atol(words[4]), threads = atol(words[5]);
  if (threads < 1 || threads > MOST || strip < 1 || strip > cols) return 2;
  int cold = strcmp(words[6], "cold") == 0;
  make(words[1]);
  kept = calloc((size_t)rows, (size_t)strip * 8);
  static double seconds[3][TIMES];
  for (int way = 0; way < 3; way++) once(way, 0);
  for (int i = 0; i < TIMES; i++)
    for (int way = 0; way < 3; way++) seconds[way][i] = once(way, cold);
  printf("%ld x %ld, run %ld KiB, %ld threads, %s:", rows, cols, strip * 8 / 1024, threads,
         words[6]);
  static const char *const names[] = {"row by row", "sieved", "whole rows"};
  for (int way = 0; way < 3; way++) {
    qsort(seconds[way], TIMES, sizeof(double), compare);
    printf("  %s %.2f", names[way], (double)(rows * strip * 8) * 1e-9 / seconds[way][TIMES / 2]);
  }
  printf(" GB/s\n");
  return 0;
}
