#include "cli/ending.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"

/* The system closes files and frees memory, and so has the driver end GPUs, with the last process
 * that has them. A child that shares both ends after this process, whose parent need not wait for
 * that. It runs beside threads that end at any place, so it may only make system calls. */
static int stay(void *process) {
  const struct timespec moment = {.tv_nsec = 200000};
  while (syscall(SYS_getppid) == *(const pid_t *)process) syscall(SYS_nanosleep, &moment, NULL);
  return 0;
}

/* Others may wait for the end of what this process writes, or for a lock on a file that it has
 * inherited. Inherited descriptors are not close-on-exec, unlike those of the driver, which must
 * stay open. */
static void close_inherited(void) {
  static const char drivers[] = "/dev/nvidia";
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char name[sizeof drivers] = "";
    const int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);
    if (entry->d_name[0] == '.' || flags < 0 || (flags & FD_CLOEXEC)) continue;
    if (readlinkat(dirfd(folder), entry->d_name, name, sizeof name - 1) > 0 &&
        strcmp(name, drivers) != 0)
      close(fd);
  }
  closedir(folder);
}

void dm_cli_end_ahead(void) {
  static _Alignas(16) char stack[16 << 10];
  static pid_t process;
  if (!dm_backend_ends_slowly()) return;
  process = getpid();
  fflush(NULL);
  close_inherited();
  (void)clone(stay, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, &process);
  _exit(0);
}
