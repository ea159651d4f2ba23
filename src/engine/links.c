#include "engine/links.h"

#include <stdio.h>
#include <string.h>

#include "core/units.h"

static void add_reason(dm_links *links, const char *name, const char *text) {
  const size_t used = strlen(links->reasons);
  snprintf(links->reasons + used, sizeof links->reasons - used, "%s%s: %s", used ? "; " : "", name,
           text);
}

static const char *in_words(const dm_link_rates *rates, char text[80]) {
  char inside[32], between[32];
  if (rates->inside > 0 && rates->between > 0)
    snprintf(text, 80, "%s inside nodes, %s between", dm_format_rate(rates->inside, inside),
             dm_format_rate(rates->between, between));
  else
    dm_format_rate(rates->inside > 0 ? rates->inside : rates->between, text);
  return text;
}

/* Self-tests OPS and notes the outcome. */
static dm_status attempt(const dm_run *run, dm_backend *backend, const dm_transport_ops *ops,
                         dm_links *links, dm_link_rates *rates) {
  char text[80];
  dm_status status = dm_links_self_test(run, backend, ops, rates);
  add_reason(links, ops->name, status ? status->message : in_words(rates, text));
  return status;
}

/* Another transport must be faster by more than the noise of a measurement. */
static const double clearly = 1.2;

static void choose(dm_links *links, const dm_transport_ops *ops, const dm_link_rates *rates) {
  if (links->chosen && rates->between <= clearly * links->rates.between) return;
  links->chosen = ops;
  links->rates = *rates;
}

static dm_status take_named(const dm_run *run, dm_backend *backend, const char *name,
                            dm_links *links) {
  const dm_transport_ops *ops = dm_transport_find(name);
  dm_link_rates rates, between = {0};
  if (!ops) return dm_fail(DM_E_USAGE, "there is no transport '%s'", name);
  dm_status status = attempt(run, backend, ops, links, &rates);
  if (!status && ops->shared_slots && run->nodes > 1) { /* it uses host there */
    status = attempt(run, backend, dm_transport_find("host"), links, &between);
    rates.between = between.between;
  }
  if (status) {
    status->code = DM_E_DEVICE; /* in any case, this transport is not available */
    return ops->not_built ? status : dm_context(status, "transport %s", name);
  }
  choose(links, ops, &rates);
  return DM_OK;
}

/* Whether to self-test OPS if the user did not name it. */
static bool is_candidate(const dm_run *run, const dm_backend *backend,
                         const dm_transport_ops *ops) {
  if (ops->not_built) return false;
  if (!backend->ops->device_memory) return ops->shared_slots && run->nodes < run->ranks;
  if (ops->one_node && run->nodes > 1) return false;
  return ops->device_memory && (!ops->crossed || run->nodes > 1);
}

/* GPU memory that must pass through the host is slower by a factor of 100: warn the user and say
 * what to do. Messages instead of shared slots cost a few per cent. */
static void regret(const dm_run *run, const dm_transport_ops *ops, dm_status status) {
  if (!status) return;
  const dm_level level = ops->device_memory ? DM_LOG_WARNING : DM_LOG_NOTE;
  dm_log_line(&run->log, level, "transport %s: %s; panels %s", ops->name, status->message,
              ops->device_memory ? "pass through host memory" : "travel as messages");
  if (status->hint[0]) dm_log_line(&run->log, level, "%s", status->hint);
  dm_status_free(status);
}

dm_status dm_links_choose(const dm_run *run, dm_backend *backend, const char *name,
                          dm_links *links) {
  dm_link_rates rates = {0};
  *links = (dm_links){0};
  if (strcmp(name, "auto") != 0) return take_named(run, backend, name, links);
  if (run->ranks == 1) {
    choose(links, dm_transport_find("self"), &rates);
    return DM_OK;
  }
  const dm_transport_ops *best = NULL; /* first failure */
  dm_status why = DM_OK;
  for (const dm_transport_ops *const *ops = dm_transport_all(); *ops; ops++) {
    if (!is_candidate(run, backend, *ops)) continue;
    dm_status status = attempt(run, backend, *ops, links, &rates);
    if (!status) choose(links, *ops, &rates);
    if (links->chosen && run->nodes == 1) break; /* starting NCCL takes a second */
    if (status && !best) best = *ops;
    why = dm_status_first(why, status);
  }
  if (!links->chosen)
    regret(run, best, why);
  else
    dm_status_free(why);
  /* Plans of GPU jobs may want host, too. */
  if (links->chosen && links->chosen->shared_slots && run->nodes == 1) return DM_OK;
  const dm_transport_ops *host = dm_transport_find("host");
  DM_TRY(attempt(run, backend, host, links, &rates));
  if (!links->chosen) choose(links, host, &rates);
  if (links->chosen->shared_slots) links->rates.between = rates.between; /* it uses host there */
  return DM_OK;
}

const dm_transport_ops *dm_links_for(const dm_links *links, const dm_plan *plan) {
  return links->chosen->device_memory == plan->device_links ? links->chosen
                                                            : dm_transport_find("host");
}
