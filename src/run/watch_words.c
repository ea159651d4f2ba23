#include <stdio.h>

#include "core/units.h"
#include "run/watch_impl.h"

/* Lists the ranks that have been silent for long: "rank 3 on n3", "rank 2 on n2, rank 3 on n2 and 4
 * others". */
static int list_silent(const dm_watch *w, int now, char *text, size_t size) {
  int silent = 0, shown = 0;
  const char *host = NULL;
  size_t used = 0;
  for (int rank = 1; w->rank == 0 && rank < w->ranks; rank++) {
    if (dm_heartbeat_heard(w->heartbeat, rank) > now - w->limit / 2) continue;
    silent++;
    if (shown == 4) continue;
    const char *at = dm_heartbeat_host(w->heartbeat, rank);
    if (used < size)
      used += (size_t)snprintf(text + used, size - used, "%srank %d on %.60s", host ? ", " : "",
                               rank, at);
    host = at;
    shown++;
  }
  if (silent > shown && used < size)
    snprintf(text + used, size - used, " and %d others", silent - shown);
  return silent;
}

/* Describes which ranks hold up the others. */
static void accuse(const dm_watch *w, int now, dm_error *error, char *who, size_t size) {
  int patience = atomic_load(&w->patience);
  bool stuck = atomic_load(&w->polled) <= now - w->limit * patience / 2;
  error->rank = w->rank;
  if (stuck) {
    snprintf(who, size, "rank %d itself is stuck", w->rank);
  } else if (w->rank != 0) {
    error->rank = 0;
    snprintf(who, size, "rank 0 on %.60s does not respond", dm_heartbeat_host(w->heartbeat, 0));
  } else {
    char list[400];
    int silent = list_silent(w, now, list, sizeof list);
    if (silent == 0)
      snprintf(who, size, "all ranks respond, but wait for each other or for files");
    else
      snprintf(who, size, "%s %s not respond", list, silent == 1 ? "does" : "do");
  }
}

void dm_watch_describe_hang(const dm_watch *w, int now, dm_error *error) {
  char who[520], time[32], at[64] = "";
  *error = (dm_error){.code = DM_E_HANG};
  accuse(w, now, error, who, sizeof who);
  long long done = atomic_load(&w->done), total = atomic_load(&w->total);
  if (total > 0) snprintf(at, sizeof at, " (%lld of %lld panels)", done, total);
  snprintf(error->message, sizeof error->message, "no progress for %s: %s",
           dm_format_seconds(w->seconds * atomic_load(&w->patience), time), who);
  snprintf(error->place, sizeof error->place, "%s%s, seen by rank %d", atomic_load(&w->phase), at,
           w->rank);
  snprintf(error->hint, sizeof error->hint,
           "is its node up and its process running?  --hang-timeout sets the time limit");
}

void dm_watch_describe_orphan(const dm_ending *ending, const char *host, dm_error *error) {
  *error = (dm_error){.code = DM_E_MPI, .rank = ending->rank};
  if (ending->launcher[0])
    snprintf(error->message, sizeof error->message,
             "the launcher of rank %d on %.60s, %s, is gone: the job ends", ending->rank, host,
             ending->launcher);
  else
    snprintf(error->message, sizeof error->message,
             "the process that started rank %d on %.60s is gone: the job ends", ending->rank, host);
  snprintf(error->hint, sizeof error->hint,
           "see the logs of that node; often it ran out of memory");
}

void dm_watch_describe_stop(dm_error *error) {
  *error = (dm_error){.code = DM_E_STOPPED, .rank = -1};
  snprintf(error->message, sizeof error->message,
           "stopped early: the work under way did not end within 8 s of the signal");
  snprintf(
      error->hint, sizeof error->hint,
      "is the storage slow? the same command goes on from the last checkpoint, if there is one");
}
