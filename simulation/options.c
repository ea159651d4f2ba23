#include "options.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"
#include "plan/grid_cost.h"

static dm_status not_a(const char *what, const char *value) {
  return dm_fail(DM_E_USAGE, "'%s' is not %s", value, what);
}

/* ---- parsing values ---- */

static dm_status seed(const char *text, void *value) {
  return dm_parse_count(text, value) ? DM_OK : not_a("a size", text);
}

static dm_status size(const char *text, void *value) {
  return dm_parse_count(text, value) && *(int64_t *)value > 0 ? DM_OK : not_a("a size", text);
}

static dm_status number(const char *text, void *value) {
  int64_t count;
  DM_TRY(size(text, &count));
  *(int *)value = (int)dm_min(count, INT_MAX);
  return DM_OK;
}

static dm_status real(const char *text, void *value) {
  return dm_parse_real(text, value) && *(double *)value >= 0 ? DM_OK : not_a("a number", text);
}

static dm_status words(const char *text, void *value) {
  *(const char **)value = text;
  return DM_OK;
}

static dm_status flag(const char *text, void *value) {
  (void)text;
  *(bool *)value = true;
  return DM_OK;
}

static dm_status cube(const char *text, void *problem) {
  dm_problem *p = problem;
  DM_TRY(size(text, &p->m));
  p->n = p->k = p->m;
  return DM_OK;
}

static dm_status type(const char *text, void *value) {
  return dm_dtype_parse(text, value) ? DM_OK : not_a("a type", text);
}

static dm_status grid(const char *text, void *value) {
  dm_wishes *w = value;
  char rest;
  if (sscanf(text, "%dx%dx%d%c", &w->pm, &w->pn, &w->pk, &rest) == 3) return DM_OK;
  return not_a("a grid PMxPNxPK", text);
}

/* ---- options ---- */

#define AT(member) offsetof(sim_options, member)

/* See docs/simulation.md. */
static const struct {
  const char *name;
  dm_status (*read)(const char *text, void *place);
  size_t at;
} known[] = {
    {"machine", words, AT(words)},
    {"m", size, AT(problem.m)},
    {"n", size, AT(problem.n)},
    {"k", size, AT(problem.k)},
    {"size", cube, AT(problem)},
    {"type", type, AT(problem.work)},
    {"rate", real, AT(rate)},
    {"rate-at", size, AT(rate_at)},
    {"grid", grid, AT(wishes)},
    {"panel", size, AT(wishes.panel)},
    {"most-panels", number, AT(most_panels)},
    {"no-overlap", flag, AT(wishes.no_overlap)},
    {"slow-down", real, AT(slow_down)},
    {"seed", seed, AT(seed)},
    {"notice", real, AT(notice)},
    {"files", number, AT(servers)},
    {"file-rate", real, AT(file_rate)},
    {"slow-nic", real, AT(slow_nic)},
    {"json", words, AT(json)},
};

enum { KNOWN = sizeof known / sizeof known[0] };

static dm_status check(const sim_options *o) {
  const dm_machine *machine = &o->machine;
  if (o->problem.m < 1 || o->problem.n < 1 || o->problem.k < 1)
    return dm_fail(DM_E_USAGE, "--m, --n and --k are needed, or --size");
  if (!machine->gpu || !machine->device_links)
    return dm_fail(DM_E_USAGE, "--machine needs gpu=NAME, and not links=host");
  if (o->slow_nic <= 0) return dm_fail(DM_E_USAGE, "--slow-nic must be above 0");
  if (o->servers > 0 && (o->notice <= 0 || o->file_rate <= 0))
    return dm_fail(DM_E_USAGE, "--files needs --file-rate and --notice");
  if (o->servers == 0 && o->file_rate > 0) return dm_fail(DM_E_USAGE, "--file-rate needs --files");
  return DM_OK;
}

dm_status sim_options_read(int argc, char **argv, sim_options *o) {
  struct option list[KNOWN + 1] = {{0}};
  for (int i = 0; i < KNOWN; i++)
    list[i] = (struct option){known[i].name, known[i].read != flag, NULL, i};
  *o = (sim_options){
      .words = "gpu=h200,links=device", .seed = 1, .slow_nic = 1.0, .most_panels = 64};
  o->wishes.from_device = true;
  opterr = 0;
  for (int which; (which = getopt_long(argc, argv, "", list, NULL)) != -1;) {
    if (which == '?') return dm_fail(DM_E_USAGE, "an option that is not known, or lacks its value");
    DM_TRY(known[which].read(optarg, (char *)o + known[which].at));
  }
  if (optind < argc) return not_a("an option", argv[optind]);
  DM_TRY(dm_context(dm_machine_parse(o->words, &o->machine), "machine"));
  dm_problem *p = &o->problem;
  p->file_a = p->file_b = p->work;
  p->compute = *dm_compute_by((dm_operand)p->work);
  p->c = p->accumulator = dm_compute_sum(p->work);
  const double at = (double)o->rate_at;
  o->machine.lasting[p->work] = 0; /* as the modelled device */
  if (o->rate > 0) o->machine.flops[p->work] = o->rate;
  if (at > 0) o->machine.flops[p->work] /= dm_product_efficiency(at, at, at, true);
  return check(o);
}
