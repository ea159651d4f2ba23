/* panel_width: the width of the panels of a plan. */
#ifndef DM_PLAN_PANEL_WIDTH_H
#define DM_PLAN_PANEL_WIDTH_H

#include "plan/plan.h"

/* The widths of a plan's panels, as in dm_plan. */
typedef struct dm_widths {
  int64_t kb, ramp[DM_RAMP];
} dm_widths;

/* Sets the panels, and their slots, of PLAN. */
void dm_plan_set_panels(const dm_question *question, dm_widths widths, dm_plan *plan);

/* The width from which on a panel of a narrow A and B has enough work for its steps; below
 * DM_PANEL_STEP: any has. */
int64_t dm_plan_least_panel(const dm_plan *plan);

/* The widest panel of PLAN: where tensor cores sum up a panel, their sums must be right. */
int64_t dm_plan_longest_panel(const dm_plan *plan);

/* Panels of KB after the requested ramp-up panels, if a layer of PLAN has enough panels. */
dm_widths dm_plan_stated_widths(const dm_question *question, const dm_plan *plan, int64_t kb);

/* The widths with the least predicted time for an otherwise complete plan, and its forecast. False
 * if none fits: then the narrowest. */
bool dm_plan_choose_width(const dm_question *question, dm_plan *plan);

#endif
