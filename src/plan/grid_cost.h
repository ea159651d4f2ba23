/* grid_cost: the time that a plan is predicted to take. */
#ifndef DM_PLAN_GRID_COST_H
#define DM_PLAN_GRID_COST_H

#include "plan/plan.h"

/* The forecast of PLAN (problem, grid, panels, residences; the rest is not read) on MACHINE:
 *
 *   total = read + loop + reduce + write   minus what the loop hides: docs/planning.md
 *   loop  = head + (panels - 1) * longest stage of a panel + tail   with overlap, else the sum
 *
 * The stages of a panel are fetch, upload and gemm; on a CPU rank the copies of fetch take the
 * cores away from gemm, so they count there too.  A product runs at the machine's rate times
 * r/(r+s) * c/(c+s) * w/(w+t) for r x c results and a panel of width w, s and t the sizes that
 * halve the rate.  A CPU takes slices of at most 384 of it, whose passes over C its rate contains;
 * narrower panels make more of them, and products are not faster than memory delivers these and the
 * operands.  Short runs in the files make reading slower (runs.h). */
dm_forecast dm_plan_forecast(const dm_plan *plan, const dm_machine *machine);

/* Of C, to its file. */
double dm_plan_write_seconds(const dm_problem *problem, const dm_machine *machine);

/* By how much PLAN's forecast for MACHINE grows where C goes to a new file in memory: pages are
 * cleared from the first read on, and nothing is stored before all of them are. */
double dm_plan_pages_seconds(const dm_plan *plan, const dm_machine *machine);

/* Bytes per rank, as a mean, that PLAN's gathers and sums bring from other nodes; ranks that no box
 * of PLAN joins stand in the plain order. */
double dm_plan_crossing(const dm_plan *plan, const dm_machine *machine);

/* Part of its rate that a product of a rows x width and a width x cols panel runs at. */
double dm_product_efficiency(double rows, double cols, double width, bool gpu);

#endif
