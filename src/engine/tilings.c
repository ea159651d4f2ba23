#include "engine/tilings.h"

#include <stdio.h>
#include <string.h>

/* Rank 0's choice; what is wrong with the file is said, and the file not used. */
static dm_tilings choose(const dm_run *run, const dm_jit_facts *facts) {
  dm_tilings tilings;
  char path[DM_PATH];
  bool found = false;
  dm_status status = dm_tilings_path(facts->gpu, path);
  if (status) { /* no home, no cache: nothing is missing */
    dm_status_free(status);
    return dm_tilings_built_in();
  }
  status = dm_tilings_read(path, facts, &found, &tilings);
  if (status)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: not used, tile sizes are those that are built in ('damier tune' renews it)",
                status->message);
  dm_status_free(status);
  dm_log_line(&run->log, DM_LOG_DETAIL, "tile sizes of jit: %s%s", found ? "from " : "built in",
              found ? path : "");
  return tilings;
}

static bool same_gpu(const dm_jit_facts *x, const dm_jit_facts *y) {
  return strcmp(x->gpu, y->gpu) == 0 && x->capability == y->capability &&
         x->processors == y->processors;
}

/* Tile sizes that were found on one GPU may not even fit another. */
static dm_status share(dm_run *run, const dm_jit_facts *mine, dm_tilings *tilings) {
  dm_jit_facts first = *mine;
  DM_TRY(dm_comm_broadcast(run->world, &first, sizeof first, 0));
  int64_t other = !same_gpu(&first, mine);
  DM_TRY(dm_comm_max_i64(run->world, &other, 1));
  *tilings = dm_tilings_built_in();
  if (other)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "the GPUs of this job differ: tile sizes of jit are those that are built in");
  else if (run->rank == 0)
    *tilings = choose(run, mine);
  return dm_comm_broadcast(run->world, tilings, sizeof *tilings, 0);
}

dm_status dm_tilings_agree(dm_run *run, dm_backend *backend, const char *kernel, dm_dtype work,
                           char name[32]) {
  const dm_jit_ops *jit = backend->ops->jit;
  dm_jit_facts facts = {.capability = 0};
  dm_tilings tilings;
  snprintf(name, 32, "%s", kernel);
  if (strcmp(kernel, "jit") != 0 || !jit) return DM_OK;
  DM_TRY(dm_comm_agree(run->world, jit->facts(backend, &facts)));
  DM_TRY(share(run, &facts, &tilings));
  DM_TRY(dm_comm_agree(run->world, jit->use(backend, &tilings)));
  dm_tilings_name(&tilings, work, name);
  return DM_OK;
}

void dm_tilings_describe(dm_backend *backend, const char *path, dm_record *record) {
  dm_jit_facts facts;
  dm_tilings tilings;
  char file[DM_PATH];
  bool found = false;
  dm_status missing = backend->ops->jit->facts(backend, &facts), status = DM_OK;
  if (!missing) status = dm_tilings_path(facts.gpu, file);
  if (!missing && !status) status = dm_tilings_read(file, &facts, &found, &tilings);
  if (missing)
    dm_record_text(record, path, "  tilings", "none: %s", missing->message);
  else if (status)
    dm_record_text(record, path, "  tilings", "built in; not used: %s", status->message);
  else if (!found)
    dm_record_text(record, path, "  tilings", "built in; 'damier tune' would write %s", file);
  else
    dm_record_text(record, path, "  tilings", "%s", file);
  dm_status_free(dm_status_first(missing, status));
}
