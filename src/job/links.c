#include "job/links.h"

#include <stdio.h>
#include <string.h>

#include "core/units.h"

static void add_reason(dm_links *links, const char *name, const char *text) {
  const size_t used = strlen(links->reasons);
  snprintf(links->reasons + used, sizeof links->reasons - used, "%s%s: %s", used ? "; " : "", name,
           text);
}

/* Proves OPS and notes what came of it. */
static dm_status attempt(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                         dm_links *links, double *rate) {
  char text[32];
  dm_status status = dm_links_prove(run, backend, ops, rate);
  if (status)
    add_reason(links, ops->name, status->message);
  else
    add_reason(links, ops->name, dm_format_rate(*rate, text));
  return status;
}

static void choose(dm_links *links, const dm_transport_ops *ops, double rate) {
  if (links->chosen) return;
  links->chosen = ops;
  links->rate = rate;
}

static dm_status take_named(const dm_run *run, dm_backend *backend, const char *name,
                            dm_links *links) {
  const dm_transport_ops *ops = dm_transport_find(name);
  double rate = 0.0;
  if (!ops) return dm_fail(DM_E_USAGE, "there is no transport '%s'", name);
  dm_status status = attempt(run, backend, ops, links, &rate);
  if (status) {
    status->code = DM_E_DEVICE; /* whatever it was: this transport is not to be had */
    return ops->not_built ? status : dm_context(status, "transport %s", name);
  }
  choose(links, ops, rate);
  return DM_OK;
}

/* GPU memory that has to pass through the host is slower by a factor of 100: the user should know,
 * and what to do.  Messages in place of a window cost a few parts in a hundred. */
static void regret(const dm_run *run, const dm_transport_ops *ops, dm_status status) {
  const dm_level level = ops->device_memory ? DM_LOG_WARNING : DM_LOG_NOTE;
  dm_log_line(&run->log, level, "transport %s: %s; panels %s", ops->name, status->message,
              ops->device_memory ? "pass through host memory" : "travel as messages");
  if (status->hint[0]) dm_log_line(&run->log, level, "%s", status->hint);
  dm_status_free(status);
}

dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links) {
  *links = (dm_links){0};
  if (strcmp(name, "auto") != 0) return take_named(run, backend, name, links);
  if (run->ranks == 1) {
    choose(links, dm_transport_find("self"), 0.0);
    return DM_OK;
  }
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    double rate = 0.0;
    const bool shares = (*ops)->window != NULL && run->nodes < run->ranks;
    const bool fits = backend->ops->device_memory ? (*ops)->device_memory : shares;
    if (!fits || (*ops)->not_built) continue;
    dm_status status = attempt(run, backend, *ops, links, &rate);
    if (status)
      regret(run, *ops, status);
    else
      choose(links, *ops, rate);
  }
  double rate;
  const dm_transport_ops *host = dm_transport_find("host");
  DM_TRY(attempt(run, backend, host, links, &rate));
  choose(links, host, rate);
  return DM_OK;
}

dm_status dm_links_for(const dm_links *links, const dm_plan *plan, const char *name,
                       const dm_transport_ops **ops) {
  const bool gathers = dm_plan_fetches_a(plan) || dm_plan_fetches_b(plan);
  *ops = links->chosen;
  if (links->chosen->device_memory == plan->device_links) return DM_OK;
  *ops = dm_transport_find("host");
  if (!gathers || strcmp(name, "auto") == 0) return DM_OK;
  dm_status status = dm_fail(DM_E_DEVICE,
                             "transport %s moves GPU memory, and the shares of this product lie in "
                             "host memory",
                             name);
  return dm_hint(status, "more ranks hold smaller shares; --transport host takes them as they lie");
}
