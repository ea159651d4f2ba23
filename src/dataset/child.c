#include "dataset/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "dataset/hdf5_use.h"

enum {
  MEMORY_LIMIT = 1 << 30,
  CPU_SECONDS = 10,
  WALL_SECONDS = 40,
  LONGEST_POLL = 3600,
  CHILD_MAGIC = 0x646d6a31
};

/* The child's first message; the result follows. */
typedef struct child_answer {
  uint32_t magic, failed;
  dm_error error;
} child_answer;

#if !defined __SANITIZE_ADDRESS__
/* Libraries of the parent may have reserved address space: the limit is on top of that. */
static void limit_memory(void) {
  rlim_t used = 0;
  char text[64] = "";
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
    used = (rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
  if (fd >= 0) close(fd);
  struct rlimit limit = {used + MEMORY_LIMIT, used + MEMORY_LIMIT};
  setrlimit(RLIMIT_AS, &limit);
}
#endif

static void set_limits(void) {
  static const int defaults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGALRM};
  for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) signal(defaults[i], SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  sigset_t none; /* the parent thread may block signals */
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* Ctrl-C, and launchers that signal the whole group: the parent decides, and this ends with it.
   */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 0);
  struct rlimit no_core = {0, 0}, cpu = {CPU_SECONDS, CPU_SECONDS + 2};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &cpu);
#if !defined __SANITIZE_ADDRESS__
  limit_memory();
#endif
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDERR_FILENO);
}

static bool send_all(int fd, const void *data, size_t bytes) {
  for (const char *at = data; bytes > 0;) {
    ssize_t sent = write(fd, at, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

static bool send_tail(int fd, dm_status status, const dm_child_tail *tail, const void *result) {
  int64_t more = 0;
  const void *memory = status ? NULL : tail->of(result, &more);
  if (!memory) more = 0;
  return send_all(fd, &more, sizeof more) && send_all(fd, memory, (size_t)more);
}

static _Noreturn void be_child(int fd, dm_child_work work, const void *argument, void *result,
                               int64_t bytes, const dm_child_tail *tail) {
  set_limits();
  dm_status status = work(argument, result);
  child_answer first = {.magic = CHILD_MAGIC, .failed = status != DM_OK};
  if (status) first.error = *status;
  bool sent = send_all(fd, &first, sizeof first) && send_all(fd, result, (size_t)bytes);
  if (sent && tail) sent = send_tail(fd, status, tail, result);
  _exit(sent ? 0 : 1); /* not exit: buffers and handlers belong to the parent */
}

/* False: no more data before DEADLINE, or the child is gone. */
static bool child_receive(int fd, void *data, size_t bytes, double deadline) {
  for (char *at = data; bytes > 0;) {
    double left = deadline - dm_now();
    struct pollfd event = {.fd = fd, .events = POLLIN};
    const double turn = left < LONGEST_POLL ? left : LONGEST_POLL;
    int ready = left > 0 ? poll(&event, 1, (int)(turn * 1000) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > turn) continue;
    if (ready <= 0) return false;
    ssize_t got = read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= (size_t)got;
  }
  return true;
}

/* False: it did not arrive, or is not sensible. */
static bool receive_tail(int fd, dm_child_tail *tail, double deadline) {
  tail->memory = NULL;
  tail->bytes = 0;
  int64_t bytes;
  if (!child_receive(fd, &bytes, sizeof bytes, deadline) || bytes < 0 || bytes > tail->limit)
    return false;
  if (bytes == 0) return true;
  tail->memory = malloc((size_t)bytes);
  if (!tail->memory) return false;
  tail->bytes = bytes;
  if (child_receive(fd, tail->memory, (size_t)bytes, deadline)) return true;
  free(tail->memory);
  tail->memory = NULL;
  return false;
}

/* Waits for the end of the child; abandons one that hangs in the kernel even after SIGKILL. */
static bool reap(pid_t pid, int *how, struct rusage *usage) {
  double deadline = dm_now() + 5;
  do {
    pid_t ended = wait4(pid, how, WNOHANG, usage);
    if (ended == pid) return true;
    if (ended < 0 && errno != EINTR) return false;
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
  } while (dm_now() < deadline);
  return false;
}

static dm_status why_silent(const dm_location *at, double seconds, bool ended, int how,
                            const struct rusage *usage) {
  bool busy = ended && usage->ru_utime.tv_sec + usage->ru_stime.tv_sec >= CPU_SECONDS / 3;
  if (busy)
    return dm_fail_at(DM_E_INPUT, at, "rejected: the HDF5 library did not finish reading it");
  if (ended && WIFSIGNALED(how) && WTERMSIG(how) != SIGKILL)
    return dm_fail_at(DM_E_INPUT, at, "rejected: the HDF5 library crashed while reading it");
  if (ended && !WIFSIGNALED(how))
    return dm_fail_at(DM_E_INPUT, at, "rejected: reading it ended without an answer");
  return dm_hint(
      dm_fail_at(DM_E_IO, at, "its inspection was killed or did not answer within %.3g s", seconds),
      "is its file system reachable? --hang-timeout states how long to wait");
}

static dm_status accept_error(const dm_location *at, const child_answer *first) {
  dm_error error = first->error;
  error.message[sizeof error.message - 1] = error.hint[sizeof error.hint - 1] = '\0';
  error.place[sizeof error.place - 1] = '\0';
  dm_text_clean(error.message);
  dm_text_clean(error.hint);
  dm_text_clean(error.place);
  error.rank = -1;
  error.others = 0;
  error.agreed = false;
  if (error.code != DM_E_USAGE && error.code != DM_E_INPUT && error.code != DM_E_IO &&
      error.code != DM_E_FIT)
    return dm_fail_at(DM_E_INPUT, at, "rejected: its inspection gave no sensible answer");
  return dm_status_copy(&error);
}

static dm_status child_listen(const dm_location *at, double seconds, pid_t pid, int fd,
                              void *result, int64_t bytes, dm_child_tail *tail) {
  double deadline = dm_now() + seconds;
  child_answer first = {0};
  memset(result, 0, (size_t)bytes);
  bool heard = child_receive(fd, &first, sizeof first, deadline) && first.magic == CHILD_MAGIC &&
               child_receive(fd, result, (size_t)bytes, deadline) &&
               (!tail || receive_tail(fd, tail, deadline));
  int how = 0;
  struct rusage usage = {0};
  if (!heard && dm_now() >= deadline) kill(pid, SIGKILL);
  bool ended = reap(pid, &how, &usage);
  if (!ended) kill(pid, SIGKILL);
  if (!heard) return why_silent(at, seconds, ended, how, &usage);
  return first.failed ? accept_error(at, &first) : DM_OK;
}

dm_status dm_child_run(const dm_location *at, dm_child_work work, const void *argument,
                       void *result, int64_t bytes) {
  return dm_child_run_within(at, 0.0, work, argument, result, bytes, NULL);
}

dm_status dm_child_run_within(const dm_location *at, double seconds, dm_child_work work,
                              const void *argument, void *result, int64_t bytes,
                              dm_child_tail *tail) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    return dm_fail_at(DM_E_IO, at, "cannot be inspected: pipe: %s", strerror(errno));
  const pid_t pid = dm_h5_fork();
  if (pid < 0) {
    dm_status status = dm_fail_at(DM_E_IO, at, "cannot be inspected: fork: %s", strerror(errno));
    close(ends[0]);
    close(ends[1]);
    return status;
  }
  if (pid == 0) {
    close(ends[0]);
    be_child(ends[1], work, argument, result, bytes, tail);
  }
  close(ends[1]);
  dm_status status =
      child_listen(at, seconds > 0 ? seconds : WALL_SECONDS, pid, ends[0], result, bytes, tail);
  close(ends[0]);
  return status;
}
