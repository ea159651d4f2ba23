#include "dataset/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

/* False, without a signal: the other process is gone. */
static bool child_send(int fd, const void *data, size_t bytes) {
  for (const char *at = data; bytes > 0;) {
    ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

static bool child_send_tail(int fd, dm_status status, const dm_child_tail *tail,
                            const void *result) {
  int64_t more = 0;
  const void *memory = status ? NULL : tail->of(result, &more);
  if (!memory) more = 0;
  return child_send(fd, &more, sizeof more) && child_send(fd, memory, (size_t)more);
}

/* Does TASK in the child; false: the answer could not be sent. *FAILED: it is an error. */
static bool child_answer_to(int fd, const dm_child_task *task, bool *failed) {
  dm_status status = task->work(task->argument, task->result);
  child_answer first = {.magic = CHILD_MAGIC, .failed = status != DM_OK};
  if (status) first.error = *status;
  *failed = status != DM_OK;
  return child_send(fd, &first, sizeof first) &&
         child_send(fd, task->result, (size_t)task->bytes) &&
         (!task->tail || child_send_tail(fd, status, task->tail, task->result));
}

static _Noreturn void be_child(int fd, const dm_child_task *task) {
  bool failed;
  set_limits();
  const bool sent = child_answer_to(fd, task, &failed);
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

/* Whether the answer to TASK arrived. */
static bool child_hear(int fd, const dm_child_task *task, double deadline, child_answer *first) {
  memset(task->result, 0, (size_t)task->bytes);
  return child_receive(fd, first, sizeof *first, deadline) && first->magic == CHILD_MAGIC &&
         child_receive(fd, task->result, (size_t)task->bytes, deadline) &&
         (!task->tail || receive_tail(fd, task->tail, deadline));
}

static double child_deadline(const dm_child_task *task) {
  return dm_now() + (task->seconds > 0 ? task->seconds : WALL_SECONDS);
}

static dm_status child_listen(const dm_child_task *task, pid_t pid, int fd) {
  const double start = dm_now(), deadline = child_deadline(task);
  child_answer first = {0};
  const bool heard = child_hear(fd, task, deadline, &first);
  int how = 0;
  struct rusage usage = {0};
  if (!heard && dm_now() >= deadline) kill(pid, SIGKILL);
  bool ended = reap(pid, &how, &usage);
  if (!ended) kill(pid, SIGKILL);
  if (!heard) return why_silent(task->at, deadline - start, ended, how, &usage);
  return first.failed ? accept_error(task->at, &first) : DM_OK;
}

/* Starts a process with a line to this one, in which *pid is 0. */
static dm_status child_start(const dm_location *at, pid_t *pid, int *line) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    return dm_fail_at(DM_E_IO, at, "cannot be inspected: socketpair: %s", strerror(errno));
  *pid = dm_h5_fork();
  const int reason = errno;
  *line = ends[*pid == 0];
  close(ends[*pid != 0]);
  if (*pid >= 0) return DM_OK;
  close(*line);
  return dm_fail_at(DM_E_IO, at, "cannot be inspected: fork: %s", strerror(reason));
}

dm_status dm_child_do(const dm_child_task *task) {
  pid_t pid;
  int line;
  DM_TRY(child_start(task->at, &pid, &line));
  if (pid == 0) be_child(line, task);
  dm_status status = child_listen(task, pid, line);
  close(line);
  return status;
}

dm_status dm_child_run(const dm_location *at, dm_child_work work, const void *argument,
                       void *result, int64_t bytes) {
  return dm_child_do(&(dm_child_task){
      .at = at, .work = work, .argument = argument, .result = result, .bytes = bytes});
}

/* ---- a child that stays ---- */

/* What is left of CPU_SECONDS must do for any task. */
static bool child_is_tired(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) != 0 || usage.ru_utime.tv_sec + usage.ru_stime.tv_sec > 0;
}

/* Answers one task; false: the child is to end. Addresses of functions and of constants are the
 * same in both processes. */
static bool child_serve(int line) {
  dm_child_task task;
  dm_child_tail tail;
  bool failed = true;
  if (!child_receive(line, &task, sizeof task, INFINITY) ||
      !child_receive(line, &tail, sizeof tail, INFINITY))
    return false;
  void *argument = malloc((size_t)task.argument_bytes);
  task.argument = argument;
  task.result = calloc(1, (size_t)task.bytes);
  task.tail = task.tail ? &tail : NULL;
  const bool served = argument && task.result &&
                      child_receive(line, argument, (size_t)task.argument_bytes, INFINITY) &&
                      child_answer_to(line, &task, &failed);
  if (served && !failed && task.tail) tail.release(task.result);
  free(argument);
  free(task.result);
  return served && !failed && !child_is_tired();
}

static _Noreturn void child_stay(int line) {
  set_limits();
  while (child_serve(line)) continue;
  _exit(0);
}

void dm_child_dismiss(dm_kept_child *child) {
  int how;
  struct rusage usage;
  if (child->pid <= 0) return;
  kill(child->pid, SIGKILL);
  (void)reap(child->pid, &how, &usage);
  close(child->line);
  child->pid = 0;
}

dm_status dm_child_do_by(dm_kept_child *child, const dm_child_task *task) {
  const double start = dm_now(), deadline = child_deadline(task);
  const dm_child_tail none = {0};
  child_answer first = {0};
  if (child->pid == 0) {
    pid_t pid;
    DM_TRY(child_start(task->at, &pid, &child->line));
    if (pid == 0) child_stay(child->line);
    child->pid = pid;
  }
  const bool heard = child_send(child->line, task, sizeof *task) &&
                     child_send(child->line, task->tail ? task->tail : &none, sizeof none) &&
                     child_send(child->line, task->argument, (size_t)task->argument_bytes) &&
                     child_hear(child->line, task, deadline, &first);
  if (heard && !first.failed) return DM_OK;
  if (task->tail) {
    free(task->tail->memory);
    task->tail->memory = NULL;
  }
  dm_child_dismiss(child);
  if (dm_now() >= deadline) return why_silent(task->at, deadline - start, false, 0, NULL);
  return dm_child_do(task);
}
