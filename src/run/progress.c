#include "run/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

enum { WIDTH = 30 };

void dm_progress_start(dm_progress *progress, const dm_run *run, const char *label, double flops,
                       double before, int used) {
  bool terminal = isatty(STDERR_FILENO);
  bool wanted = run->progress == DM_PROGRESS_ALWAYS ||
                (run->progress == DM_PROGRESS_AUTO && run->log.level >= DM_LOG_NOTE);
  double now = dm_now();
  *progress = (dm_progress){.run = run,
                            .label = label,
                            .on = wanted && run->rank == 0,
                            .terminal = terminal,
                            .flops = flops,
                            .before = before,
                            .used = used,
                            .started = now,
                            .measured = now,
                            .then = {.done = before},
                            .shown = terminal ? now - 1 : now};
  /* "always" is for tests and for watching a log: the first step is shown at once. */
  if (run->progress == DM_PROGRESS_ALWAYS) progress->shown = now - 60;
}

/* "1.2 TFLOP/s, reads 3.4 GB/s, writes 0.5 GB/s": since the last time. */
static void take_rates(dm_progress *p, const dm_standing *at, double now) {
  const double seconds = now - p->measured;
  char flops[32], read[32], written[32];
  if (seconds <= 0 || at->done <= p->then.done || (p->terminal && seconds < 1.0 && p->rates[0]))
    return;
  const double used = (double)p->used;
  dm_format_flops((at->done - p->then.done) * p->flops / seconds, flops);
  dm_format_rate((double)(at->read - p->then.read) * used / seconds, read);
  dm_format_rate((double)(at->written - p->then.written) * used / seconds, written);
  int length = snprintf(p->rates, sizeof p->rates, "%s", flops);
  if (at->read > p->then.read)
    length += snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", reads %s", read);
  if (at->written > p->then.written)
    snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", writes %s", written);
  p->measured = now;
  p->then = *at;
}

bool dm_progress_is_due(const dm_progress *p) {
  return p->on && dm_now() - p->shown >= (p->terminal ? 1.0 / 6 : 30.0);
}

void dm_progress_show(dm_progress *p, dm_standing at) {
  const double now = dm_now(), spent = now - p->started;
  if (!dm_progress_is_due(p)) return;
  p->shown = now;
  char left[32] = "?", before[40] = "";
  if (at.done > p->before) dm_format_seconds(spent / (at.done - p->before) * (1.0 - at.done), left);
  if (p->before > 0) snprintf(before, sizeof before, " (%d %% were there)", (int)(100 * p->before));
  take_rates(p, &at, now);
  const int percent = (int)(100 * at.done);
  if (!p->terminal) {
    fprintf(stderr, "damier: %s %d %%%s, %s%s%s left\n", p->label, percent, before, p->rates,
            p->rates[0] ? ", " : "", left);
    return;
  }
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; i++) {
    const int here = i * 100;
    bar[i] = here < (int)(100 * p->before) * WIDTH ? '=' : here < percent * WIDTH ? '#' : '.';
  }
  bar[WIDTH] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%%s, %s%s%s left\033[K", p->label, bar, percent, before, p->rates,
          p->rates[0] ? ", " : "", left);
  fflush(stderr);
}

void dm_progress_end(dm_progress *progress) {
  if (progress->on && progress->terminal) fprintf(stderr, "\r\033[K");
  progress->on = false;
}
