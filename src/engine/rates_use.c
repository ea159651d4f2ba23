#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"
#include "engine/setup.h"

/* A link that is slower by this factor than when measured counts as changed. */
static const double other = 3.0;

void dm_setup_facts(const dm_setup *setup, const dm_run *run, dm_rates_facts *facts) {
  memset(facts, 0, sizeof *facts);
  snprintf(facts->backend, sizeof facts->backend, "%s", setup->backend->ops->name);
  snprintf(facts->device, sizeof facts->device, "%s", setup->device.name);
  snprintf(facts->library, sizeof facts->library, "%s", setup->device.library);
  facts->several_nodes = run->nodes > 1;
  facts->ranks = setup->machine.ranks_per_node;
  facts->threads = setup->device.threads;
}

bool dm_rates_find(const dm_log *log, const dm_rates_facts *facts, dm_rates *rates) {
  char path[DM_PATH];
  bool found = false;
  dm_status status = dm_rates_path(facts, path);
  if (status) { /* no home directory, so no cache */
    dm_status_free(status);
    return false;
  }
  status = dm_rates_read(path, facts, &found, rates);
  if (status)
    dm_log_line(log, DM_LOG_WARNING,
                "%s: ignored, the planner uses stated rates ('damier tune rates' renews it)",
                status->message);
  dm_status_free(status);
  if (found)
    dm_log_line(log, DM_LOG_NOTE, "the planner's rates were measured on %s, %.10s: %s", rates->host,
                rates->date, path);
  return found;
}

/* The first of PATHS outside the file system WHERE; NULL: none. */
static const char *first_elsewhere(const char *const *paths, int count, const dm_mount *where) {
  dm_mount found;
  for (int i = 0; i < count; i++)
    if (paths[i] && !(dm_io_mount(paths[i], &found) && dm_io_same_mount(&found, where)))
      return paths[i];
  return NULL;
}

dm_rates_fit dm_rates_fit_files(const dm_log *log, const dm_rates *rates,
                                const dm_named_files *files) {
  const dm_mount *where = &rates->files;
  if (!where->kind[0]) return (dm_rates_fit){false, false};
  const char *read = first_elsewhere(files->reads, 3, where);
  const char *written = files->writes ? first_elsewhere(&files->writes, 1, where) : read;
  if (read || written)
    dm_log_line(log, DM_LOG_NOTE,
                "the planner's rates of %s are stated ones: %s is not in %s (%s), where they "
                "were measured",
                !written ? "reading"
                : !read  ? "writing"
                         : "files",
                read ? read : written, where->point, where->kind);
  return (dm_rates_fit){!read, !written};
}

void dm_rates_apply_files(const dm_rates *rates, dm_rates_fit fit, bool cached,
                          dm_machine *machine) {
  machine->reads_measured = fit.reads;
  machine->writes_measured = fit.writes;
  if (fit.reads) {
    machine->file_read = rates->file_cold > 0 ? rates->file_cold : rates->file_read;
    machine->read_now = cached ? rates->file_read : machine->file_read;
  }
  machine->file_cached = fit.reads ? rates->file_read : 0;
  if (!fit.writes) return;
  machine->file_write = machine->write_now = rates->file_write;
  machine->pages_now = 0; /* the rate includes them */
}

static void compare(const dm_run *run, const dm_setup *setup, const dm_rates *rates) {
  const double now = setup->links.rates.inside, then = rates->link;
  char text[2][32];
  if (strcmp(rates->transport, setup->links.chosen->name) != 0 || !(now > 0 && now * other < then))
    return;
  dm_log_line(&run->log, DM_LOG_WARNING,
              "transport %s moves %s, and %s when the planner's rates were measured",
              rates->transport, dm_format_rate(now, text[0]), dm_format_rate(then, text[1]));
}

dm_status dm_rates_agree(const dm_run *run, const dm_engine *engine, dm_setup *setup) {
  struct {
    int64_t found;
    dm_rates rates;
    dm_rates_fit fit;
    dm_seen_files seen;
  } shared;
  dm_rates_facts facts;
  memset(&shared, 0, sizeof shared);
  dm_setup_facts(setup, run, &facts);
  int64_t counts[2] = {run->cores.cores, setup->device.threads};
  if (run->rank == 0) shared.found = dm_rates_find(&run->log, &facts, &shared.rates);
  if (run->rank == 0) shared.seen = dm_rates_look(&engine->files);
  if (shared.found) shared.fit = dm_rates_fit_files(&run->log, &shared.rates, &engine->files);
  DM_TRY(dm_comm_broadcast(run->world, &shared, sizeof shared, 0));
  DM_TRY(dm_comm_sum_i64(run->world, counts, 2));
  const int64_t there = (int64_t)CPU_COUNT(&run->job_cpus) * run->nodes;
  dm_rates_state_seen(shared.seen, counts[0], run->nodes, &setup->machine);
  dm_rates_state_cores(dm_min(there, counts[1]), counts[1], run->nodes, &setup->machine);
  if (!shared.found) return DM_OK;
  if (run->rank == 0 && run->nodes == 1) compare(run, setup, &shared.rates);
  dm_rates_apply(&shared.rates, setup->links.chosen->name, &setup->machine);
  dm_rates_apply_files(&shared.rates, shared.fit, shared.seen.cached, &setup->machine);
  return DM_OK;
}
