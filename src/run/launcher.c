#include "run/launcher.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ANCESTORS = 64 };

/* How the names of processes begin, which Linux truncates to 15 characters: also mpirun.openmpi. */
static const char *const launcher_names[] = {
    "slurmstepd",      "orted",     "prted",           "prterun", "orterun",
    "hydra_pmi_proxy", "pmi_proxy", "hydra_bstrap_pr", "mpirun",  "mpiexec"};

typedef struct process {
  char name[16], state;
  pid_t parent;
  int64_t started;
  bool had_children; /* whether it has waited for children */
} process;

/* false: there is no such process, or no /proc. */
static bool look_up(pid_t pid, process *p) {
  char path[32], line[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  size_t length = fread(line, 1, sizeof line - 1, file);
  fclose(file);
  line[length] = 0;
  /* "PID (name) S PARENT ...": the name may contain anything, including parentheses. */
  char *open = strchr(line, '('), *close = strrchr(line, ')');
  if (!open || !close || close < open) return false;
  *close = 0;
  snprintf(p->name, sizeof p->name, "%.15s", open + 1);
  int parent;
  unsigned long faults; /* page faults of children that were waited for */
  long long started;
  if (sscanf(close + 1,
             " %c %d %*d %*d %*d %*d %*u %*u %lu %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lld",
             &p->state, &parent, &faults, &started) != 4)
    return false;
  p->parent = parent;
  p->had_children = faults > 0;
  p->started = started;
  return true;
}

static bool is_launcher(const char *name) {
  for (size_t i = 0; i < sizeof launcher_names / sizeof launcher_names[0]; i++)
    if (strncmp(name, launcher_names[i], strlen(launcher_names[i])) == 0) return true;
  return false;
}

void dm_launcher_find(dm_launcher *launcher, bool several) {
  process p;
  *launcher = (dm_launcher){.parent = several ? getppid() : 0};
  pid_t pid = getppid();
  for (int i = 0; i < ANCESTORS && pid > 1 && look_up(pid, &p); i++, pid = p.parent) {
    if (!is_launcher(p.name)) continue;
    memcpy(launcher->name, p.name, sizeof p.name);
    launcher->pid = pid;
    launcher->started = p.started;
    return;
  }
}

/* A shell that becomes the launcher by exec keeps its own start time. Launchers wait for no child
 * before the ranks run. */
double dm_launcher_age(char name[16]) {
  const long ticks = sysconf(_SC_CLK_TCK);
  struct timespec now;
  process p;
  name[0] = 0;
  if (ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0 || !look_up(getpid(), &p)) return 0;
  int64_t started = p.started;
  for (int i = 0; i < ANCESTORS && look_up(p.parent, &p) && is_launcher(p.name); i++) {
    memcpy(name, p.name, sizeof p.name);
    started = p.started;
    if (p.had_children) return 0;
  }
  const double age =
      (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - (double)started / (double)ticks;
  return age > 0 ? age : 0;
}

/* A process that has ended but was not waited for is still listed, as a zombie. */
bool dm_launcher_gone(const dm_launcher *launcher, bool *itself) {
  process p;
  const bool lives = launcher->name[0] && look_up(launcher->pid, &p) &&
                     p.started == launcher->started && p.state != 'Z' && p.state != 'X';
  *itself = !lives;
  return (launcher->name[0] && !lives) || (launcher->parent != 0 && getppid() != launcher->parent);
}
