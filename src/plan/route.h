/* route: the path of op(A) or op(B) on a rank, from the place of its own pieces to the place where
 * products read whole panels. Only this file derives it from the plan. */
#ifndef DM_PLAN_ROUTE_H
#define DM_PLAN_ROUTE_H

#include "plan/plan.h"

/* What holds pieces or panels of a matrix. */
typedef enum dm_holder {
  DM_NO_HOLDER,
  DM_SHARE,        /* places for this rank's pieces (plan/tiles.h) */
  DM_HOST_RING,    /* slots for whole panels in host memory */
  DM_DEVICE_RING,  /* the same in GPU memory */
  DM_SHARED_SLOTS, /* one for each panel of the layer, in host memory that the group shares */
  DM_HOLDERS,
} dm_holder;

typedef struct dm_route {
  bool fetched;    /* pieces of peers are gathered, */
  bool linked;     /* and GPUs read them where they lie: in what their ranks expose */
  bool uploaded;   /* panels are copied to the GPU */
  dm_holder piece; /* where a LOAD brings this rank's piece; not in the share: the ring has a slot
                      for each panel of the layer, and the piece stands where it belongs */
  dm_holder given; /* where the piece stands when peers take it; not where it was brought to: it
                      is uploaded first, alone, to where it belongs in a slot of the ring */
  dm_holder gathered; /* where whole panels come together */
  dm_holder operand;  /* where a product reads the panel */
} dm_route;

dm_route dm_plan_route(const dm_plan *plan, dm_matrix matrix);

/* Whether every panel of a layer stays in a place of its own until the end. */
static inline bool dm_route_keeps_panels(const dm_route *route) {
  return route->operand == route->piece;
}

/* Whether something is copied for each panel. */
static inline bool dm_route_moves(const dm_route *route) {
  return route->uploaded || (route->fetched && route->operand != DM_SHARED_SLOTS);
}

/* The slot of panel Q of the layer where its turn has SLOT of a ring. */
static inline int64_t dm_route_slot(const dm_route *route, int64_t q, int64_t slot) {
  return route->piece == DM_SHARE ? slot : q;
}

#endif
