#include "job/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

enum { WIDTH = 30 };

void dm_progress_start(dm_progress *progress, const dm_run *run, const char *label) {
  bool terminal = isatty(STDERR_FILENO);
  bool wanted = run->progress == DM_PROGRESS_ALWAYS ||
                (run->progress == DM_PROGRESS_AUTO && run->log.level >= DM_LOG_NOTE);
  double now = dm_now();
  *progress = (dm_progress){.run = run,
                            .label = label,
                            .on = wanted && run->rank == 0,
                            .terminal = terminal,
                            .started = now,
                            .shown = terminal ? now - 1 : now};
  /* "always" is for tests and for those who watch a log: the first step is shown at once. */
  if (run->progress == DM_PROGRESS_ALWAYS) progress->shown = now - 60;
}

void dm_progress_show(dm_progress *progress, int64_t done, int64_t total) {
  if (!progress->on || total <= 0) return;
  double now = dm_now(), spent = now - progress->started;
  if (now - progress->shown < (progress->terminal ? 1.0 / 6 : 30.0)) return;
  progress->shown = now;
  char left[32] = "?";
  if (done > 0) dm_format_seconds(spent / (double)done * (double)(total - done), left);
  int percent = (int)(100 * done / total);
  if (!progress->terminal) {
    fprintf(stderr, "damier: %s %d %%, %s left\n", progress->label, percent, left);
    return;
  }
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; i++) bar[i] = i * 100 < percent * WIDTH ? '#' : '.';
  bar[WIDTH] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%, %s left   ", progress->label, bar, percent, left);
  fflush(stderr);
}

void dm_progress_end(dm_progress *progress) {
  if (progress->on && progress->terminal) fprintf(stderr, "\r\033[K");
}
