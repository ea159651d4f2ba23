/* panel_width: the width of the panels of a plan. */
#ifndef DM_PLAN_PANEL_WIDTH_H
#define DM_PLAN_PANEL_WIDTH_H

#include "plan/complete.h"

/* The widths of a plan's panels: as dm_plan has them. */
typedef struct dm_widths {
  int64_t kb, ramp[DM_RAMP];
} dm_widths;

/* Panels of these, and slots for them. */
void dm_plan_set_panels(const dm_question *question, dm_widths widths, dm_plan *plan);

/* Panels of KB behind the ramp-up panels that were wished, as far as a layer of PLAN has enough. */
dm_widths dm_plan_wished_widths(const dm_question *question, const dm_plan *plan, int64_t kb);

/* The widths with the least predicted time, for a plan that is complete but for them, and its
 * forecast; false where none fits, and then the narrowest. */
bool dm_plan_choose_width(const dm_question *question, dm_plan *plan);

#endif
