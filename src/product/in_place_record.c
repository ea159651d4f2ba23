/* What a product that was multiplied in place says in the record. */
#include <stdio.h>

#include "check/verdict.h"
#include "product/in_place.h"

static const char *moved_text(const dm_in_place_outcome *outcome, char text[40]) {
  static const char *const names[] = {"op(A)", "op(B)", "C"};
  int64_t at = 0;
  text[0] = '\0';
  for (int x = 0; x < 3; x++)
    if (outcome->moved[x]) at += snprintf(text + at, (size_t)(40 - at), ", %s", names[x]);
  if (at > 0) (void)snprintf(text + at, (size_t)(40 - at), " moved");
  return text;
}

/* Ranks that keep their rows of C form a column of the grid. */
static void record_recipe(const dm_in_place_outcome *outcome, const dm_device *device,
                          const dm_run *run, dm_record *record) {
  char ways[80] = "";
  if (outcome->strips > 0)
    snprintf(ways, sizeof ways, ", %s in %lld strips by %s",
             outcome->both     ? "op(A) and op(B)"
             : outcome->turned ? "op(A)"
                               : "op(B)",
             (long long)outcome->strips, outcome->transport);
  if (outcome->summed)
    snprintf(ways, sizeof ways, ", sums of parts of k by %s", outcome->transport);
  const dm_compute *mode = &outcome->problem.compute;
  const char *by = mode->own_kernels ? mode->name
                   : outcome->kernel ? outcome->kernel
                                     : device->library;
  char moved[40];
  dm_record_text(record, "plan.recipe", "recipe", "in place, by %s%s%s%s", by,
                 outcome->reproducible ? ", reproducible" : "", moved_text(outcome, moved), ways);
  dm_record_text(record, "plan.grid", NULL, outcome->turned ? "1x%dx1" : "%dx1x1", run->ranks);
}

void dm_in_place_record(const dm_in_place *cached, const dm_in_place_outcome *outcome,
                        const dm_run *run, dm_record *record) {
  const dm_problem *p = &outcome->problem;
  const dm_device *device = &cached->device[outcome->on_gpu];
  dm_setup_record_sizes(p, record);
  dm_record_text(record, "problem.work", NULL, "%s", dm_dtype_name(p->work));
  dm_record_text(record, "problem.c", NULL, "%s", dm_dtype_name(p->c));
  if (outcome->on_gpu) dm_setup_record_sums(p, record);
  if (outcome->moduli > 0)
    dm_record_text(record, "problem.more_moduli", "more moduli", "%d: %s", outcome->moduli,
                   outcome->instead);
  else if (outcome->instead[0])
    dm_record_text(record, "problem.instead", "not by residues", "%s", outcome->instead);
  record_recipe(outcome, device, run, record);
  dm_record_integer(record, "plan.tiles", NULL, DM_SHOWN_PLAIN, 1);
  dm_record_text(record, "machine.backend", NULL, "%s", outcome->on_gpu ? "cuda" : "cpu");
  dm_record_text(record, "machine.device", NULL, "%s", device->name);
  dm_record_integer(record, "machine.ranks", NULL, DM_SHOWN_PLAIN, run->ranks);
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, outcome->seconds);
  dm_centering_record_text((const char *const[2]){outcome->centering[0], outcome->centering[1]},
                           record);
  const dm_verified checked = {p, outcome->alpha, outcome->beta, false, outcome->standard};
  if (outcome->verified)
    dm_verdict_record(&outcome->verdict, &checked, NULL, record);
  else
    dm_record_text(record, "verification.verdict", NULL, "UNVERIFIED");
}
