/* Runs the real program's multiplication (its planner, its loop over the steps, its transport over
 * MPI) on a machine that SimGrid simulates.  Products take modelled time, and matrices do not
 * exist. */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>

#include "carrier.h"
#include "core/element.h"
#include "engine/rank_state.h"
#include "files.h"
#include "modelled.h"
#include "options.h"
#include "plan/choose.h"
#include "plan/partition.h"
#include "ports.h"
#include "report.h"

/* The machine's description defines the nodes: to SMPI every GPU is a separate host. */
static dm_status find_nodes(const sim_options *options, dm_run *run) {
  const int per_node = options->machine.ranks_per_node;
  run->ranks = dm_comm_size(run->world);
  if (run->ranks != options->machine.nodes * per_node)
    return dm_fail(DM_E_USAGE, "%d ranks for %d nodes of %d GPUs", run->ranks,
                   options->machine.nodes, per_node);
  run->nodes = options->machine.nodes;
  DM_TRY(dm_comm_split(run->world, run->rank / per_node, run->rank, &run->near));
  run->local_rank = dm_comm_rank(run->near);
  run->local_ranks = per_node;
  return DM_OK;
}

/* Plans the same grid with panels wide enough that a layer has at most MOST. */
static dm_status widen(const sim_options *o, int ranks, int most, dm_plan *plan) {
  dm_wishes wishes = o->wishes;
  const int64_t longest = dm_range_size(dm_plan_layer(plan, 0));
  wishes.panel = plan->kb * ((longest + most - 1) / most);
  wishes.pm = plan->pm;
  wishes.pn = plan->pn;
  wishes.pk = plan->pk;
  return dm_plan_choose(&o->problem, &o->machine, ranks, &wishes, plan);
}

/* Chooses a plan with the planner's panel width if that gives few enough panels, else with wider
 * panels; allows more panels if these do not fit. */
static dm_status choose(const sim_options *o, int ranks, sim_outcome *outcome) {
  dm_plan *plan = &outcome->plan;
  const double begin = sim_real_seconds();
  DM_TRY(dm_plan_choose(&o->problem, &o->machine, ranks, &o->wishes, plan));
  outcome->planning = sim_real_seconds() - begin;
  const dm_plan chosen = *plan;
  dm_status status = DM_OK;
  for (int most = o->most_panels; most < dm_range_size(dm_plan_layer(&chosen, 0)); most *= 2) {
    dm_status_free(status);
    *plan = chosen;
    status = widen(o, ranks, most, plan);
    if (!status || status->code != DM_E_FIT) return status;
  }
  dm_status_free(status);
  *plan = chosen;
  return DM_OK;
}

/* A number in [0, 1) that depends only on the seed and the rank. */
static double chance(const sim_options *o, int rank) {
  return (double)(dm_mix(dm_mix((uint64_t)o->seed) + (uint64_t)rank) >> 11) * 0x1p-53;
}

static dm_model model_of(const sim_options *o, int rank) {
  const dm_machine *machine = &o->machine;
  return (dm_model){.flops = machine->flops[o->problem.work],
                    .memory = machine->memory,
                    .latency = machine->latency,
                    .slow_down = o->slow_down * chance(o, rank),
                    .device_bytes = machine->device_bytes};
}

static sim_ports ports_of(const sim_options *o, int rank, int ranks) {
  const dm_machine *machine = &o->machine;
  sim_ports ports = {machine->link, machine->network / machine->ranks_per_node, o->notice};
  if (rank == ranks / 2) ports.between *= o->slow_nic;
  return o->notice > 0 ? ports : (sim_ports){0};
}

/* All ranks return at the same simulated time, unlike from a barrier. */
static dm_status begin_together(const dm_run *run) {
  double latest = simgrid_get_clock() + 1.0;
  DM_TRY(dm_comm_max_f64(run->world, &latest, 1));
  sg_actor_sleep_until(latest);
  return DM_OK;
}

/* Reads behind the products if the plan overlaps, else before them; then writes. */
static dm_status run_steps(dm_rank_state *local, const dm_step_calls *calls, sim_outcome *outcome) {
  const double begin = simgrid_get_clock();
  const unsigned loads = calls->source[DM_A].ops ? DM_LOADS : 0;
  const bool behind = local->plan->overlap;
  if (loads && !behind) DM_TRY(dm_execute(local, loads, calls));
  DM_TRY(dm_execute(local, DM_PRODUCTS | (behind ? loads : 0), calls));
  outcome->products = simgrid_get_clock() - begin;
  outcome->exposed = local->run->trace.exposed[DM_ROW_TRANSPORT];
  const bool strips = local->plan->strips > 0;
  if (strips) DM_TRY(dm_execute(local, DM_STRIPS, calls));
  if (!strips && local->plan->pk > 1) DM_TRY(dm_execute(local, DM_SUMS, calls));
  outcome->reduced = simgrid_get_clock() - begin;
  if (!strips && calls->sink.ops) DM_TRY(dm_execute(local, 1u << DM_STEP_STORE, calls));
  outcome->seconds = simgrid_get_clock() - begin;
  return DM_OK;
}

static dm_status multiply(const sim_options *o, dm_rank_state *local, sim_outcome *outcome) {
  dm_step_calls calls = {0};
  sim_files *files = NULL;
  if (o->servers > 0) {
    DM_TRY(sim_files_open(local, &files));
    calls = sim_files_calls(files);
    dm_modelled_on_wait(local->backend, sim_files_wait, files);
  }
  DM_TRY(begin_together(local->run));
  DM_TRY(run_steps(local, &calls, outcome));
  outcome->received = dm_transport_received(local->transport);
  outcome->crossed = sim_carrier_crossed(local->transport);
  outcome->busy = dm_modelled_busy(local->backend);
  DM_TRY(dm_comm_barrier(local->run->world));
  if (files) outcome->files = sim_files_bytes(files);
  dm_modelled_on_wait(local->backend, NULL, NULL);
  sim_files_close(files);
  return DM_OK;
}

static dm_status simulate(const sim_options *o, dm_run *run) {
  sim_outcome outcome = {.begun = sim_real_seconds()};
  dm_status status = run->rank == 0 ? choose(o, run->ranks, &outcome) : DM_OK;
  DM_TRY(dm_comm_agree(run->world, status));
  DM_TRY(dm_comm_broadcast(run->world, &outcome.plan, sizeof outcome.plan, 0));
  const dm_model model = model_of(o, run->rank);
  dm_backend *backend;
  DM_TRY(dm_comm_agree(run->world, dm_modelled_open(&model, &backend)));
  dm_rank_state local;
  DM_TRY(dm_rank_open(run, &outcome.plan, backend, &dm_transport_carrier, &local));
  DM_TRY(dm_comm_agree(run->world, multiply(o, &local, &outcome)));
  status = sim_report(o, run, &outcome);
  dm_rank_close(&local);
  dm_backend_close(backend);
  return dm_comm_agree(run->world, status);
}

/* The last ranks are file servers. */
static dm_status begin(const sim_options *o, const dm_comm *whole, dm_run *run, int *server) {
  const int all = dm_comm_size(whole), rank = dm_comm_rank(whole), ranks = all - o->servers;
  const sim_file_system files = {
      .clients = ranks,
      .servers = o->servers,
      .rate = o->file_rate,
      .adapter = o->machine.network / o->machine.ranks_per_node,
  };
  *server = rank - ranks;
  if (ranks < 1) return dm_fail(DM_E_USAGE, "%d ranks for %d file servers", all, o->servers);
  const sim_ports ports = *server < 0 ? ports_of(o, rank, ranks) : (sim_ports){0};
  DM_TRY(dm_comm_agree(whole, sim_ports_set(rank, all, ports)));
  DM_TRY(dm_comm_agree(whole, sim_files_start(&files)));
  return dm_comm_split(whole, *server >= 0, rank, &run->world);
}

static dm_status part_of(const sim_options *o, dm_run *run) {
  run->rank = run->log.rank = dm_comm_rank(run->world);
  DM_TRY(find_nodes(o, run));
  return simulate(o, run);
}

/* Failures before ranks agree on a status occur on all ranks alike. */
static int finish(dm_comm *whole, dm_run *run, dm_status status) {
  const int code = status ? (int)status->code : 0;
  if (status && run->rank == 0) {
    fprintf(stderr, "simulate: error: %s\n", status->message);
    if (status->hint[0]) fprintf(stderr, "  %s\n", status->hint);
  }
  dm_status_free(status);
  dm_comm_free(run->near);
  dm_comm_free(run->world);
  if (whole) dm_comm_stop(whole);
  return code;
}

int main(int argc, char **argv) {
  sim_options options;
  dm_run run = {.log = {.out = stderr, .level = DM_LOG_WARNING}};
  int server = -1;
  dm_comm *whole = NULL;
  dm_status status = dm_comm_start_single(&whole);
  if (status) return finish(whole, &run, status);
  run.rank = dm_comm_rank(whole);
  status = sim_options_read(argc, argv, &options);
  if (!status) status = begin(&options, whole, &run, &server);
  if (!status && server >= 0)
    sim_files_serve(server);
  else if (!status)
    status = part_of(&options, &run);
  if (run.world && server < 0) sim_files_leave();
  return finish(whole, &run, status);
}
