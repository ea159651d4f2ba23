#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/rates_measure.h"
#include "run/cache_file.h"
#include "run/facts.h"

static dm_status keep(const char *path, bool in_cache, const dm_rates_facts *facts,
                      const dm_rates *rates) {
  char *text;
  DM_TRY(dm_rates_format(rates, facts, &text));
  dm_status status = dm_cache_write(path, in_cache, text);
  free(text);
  return status;
}

static void record_rates(const dm_rates *r, dm_record *record) {
  for (int i = 0; i < DM_RATES; i++) {
    char key[32], label[32], path[64];
    dm_rates_key(i, key, label);
    snprintf(path, sizeof path, "rates.%s", key);
    const dm_shown shown = i < DM_OPERANDS ? DM_SHOWN_FLOPS : DM_SHOWN_RATE;
    if (r->numbers[i] > 0) dm_record_real(record, path, label, shown, r->numbers[i]);
  }
}

static void record_facts(const dm_run *run, const dm_rates_facts *facts, const dm_rates *rates,
                         dm_record *record) {
  dm_record_text(record, "machine.device", "device", "%s", facts->device);
  dm_record_text(record, "machine.backend", NULL, "%s", facts->backend);
  dm_record_text(record, "machine.library", NULL, "%s", facts->library);
  dm_record_integer(record, "machine.ranks", "ranks", DM_SHOWN_PLAIN, run->ranks);
  dm_record_integer(record, "machine.nodes", "nodes", DM_SHOWN_PLAIN, run->nodes);
  dm_record_integer(record, "machine.threads", NULL, DM_SHOWN_PLAIN, facts->threads);
  dm_record_text(record, "transport.name", "panels travel by", "%s", rates->transport);
  dm_record_text(record, "machine.host", NULL, "%s", rates->host);
  dm_facts_record(NULL, false, record);
}

/* Records the file system of the rates of files, or that there are none. */
static void record_files(const dm_run *run, const dm_rates_tune *tune, const dm_mount *m,
                         dm_record *record) {
  if (!m->kind[0]) {
    dm_log_line(&run->log, DM_LOG_NOTE,
                "file rates were not measured: --files FOLDER measures them");
    return;
  }
  dm_record_text(record, "files.rates_system", "files in", "%s", m->kind);
  dm_record_text(record, "files.rates_source", NULL, "%s", m->source);
  dm_record_text(record, "files.rates_mount", "  mounted at", "%s%s", m->point,
                 tune->files[0] ? "" : " (measured before)");
}

/* Called on rank 0 only. */
static dm_status finish(const dm_run *run, const dm_rates_tune *tune, const dm_rates_facts *facts,
                        const dm_rates *measured, dm_record *record) {
  char path[DM_PATH], name[24];
  dm_rates old;
  bool found;
  if (tune->output[0])
    snprintf(path, sizeof path, "%s", tune->output);
  else
    DM_TRY(dm_rates_path(facts, path));
  dm_cache_replaces(&run->log, dm_rates_read(path, facts, &found, &old));
  const dm_rates rates = dm_rates_renewed(&old, measured);
  if (!tune->dry_run) DM_TRY(keep(path, !tune->output[0], facts, &rates));
  dm_rates_name(&rates, name);
  record_facts(run, facts, &rates, record);
  record_rates(&rates, record);
  record_files(run, tune, &rates.files, record);
  dm_record_text(record, "rates.file", "file", "%s%s", path,
                 tune->dry_run ? " (not written: --dry-run)" : "");
  dm_record_text(record, "rates.name", "in recipes", "%s", name);
  dm_record_summary(record, "damier: tune rates=%s%s", name, tune->dry_run ? " DRY" : "");
  return DM_OK;
}

dm_status dm_rates_tune_run(dm_run *run, const dm_rates_tune *tune, dm_record *record) {
  dm_rates_facts facts = {.ranks = 0};
  dm_rates measured, files = {.file_read = 0};
  /* First, to detect at once a folder that cannot be written. */
  if (tune->files[0]) DM_TRY(dm_rates_measure_files(run, tune->files, &files));
  dm_run_phase(run, "measuring rates", 1);
  DM_TRY(dm_rates_measure(run, &tune->engine, &facts, &measured));
  measured.file_read = files.file_read;
  measured.file_cold = files.file_cold;
  measured.file_write = files.file_write;
  measured.files = files.files;
  return dm_comm_agree(run->world,
                       run->rank == 0 ? finish(run, tune, &facts, &measured, record) : DM_OK);
}
