/* setup: turns options into an open backend on every rank and a common plan. */
#ifndef DM_ENGINE_SETUP_H
#define DM_ENGINE_SETUP_H

#include "backend/backend.h"
#include "engine/engine.h"
#include "engine/links.h"
#include "run/record.h"
#include "run/run.h"

typedef struct dm_setup {
  dm_backend *backend;
  dm_device device;
  dm_links links;
  const dm_transport_ops *transport; /* transport of the plan's panels */
  dm_machine machine;
  dm_plan plan;
} dm_setup;

/* Collective: opens the backend on every rank, examines the machine and its links, lets rank 0
 * choose the plan and broadcasts it, and logs its needs. Rejects a problem that does not fit before
 * allocating anything large. */
dm_status dm_setup_open(dm_run *run, const dm_engine *engine, const dm_problem *problem,
                        dm_setup *setup);
void dm_setup_close(dm_setup *setup);

/* Collective: the first part of it: only backend and device, without links, machine and plan. */
dm_status dm_setup_open_backend(dm_run *run, const dm_engine *engine, const dm_problem *problem,
                                dm_setup *setup);

/* Host memory of this process, of which RANKS ranks are threads, that a plan counts as used by each
 * of them. */
int64_t dm_setup_process_bytes(int ranks);

/* The memory that a rank may use: the LIMIT that the user states, or a part of what is AVAILABLE.
 */
int64_t dm_setup_share(int64_t limit, double available);

/* Describes machine, device, plan and forecast in RECORD. */
void dm_setup_record(const dm_setup *setup, const dm_run *run, dm_record *record);
void dm_setup_record_machine(const dm_setup *setup, const dm_run *run, dm_record *record);

#endif
