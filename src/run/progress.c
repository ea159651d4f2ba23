#include "run/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

enum { WIDTH = 30 };

void dm_progress_start(dm_progress *progress, dm_run *run, const char *label, double flops,
                       double before, int used) {
  const bool terminal = isatty(STDERR_FILENO);
  double now = dm_now();
  *progress = (dm_progress){.run = run,
                            .label = label,
                            .on = dm_run_shows_progress(run),
                            .terminal = terminal,
                            .flops = flops,
                            .before = before,
                            .used = used,
                            .started = now,
                            .measured = now,
                            .then = {.done = before},
                            .shown = now - 1};
  /* "always" is for tests and for following a log: the first step is shown at once. */
  progress->at_once = run->progress == DM_PROGRESS_ALWAYS;
}

/* "1.2 TFLOP/s, reads 3.4 GB/s, writes 0.5 GB/s": in a log since the last line; on a terminal over
 * a second, or since the start while that is less. */
static void take_rates(dm_progress *p, const dm_standing *at, double now) {
  const double seconds = now - p->measured;
  const bool whole = !p->terminal || seconds >= 1.0, first = p->measured == p->started;
  char flops[32], read[32], written[32];
  if (seconds <= 0 || at->done <= p->then.done || (!whole && !first)) return;
  const double used = (double)p->used;
  dm_format_flops((at->done - p->then.done) * p->flops / seconds, flops);
  dm_format_rate((double)(at->read - p->then.read) * used / seconds, read);
  dm_format_rate((double)(at->written - p->then.written) * used / seconds, written);
  int length = snprintf(p->rates, sizeof p->rates, "%s", flops);
  if (at->read > p->then.read)
    length += snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", reads %s", read);
  if (at->written > p->then.written)
    snprintf(p->rates + length, sizeof p->rates - (size_t)length, ", writes %s", written);
  if (!whole) return;
  p->measured = now;
  p->then = *at;
}

bool dm_progress_is_due(const dm_progress *p) {
  if (!p->on) return false;
  const double now = dm_now();
  return p->terminal ? now - p->shown >= 1.0 / 6 : p->at_once || dm_run_line_is_due(p->run, now);
}

void dm_progress_show(dm_progress *p, dm_standing at) {
  const double now = dm_now(), spent = now - p->started;
  if (!dm_progress_is_due(p)) return;
  p->shown = now;
  p->run->shown = now - p->run->born;
  p->at_once = false;
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
